-- Reading what `pintle trace` has written.

local errors = require "pintle.error"
local json = require("pintle.core").json
local lfs = require "lfs"

local VERSION = 1

---A line of a recording, as docs/trace.md has it.
---@class pintle.cli.record
---@field time number
---@field from? "host"|"plugin"
---@field message? any
---@field noise? string
---@field encoding? "base64"
---@field problem? string
---@field stderr? string
---@field closed? "stdin"|"stdout"
---@field signal? string
---@field dialect? string
---@field framing? "line"|"header"
---@field command? string[]
---@field exit? pintle.exit
---@field line string its text

local recording = {}

local function wrong(name, number, format, ...)
  return nil, errors.new("invalid", ("%s: line %d: %s"):format(name, number, format:format(...)))
end

-- What members have to be, for those who read them not to stumble.
local FORMS = {
  from = "host or plugin", noise = "text", stderr = "text", encoding = "text", problem = "text", closed = "text",
  signal = "text", framing = "text", dialect = "text", command = "a list of texts", exit = "a code or a signal",
}

local FITS = {
  ["host or plugin"] = function(value) return value == "host" or value == "plugin" end,
  ["text"] = function(value) return type(value) == "string" end,
  ["a list of texts"] = function(value)
    if type(value) ~= "table" then return false end
    for _, text in ipairs(value) do
      if type(text) ~= "string" then return false end
    end
    return value[1] ~= nil and value[1] ~= ""
  end,
  ["a code or a signal"] = function(value)
    return type(value) == "table" and (math.type(value.code) == "integer" or type(value.signal) == "string")
  end,
}

local SAID = { "message", "noise", "stderr", "closed" }

local function check_members(record, name, number)
  for member, form in pairs(FORMS) do
    local value = record[member]
    if value ~= nil and not FITS[form](value) then return wrong(name, number, "%s: %s expected", member, form) end
  end
  for _, member in ipairs(SAID) do
    if record[member] ~= nil and not record.from then return wrong(name, number, "from: missing beside %s", member) end
  end
  return record
end

local function check(record, name, number)
  if type(record) ~= "table" or type(record.time) ~= "number" then
    return wrong(name, number, "not a record: an object with a time expected")
  end
  local ok, err = check_members(record, name, number)
  if not ok then return nil, err end
  if number > 1 then return record end
  if record.trace == nil then return wrong(name, number, "this is nothing that `pintle trace` has written") end
  if record.trace ~= VERSION then
    return wrong(name, number, "version %s of the form, and only %d is known here", tostring(record.trace), VERSION)
  end
  return record
end

---Reads a line.
---@param line string
---@param name string of the file
---@param number integer of the line
---@return pintle.cli.record?, pintle.error?
function recording.parse(line, name, number)
  local record, message = json.decode(line)
  if message then return wrong(name, number, "not JSON: %s", message) end
  local checked, err = check(record, name, number)
  if checked then checked.line = line end
  return checked, err
end

---@param path string "-" is stdin
---@return file*?, string|pintle.error name_or_err
function recording.open(path)
  if path == "-" then return io.stdin, "stdin" end
  local file, message = io.open(path)
  if not file then return nil, errors.new("invalid", message) end
  if lfs.attributes(path, "mode") == "directory" then
    file:close()
    return nil, errors.new("invalid", path .. ": Is a directory")
  end
  return file, path
end

---All of it.
---@param path string
---@return pintle.cli.record[]?, pintle.error?
function recording.read(path)
  local file <close>, name = recording.open(path)
  if not file then return nil, name end
  local records = {}
  for line in file:lines() do
    local record, err = recording.parse(line, name, #records + 1)
    if not record then return nil, err end
    records[#records + 1] = record
  end
  if #records == 0 then return wrong(name, 1, "the file is empty") end
  return records
end

return recording
