-- What a probe ends with that has not gone as it should: raised, and caught by whoever runs the probe.

---@class pintle.cli.check.breach
---@field reason string
---@field level? "fail"|"warn"|"skip" how bad it is, where that is not for the probe to say
---@field is_form? boolean whether an answer has come, and is not in its form

local breach = {}

local metatable = { __name = "pintle.cli.check.breach" }

---@param value any
---@return boolean
function breach.is(value) return getmetatable(value) == metatable end

---@param level "fail"|"warn"|"skip"|nil
---@param format string
---@param ... any
function breach.of(level, format, ...)
  error(setmetatable({ level = level, reason = format:format(...) }, metatable), 0)
end

---As bad as the probe says.
---@param format string
---@param ... any
function breach.raise(format, ...) breach.of(nil, format, ...) end

---An answer that is not in its form.
---@param format string
---@param ... any
function breach.form(format, ...)
  error(setmetatable({ is_form = true, reason = format:format(...) }, metatable), 0)
end

---@param format string
---@param ... any
function breach.warn(format, ...) breach.of("warn", format, ...) end

---It cannot be told with this plugin.
---@param format string
---@param ... any
function breach.skip(format, ...) breach.of("skip", format, ...) end

return breach
