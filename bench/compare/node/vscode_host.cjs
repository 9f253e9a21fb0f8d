// vscode-jsonrpc as a host: vscode_host.cjs MODE SECONDS N PLUGIN…
"use strict";
const { spawn } = require("child_process");
const rpc = require("vscode-jsonrpc/node");
const run = require("./modes.cjs");

run(async ([program, ...args]) => {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(child.stdout), new rpc.StreamMessageWriter(child.stdin));
  connection.listen();
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return {
    pid: child.pid,
    call: (params) => connection.sendRequest("echo", params),
    async tools() { // a server of vscode-languageserver: LSP's handshake and commands
      await connection.sendRequest("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
      await connection.sendNotification("initialized", {});
      return (args) => connection.sendRequest("workspace/executeCommand", { command: "add", arguments: [args] });
    },
    close() {
      connection.dispose();
      child.stdin.end();
      return ended;
    },
  };
});
