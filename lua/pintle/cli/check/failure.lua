-- The error that a probe raises when the plugin does not pass it; the runner catches it.

---@class pintle.cli.check.failure
---@field reason string
---@field level? "fail"|"warn"|"skip" overrides the level of the probe
---@field is_malformed? boolean whether an answer arrived that does not match its schema

local failure = {}

local metatable = { __name = "pintle.cli.check.failure" }

---@param value any
---@return boolean
function failure.is(value) return getmetatable(value) == metatable end

---@param level "fail"|"warn"|"skip"|nil
---@param format string
---@param ... any
function failure.raise_with(level, format, ...)
  error(setmetatable({ level = level, reason = format:format(...) }, metatable), 0)
end

---Fails with the level of the probe.
---@param format string
---@param ... any
function failure.raise(format, ...) failure.raise_with(nil, format, ...) end

---Fails because an answer does not match its schema.
---@param format string
---@param ... any
function failure.raise_malformed(format, ...)
  error(setmetatable({ is_malformed = true, reason = format:format(...) }, metatable), 0)
end

---@param format string
---@param ... any
function failure.warn(format, ...) failure.raise_with("warn", format, ...) end

---Skips the probe: it cannot be run with this plugin.
---@param format string
---@param ... any
function failure.skip(format, ...) failure.raise_with("skip", format, ...) end

return failure
