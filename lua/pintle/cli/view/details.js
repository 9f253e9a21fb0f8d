"use strict";
// What is known of one row, and its text in full.

const OTHER = { host: "plugin", plugin: "host" };

const headingOf = (row) => {
  if (row.method) return visible(row.method);
  return { other: "No JSON-RPC message", noise: "Noise", stderr: "stderr" }[row.kind] ?? visible(row.kind);
};

const factsOf = (row, rows) => {
  const facts = [["kind", row.kind], ["time", `${seconds(row.time)} s`]];
  if (row.from) facts.push(["from", ARROWS.has(row.kind) ? `${row.from} to ${OTHER[row.from]}` : row.from]);
  if (row.id !== null) facts.push(["id", visible(row.id)]);
  if (row.latency >= 0) facts.push(["latency", duration(row.latency)]);
  if (isUnanswered(row)) facts.push(["latency", "never answered"]);
  if (row.index > 0) facts.push(["gap", duration(Math.max(0, row.time - rows[row.index - 1].time))]);
  if (row.note) facts.push(["note", visible(row.note)]);
  if (row.bytes) facts.push(["cut", `only the beginning of ${size(row.bytes)} is here; see --payload`]);
  return facts;
};

// Where pages may not reach the clipboard by themselves, the browser copies what is marked.
const copyMarked = (text) => {
  const field = document.body.appendChild(make("textarea"));
  field.value = text;
  field.select();
  const isDone = document.execCommand("copy");
  field.remove();
  return isDone;
};

const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyMarked(text);
  }
};

class Details {
  constructor(element, rows, { onJump, onClose }) {
    this.element = element;
    this.rows = rows;
    this.row = null;
    this.payload = new Payload(find(".payload", element));
    this.pair = find(".pair", element);
    this.pair.addEventListener("click", () => onJump(otherHalf(this.row)));
    find(".close", element).addEventListener("click", onClose);
    this.offerCopy(".copy", prettyText);
    this.offerCopy(".raw", (row) => row.text);
  }

  offerCopy(selector, textOf) {
    const button = find(selector, this.element);
    const name = button.textContent;
    button.addEventListener("click", async () => {
      button.textContent = (await copy(textOf(this.row))) ? "Copied" : "Not copied";
      setTimeout(() => { button.textContent = name; }, 1200);
    });
  }

  show(row) {
    if (this.row === row) return;
    this.row = row;
    find("h2", this.element).textContent = headingOf(row);
    find("h2", this.element).className = isWrong(row) ? "wrong" : "";
    const facts = factsOf(row, this.rows).flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]);
    find("dl", this.element).replaceChildren(...facts);
    this.pair.hidden = otherHalf(row) < 0;
    this.pair.textContent = row.answer >= 0 ? "Answer ↓" : "Request ↑";
    this.payload.show(row);
  }
}
