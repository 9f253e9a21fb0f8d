"use strict";
// What keys and clicks do.

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

// Esc: out of the field, then out of what stands beside the diagram, then back to all rows.
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
