"use strict";
// A row of the diagram: the time, an arrow between the lanes, a preview of the payload, and the latency.

const preview = { length: 240 }; // characters that have room
const MAX_TITLE = 240; // characters
const MEMBERS = { request: "params", notification: "params", result: "result", failed: "result", error: "error" };
const ARROWS = new Set(["request", "notification", "result", "failed", "error", "other", "noise"]);
const SPOKEN = new Set(["other", "noise", "stderr"]); // shown unchanged
const RUNS = new Set(["execute", "tools/call"]); // methods that do nothing but run the named operation
const FASTEST = 1e-5; // seconds: bars of latencies start there, and grow logarithmically

const colour = (tokens) => tokens.map((token) => make("span", `json-${token.kind}`, visible(token.text)));

// The arguments of an operation, and the text of its first content, say more than what is around them.
const mainPart = (row, at) => {
  const within = (...names) => names.map((name) => memberAt(row.text, name, at)).find((place) => place >= 0) ?? -1;
  if (!row.operation) return at;
  if (row.kind === "request") return Math.max(at, within("arguments", "args"));
  const content = within("content");
  return content < 0 ? at : Math.max(at, memberAt(row.text, "text", skipSpace(row.text, content + 1)));
};

const VALUES = new Set(["string", "number", "word"]);

// Only values have elements, to save layout work.
const previewNodes = (tokens) => {
  const nodes = [];
  for (const { text, kind } of tokens) {
    if (VALUES.has(kind)) nodes.push(make("span", `json-${kind}`, visible(text)));
    else if (typeof nodes.at(-1) === "string") nodes.push(nodes.pop() + visible(text));
    else nodes.push(visible(text));
  }
  return nodes;
};

const hasMedia = (row) => /"(?:image|audio)\/|data:(?:image|audio)\//.test(row.text);

const previewTokens = (row) => {
  const at = MEMBERS[row.kind] ? memberAt(row.text, MEMBERS[row.kind]) : -1;
  return at < 0 ? [] : beginningOf(row.text, mainPart(row, at), preview.length);
};

const previewOf = (row) => {
  const cell = make("span", "preview");
  if (row.note) cell.append(make("em", "", visible(row.note)));
  if (SPOKEN.has(row.kind)) cell.append(visible(textOf(row).slice(0, preview.length)));
  if (isJson(row) && hasMedia(row)) cell.append(make("b", "chip", "media"));
  cell.append(...previewNodes(previewTokens(row)));
  return cell;
};

const titleOf = (row) => {
  if (row.method) return visible(nameOf(row));
  if (row.kind === "other") return "not JSON-RPC";
  if (MEMBERS[row.kind]) return "answer to no request";
  return SPOKEN.has(row.kind) ? row.kind : visible(row.text.slice(0, MAX_TITLE));
};

const labelOf = (row) => {
  const label = make("span", "label");
  label.append(make("span", "method", titleOf(row)));
  if (row.operation && !RUNS.has(row.method)) label.append(make("span", "of", visible(row.method)));
  if (row.id !== null) label.append(make("span", "id", `#${visible(row.id)}`));
  return label;
};

const barWidth = (latency, slowest) => {
  const decades = Math.log10(Math.max(slowest, 10 * FASTEST) / FASTEST);
  return Math.max(0.02, Math.min(1, Math.log10(Math.max(latency, FASTEST) / FASTEST) / decades));
};

// The latency is shown at the answer, or at the request if only that is shown.
const latencyOf = (row, model, isShown) => {
  const cell = make("span", "latency");
  if (isUnanswered(row)) cell.append(make("span", "never", "no answer"));
  else if (row.kind === "request" && row.isCancelled && row.answer < 0) cell.append(make("span", "", "cancelled"));
  else if (model.isLive && model.waiting.has(row.index)) cell.append(make("span", "waiting", "waiting …"));
  if (row.latency < 0 || (row.answer >= 0 && isShown(row.answer))) return cell;
  const bar = cell.appendChild(make("i"));
  bar.style.width = `${100 * barWidth(row.latency, model.slowest)}%`;
  cell.append(make("span", "", duration(row.latency)));
  return cell;
};

const openCall = (side, number, owner, row, model, chosen) => {
  const call = model.rows[owner];
  const bar = make("i", `open ${side} slot-${number}`);
  if (owner === row.index) bar.classList.add("first");
  if (call.answer === row.index) bar.classList.add("last");
  if (isWrong(model.rows[call.answer])) bar.classList.add("wrong");
  if (chosen && (owner === chosen.index || call.answer === chosen.index)) bar.classList.add("chosen");
  return bar;
};

// The calls that are open at this row, as bars beside the lane of the side that was asked.
const openCalls = (row, model, chosen) => Object.entries(model.slots).flatMap(([side, slots]) =>
  slots.flatMap(({ owners }, number) =>
    (owners[row.index] < 0 ? [] : [openCall(side, number, owners[row.index], row, model, chosen)])));

const lanesOf = (row, model, chosen) => {
  const lanes = make("div", "lanes");
  const arrow = make("div", ARROWS.has(row.kind) ? "arrow" : "note");
  arrow.append(labelOf(row));
  lanes.append(...openCalls(row, model, chosen), arrow);
  return lanes;
};

const rowElement = (row, chosen, className) => {
  const element = make("div", `row ${className}`);
  element.id = `row-${row.index}`;
  element.setAttribute("role", "option");
  element.setAttribute("aria-selected", String(row === chosen));
  element.dataset.index = row.index;
  if (row === chosen) element.classList.add("chosen");
  return element;
};

const drawRow = (row, model, chosen, isShown) => {
  const element = rowElement(row, chosen, `${row.kind} from-${row.from || "nobody"}`);
  if (isWrong(row)) element.classList.add("wrong");
  if (chosen && chosen !== row && otherHalf(chosen) === row.index) element.classList.add("half");
  element.append(make("span", "time", seconds(row.time)), lanesOf(row, model, chosen), previewOf(row),
    latencyOf(row, model, isShown));
  return element;
};
