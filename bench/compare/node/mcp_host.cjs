// The client of MCP's SDK as a host: mcp_host.cjs MODE SECONDS N PLUGIN…
// Calls that are no tool calls ask for a method of our own, which is the least that the SDK can be made to do.
"use strict";
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { ResultSchema } = require("@modelcontextprotocol/sdk/types.js");
const run = require("./modes.cjs");

run(async ([program, ...args]) => {
  const transport = new StdioClientTransport({ command: program, args, env: process.env });
  const client = new Client({ name: "host", version: "1.0.0" });
  await client.connect(transport);
  return {
    pid: transport.pid,
    call: (params) => client.request({ method: "echo", params }, ResultSchema),
    tools: async () => async (args) => (await client.callTool({ name: "add", arguments: args })).content[0].text,
    close: () => client.close(),
  };
});
