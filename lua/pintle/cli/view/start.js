"use strict";
// Where the rows come from: blocks of this page, which arrive while it is shown, or the server of a live page.

const mode = document.body.dataset.mode;

const openPage = (model) => {
  const page = new Page(model);
  listen(page);
  return page;
};

// A block has arrived as a whole if something follows it. It is removed so that its text is not kept twice.
const takeBlocks = (isWhole, take) => {
  for (const block of document.querySelectorAll("script[type]")) {
    if (!isWhole && !block.nextSibling) return;
    take(JSON.parse(block.textContent), block.className);
    block.remove();
  }
};

const readBlocks = (take, finish) => {
  const observer = new MutationObserver(() => takeBlocks(false, take));
  observer.observe(document.body, { childList: true });
  document.addEventListener("DOMContentLoaded", () => {
    observer.disconnect();
    takeBlocks(true, take);
    finish();
  });
};

const showFile = () => {
  const recording = new Recording();
  globalThis.page = openPage(recording);
  readBlocks((entries) => {
    recording.append(entries);
    page.grown();
  }, () => {
    recording.finish();
    page.grown();
  });
};

// Both recordings have to be there before they can be compared.
const showComparison = () => {
  const [first, second] = [new Recording(), new Recording()];
  readBlocks((entries, name) => (name === "data" ? first : second).append(entries), () => {
    first.finish();
    second.finish();
    globalThis.page = openPage(new Comparison(first, second));
  });
};

const STATES = {
  live: ["live", "The page grows with the recording."],
  over: ["ended", "The recorded program has exited."],
  lost: ["disconnected", "pintle view has ended; reload the page when it runs again."],
};

const showState = (state) => {
  const [name, title] = STATES[state];
  Object.assign(find("#state"), { hidden: false, className: state, textContent: name, title });
};

const takeLines = (recording, lines) => {
  const entries = lines.map((line) => JSON.parse(line));
  const isOver = entries.some((entry) => entry.over);
  recording.append(entries.filter((entry) => !entry.over));
  if (isOver) recording.finish();
};

// Reads the rows of a live page until there are no more.
const readRows = async (recording) => {
  const response = await fetch("rows");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (!recording.isOver) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    if (!lines.length) continue;
    takeLines(recording, lines);
    page.grown();
  }
};

const showLive = async () => {
  const recording = new Recording();
  recording.isLive = true;
  globalThis.page = openPage(recording);
  find("#follow").hidden = false;
  showState("live");
  try {
    await readRows(recording);
  } catch {
    // the connection is lost, as below
  }
  showState(recording.isOver ? "over" : "lost");
  recording.finish();
  recording.isLive = false;
  page.grown();
  page.isFollowing = false;
  find("#follow").hidden = true;
};

({ file: showFile, compare: showComparison, live: showLive })[mode]();
