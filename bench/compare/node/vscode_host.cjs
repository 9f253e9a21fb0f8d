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
    close() {
      connection.dispose();
      child.stdin.end();
      return ended;
    },
  };
});
