"use strict";
// A text in full: JSON with a member a line and in colours, anything else as it is. Long lines are wrapped.

const LINE = 18; // pixels, as the style has it
const INDENT = 2;

const isJson = (row) => CALLS.has(row.kind) || row.kind === "notification" || row.kind === "other";

const plainLines = (text) =>
  text.split("\n").map((line) => ({ depth: 0, tokens: [{ text: line, kind: "plain" }] }));

const textOfLine = (line) => " ".repeat(INDENT * line.depth) + line.tokens.map((token) => token.text).join("");

const prettyText = (row) => (isJson(row) ? linesOf(row.text).map(textOfLine).join("\n") : row.text);

// How much of a text fits into so many columns. Characters of the far east and pictures take two, about.
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

// A line as several that fit.
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
