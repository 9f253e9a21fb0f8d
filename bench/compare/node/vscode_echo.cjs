// vscode-jsonrpc as a plugin: answers every request with its params.
"use strict";
const rpc = require("vscode-jsonrpc/node");

const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(process.stdin), new rpc.StreamMessageWriter(process.stdout));
connection.onRequest("echo", (params) => params);
connection.onClose(() => process.exit(0));
connection.listen();
