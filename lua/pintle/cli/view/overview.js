"use strict";
// The overview of the whole time: the number of messages of each side, errors, and open calls.

const AXIS = 14; // pixels at the top, for the times
const LANE = 15; // pixels for the messages of a side
const CALL = 4; // pixels for a row of calls
const CALL_ROWS = 6;
const COLOURS = ["line", "faint", "host", "plugin", "wrong"]; // colours of the style sheet used here
const STEPS = [1, 2, 5];

const niceStep = (span, most) => {
  let power = 10 ** Math.floor(Math.log10(span / most));
  for (;;) {
    for (const step of STEPS) if (span / (step * power) <= most) return step * power;
    power *= 10;
  }
};

const tickText = (time) => (time === 0 ? "0" : duration(time).replace(/\.0+(?= )|(\.\d*?)0+(?= )/, "$1"));

class Overview {
  constructor(element, model, { onJump, onRange }) {
    this.element = element;
    this.model = model;
    this.canvas = find("canvas", element);
    this.found = [];
    this.redraw = coalesce(() => this.draw());
    new ResizeObserver(this.redraw).observe(element);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", this.redraw);
    this.listen(onJump, onRange);
  }

  get end() { return this.model.end || 1e-6; }

  timeAt(x) { return Math.max(0, Math.min(1, x / this.element.clientWidth)) * this.end; }

  listen(onJump, onRange) {
    const box = find("#range", this.element);
    const place = (event) => event.clientX - this.element.getBoundingClientRect().left;
    let from = null;
    this.element.addEventListener("pointerdown", (event) => {
      from = place(event);
      this.element.setPointerCapture(event.pointerId);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const to = place(event);
      box.hidden = Math.abs(to - from) < 4;
      this.stretch(box, this.timeAt(Math.min(from, to)), this.timeAt(Math.max(from, to)));
    });
    this.element.addEventListener("pointerup", (event) => {
      if (from === null) return;
      const times = [this.timeAt(from), this.timeAt(place(event))].sort((a, b) => a - b);
      const isDrag = Math.abs(place(event) - from) >= 4;
      from = null;
      if (isDrag) onRange(times);
      else onJump(times[0]);
    });
  }

  stretch(box, from, to) {
    box.style.left = `${(100 * from) / this.end}%`;
    box.style.width = `${Math.max(0.15, (100 * (to - from)) / this.end)}%`;
  }

  place(box, times) {
    box.hidden = !times;
    if (times) this.stretch(box, ...times);
  }

  // The selected time, and the visible part of it.
  showRange(times) { this.place(find("#range", this.element), times); }
  showWindow(times) { this.place(find("#window", this.element), times); }

  show(found) {
    this.found = found;
    this.redraw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    const ratio = devicePixelRatio || 1;
    Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    this.pen = this.canvas.getContext("2d");
    this.pen.scale(ratio, ratio);
    const style = getComputedStyle(this.element);
    this.colours = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`)]));
    this.drawAxis(width, height);
    this.drawSaid(width);
    if (this.model.slots.host) this.drawCalls(width);
  }

  drawAxis(width, height) {
    const { pen, end } = this;
    pen.font = "10px system-ui, sans-serif";
    const step = niceStep(end, Math.max(1, width / 110));
    for (let i = 0; i * step <= end; i++) {
      const x = Math.round((i * step * width) / end);
      pen.fillStyle = this.colours.line;
      pen.fillRect(x, 0, 1, height);
      pen.fillStyle = this.colours.faint;
      if (x < width - 40) pen.fillText(tickText(i * step), x + 4, 10);
    }
  }

  // The number of messages at each pixel: upwards for the host, downwards for the plugin.
  drawSaid(width) {
    const counts = { host: new Uint32Array(width + 1), plugin: new Uint32Array(width + 1) };
    const wrong = { host: new Uint8Array(width + 1), plugin: new Uint8Array(width + 1) };
    const put = (lane, time, isBad) => {
      const x = Math.floor((time / this.end) * (width - 1));
      counts[lane][x] += 1;
      if (isBad) wrong[lane][x] = 1;
    };
    for (const index of this.found) this.model.markRow(this.model.rows[index], put);
    const most = Math.max(1, ...counts.host, ...counts.plugin);
    const middle = AXIS + LANE;
    for (const side of ["host", "plugin"]) {
      counts[side].forEach((count, x) => {
        if (!count) return;
        const tall = Math.max(3, (LANE * Math.log2(1 + count)) / Math.log2(1 + most));
        this.pen.fillStyle = this.colours[wrong[side][x] ? "wrong" : side];
        this.pen.fillRect(x, side === "host" ? middle - tall : middle + 1, 1.5, tall);
      });
    }
  }

  drawCalls(width) {
    const top = AXIS + 2 * LANE + 5;
    const painted = new Array(CALL_ROWS).fill(-1); // the last painted pixel of each row of calls
    const until = new Array(CALL_ROWS).fill(-1);
    for (const index of this.found) {
      const call = this.model.rows[index];
      if (call.kind !== "request" || call.answer < 0) continue;
      const slot = until.findIndex((time) => time <= call.time);
      if (slot < 0) continue;
      const answer = this.model.rows[call.answer];
      until[slot] = answer.time;
      const from = (call.time / this.end) * (width - 1);
      const to = (answer.time / this.end) * (width - 1);
      if (to <= painted[slot] && !isWrong(answer)) continue;
      painted[slot] = Math.max(from + 1.5, to);
      this.pen.fillStyle = this.colours[isWrong(answer) ? "wrong" : answer.from];
      this.pen.fillRect(from, top + slot * CALL, painted[slot] - from, CALL - 1);
    }
  }
}
