"use strict";
// A recording: rows in their order, calls with their answers, and the open calls at each row. It grows.

const CALLS = new Set(["request", "result", "failed", "error"]);
const WRONG = new Set(["failed", "error", "other", "noise", "failure"]);
const STREAMS = new Set(["subscriptions/listen"]); // open until either side ends the conversation
const CANCELLING = { "notifications/cancelled": "requestId", "$/cancelRequest": "id", cancel: "id" }; // the member
const SLOTS = 4; // open calls drawn side by side on a lane

const toRow = ([time, from, kind, text, method, id, request, bytes, note, operation], index) => ({
  index, time, from, kind, text, method: method ?? "", operation: operation ?? "", id, request: request ?? -1,
  answer: -1, bytes, note, latency: -1, isLost: false, isCancelled: false,
});

const isJson = (row) => CALLS.has(row.kind) || row.kind === "notification" || row.kind === "other";
const isUnanswered = (row) => row.isLost;
const isStray = (row) => row.kind === "result" && row.request < 0;
const isWrong = (row) => (row.sides ? row.sides.some(isWrong)
  : WRONG.has(row.kind) || row.isLost || isStray(row));
const otherHalf = (row) => (row.answer >= 0 ? row.answer : row.request);

// Noise and stderr that are not UTF-8 are recorded in base64.
const textOf = (row) => {
  if (isJson(row) || !/^base64\b/.test(row.note ?? "")) return row.text;
  try {
    return bytesAsText(row.text);
  } catch {
    return row.text; // cut, or not base64 after all
  }
};

// What a row is called: by its operation if it has one.
const nameOf = (row) => row.operation || row.method;

const KINDS = {
  calls: { name: "Calls", test: (row) => CALLS.has(row.kind) },
  notices: { name: "Notifications", test: (row) => row.kind === "notification" },
  stderr: { name: "stderr", test: (row) => row.kind === "stderr" },
  noise: { name: "Noise", test: (row) => row.kind === "noise" || row.kind === "other" },
  trouble: { name: "Trouble", test: isWrong },
};

class Recording {
  constructor() {
    this.rows = [];
    this.facts = {};
    this.end = 0;
    this.slowest = 0;
    this.messages = 0;
    this.isOver = false;
    this.kinds = KINDS;
    this.counts = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, 0]));
    this.waiting = new Set(); // the requests without an answer so far
    const emptySlots = () => Array.from({ length: SLOTS }, () => ({ owners: [], busyUntil: -1 }));
    this.slots = { host: emptySlots(), plugin: emptySlots() };
  }

  // Rows are arrays, facts are objects.
  append(entries) {
    for (const entry of entries) {
      if (Array.isArray(entry)) this.appendRow(toRow(entry, this.rows.length));
      else Object.assign(this.facts, entry);
    }
  }

  appendRow(row) {
    this.rows.push(row);
    this.end = Math.max(this.end, row.time);
    if (isJson(row)) this.messages += 1;
    for (const side of Object.values(this.slots)) for (const slot of side) slot.owners.push(-1);
    if (row.kind === "request") this.waiting.add(row.index);
    if (row.request >= 0) this.join(row);
    if (row.kind === "notification" && Object.hasOwn(CANCELLING, row.method)) this.cancel(row);
    this.count(row);
  }

  count(row) {
    for (const kind in KINDS) if (KINDS[kind].test(row)) this.counts[kind] += 1;
  }

  join(answer) {
    const request = this.rows[answer.request];
    request.answer = answer.index;
    this.waiting.delete(request.index);
    answer.latency = request.latency = Math.max(0, Math.round((answer.time - request.time) * 1e6) / 1e6);
    this.slowest = Math.max(this.slowest, answer.latency);
    this.occupySlot(request, answer);
  }

  // A cancelled request need not be answered.
  cancel(row) {
    const params = memberAt(row.text, "params");
    const at = params < 0 ? -1 : memberAt(row.text, CANCELLING[row.method], params);
    if (at < 0) return;
    const id = tokenAt(row.text, at).text;
    for (const index of this.waiting) {
      const request = this.rows[index];
      if (request.id === id && request.from === row.from) request.isCancelled = true;
    }
  }

  // The call in each slot of a lane at each row, so that drawing a row needs no search.
  occupySlot(request, answer) {
    const slot = this.slots[answer.from].find(({ busyUntil }) => busyUntil < request.index);
    if (!slot) return;
    slot.busyUntil = answer.index;
    slot.owners.fill(request.index, request.index, answer.index + 1);
  }

  // Nothing follows: requests that still wait were never answered.
  finish() {
    if (this.isOver) return;
    this.isOver = true;
    for (const index of this.waiting) {
      const row = this.rows[index];
      row.isLost = !row.isCancelled && !STREAMS.has(row.method);
      if (row.isLost) this.counts.trouble += 1;
    }
  }

  // Calls put(lane, time, isWrong) for the marks of a row in the overview.
  markRow(row, put) { put(row.from || "plugin", row.time, isWrong(row)); }

  otherHalf(row) { return otherHalf(row); }

  draw(row, chosen, isShown) { return drawRow(row, this, chosen, isShown); }
}
