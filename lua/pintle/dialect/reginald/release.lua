-- The two releases of Reginald, where they differ by data alone.

local json = require("pintle.core").json
local jsonrpc = require "pintle.jsonrpc"

local function set(names)
  local all = {}
  for name in names:gmatch "%S+" do all[name] = true end
  return all
end

---@class pintle.reginald.release
---@field name "june"|"july"
---@field protocol string how it calls itself in the handshake
---@field methods table<string, true> that a plugin answers
---@field types table<string, true> of config entries
---@field entry table order of the members of a config entry
---@field flag table order of the members of a flag
---@field usage "usage"|"description" what a flag calls that which is told of it; another member is not known
---@field resolves_paths? boolean whether paths arrive absolute, and one that was not set as the host's base directory
---@field shutdown any what a plugin answers to a shutdown
---@field codes pintle.reginald.codes

---@class pintle.reginald.codes
---@field handshake integer no protocol or version that is spoken here
---@field unknown integer no such command
---@field group integer a command that only has others under it
---@field lacking integer? something is not there that the command or task needs; that of a failure unless told
---@field config integer config of a task that is not valid
---@field command integer the command failed
---@field task integer the task failed

local release = { VERSION = 0 }

---Those of both.
release.METHODS = set "handshake initialize setupCommand runCommand validateTask runTask shutdown exit"

---@type table<string, pintle.reginald.release> by name
release.by_name = {
  june = {
    name = "june",
    protocol = "rpp",
    methods = release.METHODS,
    types = set "bool int string",
    entry = json.order { "key", "value", "type", "flag", "envOverride", "flagOnly" },
    flag = json.order { "name", "shorthand", "usage" },
    usage = "usage",
    shutdown = json.null,
    codes = {
      handshake = jsonrpc.INVALID_PARAMS, unknown = jsonrpc.INVALID_PARAMS, group = jsonrpc.INVALID_PARAMS,
      config = -32050, command = -32000, task = jsonrpc.INTERNAL_ERROR,
    },
  },
  july = {
    name = "july",
    protocol = "reginald",
    methods = set "handshake runCommand runTask shutdown exit",
    types = set "bool int string path boolList intList stringList pathList",
    entry = json.order { "value", "type", "key", "flag", "envOverride", "flagOnly" },
    flag = json.order { "name", "shorthand", "description" },
    usage = "description",
    resolves_paths = true,
    shutdown = true,
    codes = {
      handshake = -32000, unknown = -32001, group = -32002, lacking = -32002, config = jsonrpc.INVALID_PARAMS,
      command = -32003, task = -32003,
    },
  },
}

---@type table<string, pintle.reginald.release> by what is said in the handshake
release.by_protocol = { rpp = release.by_name.june, reginald = release.by_name.july }

return release
