// A server made with vscode-languageserver, which sends its client every kind of request.
"use strict";
const ls = require("vscode-languageserver/node");

const connection = ls.createConnection(ls.ProposedFeatures.all, process.stdin, process.stdout);
const heard = [];
let client;

connection.onInitialize((params) => {
  client = params;
  return {
    capabilities: {
      textDocumentSync: ls.TextDocumentSyncKind.Incremental,
      hoverProvider: true,
      executeCommandProvider: { commands: ["echo", "fail", "ask", "work", "own", "sleep", "heard"] },
      workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
    },
    serverInfo: { name: "node-server", version: "0.1 beta" },
  };
});

connection.onInitialized(async () => {
  heard.push("initialized");
  connection.console.info("ready");
  await connection.client.register(ls.DidChangeConfigurationNotification.type, { section: "node" });
  heard.push("registered");
});

connection.onDidChangeConfiguration(({ settings }) => heard.push(settings));
connection.onHover(({ textDocument }) => ({ contents: textDocument.uri }));
connection.onDidOpenTextDocument(({ textDocument }) => connection.sendDiagnostics({
  uri: textDocument.uri,
  diagnostics: [{ range: ls.Range.create(0, 0, 0, 1), message: "seen", severity: ls.DiagnosticSeverity.Hint }],
}));

const ask = {
  configuration: () => connection.workspace.getConfiguration([{ section: "node.depth" }, { section: "none" }]),
  folders: () => connection.workspace.getWorkspaceFolders(),
  edit: () => connection.workspace.applyEdit({ changes: {} }),
  question: () => connection.window.showWarningMessage("which?", { title: "this" }, { title: "that" }),
  document: () => connection.window.showDocument({ uri: "file:///x" }),
  refresh: () => connection.languages.semanticTokens.refresh(),
  lens: () => connection.sendRequest("workspace/codeLens/refresh"),
};

const commands = {
  echo: (args) => args,
  heard: () => ({ heard, pid: client.processId, options: client.initializationOptions }),
  fail: () => new ls.ResponseError(ls.LSPErrorCodes.RequestFailed, "it failed"),
  ask: ([what]) => ask[what](),
  async work(_, token, progress) {
    progress.begin("working", 0, "begun");
    progress.report(50, "half");
    progress.done();
    return "worked";
  },
  // Progress with a token that the client does not know.
  async own() {
    const progress = await connection.window.createWorkDoneProgress();
    progress.begin("indexing");
    progress.report("3/5");
    progress.done();
  },
  sleep: (_, token) => new Promise((resolve) => {
    connection.console.log("sleeping");
    token.onCancellationRequested(() => {
      heard.push("cancelled");
      resolve(new ls.ResponseError(ls.LSPErrorCodes.RequestCancelled, "woken"));
    });
  }),
};

connection.onExecuteCommand(({ command, arguments: args }, token, progress) => commands[command](args, token, progress));
connection.listen();
