"use strict";
// The page: which rows are shown, and which row is selected.

const ROW = 24; // pixels, as in the style sheet

class Page {
  constructor(model) {
    this.model = model;
    this.wanted = { query: "", kinds: new Set(), range: null };
    this.found = [];
    this.chosen = null;
    this.search = find("#search");
    const isShown = (index) => this.isShown(index);
    this.list = new VirtualList(find("#list"), ROW, (i) => drawRow(this.rowAt(i), model, this.chosen, isShown));
    this.overview = new Overview(find("#overview"), model, {
      onJump: (time) => this.goToTime(time), onRange: (range) => this.want({ range }),
    });
    this.details = new Details(find("#details"), model.rows, {
      onJump: (index) => this.goTo(index), onClose: () => this.showPane(null),
    });
    this.latencies = new Latencies(find("#latencies"), model.summary.latencies, {
      onMethod: (method) => this.searchFor(`method:"${method}"`), onClose: () => this.showPane(null),
    });
    this.list.onDrawn = (first, last) => this.drawn(first, last);
    this.details.payload.list.onDrawn = () => this.mark();
    this.describe();
    this.offerKinds();
    this.update();
  }

  rowAt(place) { return this.model.rows[this.found[place]]; }

  // Position of a row among the shown rows, or of the first shown row after it.
  placeOf(index) {
    let low = 0;
    let high = this.found.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.found[middle] < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  isShown(index) { return this.found[this.placeOf(index)] === index; }

  nearest(index) { return Math.min(this.placeOf(index), this.found.length - 1); }

  describe() {
    const { rows, summary, end } = this.model;
    find("#title").textContent = document.title;
    const messages = rows.filter(isJson).length;
    const facts = [document.title === summary.command ? null : summary.command, summary.dialect,
      summary.framing && `${summary.framing} framing`, plural(messages, "message"), duration(end),
      String(summary.at ?? "").replace(/T(.*)Z$/, " $1 UTC")];
    find("#facts").append(...facts.filter(Boolean).map((fact) => make("span", "", visible(fact))));
  }

  offerKinds() {
    for (const [kind, { name, test }] of Object.entries(KINDS)) {
      const count = this.model.rows.filter(test).length;
      const button = find("#kinds").appendChild(make("button", kind, name));
      button.append(make("small", "", number(count)));
      button.type = "button";
      button.disabled = count === 0;
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => this.toggleKind(kind, button));
    }
  }

  toggleKind(kind, button) {
    const { kinds } = this.wanted;
    if (!kinds.delete(kind)) kinds.add(kind);
    button.setAttribute("aria-pressed", String(kinds.has(kind)));
    this.update();
  }

  // {====== Shown rows ======

  want(change) {
    Object.assign(this.wanted, change);
    this.update();
  }

  searchFor(query) {
    this.search.value = query;
    this.want({ query });
  }

  update() {
    const { rows } = this.model;
    this.found = select(rows, this.wanted);
    find("#count").textContent = this.found.length === rows.length ? plural(rows.length, "row")
      : `${number(this.found.length)} of ${number(rows.length)}`;
    find("#nothing").hidden = this.found.length > 0;
    this.overview.showRange(this.wanted.range);
    this.overview.show(this.found);
    this.list.show(this.found.length, this.chosen ? this.nearest(this.chosen.index) : -1);
  }

  drawn(first, last) {
    const isAll = first === 0 && last >= this.found.length - 1;
    this.overview.showWindow(isAll ? null : [this.rowAt(first).time, this.rowAt(last).time]);
    this.mark();
  }

  mark() { mark(find("main"), wordsOf(this.wanted.query)); }

  // }======

  // {====== The selected row ======

  choose(place, isCentred = false) {
    if (place < 0 || place >= this.found.length) return;
    this.chosen = this.rowAt(place);
    find("#list").setAttribute("aria-activedescendant", `row-${this.chosen.index}`);
    this.list.forget();
    this.list.reveal(place, isCentred);
    if (!this.details.element.hidden) this.details.show(this.chosen);
  }

  // Goes to a row; if it is not shown, all rows are shown.
  goTo(index) {
    if (index < 0) return;
    if (!this.isShown(index)) this.showAll();
    this.choose(this.placeOf(index), true);
  }

  goToTime(time) {
    const place = this.found.findIndex((index) => this.model.rows[index].time >= time);
    this.choose(place < 0 ? this.found.length - 1 : place, true);
  }

  // The position to move from: between two rows if the selected row is not shown.
  startFor(by) {
    if (!this.chosen) return by > 0 ? -1 : this.found.length;
    const place = this.placeOf(this.chosen.index);
    return by < 0 || this.isShown(this.chosen.index) ? place : place - 1;
  }

  step(by) { this.choose(Math.max(0, Math.min(this.found.length - 1, this.startFor(by) + by))); }

  stepPage(by) { this.step(by * Math.max(1, Math.floor(this.list.room / ROW) - 2)); }

  nextTrouble(by) {
    for (let place = this.startFor(by) + by; place >= 0 && place < this.found.length; place += by) {
      if (isWrong(this.rowAt(place))) return this.choose(place);
    }
  }

  showAll() {
    this.wanted.kinds.clear();
    for (const button of find("#kinds").children) button.setAttribute("aria-pressed", "false");
    this.search.value = "";
    this.want({ query: "", range: null });
  }

  // }======

  showPane(pane) {
    const isDetails = pane === "details" && this.chosen !== null;
    this.details.element.hidden = !isDetails;
    this.latencies.element.hidden = pane !== "latencies";
    find("#latency-button").setAttribute("aria-pressed", String(pane === "latencies"));
    if (isDetails) this.details.show(this.chosen);
    else this.details.row = null;
    if (!pane) find("#list").focus({ preventScroll: true });
    if (this.chosen && this.found.length) this.list.reveal(this.nearest(this.chosen.index));
  }

  get hasPane() { return !(this.details.element.hidden && this.latencies.element.hidden); }

  toggleLatencies() { this.showPane(this.latencies.element.hidden ? "latencies" : null); }
}

// Keys and clicks.

const MOVES = new Set(["Enter", " ", "ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"]);

const keysOf = (page) => {
  const down = () => page.step(1);
  const up = () => page.step(-1);
  const first = () => page.choose(0);
  const last = () => page.choose(page.found.length - 1);
  return {
    j: down, ArrowDown: down, k: up, ArrowUp: up, g: first, Home: first, G: last, End: last,
    PageDown: () => page.stepPage(1), PageUp: () => page.stepPage(-1), " ": () => page.stepPage(1),
    Enter: () => page.showPane("details"), l: () => page.toggleLatencies(),
    e: () => page.nextTrouble(1), E: () => page.nextTrouble(-1),
    p: () => page.chosen && page.goTo(otherHalf(page.chosen)),
    "/": () => {
      page.search.focus();
      page.search.select();
    },
  };
};

// Esc: leaves the field, then closes the side pane, then shows all rows.
const goBack = (page) => {
  const isSearching = document.activeElement === page.search;
  if (isSearching && !page.search.value) find("#list").focus();
  else if (!isSearching && page.hasPane) page.showPane(null);
  else page.showAll();
};

const pressInSearch = (page, event) => {
  if (event.key !== "Enter" && event.key !== "ArrowDown") return;
  event.preventDefault();
  find("#list").focus();
  if (!page.chosen || !page.isShown(page.chosen.index)) page.choose(0);
};

const press = (page, keys, event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") return goBack(page);
  if (event.target === page.search) return pressInSearch(page, event);
  const isOwn = event.target.closest("button, .payload, .table") && MOVES.has(event.key);
  if (isOwn || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
};

const listen = (page) => {
  const keys = keysOf(page);
  document.addEventListener("keydown", (event) => press(page, keys, event));
  page.search.addEventListener("input", coalesce(() => page.want({ query: page.search.value })));
  find("#latency-button").addEventListener("click", () => page.toggleLatencies());
  find("#list").addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (!row) return;
    page.choose(page.placeOf(Number(row.dataset.index)));
    page.showPane("details");
  });
  find("#list").focus({ preventScroll: true });
};

// All scripts are loaded: start.

const page = new Page(readModel());
listen(page);
