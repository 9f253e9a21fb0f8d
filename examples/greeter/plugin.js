#!/usr/bin/env node
// The greeter in JavaScript, with nothing but Node's own modules.
const readline = require("node:readline");

const manifest = {
  name: "greeter", version: "1.0.0", protocolVersion: "0.0.1", description: "Says hello",
  operations: { greet: { description: "Say hello", params: {
    type: "object", required: ["name"],
    properties: { name: { type: "string" }, times: { type: "integer", default: 1 } } } } },
};

let greeted = false;

const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...message }) + "\n");
const error = (code, message) => ({ error: { code, message } });
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// Without a handshake the answer is all that may be on stdout.
function log(level, message, data) {
  if (greeted) send({ method: "log", params: { level, message, data } });
  else console.error(level, message, JSON.stringify(data));
}

function greet(args) {
  if (!isObject(args) || typeof args.name !== "string") return error(-32602, "Invalid params: name: a string expected");
  log("info", "greeting", { name: args.name });
  if (args.name === "") return { result: { success: false, message: "nobody to greet", error: "nobody to greet" } };
  return { result: { success: true, message: "Hello, " + args.name } };
}

function execute(params) {
  if (!isObject(params) || params.operation === undefined) {
    return error(-32602, "Invalid params: operation is missing");
  }
  if (params.operation !== "greet") return error(-32601, "Unknown operation: " + params.operation);
  return greet(params.args);
}

function answer(method, params) {
  if (method === "initialize") {
    greeted = true;
    return { result: manifest };
  }
  if (method === "shutdown") return { result: {} };
  if (method === "execute") return execute(params);
  return error(-32601, "Method not found: " + method);
}

function parse(line) {
  try {
    return { request: JSON.parse(line) };
  } catch (problem) {
    return { problem };
  }
}

// The answer to a line, if it gets one: notifications do not, nor do answers to what was never asked.
function handle(line) {
  const { request, problem } = parse(line);
  if (problem) return { id: null, ...error(-32700, "Parse error: " + problem.message) };
  if (!isObject(request)) return { id: null, ...error(-32600, "Invalid Request: an object expected") };
  const { id, method, params } = request;
  if (id === undefined || "result" in request || "error" in request) return null;
  if (typeof method !== "string") return { id, ...error(-32600, "Invalid Request: method: a string expected") };
  return { id, ...answer(method, params), isLast: method === "shutdown" };
}

const lines = readline.createInterface({ input: process.stdin, crlfDelay: Infinity });
lines.on("line", (line) => {
  const { isLast, ...reply } = (line.trim() && handle(line)) || {};
  if (reply.id !== undefined) send(reply);
  if (isLast) {
    lines.close();
    process.stdin.destroy();
  }
});
