"use strict";
// What was recorded: rows in the order in which they came, calls with their answers, and what is open when.

const CALLS = new Set(["request", "result", "error"]);
const WRONG = new Set(["error", "other", "noise", "failure"]);
const SLOTS = 4; // calls that are drawn beside each other on a lane

const readBlocks = (className) => [...document.querySelectorAll(`script.${className}`)].map((block) => {
  const value = JSON.parse(block.textContent);
  block.remove(); // or its text would be kept twice
  return value;
});

const toRow = ([time, from, kind, text, method, id, request, bytes, note], index) => ({
  index, time, from, kind, text, method: method ?? "", id, request: request ?? -1, answer: -1, bytes, note,
  lower: null, lowerMethod: (method ?? "").toLowerCase(), latency: -1,
});

const joinPairs = (rows) => {
  for (const row of rows) {
    if (row.request < 0) continue;
    const request = rows[row.request];
    request.answer = row.index;
    row.latency = request.latency = Math.max(0, Math.round((row.time - request.time) * 1e6) / 1e6);
  }
};

// For each slot of a lane, whose call it shows at each row: drawing a row has to look for nothing.
const occupySlots = (rows, asked) => {
  const slots = Array.from({ length: SLOTS }, () => new Int32Array(rows.length).fill(-1));
  const busyUntil = new Array(SLOTS).fill(-1);
  for (const row of rows) {
    if (row.kind !== "request" || row.answer < 0 || row.from === asked) continue;
    const free = busyUntil.findIndex((until) => until < row.index);
    if (free < 0) continue;
    busyUntil[free] = row.answer;
    slots[free].fill(row.index, row.index, row.answer + 1);
  }
  return slots;
};

const isWrong = (row) => WRONG.has(row.kind) || isUnanswered(row);
const isUnanswered = (row) => row.kind === "request" && row.answer < 0;
const otherHalf = (row) => (row.answer >= 0 ? row.answer : row.request);

const readModel = () => {
  const rows = readBlocks("rows").flat().map(toRow);
  joinPairs(rows);
  return {
    rows,
    summary: readBlocks("summary")[0],
    slots: { host: occupySlots(rows, "host"), plugin: occupySlots(rows, "plugin") },
    end: rows.reduce((end, row) => Math.max(end, row.time), 0),
    slowest: rows.reduce((slowest, row) => Math.max(slowest, row.latency), 0),
  };
};
