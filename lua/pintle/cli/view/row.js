"use strict";
// A row of the diagram: when, an arrow between the lanes, what was said, and how long it took.

const PREVIEW = 240; // characters
const MEMBERS = { request: "params", notification: "params", result: "result", error: "error" };
const ARROWS = new Set(["request", "notification", "result", "error", "other", "noise"]);
const SPOKEN = new Set(["other", "noise", "stderr"]); // what is shown as it is
const FASTEST = 1e-5; // seconds: bars of latencies begin there, and grow with the logarithm

const colour = (tokens) => tokens.map((token) => make("span", `json-${token.kind}`, visible(token.text)));

const previewOf = (row) => {
  const cell = make("span", "preview");
  const at = MEMBERS[row.kind] ? memberAt(row.text, MEMBERS[row.kind]) : -1;
  if (row.note) cell.append(make("em", "", visible(row.note)));
  if (at >= 0) cell.append(...colour(beginningOf(row.text, at, PREVIEW)));
  else if (SPOKEN.has(row.kind)) cell.append(visible(row.text.slice(0, PREVIEW)));
  return cell;
};

const nameOf = (row) => {
  if (row.method) return visible(row.method);
  if (row.kind === "other") return "not JSON-RPC";
  if (MEMBERS[row.kind]) return "?"; // an answer to nothing
  return SPOKEN.has(row.kind) ? row.kind : visible(row.text.slice(0, PREVIEW));
};

const labelOf = (row) => {
  const label = make("span", "label");
  label.append(make("span", "method", nameOf(row)));
  if (row.id !== null) label.append(make("span", "id", `#${visible(row.id)}`));
  return label;
};

const barWidth = (latency, slowest) => {
  const decades = Math.log10(Math.max(slowest, 10 * FASTEST) / FASTEST);
  return Math.max(0.02, Math.min(1, Math.log10(Math.max(latency, FASTEST) / FASTEST) / decades));
};

// It belongs to the answer, or to the request where only that is shown.
const latencyOf = (row, slowest, isShown) => {
  const cell = make("span", "latency");
  if (isUnanswered(row)) cell.append(make("span", "never", "no answer"));
  if (row.latency < 0 || (row.answer >= 0 && isShown(row.answer))) return cell;
  const bar = cell.appendChild(make("i"));
  bar.style.width = `${100 * barWidth(row.latency, slowest)}%`;
  cell.append(make("span", "", duration(row.latency)));
  return cell;
};

// Calls that are open at this row, as bars beside the lane of whoever was asked.
const openCalls = (row, model, chosen) => {
  const bars = [];
  for (const [side, slots] of Object.entries(model.slots)) {
    slots.forEach((owners, slot) => {
      const owner = owners[row.index];
      if (owner < 0) return;
      const call = model.rows[owner];
      const answer = model.rows[call.answer];
      const bar = make("i", `open ${side} slot-${slot}`);
      if (owner === row.index) bar.classList.add("first");
      if (call.answer === row.index) bar.classList.add("last");
      if (answer.kind === "error") bar.classList.add("wrong");
      if (chosen && (owner === chosen.index || call.answer === chosen.index)) bar.classList.add("chosen");
      bars.push(bar);
    });
  }
  return bars;
};

const lanesOf = (row, model, chosen) => {
  const lanes = make("div", "lanes");
  const arrow = make("div", ARROWS.has(row.kind) ? "arrow" : "note");
  arrow.append(labelOf(row));
  lanes.append(...openCalls(row, model, chosen), arrow);
  return lanes;
};

const drawRow = (row, model, chosen, isShown) => {
  const element = make("div", `row ${row.kind} from-${row.from || "nobody"}`);
  element.id = `row-${row.index}`;
  element.setAttribute("role", "option");
  element.setAttribute("aria-selected", String(row === chosen));
  element.dataset.index = row.index;
  if (isWrong(row)) element.classList.add("wrong");
  if (row === chosen) element.classList.add("chosen");
  else if (chosen && otherHalf(chosen) === row.index) element.classList.add("half");
  element.append(make("span", "time", seconds(row.time)), lanesOf(row, model, chosen), previewOf(row),
    latencyOf(row, model.slowest, isShown));
  return element;
};
