// What a host on Node does in each mode of the comparison. It is given how its library opens a conversation:
// a promise of { call(params), pid, close() }. Libraries with tool calls add tools(), which completes the handshake and
// promises a function: add(args) calls the tool "add" and promises the text of its result.
"use strict";
const fs = require("fs");

const BETWEEN_LOOKS = 100; // calls from one look at the clock to the next
const SMALL = { n: 123, s: "hello world", list: [1, 2, 3] };
const ADDENDS = { a: 2, b: 3 };

const now = () => Number(process.hrtime.bigint()) / 1e9;

async function many(call, params, count) {
  for (let i = 0; i < count; i++) await call(params);
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

// Calls a second, `depth` of them under way.
async function rate(seconds, depth, call, params) {
  const all = () => Promise.all(Array.from({ length: depth }, () => many(call, params, 10)));
  return depth * 10 / await time(seconds, all);
}

const modes = {
  async sequential(open, seconds) {
    const peer = await open();
    return await time(seconds, () => many(peer.call, SMALL, BETWEEN_LOOKS)) / BETWEEN_LOOKS;
  },

  async flight(open, seconds, depth) {
    const peer = await open();
    return rate(seconds, depth, peer.call, SMALL);
  },

  async tool(open, seconds, depth) {
    const peer = await open();
    const add = await peer.tools();
    const sum = await add(ADDENDS);
    if (sum !== "5") throw new Error(`the tool says ${sum}`);
    return 1 / await rate(seconds, depth, add, ADDENDS);
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
