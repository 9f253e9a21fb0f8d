"use strict";
// Latencies of the shown calls by operation, as a table that can be sorted.

const MAX_OPERATIONS = 200; // shown in the table, because a recording may have any number

const COLUMNS = [
  { name: "Operation", key: "name" }, { name: "Asked", key: "asked" }, { name: "Count", key: "count", show: number },
  { name: "Trouble", key: "errors", show: number }, { name: "Min", key: "min", show: duration },
  { name: "Median", key: "median", show: duration }, { name: "P95", key: "p95", show: duration },
  { name: "Max", key: "max", show: duration },
];

const ratio = (value) => (Number.isFinite(value) ? `× ${value.toFixed(2)}` : "");
const optional = (show) => (value) => (value === undefined ? "–" : show(value));

const COMPARED = [
  { name: "Operation", key: "name" }, { name: "Asked", key: "asked" },
  { name: "Count A", key: "countA", show: number }, { name: "Count B", key: "countB", show: number },
  { name: "Median A", key: "medianA", show: optional(duration) },
  { name: "Median B", key: "medianB", show: optional(duration) },
  { name: "P95 A", key: "p95A", show: optional(duration) }, { name: "P95 B", key: "p95B", show: optional(duration) },
  { name: "B : A", key: "ratio", show: optional(ratio) },
];

const compareBy = (key) => (a, b) =>
  (typeof a[key] === "string" ? (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) : (b[key] ?? -1) - (a[key] ?? -1));

const percentile = (sorted, part) => sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)];

const median = (sorted) => {
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

const summarise = ({ answer, times, errors }) => {
  const sorted = Float64Array.from(times).sort();
  return {
    name: nameOf(answer), method: answer.method, operation: answer.operation, asked: answer.from,
    count: sorted.length, errors, min: sorted[0], median: median(sorted), p95: percentile(sorted, 0.95),
    max: sorted.at(-1),
  };
};

// One entry for each operation and each side that was asked. rowAt(place) may be no answer, or nothing.
function* latenciesOf(count, rowAt) {
  const groups = new Map();
  for (let place = 0; place < count; place++) {
    yield;
    const row = rowAt(place);
    if (!(row?.request >= 0)) continue;
    const key = `${row.from}\n${row.method}\n${row.operation}`;
    let group = groups.get(key);
    if (!group) groups.set(key, group = { answer: row, times: [], errors: 0 });
    group.times.push(row.latency);
    if (isWrong(row)) group.errors += 1;
  }
  return [...groups.values()].map(summarise);
}

// The latencies of both recordings, side by side.
function* comparedLatencies(count, rowAt) {
  const entries = new Map();
  for (const side of ["A", "B"]) {
    const half = side === "A" ? "left" : "right";
    for (const entry of yield* latenciesOf(count, (place) => rowAt(place)[half])) {
      const key = `${entry.asked}\n${entry.method}\n${entry.operation}`;
      const both = entries.get(key) ?? { ...entry, countA: 0, countB: 0, errors: 0 };
      entries.set(key, Object.assign(both, {
        [`count${side}`]: entry.count, [`median${side}`]: entry.median, [`p95${side}`]: entry.p95,
        errors: both.errors + entry.errors, max: Math.max(both.max, entry.max),
      }));
    }
  }
  return [...entries.values()].map((entry) => ({ ...entry, ratio: entry.medianB / entry.medianA }));
}

class Latencies {
  constructor(element, isComparison, { onMethod, onClose }) {
    this.element = element;
    this.isComparison = isComparison;
    this.columns = isComparison ? COMPARED : COLUMNS;
    this.onMethod = onMethod;
    this.work = new Work();
    this.entries = [];
    this.key = isComparison ? "ratio" : "p95";
    find(".close", element).addEventListener("click", onClose);
    find("thead", element).append(this.drawHead());
  }

  // Shows the latencies of these rows. The table stays as it is until they are counted.
  show(count, rowAt) {
    const read = this.isComparison ? comparedLatencies : latenciesOf;
    this.work.start(read(count, rowAt), (isDone, entries) => {
      if (isDone) this.showEntries(entries);
    });
  }

  showEntries(entries) {
    this.entries = entries;
    this.slowest = entries.reduce((slowest, entry) => Math.max(slowest, entry.max), 0);
    this.sort(this.key);
  }

  drawHead() {
    const head = make("tr");
    for (const column of this.columns) {
      const cell = head.appendChild(make("th", column.show ? "number" : ""));
      cell.scope = "col";
      const button = cell.appendChild(make("button", "", column.name));
      button.type = "button";
      button.addEventListener("click", () => this.sort(column.key));
    }
    return head;
  }

  drawEntry(entry) {
    const line = make("tr");
    for (const { key, show } of this.columns) {
      const cell = line.appendChild(make("td", `${key}${show ? " number" : ""}`));
      if (key === "errors" && entry.errors) cell.classList.add("wrong");
      if (key === "ratio" && entry.ratio > 1.5) cell.classList.add("wrong");
      if (key === "name") cell.append(this.drawName(entry));
      else cell.append(show ? show(entry[key]) : entry[key]);
      if (key === "p95") this.drawBar(cell, entry);
    }
    return line;
  }

  drawName(entry) {
    const button = make("button", "", visible(entry.name));
    button.type = "button";
    button.title = "Show only these";
    if (entry.operation) button.append(make("small", "", visible(entry.method)));
    button.addEventListener("click", () => this.onMethod(entry.name));
    return button;
  }

  drawBar(cell, entry) {
    cell.prepend(make("i"));
    cell.firstChild.style.width = `${100 * barWidth(entry.p95, this.slowest)}%`;
  }

  sort(key) {
    this.key = key;
    this.entries.sort(compareBy(key));
    this.columns.forEach((column, i) => {
      const direction = column.show ? "descending" : "ascending";
      find("thead tr", this.element).children[i].ariaSort = column.key === key ? direction : "none";
    });
    const shown = this.entries.slice(0, MAX_OPERATIONS);
    find("tbody", this.element).replaceChildren(...shown.map((entry) => this.drawEntry(entry)));
    const rest = this.entries.length - MAX_OPERATIONS;
    find("p", this.element).textContent = rest > 0 ? `And ${plural(rest, "more operation")}.`
      : this.entries.length ? "" : "None of the rows shown is an answer to a request.";
  }
}
