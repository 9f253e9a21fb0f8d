// The client of @modelcontextprotocol/sdk, of the era with a handshake, uses a server, and prints a line of JSON for
// each event: node mcp_classic_client.cjs SCENARIO COMMAND [ARGUMENT…]
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const types = require("@modelcontextprotocol/sdk/types.js");
const scenarios = require("./mcp_scenarios.cjs");

const [scenario, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "interop", version: "1.0.0" }, { capabilities: { elicitation: {} } });

client.setNotificationHandler(types.LoggingMessageNotificationSchema, (message) => scenarios.say("log", message.params));
client.setNotificationHandler(types.ResourceListChangedNotificationSchema, () => scenarios.say("changed", true));
client.setRequestHandler(types.ElicitRequestSchema, scenarios.elicit);
client.onerror = (error) => scenarios.say("onerror", String(error));

(async () => {
  const transport = new StdioClientTransport({ command, args, stderr: "inherit", env: process.env });
  await client.connect(transport);
  scenarios.say("pid", transport.pid);
  scenarios.say("server", client.getServerVersion());
  scenarios.say("capabilities", client.getServerCapabilities());
  scenarios.say("instructions", client.getInstructions() ?? null);
  await scenarios[scenario](client, {
    call: (params, options) => client.callTool(params, undefined, options),
    ping: () => client.ping(),
    level: (level) => client.setLoggingLevel(level),
  });
  await client.close();
  scenarios.say("done", true);
})().catch((error) => {
  scenarios.say("failed", String(error && error.stack));
  process.exit(1);
});
