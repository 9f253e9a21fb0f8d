-- Common language servers with a host: initialized, called, cancelled and stopped; no process or descriptor is left.
local children = require "spec.support.children"
local core = require "pintle.core"
local exit_status = require "spec.support.exit_status"
local files = require "spec.support.files"
local pintle = require "pintle"
local turn_until = require "spec.support.turning"

local json = core.json

local nothing_left, folder, status_file, host, server, peer, entries, published, edits

local function uri(name) return "file://" .. folder .. "/" .. name end

-- Starts a server in a folder of its own with these files.
local function start(command, texts, options)
  for name, text in pairs(texts) do files.write(folder .. "/" .. name, text) end
  server = assert(host:start {
    name = "server", command = exit_status.wrap(command, status_file), cwd = folder, handshake_timeout = "60s",
    options = options,
    handlers = {
      ["textDocument/publishDiagnostics"] = function(params, ctx)
        published[params.uri], peer = params.diagnostics, ctx.peer
      end,
      ["workspace/applyEdit"] = function(params)
        edits[#edits + 1] = params.edit
        return { applied = true }
      end,
    },
  })
  return server
end

local function open(name, language, text)
  assert(server:notify("textDocument/didOpen", {
    textDocument = { uri = uri(name), languageId = language, version = 1, text = text },
  }))
end

-- The messages of the diagnostics, once there are some.
local function diagnostics(name)
  turn_until(function() return published[uri(name)] and #published[uri(name)] > 0 end)
  local messages = {}
  for i, found in ipairs(published[uri(name)]) do messages[i] = found.message end
  return table.concat(messages, "\n")
end

local function at(name, line, character)
  return { textDocument = { uri = uri(name) }, position = { line = line, character = character } }
end

local function ask(method, ...) return assert(server:call("textDocument/" .. method, at(...), { timeout = 60 })) end

-- The text of a hover, whichever of its forms it has.
local function hover(...)
  local contents = ask("hover", ...).contents
  if type(contents) == "table" then return contents.value or contents[1] and (contents[1].value or contents[1]) end
  return contents
end

-- The place of a definition: its line and column.
local function definition(...)
  local found = ask("definition", ...)
  found = found[1] or found
  local place = (found.targetSelectionRange or found.range).start
  return { place.line, place.character }
end

-- Calls and cancels at once. The result is RequestCancelled, or the answer of a server that was faster or ignores it.
local function assert_cancellable(method, params)
  turn_until(function() return peer end) -- the server has sent diagnostics
  local begun = peer:begin(method, params)
  peer:notify("$/cancelRequest", { id = begun.id })
  local result, err = begun:wait()
  assert.truthy(result ~= nil or err.code == -32800, tostring(err))
  return err and err.code
end

-- After a call that timed out the server can still be used.
local function assert_abandonable(method, params)
  local task = pintle.task(function() return server:call(method, params) end)
  task:cancel "enough"
  assert.equal("cancelled", select(2, task:await()).kind)
end

local function assert_ends_well()
  local pid = server:pids()[1]
  server:stop()
  assert.equal(0, exit_status.read(status_file), table.concat(entries, "\n"))
  assert.is_false(core.alive(pid))
end

before_each(function()
  nothing_left = children.stock()
  folder, status_file, entries, published, edits, peer = files.folder().path, os.tmpname(), {}, {}, {}, nil
  host = pintle.host {
    dialect = "lsp", verbosity = "debug", log = function(entry) entries[#entries + 1] = tostring(entry) end,
  }
end)

after_each(function()
  host:stop()
  os.execute("rm -r '" .. folder .. "'")
  os.remove(status_file)
  nothing_left()
end)

describe("clangd", function()
  local C = "int twice(int x) { return x * 2; }\nint main(void) { int y = twice(1) + undefined; return y; }\n"

  it("answers requests, and shuts down", function()
    start({ "clangd", "--log=error" }, { ["a.c"] = C })
    assert.matches("clangd", server.manifest.name)
    assert.same({ "clangd.applyFix", "clangd.applyTweak" }, server.manifest.names)
    assert.is_true(server.raw_manifest.capabilities.hoverProvider)
    open("a.c", "c", C)
    assert.matches("undeclared identifier 'undefined'", diagnostics "a.c")
    assert.matches("function twice", hover("a.c", 1, 26))
    assert.same({ 0, 4 }, definition("a.c", 1, 26))
    assert_abandonable("textDocument/hover", at("a.c", 1, 26))
    assert_ends_well()
  end)

  it("answers a cancelled request with RequestCancelled", function()
    start({ "clangd", "--log=error" }, { ["a.c"] = "#include <stdio.h>\n" .. C, ["b.c"] = C })
    open("b.c", "c", C)
    diagnostics "b.c"
    open("a.c", "c", "#include <stdio.h>\n" .. C)
    assert.equal(-32800, assert_cancellable("textDocument/hover", at("a.c", 2, 26)))
    assert.matches("function twice", hover("a.c", 2, 26))
    assert_ends_well()
  end)

  it("executes a command that changes a document", function()
    local code = "int main() { int x = 1; if (x) { x = 2; } else { x = 3; } return x; }\n"
    start({ "clangd", "--log=error" }, { ["a.cpp"] = code })
    open("a.cpp", "cpp", code)
    local actions = assert(server:call("textDocument/codeAction", {
      textDocument = { uri = uri "a.cpp" }, context = { diagnostics = json.array() },
      range = { start = { line = 0, character = 21 }, ["end"] = { line = 0, character = 22 } },
    }))
    local tweak
    for _, action in ipairs(actions) do
      local command = type(action.command) == "table" and action.command or action
      if command.command == "clangd.applyTweak" then tweak = tweak or command end
    end
    assert.is_table(tweak, json.encode(actions))
    assert.is_true(assert(server:execute("clangd.applyTweak", tweak.arguments)).success)
    assert.equal(1, #edits)
    local outcome, err = server:execute("clangd.applyTweak", { { file = "nonsense" } })
    assert.is_nil(outcome)
    assert.equal("remote", err.kind)
    assert_ends_well()
  end)
end)

describe("bash-language-server", function()
  local SH = "#!/bin/bash\n# Says hello.\ngreet() { echo \"hello $1\"; }\ngreet world\necho $unquoted\n"

  it("answers requests, and shuts down", function()
    start({ "bash-language-server", "start" }, { ["a.sh"] = SH })
    open("a.sh", "shellscript", SH)
    assert.matches("[Dd]ouble quote", diagnostics "a.sh")
    assert.matches("Says hello", hover("a.sh", 3, 2))
    assert.same({ 2, 0 }, definition("a.sh", 3, 2))
    assert_cancellable("textDocument/documentSymbol", { textDocument = { uri = uri "a.sh" } })
    assert_abandonable("textDocument/hover", at("a.sh", 3, 2))
    assert_ends_well()
  end)
end)

describe("typescript-language-server", function()
  local TS = 'import { b, a } from "./other";\nfunction twice(x: number) { return x * 2; }\n'
    .. "const n: string = twice(1);\nconsole.log(a, b, n);\n"
  local OTHER = "export const a = 1;\nexport const b = 2;\n"

  it("answers requests, and shuts down", function()
    start({ "typescript-language-server", "--stdio" },
      { ["a.ts"] = TS, ["other.ts"] = OTHER, ["tsconfig.json"] = "{}" })
    open("a.ts", "typescript", TS)
    assert.matches("Type 'number' is not assignable to type 'string'", diagnostics "a.ts")
    assert.matches("function twice%(x: number%): number", hover("a.ts", 2, 19))
    assert.same({ 1, 9 }, definition("a.ts", 2, 19))
    assert_cancellable("textDocument/references", {
      textDocument = { uri = uri "a.ts" }, position = { line = 1, character = 10 },
      context = { includeDeclaration = true },
    })
    assert_abandonable("textDocument/hover", at("a.ts", 2, 19))
    assert.is_true(assert(server:execute("_typescript.organizeImports", { folder .. "/a.ts" })).success)
    turn_until(function() return #edits == 1 end)
    assert.matches("{ a, b }", json.encode(edits[1]), 1, true)
    assert_ends_well()
  end)
end)

describe("pylsp", function()
  local PY = 'def twice(x):\n    """Doubles it."""\n    return x * 2\n\n\nprint(twice(undefined))\n'

  it("answers requests, and shuts down", function()
    start({ "/usr/bin/python3", "-m", "pylsp" }, { ["a.py"] = PY },
      { settings = { pylsp = { plugins = { pycodestyle = { enabled = false } } } } })
    assert.equal("pylsp", server.manifest.name)
    open("a.py", "python", PY)
    assert.matches("undefined name 'undefined'", diagnostics "a.py")
    assert.matches("Doubles it", hover("a.py", 5, 8))
    assert.same({ 0, 4 }, definition("a.py", 5, 8))
    assert_cancellable("textDocument/documentSymbol", { textDocument = { uri = uri "a.py" } })
    assert_abandonable("textDocument/hover", at("a.py", 5, 8))
    assert_ends_well()
  end)
end)
