"use strict";
// A list of any length; only the visible lines are in the document.

const TALLEST = 8e6; // pixels: browsers are inexact above about ten million
const BEYOND = 6; // lines above and below the view that are drawn in advance

class VirtualList {
  // draw(index) makes the element of a line.
  constructor(viewport, lineHeight, draw) {
    this.viewport = viewport;
    this.lineHeight = lineHeight;
    this.draw = draw;
    this.count = 0;
    this.lines = new Map();
    this.isFrozen = false; // while the page is printed
    this.spacer = viewport.appendChild(make("div", "spacer"));
    this.layer = viewport.appendChild(make("div", "layer"));
    this.onDrawn = () => {};
    const render = coalesce(() => this.render());
    viewport.addEventListener("scroll", render, { passive: true });
    new ResizeObserver(render).observe(viewport);
  }

  // The height of all lines, and the height that can be scrolled through.
  get height() { return this.count * this.lineHeight; }
  get scrollHeight() { return Math.min(this.height, TALLEST); }
  get room() { return this.viewport.clientHeight; }

  // The start of the view within all lines. It differs from scrollTop if TALLEST limits the height.
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

  // Shows another list of lines; `place` is centred if it is given.
  show(count, place = -1) {
    this.count = count;
    this.spacer.style.height = `${this.scrollHeight}px`;
    this.forget();
    if (place >= 0) this.reveal(place, true);
    else this.render();
  }

  // There are more lines of the same list; those that are drawn may have changed.
  grow(count, mayDiffer) {
    const wasFull = this.range()[1] < this.count - 1;
    this.count = count;
    this.spacer.style.height = `${this.scrollHeight}px`;
    if (wasFull && !mayDiffer) return;
    this.forget();
    this.render();
  }

  get isAtEnd() { return this.offset + this.room >= this.height - 2 * this.lineHeight; }

  showEnd() {
    this.offset = Math.max(0, this.height - this.room);
    this.render();
  }

  // Draws those lines anew that have changed.
  redraw(hasChanged) {
    for (const [i, line] of this.lines) {
      if (!hasChanged(i)) continue;
      this.lines.set(i, this.draw(i));
      line.replaceWith(this.lines.get(i));
    }
  }

  // Removes all drawn lines.
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
    if (this.isFrozen) return;
    const [first, last] = this.range();
    const from = Math.max(0, first - BEYOND);
    const shift = this.viewport.scrollTop - this.offset + from * this.lineHeight;
    this.layer.style.transform = `translateY(${shift}px)`;
    this.fill(from, Math.min(this.count - 1, last + BEYOND));
    this.onDrawn(first, last);
  }

  // Lines that stay visible are not touched, to save layout work.
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

  // Scrolls by whole lines, so that no line is cut at the top.
  reveal(place, isCentred = false) {
    const { offset, room, lineHeight } = this;
    const top = place * lineHeight;
    const isAbove = top < offset + lineHeight;
    const isBelow = top + 2 * lineHeight > offset + room;
    const whole = Math.floor(room / lineHeight);
    const before = isCentred ? whole >> 1 : isAbove ? 1 : whole - 2;
    if (isAbove || isBelow) this.offset = top - before * lineHeight;
    this.render();
  }
}
