// What a host on Node does in each mode of the comparison. It is given how its library opens a conversation:
// a promise of { call(params), pid, close() }.
"use strict";
const fs = require("fs");

const BETWEEN_LOOKS = 100; // calls from one look at the clock to the next
const SMALL = { n: 123, s: "hello world", list: [1, 2, 3] };

const now = () => Number(process.hrtime.bigint()) / 1e9;

async function many(peer, params, count) {
  for (let i = 0; i < count; i++) await peer.call(params);
}

// Seconds for one step, after some that do not count: compilers that watch programs run need those.
async function time(seconds, step) {
  const warm = now() + seconds;
  do await step(); while (now() < warm);
  const begun = now();
  let count = 0, spent;
  do {
    await step();
    count++;
    spent = now() - begun;
  } while (spent < seconds);
  return spent / count;
}

const modes = {
  async sequential(open, seconds) {
    const peer = await open();
    return await time(seconds, () => many(peer, SMALL, BETWEEN_LOOKS)) / BETWEEN_LOOKS;
  },

  async flight(open, seconds, depth) {
    const peer = await open();
    const all = () => Promise.all(Array.from({ length: depth }, () => many(peer, SMALL, 10)));
    return depth * 10 / await time(seconds, all);
  },

  async string(open, seconds, size) {
    const peer = await open();
    const line = "the quick brown fox jumps over the lazy dog ";
    const params = { s: line.repeat(size / line.length + 1).slice(0, size) };
    return JSON.stringify(params).length / await time(seconds, () => peer.call(params));
  },

  async start(open, seconds) {
    const times = [];
    const stop = now() + seconds;
    do {
      const begun = now();
      const peer = await open();
      await peer.call(SMALL);
      times.push(now() - begun);
      await peer.close();
    } while (now() < stop || times.length < 2);
    times.shift();
    return times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
  },

  async memory(open, _, which) {
    const peer = await open();
    await peer.call(SMALL);
    const pid = which === 0 ? peer.pid : "self";
    return fs.readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1] * 4096 / 1e6;
  },
};

module.exports = async (open) => {
  const [mode, seconds, n, ...command] = process.argv.slice(2);
  const figure = await modes[mode](() => open(command), Number(seconds), Number(n));
  fs.writeSync(1, `${figure}\n`);
  process.exit(0);
};
