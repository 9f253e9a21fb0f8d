"use strict";
// Two recordings side by side: messages of the same kind and operation are paired, in their order.

const MAX_EDITS = 150; // of one run of the alignment; then what was found so far is kept, and a new run begins
const SLOWER = 1.5; // an answer that takes this many times as long is marked
const NOTABLE = 0.0005; // seconds: smaller differences are not marked

// Where a diagonal is entered with one more edit: downwards, so that an element of b is skipped, or to the right. The
// furthest of both wins; nothing if neither stays within the lists.
const enter = (reach, k, width, height) => {
  const down = reach.has(k + 1) && reach.get(k + 1) - k <= height ? reach.get(k + 1) : -1;
  const right = reach.has(k - 1) && reach.get(k - 1) < width ? reach.get(k - 1) + 1 : -1;
  if (down < 0 && right < 0) return null;
  return down >= right ? { x: down, isDown: true } : { x: right, isDown: false };
};

// One run of the algorithm of Myers, from a place in both lists on: the reached place, and the way to it.
const runOf = (a, b, x0, y0) => {
  const [width, height] = [a.length - x0, b.length - y0];
  const steps = []; // the furthest place on each diagonal, by the number of edits
  for (let edits = 0; ; edits++) {
    const reach = new Map();
    let best = { x: -1, y: -1 };
    for (let k = -edits; k <= edits; k += 2) {
      let { x } = edits === 0 ? { x: 0 } : enter(steps[edits - 1], k, width, height) ?? { x: -1 };
      if (x < 0) continue;
      while (x < width && x - k < height && a[x0 + x] === b[y0 + x - k]) x++;
      reach.set(k, x);
      if (2 * x - k > best.x + best.y) best = { x, y: x - k };
    }
    steps.push(reach);
    if (edits >= MAX_EDITS || best.x + best.y === width + height) return { ...best, steps, edits, width, height };
  }
};

// The pairs of one run, found backwards from the place that it has reached.
const pairsOfRun = ({ x, y, steps, edits, width, height }, x0, y0) => {
  const pairs = [];
  for (let edit = edits; edit >= 0; edit--) {
    const from = edit === 0 ? { x: 0 } : enter(steps[edit - 1], x - y, width, height);
    while (x > from.x) pairs.push([x0 + --x, y0 + --y]);
    if (edit > 0) pairs.push(from.isDown ? [-1, y0 + --y] : [x0 + --x, -1]);
  }
  return pairs.reverse();
};

// Pairs of places in two lists; -1 where one list has nothing.
const align = (a, b) => {
  const pairs = [];
  let x = 0;
  let y = 0;
  while (x < a.length || y < b.length) {
    const run = runOf(a, b, x, y);
    for (const pair of pairsOfRun(run, x, y)) pairs.push(pair);
    [x, y] = [x + run.x, y + run.y];
  }
  return pairs;
};

const SAME_KIND = { failed: "result", error: "result", failure: "exit" };

const keyOf = (row) => `${row.from} ${SAME_KIND[row.kind] ?? row.kind} ${row.method} ${row.operation}`;

// Ids are chosen anew in each conversation.
const withoutId = (row) => (row.id === null ? row.text
  : row.text.replace(`"id":${row.id}`, '"id":').replace(`"id": ${row.id}`, '"id":'));

const changeOf = (left, right) => {
  if (!left) return "right";
  if (!right) return "left";
  return withoutId(left) === withoutId(right) ? "same" : "differs";
};

const toPair = (left, right, index) => {
  const main = right ?? left;
  const sides = [left, right].filter(Boolean);
  return {
    ...main, index, left, right, sides, change: changeOf(left, right), request: -1, answer: -1, isLost: false,
    latency: sides.reduce((slowest, side) => Math.max(slowest, side.latency), -1),
  };
};

class Comparison {
  constructor(first, second) {
    Object.assign(this, { first, second, facts: {}, isOver: true, slots: {}, waiting: new Set() });
    const pairs = align(first.rows.map(keyOf), second.rows.map(keyOf));
    this.rows = pairs.map(([x, y], index) => toPair(first.rows[x] ?? null, second.rows[y] ?? null, index));
    this.end = Math.max(first.end, second.end);
    this.slowest = Math.max(first.slowest, second.slowest);
    this.messages = first.messages + second.messages;
    this.names = { a: first.facts.name, b: second.facts.name };
    this.linkHalves();
    const isDifferent = (pair) => pair.change !== "same";
    this.kinds = { different: { name: "Different", test: isDifferent }, ...KINDS };
    this.counts = Object.fromEntries(Object.entries(this.kinds)
      .map(([kind, { test }]) => [kind, this.rows.filter(test).length]));
  }

  // The pair of the answer, or of the request, of each pair.
  linkHalves() {
    const places = { left: [], right: [] };
    for (const pair of this.rows) {
      for (const side in places) if (pair[side]) places[side][pair[side].index] = pair.index;
    }
    for (const pair of this.rows) {
      const side = pair.right ? "right" : "left";
      pair.half = places[side][otherHalf(pair[side])] ?? -1;
    }
  }

  otherHalf(pair) { return pair.half; }

  markRow({ left, right }, put) {
    if (left) put("host", left.time, isWrong(left));
    if (right) put("plugin", right.time, isWrong(right));
  }

  draw(pair, chosen) { return drawPair(pair, this, chosen); }
}

// {====== A pair as a row ======

const CHANGES = { same: "=", differs: "≠", left: "−", right: "+" };
const CHANGE_NAMES = { same: "the same", differs: "different", left: "only in A", right: "only in B" };
const DIRECTIONS = { host: "→", plugin: "←" };

const drawSide = (row, side) => {
  const cell = make("span", `side ${side}`);
  if (!row) return cell;
  cell.classList.add(row.kind, `from-${row.from || "nobody"}`);
  if (isWrong(row)) cell.classList.add("wrong");
  cell.append(make("i", "way", DIRECTIONS[row.from] ?? "·"), labelOf(row), previewOf(row));
  return cell;
};

const isSlower = (a, b) => b > a * SLOWER && b - a > NOTABLE;

const drawTook = (row, other) => {
  const cell = make("span", "took", row && row.request >= 0 ? duration(row.latency) : "");
  if (row && other && row.request >= 0 && other.request >= 0) {
    if (isSlower(other.latency, row.latency)) cell.classList.add("slower");
    if (isSlower(row.latency, other.latency)) cell.classList.add("faster");
  }
  return cell;
};

const drawPair = (pair, model, chosen) => {
  const element = rowElement(pair, chosen, `pair change-${pair.change}`);
  if (chosen && chosen !== pair && chosen.half === pair.index) element.classList.add("half");
  const sign = make("span", "sign", CHANGES[pair.change]);
  sign.title = CHANGE_NAMES[pair.change];
  element.append(drawSide(pair.left, "a"), drawTook(pair.left, null), sign, drawSide(pair.right, "b"),
    drawTook(pair.right, pair.left));
  return element;
};

// }======

// {====== A pair in full ======

const comparedFacts = (pair) => {
  const both = (show) => [pair.left, pair.right].map((row) => (row ? show(row) : "–")).join(" | ");
  const facts = [["change", CHANGE_NAMES[pair.change]], ["time A | B", both((row) => `${seconds(row.time)} s`)]];
  if (pair.operation) facts.push(["method", visible(pair.method)]);
  if (pair.latency >= 0) facts.push(["latency A | B", both((row) => (row.latency >= 0 ? duration(row.latency) : "–"))]);
  if (pair.id !== null) facts.push(["id A | B", both((row) => visible(String(row.id)))]);
  return facts;
};

const MARKS = { removed: "- ", added: "+ " };

const textOfMarked = (line) => (MARKS[line.mark] ?? "  ") + textOfLine(line);

const linesOfSide = (row) => (row ? (isJson(row) ? linesOf(row.text) : plainLines(textOf(row))) : []);

// The lines of both, those of A that B does not have as removed.
const comparedLines = ({ left, right }) => {
  const [a, b] = [linesOfSide(left), linesOfSide(right)];
  const plain = (line) => ({ ...line, end: 0, count: 0 }); // a difference has no folds
  const keyOfLine = (line) => (line.depth === 1 && line.tokens[0].text === '"id"' ? '"id"' : textOfLine(line));
  return align(a.map(keyOfLine), b.map(keyOfLine)).map(([x, y]) => {
    if (x < 0) return { ...plain(b[y]), mark: "added" };
    return y < 0 ? { ...plain(a[x]), mark: "removed" } : plain(b[y]);
  });
};

// }======
