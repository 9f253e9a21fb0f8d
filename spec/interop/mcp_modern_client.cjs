// The client of @modelcontextprotocol/client, of the era without a handshake, with the same scenarios:
// node mcp_modern_client.cjs SCENARIO COMMAND [ARGUMENT…]
const { Client } = require("@modelcontextprotocol/client");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
const scenarios = require("./mcp_scenarios.cjs");

const [scenario, command, ...args] = process.argv.slice(2);
const mode = process.env.MCP_MODE === "auto" ? "auto" : { pin: "2026-07-28" };
const client = new Client(
  { name: "interop", version: "1.0.0" },
  {
    capabilities: { elicitation: {} },
    versionNegotiation: { mode },
    listChanged: { resources: { autoRefresh: false, debounceMs: 0, onChanged: () => scenarios.say("changed", true) } },
  },
);

client.setNotificationHandler("notifications/message", (message) => scenarios.say("log", message.params));
client.setRequestHandler("elicitation/create", scenarios.elicit);
client.onerror = (error) => scenarios.say("onerror", String(error));

(async () => {
  const transport = new StdioClientTransport({ command, args, stderr: "inherit", env: process.env });
  await client.connect(transport);
  scenarios.say("pid", transport.pid);
  scenarios.say("version", client.getNegotiatedProtocolVersion());
  scenarios.say("server", client.getServerVersion());
  scenarios.say("capabilities", client.getServerCapabilities());
  scenarios.say("instructions", client.getInstructions() ?? null);
  await scenarios[scenario](client, {
    call: (params, options) => client.callTool(params, options),
    meta: { "io.modelcontextprotocol/logLevel": "debug" },
  });
  await client.close();
  scenarios.say("done", true);
})().catch((error) => {
  scenarios.say("failed", String(error && error.stack));
  process.exit(1);
});
