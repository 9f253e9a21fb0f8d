// A client made with vscode-languageserver-protocol: starts the server that its arguments name, uses it from the
// handshake to its exit, and prints the results as one JSON object.
"use strict";
const { spawn } = require("child_process");
const lsp = require("vscode-languageserver-protocol/node");

const [kind, ...command] = process.argv.slice(2);
const child = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
const ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(code === null ? signal : code)));

const connection = lsp.createProtocolConnection(
  new lsp.StreamMessageReader(child.stdout), new lsp.StreamMessageWriter(child.stdin));
const seen = { errors: [], logs: [], created: [], reports: [], unhandled: [] };
connection.onError((error) => seen.errors.push(String(error)));
connection.onUnhandledNotification((message) => seen.unhandled.push(message.method));
connection.onNotification(lsp.LogMessageNotification.type, ({ type, message }) => seen.logs.push([type, message]));
connection.listen();

const failure = (promise) => promise.then((result) => ({ result }), ({ code, message }) => ({ code, message }));
const execute = (command, args, workDoneToken, token) =>
  connection.sendRequest(lsp.ExecuteCommandRequest.type, { command, arguments: args, workDoneToken }, token);

async function initialize(capabilities) {
  seen.early = await failure(connection.sendRequest(lsp.HoverRequest.type,
    { textDocument: { uri: "file:///x" }, position: { line: 0, character: 0 } }));
  const params = { processId: process.pid, rootUri: null, workspaceFolders: null, capabilities };
  seen.initialized = await connection.sendRequest(lsp.InitializeRequest.type, params);
  seen.again = await failure(connection.sendRequest(lsp.InitializeRequest.type, params));
  await connection.sendNotification(lsp.InitializedNotification.type, {});
}

const life = {
  // The greeter: commands and their progress.
  async greeter() {
    await initialize({});
    connection.onProgress(lsp.WorkDoneProgress.type, "mine", (value) => seen.reports.push(value));
    seen.greeting = await execute("greet", [{ name: "Ada", times: 2 }], "mine");
    seen.failed = await failure(execute("greet", [{ name: "" }]));
    seen.wrong = await failure(execute("greet", [{ name: 5 }]));
    seen.unknown = await failure(execute("great", []));
    seen.missing = await failure(connection.sendRequest("$/no/such/method", {}));
    await connection.sendNotification("$/no/such/notification", {});
  },

  // A command that sleeps: cancellation, and progress that the server creates.
  async language() {
    await initialize({ window: { workDoneProgress: true } });
    const begun = new Promise((resolve) => {
      connection.onRequest(lsp.WorkDoneProgressCreateRequest.type, ({ token }) => {
        seen.created.push(token);
        connection.onProgress(lsp.WorkDoneProgress.type, token, (value) => {
          seen.reports.push(value);
          resolve(token);
        });
      });
    });
    const source = new lsp.CancellationTokenSource();
    const sleeping = failure(execute("sleep", [], undefined, source.token));
    await begun;
    source.cancel();
    seen.cancelled = await sleeping;
    seen.hover = await connection.sendRequest(lsp.HoverRequest.type,
      { textDocument: { uri: "file:///x" }, position: { line: 0, character: 0 } });
  },

  // The language server: document changes.
  async todo() {
    const published = [];
    const next = () => new Promise((resolve) => published.push(resolve));
    connection.onNotification(lsp.PublishDiagnosticsNotification.type, (params) => published.shift()(params));
    await initialize({ textDocument: { publishDiagnostics: {} } });
    const uri = "file:///notes.lua";
    let told = next();
    await connection.sendNotification(lsp.DidOpenTextDocumentNotification.type,
      { textDocument: { uri, languageId: "lua", version: 1, text: "-- \u{1F600} TODO: eat\n" } });
    seen.opened = await told;
    told = next();
    await connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, {
      textDocument: { uri, version: 2 },
      contentChanges: [{ range: { start: { line: 0, character: 6 }, end: { line: 0, character: 10 } }, text: "FIXME" }],
    });
    seen.changed = await told;
    seen.hover = await connection.sendRequest(lsp.HoverRequest.type,
      { textDocument: { uri }, position: { line: 0, character: 7 } });
  },
};

async function main() {
  await life[kind]();
  seen.shutdown = await connection.sendRequest(lsp.ShutdownRequest.type);
  seen.late = await failure(execute("greet", [{ name: "late" }]));
  await connection.sendNotification(lsp.ExitNotification.type);
  seen.status = await ended;
  console.log(JSON.stringify(seen));
}

main().catch((error) => {
  console.error(error);
  child.kill("SIGKILL");
  process.exitCode = 1;
});
