-- Settings that a host of july makes from a manifest.json: those of commands are among those of the plugin, and those
-- of nested commands among their parents'.
local children = require "spec.support.children"
local json = require("pintle.core").json
local july_host = require "spec.support.reginald.july_host"
local lfs = require "lfs"

children.leave_nothing()

local CODE = [[
  local pintle = require "pintle"
  local function object(properties) return { type = "object", properties = properties } end
  local path = { type = "string", format = "path" }
  local plugin = pintle.plugin { name = "tree", version = "1.0.0", dialects = { reginald = {
    executable = "tree", config = CONFIG and object { depth = { type = "integer" }, home = path } or nil,
  } } }
  local function tell(args, ctx)
    return { outputs = { args = args, config = ctx.config } }
  end
  local as_command = { reginald = { as = "command" } }
  local text = { type = "string" }
  plugin:operation("grow", { params = object { height = text, place = path }, dialects = as_command }, tell)
  plugin:operation("grow.leaf", { params = object { colour = text, file = path }, dialects = as_command }, tell)
  plugin:operation("grow.leaf.vein", { params = object { width = text }, dialects = as_command }, tell)
  plugin:operation("cut.twig", { params = object { options = object { sharp = { type = "boolean" } } },
    dialects = as_command }, tell)
  plugin:serve()
]]

-- A host after the handshake that has the plugin's manifest.json. Without a schema the plugin takes any config.
local function start(file, has_schema)
  local code = ("CONFIG = %s %s"):format(has_schema ~= false, CODE)
  local text, status = children.run { command = children.lua(code, "--manifest", "reginald"), stdin = "null" }
  assert.equal(0, status)
  local host = july_host(children.lua(code))
  host:load(json.decode(text), file)
  assert(host:call("handshake", '{"protocol":"reginald","protocolVersion":0}'))
  return host
end

local function outputs(host, name, flags)
  host.logged = {}
  assert.same({}, (assert(host:run(name, flags))))
  for _, attribute in ipairs(host.logged[1].attrs) do
    if attribute.key == "outputs" then return json.decode(attribute.value) end
  end
end

describe("settings of july", function()
  it("are passed to their command only", function()
    local host <close> = start { depth = 2, grow = { height = "tall", leaf = { colour = "green" } } }
    local config = { depth = 2 }
    assert.same({ args = { height = "tall" }, config = config }, outputs(host, "grow"))
    assert.same({ args = { colour = "green" }, config = config }, outputs(host, "grow.leaf"))
    assert.same({ args = { width = "thin" }, config = config }, outputs(host, "grow.leaf.vein", { width = "thin" }))
    host:stop()
  end)

  it("are not in the config of a plugin that takes any", function()
    local host <close> = start({ grow = { height = "tall" } }, false)
    for _, word in ipairs { "configs", "map", "string" } do
      host.nested_type = word
      assert.same({ args = { height = "tall" }, config = {} }, outputs(host, "grow"))
    end
    host:stop()
  end)

  it("have objects as JSON text", function()
    local host <close> = start()
    assert.same({ options = { sharp = true } }, outputs(host, "cut.twig", { options = '{"sharp":true}' }).args)
    assert.same({}, outputs(host, "cut.twig", { options = "" }).args)
    host:stop()
  end)

  it("leave out a path that was not set, which arrives as the base directory", function()
    local host <close> = start { home = "/h" }
    assert.same({ args = {}, config = { home = "/h" } }, outputs(host, "grow"))
    assert.same({ file = lfs.currentdir() .. "/a" }, outputs(host, "grow.leaf", { file = "a" }).args)
    host.file = {}
    assert.same({ args = {}, config = {} }, outputs(host, "grow"))
    host:stop()
  end)

  it("pass on a base directory that the user has set", function()
    local host <close> = start()
    host.directory = "/elsewhere"
    assert.same({ place = "/elsewhere" }, outputs(host, "grow").args)
    host:stop()
  end)
end)
