"use strict";
// Long work in slices. The first one is done at once; the others wait until its result has been painted. So a key press
// is answered in the next frame, however many rows there are.

const SLICE = 4; // milliseconds
const STRIDE = 16; // steps between two looks at the clock

// Calls the job when the next frame has been painted; a page that is not visible has none.
const afterFrame = (job) => requestAnimationFrame(() => setTimeout(job));

class Work {
  constructor() { this.turn = 0; }

  // Runs a generator to its end, and calls onSlice(isDone, result) after each slice. Work started before stops.
  start(steps, onSlice) {
    this.turn += 1;
    this.run(steps, onSlice, this.turn, afterFrame);
  }

  stop() { this.turn += 1; }

  run(steps, onSlice, turn, wait) {
    if (turn !== this.turn) return;
    const end = performance.now() + SLICE;
    let step = { done: false };
    do {
      for (let i = 0; i < STRIDE && !step.done; i++) step = steps.next();
    } while (!step.done && performance.now() < end);
    if (!step.done) wait(() => this.run(steps, onSlice, turn, setTimeout));
    onSlice(step.done, step.value);
  }
}
