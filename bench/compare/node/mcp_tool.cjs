// The server of MCP's SDK as a plugin with a tool: adds two integers, which the SDK checks.
"use strict";
const { McpServer } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = require("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = require("zod");

const server = new McpServer({ name: "adder", version: "1.0.0" });
server.registerTool(
  "add", { description: "Add two integers", inputSchema: { a: z.number().int(), b: z.number().int() } },
  ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }] }));
server.connect(new StdioServerTransport());
