"use strict";
// The details of one row: facts, images and sounds, and its text in full.

const OTHER = { host: "plugin", plugin: "host" };
const MAX_MEDIA = 24;
const MEDIA_TYPE = /^(image\/(?:png|jpeg|gif|webp|avif|bmp|svg\+xml)|audio\/[\w.+-]+)$/;
const BASE64 = /^[\w+/=-]+$/;
const DATA_URL = /^data:([\w.+/-]+);base64,/;

const headingOf = (row) => {
  if (row.method) return visible(nameOf(row));
  if (MEMBERS[row.kind]) return "Answer to no request";
  return { other: "Not a JSON-RPC message", noise: "Noise", stderr: "stderr" }[row.kind] ?? visible(row.kind);
};

const KIND_NAMES = { failed: "result: the operation failed", other: "not JSON-RPC", failure: "failed end" };

const factsOf = (row, rows) => {
  const facts = [["kind", KIND_NAMES[row.kind] ?? row.kind], ["time", `${seconds(row.time)} s`]];
  if (row.operation) facts.push(["method", visible(row.method)]);
  if (row.from) facts.push(["from", ARROWS.has(row.kind) ? `${row.from} to ${OTHER[row.from]}` : row.from]);
  if (row.id !== null) facts.push(["id", visible(row.id)]);
  if (row.latency >= 0) facts.push(["latency", duration(row.latency)]);
  if (row.isCancelled) facts.push(["cancelled", row.answer < 0 ? "yes, not answered" : "yes, answered all the same"]);
  if (isUnanswered(row)) facts.push(["latency", "never answered"]);
  if (row.index > 0) facts.push(["since previous", duration(Math.max(0, row.time - rows[row.index - 1].time))]);
  facts.push(["size", size(row.bytes ?? new Blob([row.text]).size)]);
  if (row.note) facts.push(["note", visible(row.note)]);
  if (row.bytes) facts.push(["cut", `only the beginning of ${size(row.bytes)} is here; see --payload`]);
  return facts;
};

// {====== Images and sounds ======

const mediaOf = (value) => {
  if (typeof value === "string") {
    const type = DATA_URL.exec(value)?.[1];
    return type && { type, data: value.slice(value.indexOf(",") + 1) };
  }
  const data = value.data ?? value.blob;
  return typeof data === "string" && typeof value.mimeType === "string" ? { type: value.mimeType, data } : null;
};

// All images and sounds in a value, as far as they are safe to show.
const collectMedia = (value, found) => {
  if (value === null || (typeof value !== "object" && typeof value !== "string") || found.length >= MAX_MEDIA) return;
  const media = mediaOf(value);
  if (media && MEDIA_TYPE.test(media.type) && BASE64.test(media.data)) found.push(media);
  if (typeof value === "object") for (const member of Object.values(value)) collectMedia(member, found);
};

const mediaIn = (row) => {
  const found = [];
  if (!isJson(row) || !hasMedia(row)) return found;
  try {
    collectMedia(JSON.parse(row.text), found);
  } catch {
    return []; // the text was cut
  }
  return found;
};

const bytesOf = (base64) => Math.floor((base64.replace(/=+$/, "").length * 3) / 4);

const drawMedia = ({ type, data }) => {
  const figure = make("figure");
  const isImage = type.startsWith("image/");
  const element = figure.appendChild(make(isImage ? "img" : "audio"));
  const caption = figure.appendChild(make("figcaption", "", `${type} · ${size(bytesOf(data))}`));
  if (isImage) {
    element.alt = `Recorded ${type}`;
    element.addEventListener("load", () => {
      if (element.naturalWidth) caption.append(` · ${element.naturalWidth} × ${element.naturalHeight}`);
    });
  } else {
    element.controls = true;
  }
  element.addEventListener("error", () => caption.append(" · cannot be shown"));
  element.src = `data:${type};base64,${data}`;
  return figure;
};

// }======

// If the page has no access to the clipboard, the browser copies a selection instead.
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
  constructor(element, model, { onJump, onClose }) {
    this.element = element;
    this.model = model;
    this.row = null;
    this.payload = new Payload(find(".payload", element));
    this.pair = find(".pair", element);
    this.pair.addEventListener("click", () => onJump(model.otherHalf(this.row)));
    find(".close", element).addEventListener("click", onClose);
    find(".folds", element).addEventListener("click", () => this.payload.foldAll());
    find(".text", element).addEventListener("click", () => this.toggleText());
    this.offerCopy(".copy", (row) => (row.sides ? this.payload.lines.map(textOfMarked).join("\n") : prettyText(row)));
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

  toggleText() {
    if (this.payload.hasText) this.payload.toggleText();
    this.showButtons();
  }

  showButtons() {
    const { payload, model, row } = this;
    const half = model.otherHalf(row);
    this.pair.hidden = half < 0;
    this.pair.textContent = half > row.index ? "Answer ↓" : "Request ↑";
    find(".folds", this.element).hidden = !payload.hasFolds;
    find(".text", this.element).hidden = !payload.hasText;
    find(".text", this.element).setAttribute("aria-pressed", String(payload.isText));
    find(".raw", this.element).hidden = Boolean(row.sides);
  }

  // Answers that have come since then may belong to the row that is shown.
  refresh() {
    if (this.row && !this.element.hidden) this.describe();
  }

  describe() {
    const { row } = this;
    const facts = row.sides ? comparedFacts(row) : factsOf(row, this.model.rows);
    const cells = facts.flatMap(([name, value]) => [make("dt", "", name), make("dd", "", value)]);
    find("dl", this.element).replaceChildren(...cells);
    this.showButtons();
  }

  linesOf(row) {
    if (row.sides) return comparedLines(row);
    return isJson(row) ? linesOf(row.text) : plainLines(textOf(row));
  }

  show(row) {
    if (this.row === row) return;
    this.row = row;
    find("h2", this.element).textContent = headingOf(row);
    find("h2", this.element).className = isWrong(row) ? "wrong" : "";
    const media = (row.sides ?? [row]).flatMap(mediaIn);
    find(".media", this.element).hidden = media.length === 0;
    find(".media", this.element).replaceChildren(...media.map(drawMedia));
    this.payload.show(this.linesOf(row));
    this.describe();
  }
}
