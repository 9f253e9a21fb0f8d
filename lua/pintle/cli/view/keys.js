"use strict";
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
