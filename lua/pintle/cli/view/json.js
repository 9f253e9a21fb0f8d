"use strict";
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

const isStart = (token) => token.text === "{" || token.text === "[";
const isEnd = (token) => token.text === "}" || token.text === "]";

const depthAfter = (token, depth) => depth + (isStart(token) ? 1 : isEnd(token) ? -1 : 0);

// Position of the value of a member of the object that starts at a position, or -1.
const memberAt = (text, member, from = 0) => {
  if (text[skipSpace(text, from)] !== "{") return -1;
  let depth = 0;
  let isNext = false;
  for (const token of tokensOf(text, from)) {
    if (isNext && token.text !== ":") return token.at;
    if (token.kind === "name" && depth === 1) isNext = token.text === `"${member}"`;
    depth = depthAfter(token, depth);
    if (depth === 0) return -1;
  }
  return -1;
};

// Members that tell little about a message.
const DULL = new Set(['"_meta"', '"resultType"']);

// The tokens of one value, without its dull members.
function* valueTokens(text, at) {
  let depth = 0;
  let isSkipped = false;
  let comma = null; // between members: it comes before the next one that is not dull
  let isFirst = true;
  for (const token of tokensOf(text, at)) {
    if (depth === 1 && token.kind === "name") isSkipped = DULL.has(token.text);
    const isLast = depth <= 1 && isEnd(token);
    if (depth === 1 && token.text === ",") {
      comma = token;
      isSkipped = false;
    } else if (!isSkipped || isLast) {
      if (comma && !isFirst && !isLast) yield comma;
      comma = null;
      if (depth > 0) isFirst = false;
      yield token;
    }
    depth = depthAfter(token, depth);
    if (depth <= 0) return;
  }
}

// The beginning of a value on one line, as tokens with about this many characters.
const beginningOf = (text, at, limit) => {
  const tokens = [];
  let length = 0;
  for (const token of valueTokens(text, at)) {
    if (length > limit) return [...tokens, { text: "…", kind: "sign" }];
    if (token.text.length > limit) return [...tokens, { ...token, text: token.text.slice(0, limit) + "…" }];
    length += token.text.length;
    tokens.push(token);
  }
  return tokens;
};

// The whole value, with one member or element per line. The line that starts a container knows the line that ends it
// and the number of its members.
const linesOf = (text) => {
  const lines = [];
  const open = []; // the lines that have started the containers around this place
  let last = { text: "," };
  const begin = (depth) => lines.push({ depth, tokens: [], end: 0, count: 0 });
  for (const token of tokensOf(text)) {
    if (isEnd(token)) {
      const first = open.pop();
      if (!isStart(last)) begin(open.length);
      if (first !== undefined) lines[first].end = lines.length - 1;
    } else if (isStart(last) || last.text === ",") {
      if (open.length && token.text !== ",") lines[open.at(-1)].count += 1;
      begin(open.length);
    }
    lines.at(-1).tokens.push(token.text === ":" ? { text: ": ", kind: "sign" } : token);
    if (isStart(token)) open.push(lines.length - 1);
    last = token;
  }
  return lines;
};

// Whether a line starts a container that has members.
const isFoldable = (lines, index) => lines[index].end > index;
