-- The greeter behaves the same in every language it is written in.
local children = require "spec.support.children"
local core = require "pintle.core"
local extension = require "spec.support.extension"

local json = core.json

children.leave_nothing()

local MANIFEST = {
  name = "greeter", version = "1.0.0", protocolVersion = "0.0.1", description = "Says hello",
  operations = {
    greet = {
      description = "Say hello",
      params = {
        type = "object", required = { "name" },
        properties = { name = { type = "string" }, times = { type = "integer", default = 1 } },
      },
    },
  },
}

-- As pintle's host writes them.
local function request(id, method, params)
  return ('{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}'):format(id, method, params)
end

local function execution(id, operation, args)
  return request(id, "execute", ('{"operation":"%s","args":%s,"context":{"workdir":"/x","phase":"setup",'
    .. '"env":{"name":"not this"}}}'):format(operation, json.encode(args)))
end

local LANGUAGES = { { "lua5.4", "lua" }, { "python3", "py" }, { "node", "js" }, { "sh", "sh" } }

for _, language in ipairs(LANGUAGES) do
  local interpreter, ending = language[1], language[2]

  describe("the greeter in plugin." .. ending, function()
    local function start() return extension.start_with(interpreter, "examples/greeter/plugin." .. ending) end

    -- The answer to the line, after all log messages but the one about the greeting.
    local function answer_to(greeter, line)
      greeter:say(line)
      local logged
      while true do
        local message = json.decode(greeter:line())
        if message.id then return message, logged end
        if message.params.level == "info" then logged = message.params end
      end
    end

    it("greets", function()
      if not core.which(interpreter) then return pending(interpreter .. " is not here") end
      local greeter <close> = start()
      assert.same(MANIFEST, answer_to(greeter, request(1, "initialize", '{"protocolVersion":"0.0.1"}')).result)
      local names = { "Ada", "Ådä \u{1F600}", 'A "B" \\ C', "100 % $HOME `x` 'y'", "a\nb\tc", '","context":{', "}" }
      for id, name in ipairs(names) do
        local answer, logged = answer_to(greeter, execution(id, "greet", { name = name, times = 1 }))
        assert.same({ success = true, message = "Hello, " .. name }, answer.result)
        assert.equal(id, answer.id)
        assert.same({ level = "info", message = "greeting", data = { name = name } }, logged)
      end
      assert.same({}, answer_to(greeter, request(9, "shutdown", "{}")).result)
      local text, status, complaints = greeter:finish()
      assert.same({ "", 0, "" }, { text, status, complaints })
    end)

    it("fails without a name to greet, and for an unknown operation", function()
      if not core.which(interpreter) then return pending(interpreter .. " is not here") end
      local greeter <close> = start()
      assert.same({ success = false, message = "nobody to greet", error = "nobody to greet" },
        answer_to(greeter, execution(1, "greet", { name = "", times = 1 })).result)
      local err = answer_to(greeter, execution(2, "leave", {})).error
      assert.same({ -32601, "Unknown operation: leave" }, { err.code, err.message })
      assert.equal(-32601, answer_to(greeter, request(3, "sing", "{}")).error.code)
      assert.equal(0, (select(2, greeter:finish())))
    end)
  end)
end
