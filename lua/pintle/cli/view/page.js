"use strict";
// The page: which rows are shown, which row is selected, and what keys and clicks do.

const ROW = 24; // pixels, as in the style sheet
const PRINTED = 5000; // rows that are printed at most
const QUIET = 150; // milliseconds between two drawings of the overview while rows arrive

const PANES = ["details", "latencies", "legend"];

class Page {
  constructor(model) {
    this.model = model;
    this.wanted = { query: "", kinds: new Set(), range: null };
    this.chosen = null;
    this.mustReveal = false;
    this.isFollowing = model.isLive;
    this.field = find("#search");
    this.search = new Search(model, (isFirst) => this.progressed(isFirst));
    const isShown = (index) => this.isShown(index);
    this.list = new VirtualList(find("#list"), ROW, (i) => model.draw(this.rowAt(i), this.chosen, isShown));
    this.overview = new Overview(find("#overview"), model, {
      onJump: (time) => this.goToTime(time), onRange: (range) => this.want({ range }),
    });
    this.details = new Details(find("#details"), model, {
      onJump: (index) => this.goTo(index), onClose: () => this.showPane(null),
    });
    this.latencies = new Latencies(find("#latencies"), model instanceof Comparison, {
      onMethod: (name) => this.searchFor(`method:"${name}"`), onClose: () => this.showPane(null),
    });
    new ResizeObserver(([{ contentRect }]) => { preview.length = Math.max(20, contentRect.width / 11); })
      .observe(find("#list"));
    find("#legend .close").addEventListener("click", () => this.showPane(null));
    this.list.onDrawn = (first, last) => this.drawn(first, last);
    this.details.payload.list.onDrawn = () => this.mark();
    this.offerKinds();
    this.update();
    this.describe();
  }

  get found() { return this.search.found; }

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

  // {====== What the recording is ======

  describe() {
    const { facts, names, end, messages } = this.model;
    find("#title").textContent = document.title;
    for (const side in names) find(`#sides-head .${side} b`).textContent = `${side.toUpperCase()}  ${names[side]}`;
    const isTitle = onOneLine(facts.command ?? "") === onOneLine(document.title);
    const texts = [isTitle ? null : facts.command, facts.dialect,
      facts.framing && `${facts.framing} framing`, plural(messages, "message"), duration(end),
      String(facts.at ?? "").replace(/T(.*)Z$/, " $1 UTC")];
    find("#facts").replaceChildren(...texts.filter(Boolean).map((fact) => make("span", "", visible(fact))));
    this.countKinds();
  }

  offerKinds() {
    for (const [kind, { name }] of Object.entries(this.model.kinds)) {
      const button = find("#kinds").appendChild(make("button", kind, name));
      button.append(make("small"));
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => this.toggleKind(kind, button));
    }
  }

  countKinds() {
    for (const [kind, count] of Object.entries(this.model.counts)) {
      const button = find(`#kinds .${kind}`);
      find("small", button).textContent = number(count);
      button.disabled = count === 0;
    }
  }

  toggleKind(kind, button) {
    const { kinds } = this.wanted;
    if (!kinds.delete(kind)) kinds.add(kind);
    button.setAttribute("aria-pressed", String(kinds.has(kind)));
    this.update();
  }

  // }======

  // {====== Shown rows ======

  want(change) {
    Object.assign(this.wanted, change);
    this.update();
  }

  searchFor(query) {
    this.field.value = query;
    this.want({ query });
  }

  // Searches anew.
  update() {
    this.mustReveal = this.chosen !== null;
    this.list.viewport.scrollTop = 0;
    this.overview.showRange(this.wanted.range);
    this.search.start(this.wanted);
  }

  // More rows have arrived, or the last one has.
  grown() {
    if (this.search.mustRestart) this.search.start(this.wanted);
    else this.search.continue();
    this.details.refresh();
    this.describe();
  }

  // Some or all of the rows have been searched.
  progressed(isFirst) {
    this.list.grow(this.found.length, isFirst);
    if (isFirst) this.drawnAt = this.search.at;
    else if (this.search.isDone) this.list.redraw((i) => this.rowAt(i).answer >= this.drawnAt); // now it is known
    if (this.search.isDone && this.isFollowing) this.list.showEnd();
    if (this.mustReveal && (this.search.isDone || this.search.at > this.chosen.index)) {
      this.mustReveal = false;
      if (this.found.length) this.list.reveal(this.nearest(this.chosen.index), true);
    }
    const total = this.model.rows.length;
    find("#count").textContent = this.found.length === total ? plural(total, "row")
      : `${number(this.found.length)} of ${number(total)}`;
    this.showNothing();
    this.drawOverview();
    if (this.search.isDone) this.showLatencies();
  }

  // Why the list is empty, if it is.
  showNothing() {
    const isEmpty = this.found.length === 0 && this.search.isDone;
    find("#nothing").hidden = !isEmpty;
    find("#nothing").textContent = this.model.rows.length ? "No row matches. Esc shows all rows again."
      : this.model.isOver ? "The recording is empty." : "Waiting for the first message …";
  }

  drawOverview() {
    this.drawing ||= setTimeout(() => {
      this.drawing = 0;
      this.overview.show(this.found);
    }, this.overview.found.length ? QUIET : 0);
  }

  showLatencies() {
    if (this.latencies.element.hidden) return this.latencies.work.stop();
    const { found } = this;
    this.latencies.show(found.length, (place) => this.model.rows[found[place]]);
  }

  drawn(first, last) {
    if (last >= 0 && !performance.getEntriesByName("first-rows").length) performance.mark("first-rows");
    const isAll = first === 0 && last >= this.found.length - 1;
    this.overview.showWindow(isAll || last < first ? null : [this.rowAt(first).time, this.rowAt(last).time]);
    this.mark();
  }

  mark() { mark(find("main"), wordsOf(this.wanted.query)); }

  // Printed pages have all rows, up to a limit.
  print() {
    this.list.isFrozen = true;
    this.list.fill(0, Math.min(this.found.length, PRINTED) - 1);
  }

  printed() {
    this.list.isFrozen = false;
    this.list.render();
  }

  // }======

  // {====== The selected row ======

  choose(place, isCentred = false) {
    if (place < 0 || place >= this.found.length) return;
    this.follow(false);
    const marked = [this.chosen, this.rowAt(place)].filter(Boolean).map((row) => this.callOf(row));
    this.chosen = this.rowAt(place);
    find("#list").setAttribute("aria-activedescendant", `row-${this.chosen.index}`);
    this.list.redraw((i) => marked.some(([first, last]) => this.found[i] >= first && this.found[i] <= last));
    this.list.reveal(place, isCentred);
    if (!this.details.element.hidden) this.details.show(this.chosen);
  }

  // The first and the last row of the call that a row belongs to.
  callOf(row) {
    const half = this.model.otherHalf(row);
    return half < 0 ? [row.index, row.index] : [Math.min(half, row.index), Math.max(half, row.index)];
  }

  // Goes to a row; if it is not shown, all rows are shown.
  goTo(index) {
    if (index < 0) return;
    if (this.isShown(index)) return this.choose(this.placeOf(index), true);
    this.chosen = this.model.rows[index];
    this.showAll();
    if (!this.details.element.hidden) this.details.show(this.chosen);
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

  nextWhere(test, by) {
    for (let place = this.startFor(by) + by; place >= 0 && place < this.found.length; place += by) {
      if (test(this.rowAt(place))) return this.choose(place);
    }
  }

  nextTrouble(by) { this.nextWhere(this.model.kinds.trouble.test, by); }

  nextDifference(by) {
    const { different } = this.model.kinds;
    if (different) this.nextWhere(different.test, by);
  }

  showAll() {
    this.wanted.kinds.clear();
    for (const button of find("#kinds").children) button.setAttribute("aria-pressed", "false");
    this.field.value = "";
    this.want({ query: "", range: null });
  }

  // A live page stays at its end until another row is selected, or the list is scrolled up.
  follow(isOn) {
    if (!this.model.isLive || isOn === this.isFollowing) return;
    this.isFollowing = isOn;
    find("#follow").setAttribute("aria-pressed", String(isOn));
    if (isOn) this.list.showEnd();
  }

  // }======

  // {====== Side panes ======

  showPane(pane) {
    const shown = pane === "details" && this.chosen === null ? null : pane;
    for (const name of PANES) {
      find(`#${name}`).hidden = name !== shown;
      find(`#${name}-button`)?.setAttribute("aria-pressed", String(name === shown));
    }
    if (shown === "details") this.details.show(this.chosen);
    else this.details.row = null;
    this.showLatencies();
    if (!shown) find("#list").focus({ preventScroll: true });
    if (this.chosen && this.found.length) this.list.reveal(this.nearest(this.chosen.index));
  }

  get hasPane() { return PANES.some((name) => !find(`#${name}`).hidden); }

  togglePane(pane) { this.showPane(find(`#${pane}`).hidden ? pane : null); }

  // }======
}

// {====== Keys and clicks ======

const MOVES = new Set(["Enter", " ", "ArrowDown", "ArrowUp", "PageDown", "PageUp", "Home", "End"]);

const keysOf = (page) => {
  const down = () => page.step(1);
  const up = () => page.step(-1);
  const first = () => page.choose(0);
  const last = () => page.choose(page.found.length - 1);
  return {
    j: down, ArrowDown: down, k: up, ArrowUp: up, g: first, Home: first, G: last, End: last,
    PageDown: () => page.stepPage(1), PageUp: () => page.stepPage(-1), " ": () => page.stepPage(1),
    Enter: () => page.showPane("details"), l: () => page.togglePane("latencies"), "?": () => page.togglePane("legend"),
    e: () => page.nextTrouble(1), E: () => page.nextTrouble(-1),
    d: () => page.nextDifference(1), D: () => page.nextDifference(-1),
    p: () => page.chosen && page.goTo(page.model.otherHalf(page.chosen)),
    f: () => page.details.row && page.details.payload.foldAll(),
    t: () => page.details.row && page.details.toggleText(),
    "/": () => {
      page.field.focus();
      page.field.select();
    },
  };
};

// Esc: leaves the field, then closes the side pane, then shows all rows.
const goBack = (page) => {
  const isSearching = document.activeElement === page.field;
  if (isSearching && !page.field.value) find("#list").focus();
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
  if (event.target === page.field) return pressInSearch(page, event);
  const isOwn = event.target.closest("button, .payload, .table, .text-pane, audio") && MOVES.has(event.key);
  if (isOwn || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  keys[event.key]();
};

const listen = (page) => {
  const keys = keysOf(page);
  const list = find("#list");
  document.addEventListener("keydown", (event) => press(page, keys, event));
  page.field.addEventListener("input", () => page.want({ query: page.field.value }));
  find("#latencies-button").addEventListener("click", () => page.togglePane("latencies"));
  find("#legend-button").addEventListener("click", () => page.togglePane("legend"));
  find("#follow").addEventListener("click", () => page.follow(!page.isFollowing));
  list.addEventListener("wheel", () => requestAnimationFrame(() => page.follow(page.list.isAtEnd)), { passive: true });
  list.addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (!row) return;
    page.choose(page.placeOf(Number(row.dataset.index)));
    page.showPane("details");
  });
  // After a click with the mouse, keys move in the list again.
  find("#tools").addEventListener("click", (event) => {
    if (event.detail > 0 && event.target !== page.field) list.focus({ preventScroll: true });
  });
  addEventListener("beforeprint", () => page.print());
  addEventListener("afterprint", () => page.printed());
  list.focus({ preventScroll: true });
};

// }======
