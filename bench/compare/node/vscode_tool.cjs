// vscode-languageserver as a plugin with a command: adds two integers. It checks no arguments, so zod does.
"use strict";
const { createConnection } = require("vscode-languageserver/node");
const { z } = require("zod");

const Addends = z.object({ a: z.number().int(), b: z.number().int() });
const connection = createConnection(process.stdin, process.stdout);
connection.onInitialize(() => ({ capabilities: { executeCommandProvider: { commands: ["add"] } } }));
connection.onExecuteCommand(({ arguments: args }) => {
  const { a, b } = Addends.parse(args[0]);
  return String(a + b);
});
connection.listen();
