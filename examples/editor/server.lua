-- A text server: documents in memory, edited by line and character. README.md describes its methods.

package.path = (arg[0]:match "^(.*)/" or ".") .. "/?.lua;" .. package.path

local document = require "document"
local pintle = require "pintle"

local plugin = pintle.plugin { name = "text-server", version = "1.0.0", description = "Keeps texts" }

local opened = {} -- documents by name

-- {====== Params and results ======

local NAME = { type = "string", minLength = 1 }
local NUMBER = { type = "integer", minimum = 0 } -- a UInt
local POSITION = {
  type = "object", required = { "line", "character" }, additionalProperties = false,
  properties = { line = NUMBER, character = NUMBER },
}

local function params(required, properties)
  properties.name = NAME
  return { type = "object", required = required, properties = properties, additionalProperties = false }
end

local function state(found, message)
  return { message = message, outputs = { lines = #found.lines, cursor = found.cursor } }
end

-- }======

-- An operation on an open document.
local function on_document(fn)
  return function(args, ctx)
    local found = opened[args.name]
    if not found then return nil, args.name .. " is not open" end
    return fn(found, args, ctx)
  end
end

plugin:operation("open", {
  description = "Begin a document",
  params = params({ "name" }, { text = { type = "string", default = "" } }),
}, function(args)
  if opened[args.name] then return nil, args.name .. " is open already" end
  opened[args.name] = document.new(args.text)
  return state(opened[args.name], "opened " .. args.name)
end)

plugin:operation("edit", {
  description = "Put a text in the place of a range, or in at its beginning if it has no end",
  params = params({ "name", "from", "text" }, { from = POSITION, to = POSITION, text = { type = "string" } }),
}, on_document(function(found, args, ctx)
  local ok, message = found:replace(args.from, args.to or args.from, args.text)
  if not ok then return nil, message end
  ctx:notify("changed", { name = args.name, lines = #found.lines })
  return state(found, "edited " .. args.name)
end))

plugin:operation("move-cursor", {
  description = "Put the cursor somewhere else",
  params = params({ "name", "to" }, { to = POSITION }),
}, on_document(function(found, args)
  local ok, message = found:move(args.to)
  if not ok then return nil, message end
  return state(found, "moved")
end))

plugin:operation("text", { description = "All of a document", params = params({ "name" }, {}) },
  on_document(function(found) return found:text() end))

plugin:serve()
