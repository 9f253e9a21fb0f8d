"use strict";
// Elements and their text. Recorded data only ever becomes text.

const find = (selector, within = document) => within.querySelector(selector);

const make = (tag, className = "", text = "") => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== "") element.textContent = text;
  return element;
};

// Invisible characters, and those that change how others are displayed, are shown as JSON escapes.
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

const shownAs = (sign) => (sign === "\t" ? "    " : "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));

const visible = (text) => text.replace(HIDDEN, shownAs);

const seconds = (time) => time.toFixed(6);

const duration = (time) => {
  if (time < 0.001) return `${Math.round(time * 1e6)} µs`;
  if (time < 1) return `${(time * 1000).toPrecision(time < 0.1 ? 3 : 4)} ms`;
  return `${time.toFixed(time < 10 ? 3 : 1)} s`;
};

const number = (value) => value.toLocaleString("en");

const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

const size = (bytes) => {
  if (bytes < 10240) return `${number(bytes)} B`;
  const kibibytes = bytes / 1024;
  return kibibytes < 10240 ? `${number(Math.round(kibibytes))} KiB` : `${number(Math.round(kibibytes / 1024))} MiB`;
};

// Runs the job once before the next frame, however often it is requested.
const coalesce = (job) => {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    requestAnimationFrame(() => {
      isAsked = false;
      job();
    });
  };
};

// JSON as tokens of the original text, because parsing it into values would change its numbers.
// The text may have been cut anywhere, so it need not be valid.

const SIGNS = "{}[],:";
const AFTER_WORD = /[\s{}[\],:"]/g;

// A quote ends a string unless it follows an odd number of backslashes. A pattern would fail on long strings.
const endOfString = (text, at) => {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === "\\") first--;
    if ((end - first) % 2 === 0) return end + 1;
  }
  return text.length;
};

const endOfWord = (text, at) => {
  AFTER_WORD.lastIndex = at + 1;
  return AFTER_WORD.exec(text)?.index ?? text.length;
};

const tokenAt = (text, at) => {
  const sign = text[at];
  if (sign === '"') return { at, text: text.slice(at, endOfString(text, at)), kind: "string" };
  if (SIGNS.includes(sign)) return { at, text: sign, kind: "sign" };
  const kind = sign === "t" || sign === "f" || sign === "n" ? "word" : "number";
  return { at, text: text.slice(at, endOfWord(text, at)), kind };
};

const skipSpace = (text, at) => {
  while (at < text.length && text.charCodeAt(at) <= 32) at++;
  return at;
};

// The tokens of a text from a position on; names of members are distinguished from other strings.
function* tokensOf(text, from = 0) {
  let at = skipSpace(text, from);
  while (at < text.length) {
    const token = tokenAt(text, at);
    at = skipSpace(text, at + token.text.length);
    if (token.kind === "string" && text[at] === ":") token.kind = "name";
    yield token;
  }
}

const depthAfter = (token, depth) => {
  if (token.text === "{" || token.text === "[") return depth + 1;
  return token.text === "}" || token.text === "]" ? depth - 1 : depth;
};

// Position of the value of a member of a message, or -1.
const memberAt = (text, member) => {
  let depth = 0;
  let isNext = false;
  for (const token of tokensOf(text)) {
    if (isNext && token.text !== ":") return token.at;
    if (token.kind === "name" && depth === 1) isNext = token.text === `"${member}"`;
    depth = depthAfter(token, depth);
  }
  return -1;
};

// The beginning of a value on one line, as tokens with about this many characters.
const beginningOf = (text, at, limit) => {
  const tokens = [];
  let depth = 0;
  for (const token of tokensOf(text, at)) {
    if (token.at - at > limit) return [...tokens, { text: "…", kind: "sign" }];
    if (token.text.length > limit) token.text = token.text.slice(0, limit) + "…";
    tokens.push(token);
    depth = depthAfter(token, depth);
    if (depth <= 0) return tokens;
  }
  return tokens;
};

// The whole value, with one member or element per line: lines of an indentation and tokens.
const linesOf = (text) => {
  const lines = [];
  let line = { depth: 0, tokens: [] };
  let depth = 0;
  const breakLine = () => {
    if (line.tokens.length) lines.push(line);
    line = { depth, tokens: [] };
  };
  let last = "";
  for (const token of tokensOf(text)) {
    const isEnd = token.text === "}" || token.text === "]";
    const isAfterStart = last === "{" || last === "[";
    depth = Math.max(0, depthAfter(token, depth));
    if (isEnd ? !isAfterStart : isAfterStart) breakLine();
    line.tokens.push(token.text === ":" ? { text: ": ", kind: "sign" } : token);
    last = token.text;
    if (last === ",") breakLine();
  }
  breakLine();
  return lines;
};
