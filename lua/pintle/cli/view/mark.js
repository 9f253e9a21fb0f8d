"use strict";
// Marks what was searched for in what can be seen, where the browser can do that without other elements.

function* rangesOf(node, words) {
  const text = node.data.toLowerCase();
  if (text.length !== node.length) return; // there are characters whose lower case is longer
  for (const word of words) {
    for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
      const [startOffset, endOffset] = [at, at + word.length];
      yield new StaticRange({ startContainer: node, startOffset, endContainer: node, endOffset });
    }
  }
}

const mark = (element, words) => {
  if (!CSS.highlights) return;
  CSS.highlights.clear();
  if (!words.length) return;
  const ranges = [];
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) ranges.push(...rangesOf(walker.currentNode, words));
  CSS.highlights.set("found", new Highlight(...ranges));
};
