-- A page in roff, line by line. What is text is escaped; what is not ASCII has a name.

local methods = {}

local metatable = { __name = "pintle.cli.manual.roff", __index = methods }

local roff = {}

local SIGNS = { ["\\"] = "\\e", ["-"] = "\\-", ["'"] = "\\(aq", ["`"] = "\\(ga", ["^"] = "\\(ha", ["~"] = "\\(ti" }

---@param text string
---@return string
function roff.escape(text)
  local escaped = text:gsub("[\\'`^~-]", SIGNS)
  return (escaped:gsub("[\xC2-\xF4][\x80-\xBF]*", function(sign) return ("\\[u%04X]"):format(utf8.codepoint(sign)) end))
end

---@param text string
---@return string
function roff.bold(text) return "\\fB" .. roff.escape(text) .. "\\fR" end

---@param text string
---@return string
function roff.italic(text) return "\\fI" .. roff.escape(text) .. "\\fR" end

---A line as it is. It must not begin like a request.
---@param line string
function methods:line(line) self.lines[#self.lines + 1] = line:gsub("^%.", "\\&.") end

local function request(self, line) self.lines[#self.lines + 1] = line end

---@param heading string
function methods:section(heading) request(self, ".SH " .. heading) end

---@param heading string
function methods:subsection(heading) request(self, '.SS "' .. roff.escape(heading):gsub('"', '""') .. '"') end

---@param text string
function methods:paragraph(text)
  request(self, ".PP")
  self:line(roff.escape(text))
end

---@param head string in roff
---@param text string
---@param words? string[] that it may be
function methods:item(head, text, words)
  request(self, ".TP")
  self:line(head)
  local choices = words and #words > 0 and (" One of %s."):format(table.concat(words, ", ")) or ""
  self:line(roff.escape(text .. (text:find "[.)]$" and "" or ".") .. choices))
end

---@return string
function methods:text() return table.concat(self.lines, "\n") .. "\n" end

---@param name string
---@param section integer
---@param source string
function roff.page(name, section, source)
  return setmetatable({ lines = { ('.TH %s %d "" "%s" "User Commands"'):format(name, section, source) } }, metatable)
end

return roff
