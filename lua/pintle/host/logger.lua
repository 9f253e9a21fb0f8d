-- Where everything goes that plugins say: one entry at a time, to one function, filtered by level.

local entries = require "pintle.host.entry"

local RANK = { debug = 1, info = 2, warn = 3, error = 4, silent = 5 }

---@class pintle.logger
---@field has_bar boolean whether progress is shown
---@field verbosity pintle.level|"silent" the lowest level that is shown
---@field shows fun(self: pintle.logger, level: any): boolean
---@field entry fun(self: pintle.logger, entry: table)
---@field progress fun(self: pintle.logger, plugin: string, operation: string, fraction: number, message: string?)
---@field clear fun(self: pintle.logger) takes a bar away that is not full

local logger = {}

local function silent() end

local function output_of(log)
  if log == nil then return require "pintle.host.terminal"() end
  return { entry = log or silent, has_bar = false }
end

---@param log nil|false|fun(entry: pintle.entry) nil is for a readable output on stderr, false for none
---@param verbosity pintle.level|"silent" the lowest level that is shown
---@return pintle.logger
function logger.new(log, verbosity)
  local threshold = assert(RANK[verbosity], "verbosity")
  local output = output_of(log)
  local self = { has_bar = output.has_bar and verbosity ~= "silent", verbosity = verbosity }

  ---@param level any
  ---@return boolean whether an entry of this level goes anywhere
  function self.shows(_, level) return log ~= false and (RANK[level] or RANK.info) >= threshold end

  function self.entry(_, entry)
    entry.level = RANK[entry.level] and entry.level or "info"
    if RANK[entry.level] < threshold then return end
    local ok, err = pcall(output.entry, entries.new(entry))
    if not ok then io.stderr:write("pintle: the host's log failed: ", tostring(err), "\n") end
  end

  function self.progress(_, ...)
    if self.has_bar then output.progress(...) end
  end

  function self.clear()
    if self.has_bar then output.clear() end
  end

  return self
end

---@param level any
---@return boolean
function logger.is_level(level) return RANK[level] ~= nil end

return logger
