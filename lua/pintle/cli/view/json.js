"use strict";
// JSON as it came, digit for digit: looked at as tokens, since reading it as values would change its numbers.
// It may have been cut anywhere, so it need not be right.

const SIGNS = "{}[],:";
const AFTER_WORD = /[\s{}[\],:"]/g;

// A quote ends a string unless the backslashes before it are odd in number. Patterns would give up on long strings.
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

// Tokens of a text from a place on, one at a time, with the names of members told from other strings.
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

// Where the value of a message's member begins, or -1.
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

// The beginning of a value on one line: tokens of so many characters, about.
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

// All of it, a member or element a line: lines of an indentation and tokens.
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
