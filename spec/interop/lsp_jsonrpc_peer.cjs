// A peer made with plain vscode-jsonrpc, over its own stdin and stdout: calls back, cancels, reports.
"use strict";
const rpc = require("vscode-jsonrpc/node");

const connection = rpc.createMessageConnection(
  new rpc.StreamMessageReader(process.stdin), new rpc.StreamMessageWriter(process.stdout));
const progress = new rpc.ProgressType();

connection.onRequest("echo", (value) => value);
connection.onRequest("positional", (a, b) => [a, b]);
connection.onRequest("fail", () => new rpc.ResponseError(-32050, "on purpose", { a: 1 }));
connection.onRequest("raise", () => { throw new Error("thrown"); });

// Calls the other side, and returns its answer.
connection.onRequest("callBack", ({ method, params }) => connection.sendRequest(method, params)
  .then((result) => ({ result }), ({ code, message }) => ({ code, message })));

// A token that was cancelled before the handler ran fires no event.
connection.onRequest("sleep", (_, token) => new Promise((resolve) => {
  const wake = () => resolve(new rpc.ResponseError(-32800, "woken"));
  if (token.isCancellationRequested) wake(); else token.onCancellationRequested(wake);
}));

// Sends a request, and cancels it when the other side reports that its handler has begun.
connection.onRequest("cancelYours", async ({ method }) => {
  const source = new rpc.CancellationTokenSource();
  const begun = new Promise((resolve) => connection.onNotification("begun", resolve));
  const answer = connection.sendRequest(method, {}, source.token)
    .then((result) => ({ result }), ({ code, message }) => ({ code, message }));
  await begun;
  source.cancel();
  return answer;
});

connection.onRequest("work", async ({ workDoneToken }) => {
  for (const value of [1, 2, 3]) await connection.sendProgress(progress, workDoneToken, value);
  return "done";
});

connection.onRequest("listen", async ({ method, token }) => {
  const values = [];
  connection.onProgress(progress, token, (value) => values.push(value));
  const result = await connection.sendRequest(method, { workDoneToken: token });
  return { result, values };
});

connection.onNotification("bye", () => { connection.end(); process.exit(0); });
connection.listen();
