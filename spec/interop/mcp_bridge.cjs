// Streamable HTTP in front of a stdio server: node mcp_bridge.cjs COMMAND [ARGUMENT…]
// Writes its URL to stdout. Each session with a handshake has a process of its own. Requests without a session share
// one. The bridge ends when its stdin does, and ends its processes before.
const { spawn } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const http = require("node:http");
const readline = require("node:readline");

const MODERN = "2026-07-28";
const VERSION = "io.modelcontextprotocol/protocolVersion";
const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
const MOST_SESSIONS = 256, MOST_BYTES = 4 << 20, MOST_QUEUED = 1000, GRACE_MS = 2000;
const HEADER_MISMATCH = -32020;
const STATUS = { [-32601]: 404, [-32602]: 400, [-32020]: 400, [-32021]: 400, [-32022]: 400 };

const [command, ...args] = process.argv.slice(2);
const processes = new Set();

// {====== One server process, and the HTTP responses that wait for it ======

class Server {
  constructor(isShared) {
    this.isShared = isShared;
    this.pending = new Map(); // by the id on the pipe
    this.queued = []; // messages for the stream of a GET that is not open yet
    this.serial = 0;
    this.child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.child.stdin.on("error", () => {});
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
    this.child.once("error", (error) => console.error(String(error)));
    this.ended.then(() => this.onEnd());
    readline.createInterface({ input: this.child.stdout, crlfDelay: Infinity }).on("line", (line) => this.onLine(line));
    processes.add(this);
  }

  onEnd() {
    processes.delete(this);
    for (const waiting of this.pending.values()) waiting.fail("the server has ended");
    this.pending.clear();
    if (this.listener) this.listener.end();
  }

  async stop() {
    this.child.stdin.end();
    const timer = setTimeout(() => this.child.kill("SIGKILL"), GRACE_MS);
    await this.ended;
    clearTimeout(timer);
  }

  write(message) { this.child.stdin.write(JSON.stringify(message) + "\n"); }

  // Clients without a session choose the same ids and tokens, so they get others on the pipe.
  request(message, response) {
    const waiting = new Waiting(message, response);
    let sent = message;
    let key = message.id;
    if (this.isShared) {
      key = `bridge-${++this.serial}`;
      sent = { ...message, id: key };
      const meta = message.params?._meta;
      waiting.token = meta?.progressToken;
      if (waiting.token !== undefined) sent.params = { ...message.params, _meta: { ...meta, progressToken: key } };
    }
    this.pending.set(key, waiting);
    response.on("close", () => {
      if (this.pending.get(key) !== waiting) return;
      this.pending.delete(key);
      if (this.isShared) this.write({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: key } });
    });
    this.write(sent);
  }

  onLine(line) {
    const message = JSON.parse(line);
    if (message.method === undefined) {
      const waiting = this.pending.get(message.id);
      if (!waiting) return console.error("a response to no request: " + line);
      this.pending.delete(message.id);
      return waiting.finish({ ...message, id: waiting.id });
    }
    const waiting = this.concerned(message);
    if (waiting) return waiting.send(message);
    if (this.listener) return writeEvent(this.listener, message);
    if (this.isShared) return console.error("a message for no request: " + line);
    if (this.queued.length < MOST_QUEUED) this.queued.push(message);
  }

  // The request that a message of the server belongs to. Not every message names it. The newest one is right
  // while a client has one request at a time.
  concerned(message) {
    const { params } = message;
    const id = params?._meta?.[SUBSCRIPTION] ?? (this.isShared ? params?.progressToken : undefined);
    if (id === undefined) return [...this.pending.values()].filter((waiting) => !waiting.isSubscription).pop();
    const waiting = this.pending.get(id);
    if (waiting && params._meta?.[SUBSCRIPTION] !== undefined) params._meta[SUBSCRIPTION] = waiting.id;
    if (waiting && params.progressToken !== undefined) params.progressToken = waiting.token;
    return waiting;
  }

  listen(response) {
    startEvents(response);
    this.listener = response;
    response.on("close", () => { if (this.listener === response) this.listener = undefined; });
    for (const message of this.queued.splice(0)) writeEvent(response, message);
  }
}

// A request over HTTP: its answer is an event stream, or plain JSON with a status if it is an error.
class Waiting {
  constructor(message, response) {
    this.id = message.id;
    this.isSubscription = message.method === "subscriptions/listen";
    this.response = response;
  }

  send(message) {
    if (!this.response.headersSent) startEvents(this.response);
    writeEvent(this.response, message);
  }

  finish(message) {
    if (message.error && !this.response.headersSent) {
      return reply(this.response, STATUS[message.error.code] ?? 200, message);
    }
    this.send(message);
    this.response.end();
  }

  fail(reason) { this.finish({ jsonrpc: "2.0", id: this.id, error: { code: -32603, message: reason } }); }
}

// }======

// {====== HTTP ======

const sessions = new Map();
let shared;

function startEvents(response) {
  response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-cache" });
  response.flushHeaders();
}

function writeEvent(response, message) { response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`); }

function reply(response, status, body) {
  response.writeHead(status, { "Content-Type": "application/json" });
  response.end(body === undefined ? undefined : JSON.stringify(body));
}

function refuse(response, status, message, code = -32600, id = null) {
  reply(response, status, { jsonrpc: "2.0", id, error: { code, message } });
}

function isModern(request, message) {
  return request.headers["mcp-protocol-version"] === MODERN || message.params?._meta?.[VERSION] !== undefined;
}

// The headers repeat members of the message: the first one that differs.
function mismatch(headers, { method, params }) {
  const version = params?._meta?.[VERSION];
  if (version !== undefined && headers["mcp-protocol-version"] !== version) return "MCP-Protocol-Version";
  if (headers["mcp-method"] !== method) return "Mcp-Method";
  const name = { "tools/call": params?.name, "prompts/get": params?.name, "resources/read": params?.uri,
    "tasks/get": params?.taskId, "tasks/update": params?.taskId, "tasks/cancel": params?.taskId }[method];
  if (name !== undefined && headers["mcp-name"] !== name) return "Mcp-Name";
}

function serverOf(request, response, message) {
  if (isModern(request, message)) {
    if (!shared || !processes.has(shared)) shared = new Server(true);
    return shared;
  }
  if (message.method !== "initialize") return sessions.get(request.headers["mcp-session-id"]);
  if (sessions.size >= MOST_SESSIONS) return;
  const id = randomUUID();
  const server = new Server(false);
  sessions.set(id, server);
  server.ended.then(() => sessions.delete(id));
  response.setHeader("Mcp-Session-Id", id);
  return server;
}

function post(request, response, message) {
  if (isModern(request, message)) {
    const header = mismatch(request.headers, message);
    if (header) return refuse(response, 400, `Header mismatch: ${header}`, HEADER_MISMATCH, message.id);
  }
  const server = serverOf(request, response, message);
  if (!server) return refuse(response, 404, "Session not found", -32600, message.id);
  if (message.method !== undefined && message.id !== undefined) return server.request(message, response);
  server.write(message);
  reply(response, 202);
}

async function bodyOf(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new Error("the body is too long");
    parts.push(part);
  }
  return JSON.parse(Buffer.concat(parts).toString());
}

async function handle(request, response) {
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  if (host !== "127.0.0.1" && host !== "localhost") return refuse(response, 403, "Forbidden host");
  if (request.method === "POST") {
    let message;
    try { message = await bodyOf(request); } catch (error) {
      return refuse(response, 400, String(error), -32700);
    }
    return post(request, response, message);
  }
  const server = sessions.get(request.headers["mcp-session-id"]);
  if (!server) return refuse(response, request.headers["mcp-session-id"] ? 404 : 405, "No session");
  if (request.method === "GET") return server.listen(response);
  if (request.method !== "DELETE") return refuse(response, 405, "Method not allowed");
  sessions.delete(request.headers["mcp-session-id"]);
  await server.stop();
  reply(response, 200);
}

const listener = http.createServer((request, response) => {
  handle(request, response).catch((error) => {
    console.error(error);
    response.destroy();
  });
});
listener.requestTimeout = 0;
listener.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${listener.address().port}/mcp`));

// }======

async function end() {
  listener.close();
  listener.closeAllConnections();
  await Promise.all([...processes].map((server) => server.stop()));
  process.exit(0);
}

process.stdin.resume().on("end", end).on("error", end);
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, end);
