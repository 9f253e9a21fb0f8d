"use strict";
// A list of any length of which only what can be seen is in the document.

const TALLEST = 8e6; // pixels: browsers lose count beyond some ten million
const BEYOND = 6; // lines above and below that are there already when one scrolls

class VirtualList {
  // draw(index) makes the element of a line.
  constructor(viewport, lineHeight, draw) {
    this.viewport = viewport;
    this.lineHeight = lineHeight;
    this.draw = draw;
    this.count = 0;
    this.lines = new Map();
    this.spacer = viewport.appendChild(make("div", "spacer"));
    this.layer = viewport.appendChild(make("div", "layer"));
    this.onDrawn = () => {};
    const render = coalesce(() => this.render());
    viewport.addEventListener("scroll", render, { passive: true });
    new ResizeObserver(render).observe(viewport);
  }

  // The whole in pixels, and as much of that as can be scrolled through.
  get height() { return this.count * this.lineHeight; }
  get scrollHeight() { return Math.min(this.height, TALLEST); }
  get room() { return this.viewport.clientHeight; }

  // Where the view begins within the whole. The two differ for more lines than a scroll bar can tell apart.
  get offset() {
    const range = this.scrollHeight - this.room;
    if (this.height === this.scrollHeight || range <= 0) return this.viewport.scrollTop;
    return Math.min(1, this.viewport.scrollTop / range) * (this.height - this.room);
  }

  set offset(value) {
    const range = this.height - this.room;
    const scale = this.height === this.scrollHeight || range <= 0 ? 1 : (this.scrollHeight - this.room) / range;
    this.viewport.scrollTop = value * scale;
  }

  // Other lines, all drawn anew; one of them in the middle, if told.
  show(count, place = -1) {
    this.count = count;
    this.spacer.style.height = `${this.scrollHeight}px`;
    this.forget();
    if (place >= 0) this.reveal(place, true);
    else this.render();
  }

  // What is there is not right any more.
  forget() {
    this.lines.clear();
    this.layer.replaceChildren();
  }

  range() {
    const { offset } = this;
    const last = Math.min(this.count - 1, Math.floor((offset + this.room) / this.lineHeight));
    return [Math.max(0, Math.min(Math.floor(offset / this.lineHeight), last)), last];
  }

  render() {
    const [first, last] = this.range();
    const from = Math.max(0, first - BEYOND);
    const shift = this.viewport.scrollTop - this.offset + from * this.lineHeight;
    this.layer.style.transform = `translateY(${shift}px)`;
    this.fill(from, Math.min(this.count - 1, last + BEYOND));
    this.onDrawn(first, last);
  }

  // What is there and stays is not touched, so that little has to be laid out.
  fill(from, to) {
    for (const [i, line] of this.lines) {
      if (i >= from && i <= to) continue;
      line.remove();
      this.lines.delete(i);
    }
    let next = this.layer.firstChild;
    for (let i = from; i <= to; i++) {
      const line = this.lines.get(i);
      if (line) next = line.nextSibling;
      else this.lines.set(i, this.layer.insertBefore(this.draw(i), next));
    }
  }

  reveal(place, isCentred = false) {
    const { offset, room, lineHeight } = this;
    const top = place * lineHeight;
    const isAbove = top < offset + lineHeight;
    const isBelow = top + 2 * lineHeight > offset + room;
    const middle = (room - lineHeight) / 2;
    if (isAbove) this.offset = top - (isCentred ? middle : lineHeight);
    else if (isBelow) this.offset = top - (isCentred ? middle : room - 2 * lineHeight);
    this.render();
  }
}
