"use strict";
// The search: what the words in its field mean, how 100,000 rows are searched, and what is highlighted.

// {====== Words: a row has to match all of them; a minus before a word excludes what matches it ======

const WORD = /(-(?!\d))?(?:(method|id|from|over):)?(?:"([^"]*)"|(\S+))/gi;
const UNITS = { "µs": 1e-6, us: 1e-6, ms: 1e-3, s: 1 };

const globOf = (text) => {
  const pattern = text.replace(/[\\^$.|+()[\]{}]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".");
  return new RegExp(`^${pattern}$`, "s");
};

// A test of the method and the operation. A recording has few different names, so each is tested once.
const namesFit = (test) => {
  const results = new Map();
  const fits = (name) => {
    let result = results.get(name);
    if (result === undefined) results.set(name, result = test(name.toLowerCase()));
    return result;
  };
  return (row) => fits(row.method) || fits(row.operation);
};

// A pattern that ignores case is as fast as a search in copies in lower case, which would take memory.
const textFits = (word) => {
  const pattern = new RegExp(word.replace(/[\\^$.|?*+()[\]{}]/g, "\\$&"), "iu");
  const fitsNames = namesFit((name) => pattern.test(name));
  return (row) => fitsNames(row) || pattern.test(row.text);
};

// A method, or the operation that it runs.
const methodFits = (given, isQuoted) => {
  const word = given.toLowerCase();
  if (isQuoted) return namesFit((name) => name === word);
  if (!/[*?]/.test(word)) return namesFit((name) => name.includes(word));
  const glob = globOf(word);
  return namesFit((name) => glob.test(name));
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

const positiveTest = ([, , name, quoted, plain]) => {
  const isQuoted = quoted !== undefined;
  const word = quoted ?? plain;
  if (name) return FITS[name.toLowerCase()](word, isQuoted);
  if (!isQuoted && word.startsWith("#") && word.length > 1) return idFits(word.slice(1));
  return textFits(word);
};

const testOf = (match) => {
  const fits = positiveTest(match);
  return match[1] ? (row) => !fits(row) : fits;
};

// The words that are searched in texts, for highlighting.
const wordsOf = (query) => [...query.matchAll(WORD)]
  .filter(([, minus, name]) => !minus && (!name || name.toLowerCase() === "method"))
  .map(([, , , quoted, plain]) => (quoted ?? plain).toLowerCase()).filter((word) => word && !word.startsWith("#"));

// Whether a row matches the query, the kinds and the time range. A row of a comparison has two sides.
const testFor = ({ query, kinds, range }, known) => {
  const words = [...query.matchAll(WORD)].map(testOf);
  const chosen = [...kinds].map((kind) => known[kind].test);
  const fitsWords = (row) => words.every((test) => test(row));
  return (row) => {
    if (range && (row.time < range[0] || row.time > range[1])) return false;
    if (chosen.length && !chosen.some((test) => test(row))) return false;
    return row.sides ? row.sides.some(fitsWords) : fitsWords(row);
  };
};

// }======

// {====== Long work in slices ======

// The first slice is done at once; the others wait until its result has been painted. So a key press is answered in the
// next frame, however many rows there are.

const SLICE = 4; // milliseconds
const STRIDE = 16; // steps between two looks at the clock

// Calls the job when the next frame has been painted; a page that is not visible has none.
const afterFrame = (job) => requestAnimationFrame(() => setTimeout(job));

class Work {
  constructor() { this.turn = 0; }

  // Runs a generator to its end, and calls onSlice(isDone, result) after each slice. Work started before stops.
  start(steps, onSlice) {
    this.turn += 1;
    this.run(steps, onSlice, this.turn, afterFrame);
  }

  stop() { this.turn += 1; }

  run(steps, onSlice, turn, wait) {
    if (turn !== this.turn) return;
    const end = performance.now() + SLICE;
    let step = { done: false };
    do {
      for (let i = 0; i < STRIDE && !step.done; i++) step = steps.next();
    } while (!step.done && performance.now() < end);
    if (!step.done) wait(() => this.run(steps, onSlice, turn, setTimeout));
    onSlice(step.done, step.value);
  }
}

// Searches in slices, and goes on when there are more rows.
class Search {
  constructor(model, onProgress) {
    this.model = model;
    this.onProgress = onProgress;
    this.work = new Work();
    this.found = [];
    this.at = 0;
    this.test = () => true;
  }

  get isDone() { return this.at >= this.model.rows.length; }

  start(wanted) {
    this.test = testFor(wanted, this.model.kinds);
    this.wanted = wanted;
    this.found = [];
    this.at = 0;
    this.continue();
  }

  // Answers that come later may change whether a request matches.
  get mustRestart() { return this.wanted.kinds.size > 0 || /over:/i.test(this.wanted.query); }

  // onProgress(isFirst) is called after each slice.
  continue() {
    let isFirst = true;
    this.work.start(this.steps(), () => {
      this.onProgress(isFirst);
      isFirst = false;
    });
  }

  *steps() {
    const { rows } = this.model;
    while (this.at < rows.length) {
      const index = this.at++;
      if (this.test(rows[index])) this.found.push(index);
      yield;
    }
  }
}

// }======

// {====== Highlights: in the visible text, if the browser can do that without extra elements ======

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

// }======
