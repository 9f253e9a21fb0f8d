// A server written with @modelcontextprotocol/server, of the era without a handshake. With MCP_LEGACY=reject it has no
// other.
const { McpServer, ResourceTemplate, completable, inputRequired } = require("@modelcontextprotocol/server");
const { serveStdio } = require("@modelcontextprotocol/server/stdio");
const { z } = require("zod");

const text = (words) => ({ content: [{ type: "text", text: words }] });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const given = [];

function create({ era }) {
  const server = new McpServer(
    { name: "modern", version: "3.2.1" },
    { capabilities: {
      logging: {}, tools: { listChanged: true }, resources: { subscribe: true, listChanged: true },
    }, instructions: `This is ${era}.` },
  );

  server.registerTool("add", {
    description: "Adds two numbers",
    inputSchema: z.object({ a: z.number(), b: z.number().default(1) }),
    outputSchema: z.object({ sum: z.number() }),
  }, async ({ a, b }) => ({ ...text(JSON.stringify({ sum: a + b })), structuredContent: { sum: a + b } }));

  server.registerTool("fail", {}, async () => ({ ...text("it is broken"), isError: true }));

  server.registerTool("count", { inputSchema: z.object({ to: z.number() }) }, async ({ to }, ctx) => {
    for (let i = 1; i <= to; i++) {
      await ctx.mcpReq.notify({
        method: "notifications/progress",
        params: { progressToken: ctx.mcpReq._meta.progressToken, progress: i, total: to, message: `at ${i}` },
      });
      await pause(5);
    }
    return text(`counted to ${to}`);
  });

  server.registerTool("log", {}, async (ctx) => {
    await ctx.mcpReq.log("debug", "a detail");
    await ctx.mcpReq.log("notice", "something", "x");
    await ctx.mcpReq.log("critical", { message: "trouble", where: "here" });
    return text("logged");
  });

  server.registerTool("wait", {}, async (ctx) => {
    await new Promise((resolve) => ctx.mcpReq.signal.addEventListener("abort", resolve));
    given.push("stopped");
    return text("never seen");
  });
  server.registerTool("given", {}, async () => text(given.join(", ")));

  server.registerTool("ask", {}, async (ctx) => {
    const answer = ctx.mcpReq.inputResponses?.name;
    if (answer) return text(`${answer.action}: ${answer.content?.name}`);
    return inputRequired({
      inputRequests: {
        name: inputRequired.elicit({
          message: "Who are you?",
          requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
        }),
      },
    });
  });

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
    argsSchema: z.object({
      what: completable(z.string(), (value) => ["tea", "tin"].filter((word) => word.startsWith(value))),
    }),
  }, async ({ what }) => ({ messages: [{ role: "user", content: { type: "text", text: `Praise ${what}` } }] }));

  server.registerTool("touch", { inputSchema: z.object({ uri: z.string() }) }, async ({ uri }) => {
    await server.server.sendResourceUpdated({ uri });
    return text("touched");
  });

  return server;
}

serveStdio(create, { legacy: process.env.MCP_LEGACY ?? "serve" });
