// json-rpc-2.0 as a plugin: answers every request with its params.
"use strict";
const readline = require("readline");
const { JSONRPCServer } = require("json-rpc-2.0");

const server = new JSONRPCServer();
server.addMethod("echo", (params) => params);
readline.createInterface({ input: process.stdin }).on("line", async (line) => {
  const answer = await server.receiveJSON(line);
  if (answer) process.stdout.write(JSON.stringify(answer) + "\n");
});
