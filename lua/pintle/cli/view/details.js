"use strict";
// A text in full: JSON with one member per line and in colours, anything else unchanged. Long lines are wrapped.

const LINE = 18; // pixels, as in the style sheet
const INDENT = 2;

const isJson = (row) => CALLS.has(row.kind) || row.kind === "notification" || row.kind === "other";

const plainLines = (text) =>
  text.split("\n").map((line) => ({ depth: 0, tokens: [{ text: line, kind: "plain" }] }));

const textOfLine = (line) => " ".repeat(INDENT * line.depth) + line.tokens.map((token) => token.text).join("");

const prettyText = (row) => (isJson(row) ? linesOf(row.text).map(textOfLine).join("\n") : row.text);

// How much of a text fits into a number of columns. East Asian characters and emoji take about two.
const fitting = (text, columns) => {
  const beginning = text.slice(0, columns + 1);
  if (!/[\u1100-\uffff]/.test(beginning)) return Math.min(columns, text.length);
  let used = 0;
  let units = 0;
  for (const sign of beginning) {
    used += sign >= "\u1100" ? 2 : 1;
    if (used > columns) return Math.max(units, sign.length);
    units += sign.length;
  }
  return units;
};

// Wraps a line.
const wrap = (line, columns, into) => {
  const indent = Math.min(INDENT * line.depth, columns >> 1);
  let piece = { indent, tokens: [] };
  let room = columns - indent;
  for (const token of line.tokens) {
    let text = visible(token.text);
    for (let fits = fitting(text, room); fits < text.length; fits = fitting(text, room)) {
      piece.tokens.push({ text: text.slice(0, fits), kind: token.kind });
      text = text.slice(fits);
      into.push(piece);
      piece = { indent, tokens: [] };
      room = columns - indent;
    }
    piece.tokens.push({ text, kind: token.kind });
    room -= text.length;
  }
  into.push(piece);
};

class Payload {
  constructor(element) {
    this.element = element;
    this.lines = [];
    this.pieces = [];
    this.list = new VirtualList(element, LINE, (i) => this.drawLine(i));
    new ResizeObserver(coalesce(() => this.fit())).observe(element);
  }

  drawLine(index) {
    const { indent, tokens } = this.pieces[index];
    const line = make("div", "line");
    line.style.paddingLeft = `${indent}ch`;
    line.append(...tokens.map((token) => make("span", `json-${token.kind}`, token.text)));
    return line;
  }

  columns() {
    const probe = this.element.appendChild(make("span", "probe", "0".repeat(100)));
    const width = probe.getBoundingClientRect().width / 100;
    probe.remove();
    return Math.max(20, Math.floor((this.element.clientWidth - 28) / (width || 8)));
  }

  fit() {
    if (!this.element.clientWidth) return;
    const columns = this.columns();
    if (columns === this.fitted) return;
    this.fitted = columns;
    this.pieces = [];
    for (const line of this.lines) wrap(line, columns, this.pieces);
    this.list.show(this.pieces.length);
  }

  show(row) {
    this.lines = isJson(row) ? linesOf(row.text) : plainLines(row.text);
    this.fitted = 0;
    this.element.scrollTop = 0;
    this.fit();
  }
}

// The details of one row, and its text in full.

const OTHER = { host: "plugin", plugin: "host" };

const headingOf = (row) => {
  if (row.method) return visible(row.method);
  return { other: "Not a JSON-RPC message", noise: "Noise", stderr: "stderr" }[row.kind] ?? visible(row.kind);
};

const factsOf = (row, rows) => {
  const facts = [["kind", row.kind], ["time", `${seconds(row.time)} s`]];
  if (row.from) facts.push(["from", ARROWS.has(row.kind) ? `${row.from} to ${OTHER[row.from]}` : row.from]);
  if (row.id !== null) facts.push(["id", visible(row.id)]);
  if (row.latency >= 0) facts.push(["latency", duration(row.latency)]);
  if (isUnanswered(row)) facts.push(["latency", "never answered"]);
  if (row.index > 0) facts.push(["gap", duration(Math.max(0, row.time - rows[row.index - 1].time))]);
  if (row.note) facts.push(["note", visible(row.note)]);
  if (row.bytes) facts.push(["cut", `only the beginning of ${size(row.bytes)} is here; see --payload`]);
  return facts;
};

// If the page has no access to the clipboard, the browser copies a selection instead.
const copyMarked = (text) => {
  const field = document.body.appendChild(make("textarea"));
  field.value = text;
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  return isDone;
};

const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyMarked(text);
  }
};

class Details {
  constructor(element, rows, { onJump, onClose }) {
    this.element = element;
    this.rows = rows;
    this.row = null;
    this.payload = new Payload(find(".payload", element));
    this.pair = find(".pair", element);
    this.pair.addEventListener("click", () => onJump(otherHalf(this.row)));
    find(".close", element).addEventListener("click", onClose);
    this.offerCopy(".copy", prettyText);
    this.offerCopy(".raw", (row) => row.text);
  }

  offerCopy(selector, textOf) {
    const button = find(selector, this.element);
    const name = button.textContent;
    button.addEventListener("click", async () => {
      button.textContent = (await copy(textOf(this.row))) ? "Copied" : "Not copied";
      setTimeout(() => { button.textContent = name; }, 1200);
    });
  }

  show(row) {
    if (this.row === row) return;
    this.row = row;
    find("h2", this.element).textContent = headingOf(row);
    find("h2", this.element).className = isWrong(row) ? "wrong" : "";
    const facts = factsOf(row, this.rows).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]);
    find("dl", this.element).replaceChildren(...facts);
    this.pair.hidden = otherHalf(row) < 0;
    this.pair.textContent = row.answer >= 0 ? "Answer ↓" : "Request ↑";
    this.payload.show(row);
  }
}
