// A server written with @modelcontextprotocol/sdk, of the era with a handshake.
const { McpServer, ResourceTemplate } = require("@modelcontextprotocol/sdk/server/mcp.js");
const { completable } = require("@modelcontextprotocol/sdk/server/completable.js");
const { SubscribeRequestSchema, UnsubscribeRequestSchema } = require("@modelcontextprotocol/sdk/types.js");
const { StdioServerTransport } = require("@modelcontextprotocol/sdk/server/stdio.js");
const { z } = require("zod");

const server = new McpServer(
  { name: "classic", title: "Classic", version: "1.2.3" },
  {
    capabilities: { logging: {}, tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } },
    instructions: "Ask it anything.",
  },
);

const text = (words) => ({ content: [{ type: "text", text: words }] });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

server.registerTool("add", {
  description: "Adds two numbers",
  inputSchema: { a: z.number(), b: z.number().default(1) },
  outputSchema: { sum: z.number() },
  annotations: { readOnlyHint: true },
}, async ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }));

server.registerTool("fail", {}, async () => ({ ...text("it is broken"), isError: true }));

server.registerTool("count", { inputSchema: { to: z.number() } }, async ({ to }, extra) => {
  for (let i = 1; i <= to; i++) {
    await extra.sendNotification({
      method: "notifications/progress",
      params: { progressToken: extra._meta.progressToken, progress: i, total: to, message: `at ${i}` },
    });
    await pause(5);
  }
  return text(`counted to ${to}`);
});

server.registerTool("log", {}, async () => {
  await server.sendLoggingMessage({ level: "debug", data: "a detail" });
  await server.sendLoggingMessage({ level: "notice", logger: "x", data: "something" });
  await server.sendLoggingMessage({ level: "critical", data: { message: "trouble", where: "here" } });
  return text("logged");
});

let given = [];
server.registerTool("wait", {}, async (extra) => {
  await new Promise((resolve) => extra.signal.addEventListener("abort", resolve));
  given.push(String(extra.signal.reason));
  return text("never seen");
});
server.registerTool("given", {}, async () => text(given.join(", ")));

server.registerTool("sample", {}, async () => {
  try {
    const answer = await server.server.createMessage({
      messages: [{ role: "user", content: { type: "text", text: "Say something" } }], maxTokens: 10,
    });
    return text(`${answer.model}: ${answer.content.text}`);
  } catch (error) {
    return { ...text(String(error.message)), isError: true };
  }
});

server.registerTool("roots", {}, async () => text(JSON.stringify((await server.server.listRoots()).roots)));

server.registerTool("grow", {}, async () => {
  server.registerTool("new", {}, async () => text("brand new"));
  server.registerPrompt("new", {}, async () => ({ messages: [] }));
  server.registerResource("new", "new://resource", {}, async () => ({ contents: [] }));
  return text("grown");
});

server.registerResource("greeting", new ResourceTemplate("hello://{name}", { list: undefined }), {},
  async (uri, { name }) => ({ contents: [{ uri: uri.href, text: `Hello, ${name}` }] }));

server.registerResource("pixel", "pixel://one", { mimeType: "image/png" },
  async (uri) => ({ contents: [{ uri: uri.href, mimeType: "image/png", blob: "iVBORw0KGgo=" }] }));

server.registerPrompt("praise", {
  description: "Praises something",
  argsSchema: { what: completable(z.string(), (value) => ["tea", "tin"].filter((word) => word.startsWith(value))) },
}, async ({ what }) => ({ messages: [{ role: "user", content: { type: "text", text: `Praise ${what}` } }] }));

const subscribed = new Set();
server.server.setRequestHandler(SubscribeRequestSchema, async ({ params }) => {
  subscribed.add(params.uri);
  return {};
});
server.server.setRequestHandler(UnsubscribeRequestSchema, async ({ params }) => {
  subscribed.delete(params.uri);
  return {};
});
server.registerTool("touch", { inputSchema: { uri: z.string() } }, async ({ uri }) => {
  if (subscribed.has(uri)) await server.server.sendResourceUpdated({ uri });
  return text("touched");
});

server.connect(new StdioServerTransport());
