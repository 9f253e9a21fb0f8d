"use strict";
// Latencies by method, as a table that can be sorted.

const MAX_METHODS = 500; // methods shown in the table, because a recording may have any number

const COLUMNS = [
  { name: "Method", key: "method" }, { name: "Asked", key: "asked" }, { name: "Count", key: "count", show: number },
  { name: "Errors", key: "errors", show: number }, { name: "Min", key: "min", show: duration },
  { name: "Median", key: "median", show: duration }, { name: "P95", key: "p95", show: duration },
  { name: "Max", key: "max", show: duration },
];

const compare = (key) => (a, b) =>
  (typeof a[key] === "string" ? (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0) : b[key] - a[key]);

class Latencies {
  constructor(element, entries, { onMethod, onClose }) {
    this.element = element;
    this.entries = entries;
    this.onMethod = onMethod;
    this.slowest = entries.reduce((slowest, entry) => Math.max(slowest, entry.max), 0);
    find(".close", element).addEventListener("click", onClose);
    find("thead", element).append(this.drawHead());
    this.sort("p95");
  }

  drawHead() {
    const head = make("tr");
    for (const column of COLUMNS) {
      const cell = head.appendChild(make("th", column.show ? "number" : ""));
      const button = cell.appendChild(make("button", "", column.name));
      button.type = "button";
      button.addEventListener("click", () => this.sort(column.key));
    }
    return head;
  }

  drawEntry(entry) {
    const line = make("tr");
    for (const { key, show } of COLUMNS) {
      const cell = line.appendChild(make("td", `${key}${show ? " number" : ""}`));
      if (key === "errors" && entry.errors) cell.classList.add("wrong");
      if (key === "method") cell.append(this.drawMethod(entry.method));
      else cell.append(show ? show(entry[key]) : entry[key]);
      if (key === "p95") this.drawBar(cell, entry);
    }
    return line;
  }

  drawMethod(method) {
    const button = make("button", "", visible(method));
    button.type = "button";
    button.title = "Show only these";
    button.addEventListener("click", () => this.onMethod(method));
    return button;
  }

  drawBar(cell, entry) {
    cell.prepend(make("i"));
    cell.firstChild.style.width = `${100 * barWidth(entry.p95, this.slowest)}%`;
  }

  sort(key) {
    this.entries.sort(compare(key));
    COLUMNS.forEach((column, i) => {
      find("thead tr", this.element).children[i].ariaSort = column.key === key ? "descending" : "none";
    });
    const shown = this.entries.slice(0, MAX_METHODS);
    find("tbody", this.element).replaceChildren(...shown.map((entry) => this.drawEntry(entry)));
    const rest = this.entries.length - MAX_METHODS;
    find("p", this.element).textContent = rest > 0 ? `And ${plural(rest, "more method")}.` : "";
    if (!this.entries.length) find("p", this.element).textContent = "No request was answered.";
  }
}
