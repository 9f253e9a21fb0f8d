// json-rpc-2.0 as a host: json_rpc_2_host.cjs MODE SECONDS N PLUGIN…
// It brings no transport: a message a line is what one would write for it.
"use strict";
const { spawn } = require("child_process");
const readline = require("readline");
const { JSONRPCClient } = require("json-rpc-2.0");
const run = require("./modes.cjs");

run(async ([program, ...args]) => {
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  const client = new JSONRPCClient((message) => { child.stdin.write(JSON.stringify(message) + "\n"); });
  readline.createInterface({ input: child.stdout }).on("line", (line) => client.receive(JSON.parse(line)));
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return {
    pid: child.pid,
    call: (params) => client.request("echo", params),
    close() {
      child.stdin.end();
      return ended;
    },
  };
});
