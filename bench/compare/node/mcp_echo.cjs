// The server of MCP's SDK as a plugin: answers every request with its params.
"use strict";
const { Server } = require("@modelcontextprotocol/sdk/server/index.js");
const { StdioServerTransport } = require("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = require("zod");

const server = new Server({ name: "echo", version: "1.0.0" }, { capabilities: {} });
server.setRequestHandler(z.object({ method: z.literal("echo"), params: z.any() }), (request) => request.params);
server.connect(new StdioServerTransport());
