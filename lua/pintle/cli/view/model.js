"use strict";
// The recording: rows in their order, calls with their answers, and the open calls at each row.

const CALLS = new Set(["request", "result", "error"]);
const WRONG = new Set(["error", "other", "noise", "failure"]);
const SLOTS = 4; // open calls drawn side by side on a lane

const readBlocks = (className) => [...document.querySelectorAll(`script.${className}`)].map((block) => {
  const value = JSON.parse(block.textContent);
  block.remove(); // so that its text is not kept twice
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

// The call in each slot of a lane at each row, so that drawing a row needs no search.
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

// The words of the search field. A row has to match all of them.

const WORD = /(?:(method|id|from|over):)?(?:"([^"]*)"|(\S+))/gi;
const UNITS = { "µs": 1e-6, us: 1e-6, ms: 1e-3, s: 1 };

const globOf = (text) => {
  const pattern = text.replace(/[\\^$.|+()[\]{}]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  return new RegExp(`^${pattern}$`, "s");
};

const textFits = (word) => (row) => {
  row.lower ??= row.text.toLowerCase();
  return row.lower.includes(word) || row.lowerMethod.includes(word);
};

const methodFits = (given, isQuoted) => {
  const word = given.toLowerCase();
  if (isQuoted) return (row) => row.lowerMethod === word;
  if (!/[*?]/.test(word)) return (row) => row.lowerMethod.includes(word);
  const glob = globOf(word);
  return (row) => glob.test(row.lowerMethod);
};

// Ids are numbers or strings, in JSON notation.
const idFits = (word) => (row) => row.id !== null && (row.id === word || row.id === JSON.stringify(word));

const overFits = (word) => {
  const [, digits, unit] = /^([\d.]+)(µs|us|ms|s)?$/.exec(word) ?? [];
  if (!digits) return () => true; // still being typed
  const limit = Number(digits) * (UNITS[unit] ?? 1e-3);
  return (row) => row.latency > limit;
};

const fromFits = (word) => (row) => row.from.startsWith(word.toLowerCase());

const FITS = { method: methodFits, id: idFits, from: fromFits, over: overFits };

const testOf = (match) => {
  const isQuoted = match[2] !== undefined;
  const word = match[2] ?? match[3];
  if (match[1]) return FITS[match[1].toLowerCase()](word, isQuoted);
  if (!isQuoted && word.startsWith("#") && word.length > 1) return idFits(word.slice(1));
  return textFits(word.toLowerCase());
};

// The words that are searched in texts, for highlighting.
const wordsOf = (query) => [...query.matchAll(WORD)]
  .filter((match) => !match[1] || match[1].toLowerCase() === "method")
  .map((match) => (match[2] ?? match[3]).toLowerCase()).filter((word) => word && !word.startsWith("#"));

const KINDS = {
  calls: { name: "Calls", test: (row) => CALLS.has(row.kind) },
  notices: { name: "Notifications", test: (row) => row.kind === "notification" },
  stderr: { name: "stderr", test: (row) => row.kind === "stderr" },
  noise: { name: "Noise", test: (row) => row.kind === "noise" || row.kind === "other" },
  trouble: { name: "Trouble", test: isWrong },
};

// The indexes of the rows that match the query, the kinds and the time range.
const select = (rows, { query, kinds, range }) => {
  const tests = [...query.matchAll(WORD)].map(testOf);
  const chosen = [...kinds].map((kind) => KINDS[kind].test);
  if (chosen.length) tests.unshift((row) => chosen.some((test) => test(row)));
  if (range) tests.unshift((row) => row.time >= range[0] && row.time <= range[1]);
  const found = new Int32Array(rows.length);
  let count = 0;
  for (const row of rows) {
    if (tests.every((test) => test(row))) found[count++] = row.index;
  }
  return found.subarray(0, count);
};

// Highlights the searched words in the visible text, if the browser can do that without extra elements.

function* rangesOf(node, words) {
  const text = node.data.toLowerCase();
  if (text.length !== node.length) return; // the lower case of some characters is longer
  for (const word of words) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      const [startOffset, endOffset] = [at, at + word.length];
      yield new StaticRange({ startContainer: node, startOffset, endContainer: node, endOffset });
    }
  }
}

const mark = (element, words) => {
  if (!CSS.highlights) return;
  CSS.highlights.clear();
  if (!words.length) return;
  const ranges = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) ranges.push(...rangesOf(walker.currentNode, words));
  CSS.highlights.set("found", new Highlight(...ranges));
};
