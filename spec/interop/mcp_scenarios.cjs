// The scenarios of a client, the same for both eras. `ways` has the functions that differ.

const say = (what, value) => process.stdout.write(JSON.stringify({ what, value }) + "\n");

const told = async (what, promise) => {
  try {
    say(what, await promise);
  } catch (error) {
    say(what, { error: { code: error.code, message: error.message, data: error.data } });
  }
};

const tool = (ways, name, args, options) =>
  ways.call({ name, arguments: args, ...(ways.meta && { _meta: ways.meta }) }, options);

// The user's answers to the questions of the server, in order.
const answers = [];

const elicit = (request) => {
  say("asked", request.params.message);
  return answers.shift() ?? { action: "cancel" };
};

async function greeter(client, ways) {
  if (ways.ping) await told("ping", ways.ping());
  await told("tools", client.listTools());
  await told("greet", tool(ways, "greet", { name: "Ada", times: 4 }));
  await told("nobody", tool(ways, "greet", { name: "" }));
  await told("unknown", tool(ways, "gret", {}));
  await told("wrong", tool(ways, "greet", { name: 5 }));
  if (ways.level) {
    await told("level", ways.level("error"));
    await told("quiet", tool(ways, "greet", { name: "Bob" }));
  }
}

async function notes(client, ways) {
  await told("tools", client.listTools());
  await told("add", tool(ways, "add", { title: "Tea, in May", text: "Assam\nDarjeeling" }));
  await told("again", tool(ways, "add", { title: "Tea, in May", text: "" }));
  await told("list", tool(ways, "list", {}));
  await told("search", tool(ways, "search", { query: "darj" }));
  await told("resources", client.listResources());
  await told("templates", client.listResourceTemplates());
  await told("read", client.readResource({ uri: "note:///tea-in-may" }));
  await told("missing", client.readResource({ uri: "note:///gone" }));
  await told("prompts", client.listPrompts());
  await told("prompt", client.getPrompt({ name: "summarize", arguments: { name: "tea-in-may" } }));
  await told("completion", client.complete({
    ref: { type: "ref/prompt", name: "summarize" }, argument: { name: "name", value: "te" },
  }));
  await told("chart", tool(ways, "chart", {}));
  answers.push({ action: "decline" }, { action: "accept", content: { delete: true } });
  await told("keep", tool(ways, "delete", { name: "tea-in-may" }));
  await told("delete", tool(ways, "delete", { name: "tea-in-may" }));
  await told("empty", client.listResources());
}

// A slow tool reports its progress. A call that takes too long is cancelled, and the server can still be used.
async function patience(client, ways) {
  await told("steps", tool(ways, "steps", { steps: 4 }, { onprogress: (progress) => say("progress", progress) }));
  const controller = new AbortController();
  await told("slow", tool(ways, "wait", { seconds: 60 }, {
    signal: controller.signal, onprogress: () => controller.abort("enough"),
  }));
  await told("after", tool(ways, "stopped", {}));
}

module.exports = { say, elicit, greeter, notes, patience };
