"use strict";
// A text in full: JSON with one member per line, in colours and with folds; anything else unchanged. Long lines are
// wrapped.

const LINE = 18; // pixels, as in the style sheet
const INDENT = 2;
const LONG = { text: 2000, base64: 160 }; // characters of a string; the rest of a longer one is folded
const KEPT = { text: 240, base64: 24 }; // characters that are left of it
const BASE64_STRING = /^"[\w+/=-]+"$/;

const plainLines = (text) =>
  text.split("\n").map((line) => ({ depth: 0, tokens: [{ text: line, kind: "plain" }], end: 0, count: 0 }));

const textOfLine = (line) => " ".repeat(INDENT * line.depth) + line.tokens.map((token) => token.text).join("");

const prettyText = (row) => (isJson(row) ? linesOf(row.text).map(textOfLine).join("\n") : textOf(row));

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

// Wraps tokens into pieces of one line each.
const wrap = (tokens, depth, columns, piece, into) => {
  const indent = Math.min(INDENT * depth, columns >> 1);
  const begin = (fold) => ({ fold, line: piece.line, mark: piece.mark, indent, tokens: [] });
  let current = begin(piece.fold);
  let room = columns - indent;
  for (const token of tokens) {
    let text = visible(token.text);
    if (token.opens && text.length > room) { // a button is not split
      into.push(current);
      current = begin();
      room = columns - indent;
    }
    for (let fits = fitting(text, room); fits < text.length && !token.opens; fits = fitting(text, room)) {
      current.tokens.push({ ...token, text: text.slice(0, fits) });
      text = text.slice(fits);
      into.push(current);
      current = begin();
      room = columns - indent;
    }
    current.tokens.push({ ...token, text });
    room -= text.length;
  }
  into.push(current);
};

const isMultiline = (token) => token.kind === "string" && token.text.includes("\\n");

// The lines of a string, or nothing if it was cut.
const linesOfString = (token) => {
  try {
    return JSON.parse(token.text).split("\n");
  } catch {
    return null;
  }
};

const shortened = (token) => {
  if (token.kind !== "string" || token.text.length <= LONG.base64) return [token];
  const form = BASE64_STRING.test(token.text) ? "base64" : "text";
  if (token.text.length <= LONG[form]) return [token];
  return [
    { text: token.text.slice(0, KEPT[form]), kind: token.kind },
    { text: `… ${number(token.text.length - KEPT[form])} more characters`, kind: "more", opens: "whole" },
  ];
};

class Payload {
  constructor(element) {
    this.element = element;
    this.isText = false; // whether strings of several lines are shown as lines
    this.lines = [];
    this.pieces = [];
    this.folded = new Set();
    this.whole = new Set(); // lines whose long strings are shown in full
    this.list = new VirtualList(element, LINE, (i) => this.drawLine(i));
    new ResizeObserver(coalesce(() => this.fit())).observe(element);
    element.addEventListener("click", (event) => this.clicked(event));
  }

  drawFold(piece) {
    const button = make("button", "fold");
    button.type = "button";
    button.dataset.line = piece.fold;
    button.setAttribute("aria-expanded", String(!this.folded.has(piece.fold)));
    button.setAttribute("aria-label", "Fold");
    button.style.left = `${piece.indent}ch`;
    return button;
  }

  drawToken(token, piece) {
    if (token.kind !== "more") return make("span", `json-${token.kind}`, token.text);
    const button = make("button", "more", token.text);
    button.type = "button";
    button.dataset[token.opens] = piece.line;
    return button;
  }

  drawLine(index) {
    const piece = this.pieces[index];
    const line = make("div", `line ${piece.mark ?? ""}`);
    line.style.paddingLeft = `calc(${piece.indent}ch + 14px)`;
    if (piece.fold !== undefined) line.append(this.drawFold(piece));
    line.append(...piece.tokens.map((token) => this.drawToken(token, piece)));
    return line;
  }

  clicked(event) {
    const { line, whole } = event.target.dataset;
    if (line !== undefined) this.toggle(Number(line));
    if (whole !== undefined) this.whole.add(Number(whole));
    if (line !== undefined || whole !== undefined) this.refit(line);
  }

  toggle(index) {
    if (!this.folded.delete(index)) this.folded.add(index);
  }

  get hasFolds() { return this.lines.some((line, index) => line.depth > 0 && isFoldable(this.lines, index)); }
  get hasText() { return this.lines.some((line) => line.tokens.some(isMultiline)); }

  // Folds the containers within the outermost one, or unfolds all.
  foldAll() {
    const isOpen = this.folded.size === 0;
    this.folded.clear();
    if (isOpen) {
      this.lines.forEach((line, index) => {
        if (line.depth > 0 && isFoldable(this.lines, index)) this.folded.add(index);
      });
    }
    this.refit();
  }

  toggleText() {
    this.isText = !this.isText;
    this.refit();
  }

  columns() {
    const probe = this.element.appendChild(make("span", "probe", "0".repeat(100)));
    const width = probe.getBoundingClientRect().width / 100;
    probe.remove();
    return Math.max(20, Math.floor((this.element.clientWidth - 42) / (width || 8)));
  }

  // The tokens of a line, with long strings shortened.
  shorten(index) {
    const { tokens } = this.lines[index];
    return this.whole.has(index) ? tokens : tokens.flatMap(shortened);
  }

  // Strings of several lines, line by line.
  layText(index, columns, into) {
    const { depth, tokens, mark } = this.lines[index];
    let rest = [];
    for (const token of tokens) {
      const texts = isMultiline(token) && linesOfString(token);
      if (!texts) {
        rest.push(token);
        continue;
      }
      wrap(rest, depth, columns, { mark }, into);
      for (const text of texts) wrap([{ text, kind: "text" }], depth + 1, columns, { mark }, into);
      rest = [];
    }
    if (rest.length) wrap(rest, depth, columns, { mark }, into);
  }

  layFolded(index, columns) {
    const { depth, tokens, end, count } = this.lines[index];
    const items = { text: plural(count, "item"), kind: "more", opens: "line" };
    const all = [...tokens, items, ...this.lines[end].tokens];
    wrap(all, depth, columns, { fold: index, line: index }, this.pieces);
  }

  layLine(index, columns) {
    const line = this.lines[index];
    if (this.isText && line.tokens.some(isMultiline)) return this.layText(index, columns, this.pieces);
    const fold = isFoldable(this.lines, index) ? index : undefined;
    wrap(this.shorten(index), line.depth, columns, { fold, line: index, mark: line.mark }, this.pieces);
  }

  fit() {
    if (!this.element.clientWidth) return;
    const columns = this.columns();
    if (columns === this.fitted) return;
    this.fitted = columns;
    this.pieces = [];
    for (let i = 0; i < this.lines.length; i++) {
      if (this.folded.has(i)) {
        this.layFolded(i, columns);
        i = this.lines[i].end;
      } else {
        this.layLine(i, columns);
      }
    }
    this.list.show(this.pieces.length);
  }

  // Lays out again; the button of a toggled fold keeps the focus.
  refit(line) {
    const top = this.element.scrollTop;
    this.fitted = 0;
    this.fit();
    this.element.scrollTop = top;
    this.list.render();
    if (line !== undefined) find(`.fold[data-line="${line}"]`, this.element)?.focus({ preventScroll: true });
  }

  show(lines) {
    this.lines = lines;
    this.folded.clear();
    this.whole.clear();
    this.fitted = 0;
    this.element.scrollTop = 0;
    this.fit();
  }
}
