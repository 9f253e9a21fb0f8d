-- Whose stdout is: the program's, until it serves a plugin; then the protocol's.
--
-- A plugin that prints while it is loaded would break the protocol before it begins. But a program may also declare a
-- plugin, print, and never serve it. So from the declaration on what is printed is only kept from being written at
-- once: `print` does not flush. If the plugin is served, it goes to stderr; if not, to stdout, as ever.

local core = require "pintle.core"

local stdout = {}

local held_print

---The `print` of Lua itself.
stdout.true_print = print

---Prints without flushing.
function stdout.print_unflushed(...)
  for i = 1, select("#", ...) do
    if i > 1 then io.stdout:write "\t" end
    io.stdout:write(tostring((select(i, ...))))
  end
  io.stdout:write "\n"
end

local function is_main_script(level)
  local caller = debug.getinfo(level + 1, "S")
  return arg ~= nil and caller ~= nil and caller.source == "@" .. tostring(arg[0])
end

---Holds back what is printed, if this is called for by the program itself and no terminal shows it.
---@param level integer where the call for it came from, as for `error`
function stdout.hold(level)
  if _G.print ~= stdout.true_print or not is_main_script(level + 1) or core.isatty(1) then return end
  held_print = stdout.print_unflushed
  _G.print = held_print
end

---Takes stdin and stdout for the protocol. What is printed, and what was held back, goes to stderr.
---@return pintle.fd? input, pintle.fd|string output_or_message
function stdout.claim()
  if held_print and _G.print == held_print then _G.print = stdout.true_print end
  local input, output = core.claim_stdio()
  if not input then return nil, output end
  stdout.is_claimed = true
  io.stdout:flush()
  io.stdout:setvbuf "line"
  return input, output
end

---Writes all of it to what was stdout.
---@param output pintle.fd
---@param text string
function stdout.write(output, text)
  local at = 1
  while at <= #text do
    core.poll(nil, output, "w")
    local written = output:write(text:sub(at))
    if written == nil then break end
    at = at + (written or 0)
  end
end

return stdout
