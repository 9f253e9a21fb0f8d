"use strict";
// A list of any length; only the visible lines are in the document.

const TALLEST = 8e6; // pixels: browsers are inexact above about ten million
const BEYOND = 6; // lines above and below the view that are drawn in advance

class VirtualList {
  // draw(index) makes the element of a line.
  constructor(viewport, lineHeight, draw) {
    this.viewport = viewport;
    this.lineHeight = lineHeight;
    this.draw = draw;
    this.count = 0;
    this.lines = new Map();
    this.spacer = viewport.appendChild(make("div", "spacer"));
    this.layer = viewport.appendChild(make("div", "layer"));
    this.onDrawn = () => {};
    const render = coalesce(() => this.render());
    viewport.addEventListener("scroll", render, { passive: true });
    new ResizeObserver(render).observe(viewport);
  }

  // The height of all lines, and the height that can be scrolled through.
  get height() { return this.count * this.lineHeight; }
  get scrollHeight() { return Math.min(this.height, TALLEST); }
  get room() { return this.viewport.clientHeight; }

  // The start of the view within all lines. It differs from scrollTop if TALLEST limits the height.
  get offset() {
    const range = this.scrollHeight - this.room;
    if (this.height === this.scrollHeight || range <= 0) return this.viewport.scrollTop;
    return Math.min(1, this.viewport.scrollTop / range) * (this.height - this.room);
  }

  set offset(value) {
    const range = this.height - this.room;
    const scale = this.height === this.scrollHeight || range <= 0 ? 1 : (this.scrollHeight - this.room) / range;
    this.viewport.scrollTop = value * scale;
  }

  // Shows another list of lines; `place` is centred if it is given.
  show(count, place = -1) {
    this.count = count;
    this.spacer.style.height = `${this.scrollHeight}px`;
    this.forget();
    if (place >= 0) this.reveal(place, true);
    else this.render();
  }

  // Removes all drawn lines.
  forget() {
    this.lines.clear();
    this.layer.replaceChildren();
  }

  range() {
    const { offset } = this;
    const last = Math.min(this.count - 1, Math.floor((offset + this.room) / this.lineHeight));
    return [Math.max(0, Math.min(Math.floor(offset / this.lineHeight), last)), last];
  }

  render() {
    const [first, last] = this.range();
    const from = Math.max(0, first - BEYOND);
    const shift = this.viewport.scrollTop - this.offset + from * this.lineHeight;
    this.layer.style.transform = `translateY(${shift}px)`;
    this.fill(from, Math.min(this.count - 1, last + BEYOND));
    this.onDrawn(first, last);
  }

  // Lines that stay visible are not touched, to save layout work.
  fill(from, to) {
    for (const [i, line] of this.lines) {
      if (i >= from && i <= to) continue;
      line.remove();
      this.lines.delete(i);
    }
    let next = this.layer.firstChild;
    for (let i = from; i <= to; i++) {
      const line = this.lines.get(i);
      if (line) next = line.nextSibling;
      else this.lines.set(i, this.layer.insertBefore(this.draw(i), next));
    }
  }

  reveal(place, isCentred = false) {
    const { offset, room, lineHeight } = this;
    const top = place * lineHeight;
    const isAbove = top < offset + lineHeight;
    const isBelow = top + 2 * lineHeight > offset + room;
    const middle = (room - lineHeight) / 2;
    if (isAbove) this.offset = top - (isCentred ? middle : lineHeight);
    else if (isBelow) this.offset = top - (isCentred ? middle : room - 2 * lineHeight);
    this.render();
  }
}

// A row of the diagram: the time, an arrow between the lanes, a preview of the payload, and the latency.

const PREVIEW = 240; // characters
const MEMBERS = { request: "params", notification: "params", result: "result", error: "error" };
const ARROWS = new Set(["request", "notification", "result", "error", "other", "noise"]);
const SPOKEN = new Set(["other", "noise", "stderr"]); // shown unchanged
const FASTEST = 1e-5; // seconds: bars of latencies start there, and grow logarithmically

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
  if (MEMBERS[row.kind]) return "?"; // an answer without a request
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

// The latency is shown at the answer, or at the request if only that is shown.
const latencyOf = (row, slowest, isShown) => {
  const cell = make("span", "latency");
  if (isUnanswered(row)) cell.append(make("span", "never", "no answer"));
  if (row.latency < 0 || (row.answer >= 0 && isShown(row.answer))) return cell;
  const bar = cell.appendChild(make("i"));
  bar.style.width = `${100 * barWidth(row.latency, slowest)}%`;
  cell.append(make("span", "", duration(row.latency)));
  return cell;
};

// The calls that are open at this row, as bars beside the lane of the side that was asked.
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
