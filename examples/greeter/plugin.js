#!/usr/bin/env node
// The greeter in JavaScript, with nothing but Node's own modules.
const readline = require("node:readline");

const manifest = {
  name: "greeter", version: "1.0.0", protocolVersion: "0.0.1", description: "Says hello",
  operations: { greet: { description: "Say hello", params: {
    type: "object", required: ["name"],
    properties: { name: { type: "string" }, times: { type: "integer", default: 1 } } } } },
};

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const log = (level, message, data) => send({ method: "log", params: { level, message, data } });
const unknown = (message) => ({ error: { code: -32601, message } });

function greet({ name }) {
  log("info", "greeting", { name });
  if (name === "") return { success: false, message: "nobody to greet", error: "nobody to greet" };
  return { success: true, message: "Hello, " + name };
}

function answer(method, params) {
  if (method === "initialize") return { result: manifest };
  if (method === "shutdown") return { result: {} };
  if (method !== "execute") return unknown("Method not found: " + method);
  if (params.operation !== "greet") return unknown("Unknown operation: " + params.operation);
  return { result: greet(params.args) };
}

const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  send({ id, ...answer(method, params) });
  if (method === "shutdown") {
    lines.close();
    process.stdin.destroy();
  }
});
