"use strict";
// What the words in the search field mean. A row has to fit all of them.

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

// Ids are numbers or strings, as JSON has them.
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

// The words that are looked for in texts, for marking them there.
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

// The numbers of the rows that fit a query, the kinds that are asked for, and a time.
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
