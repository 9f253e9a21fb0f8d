// Times liquidjs: worker.js PHASE TEMPLATE DATA SECONDS, as worker.lua.
const fs = require("fs");
const path = require("path");
const { Liquid } = require(process.env.LIQUIDJS);

const [phase, name, dataPath, seconds] = process.argv.slice(2);
const sources = {};
for (const file of ["product", "table", "partials", "section", "heading", "block", "link", "filters"]) {
  sources[file] = fs.readFileSync(path.join(__dirname, "templates", file + ".liquid"), "utf8");
}
const parses = phase === "parse" || phase === "again";
const data = parses ? {} : JSON.parse(fs.readFileSync(dataPath, "utf8"));
const engine = new Liquid({ templates: sources, cache: true, timezoneOffset: 0 });
const partials = name === "partials" ? ["section", "heading", "block", "link"] : [];

const parse = (texts) => {
  const template = engine.parse(texts[name]);
  for (const partial of partials) engine.parse(texts[partial]);
  return template;
};

// The same templates with other names of variables, as many as worker.lua has.
const variants = [];
for (let i = 1; phase === "parse" && i <= 4001; i++) {
  const texts = {};
  for (const file of [name, ...partials]) texts[file] = sources[file].replace(/\b([a-z]+)(?=[.|}])/g, `$1_${i}`);
  variants.push(texts);
}
let last = -1;
const parseNext = () => parse(variants[(last = (last + 1) % variants.length)]);
const again = () => parse(sources);

const template = parse(sources);
const render = () => engine.renderSync(template, data);

const clock = () => {
  const usage = process.cpuUsage();
  return (usage.user + usage.system) / 1e6;
};

function microseconds(work, limit) {
  let count = 0;
  const started = clock();
  for (;;) {
    for (let i = 0; i < 5; i++) work();
    count += 5;
    const spent = clock() - started;
    if (spent >= limit) return (spent / count) * 1e6;
  }
}

if (phase === "output") {
  process.stdout.write(render());
} else if (phase === "memory") {
  for (let i = 0; i < 300; i++) render();
  console.log(fs.readFileSync("/proc/self/status", "utf8").match(/VmRSS:\s*(\d+)/)[1]);
} else {
  const work = { parse: parseNext, again, render }[phase];
  microseconds(work, Number(seconds) / 2);
  console.log(microseconds(work, Number(seconds)).toFixed(3));
}
