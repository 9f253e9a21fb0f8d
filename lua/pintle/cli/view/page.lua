-- The page of a recording, or of two. It is written while the recordings are read: its scripts come first, then blocks
-- of entries, so that a browser shows the first rows before the last ones have arrived.

local bytes = require "pintle.bytes"
local core = require "pintle.core"
local entries = require "pintle.cli.view.entries"
local errors = require "pintle.error"

-- {====== Scripts, styles and policy ======

local STYLES = { "page", "diagram", "panes" }
local SCRIPTS = {
  "text", "json", "model", "search", "list", "diagram", "overview", "payload", "details", "latencies", "compare",
  "page", "start",
}

local _, own_path = ...
local folder = own_path:match "^(.*)/[^/]*$"

local function page_part_path(name) return ("%s/%s"):format(folder, name) end

local function read_page_part(name)
  local file <close> = assert(io.open(page_part_path(name), "rb"))
  return file:read "a"
end

local function bytes_from_hex(digits)
  return (digits:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end))
end

-- The source of a file in a Content-Security-Policy.
local function policy_source(name)
  local digest = bytes.new(bytes_from_hex(assert(core.sha256(page_part_path(name)))))
  return ("'sha256-%s'"):format(digest["$bytes"])
end

-- The files as elements, and their sources for the policy.
local function embed_page_parts(names, suffix, tag)
  local texts, sources = {}, {}
  for i, name in ipairs(names) do
    texts[i] = ("<%s>%s</%s>"):format(tag, read_page_part(name .. suffix), tag)
    sources[i] = policy_source(name .. suffix)
  end
  return table.concat(texts, "\n"), table.concat(sources, " ")
end

-- Only these files run and nothing is fetched, whatever a recording contains. Recorded images and sounds are in `data:`
-- URLs. A live page fetches its rows from where it comes from.
local function page_policy(script_sources, style_sources, is_live)
  return table.concat({
    "default-src 'none'", "script-src " .. script_sources, "style-src " .. style_sources, "img-src data:",
    "media-src data:", "connect-src " .. (is_live and "'self'" or "'none'"), "base-uri 'none'", "form-action 'none'",
    "require-trusted-types-for 'script'", "trusted-types 'none'",
  }, "; ")
end

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

---The page without its data, split where the data belongs.
---@param title string
---@param mode "file"|"live"|"compare"
---@return string before, string after
local function split_page(title, mode)
  local scripts, script_sources = embed_page_parts(SCRIPTS, ".js", "script")
  local styles, style_sources = embed_page_parts(STYLES, ".css", "style")
  local values = {
    scripts = scripts, styles = styles, mode = mode,
    policy = page_policy(script_sources, style_sources, mode == "live"),
    title = title:gsub("%c", " "):gsub("[&<>\"']", ENTITIES),
  }
  local before, after = read_page_part("page.html"):match "^(.*){{data}}(.*)$"
  return before:gsub("{{(%l+)}}", values), (after:gsub("{{(%l+)}}", values))
end

-- }======

local FIRST_BLOCK = 64 * 1024 -- approximate bytes of the first block: it is shown as soon as it has arrived
local BLOCK = 1024 * 1024 -- approximate bytes of the others: browsers limit the length of a text

---@class pintle.cli.view.page
local methods = {}

local metatable = { __name = "pintle.cli.view.page", __index = methods }

local function write_to_page(self, ...)
  local ok, message = self.out:write(...)
  if not ok then error(errors.new("closed", "cannot write the page: " .. message), 0) end
end

local function end_page_block(self)
  if not self.block then return end
  write_to_page(self, "\n]</script>\n")
  self.block, self.limit = nil, BLOCK
end

local function write_page_entry(self, entry)
  if self.block and self.block > self.limit then end_page_block(self) end
  local text = entries.encode(entry)
  if self.block then
    write_to_page(self, ",\n", text)
  else
    write_to_page(self, ('<script type="application/json" class="%s">[\n'):format(self.class), text)
    self.block = 0
  end
  self.block = self.block + #text
end

---@param record pintle.cli.record
function methods:add(record)
  for _, entry in ipairs(self.entries:entries_of_record(record)) do write_page_entry(self, entry) end
end

---Adds a row that says why the recording ends early.
---@param reason string
function methods:add_break(reason) write_page_entry(self, self.entries:entry_of_break(reason)) end

---Starts with the first or the second recording.
---@param class "data"|"data other"
---@param name? string of the recording, if there are two
function methods:begin(class, name)
  end_page_block(self)
  self.class, self.entries = class, entries.new(self.payload)
  if name then write_page_entry(self, { name = name }) end
end

function methods:finish()
  end_page_block(self)
  write_to_page(self, self.after)
  local ok, message = self.out:flush()
  if not ok then error(errors.new("closed", "cannot write the page: " .. message), 0) end
end

local pages = {}

---@param out { write: function, flush: function }
---@param options { title: string, payload: integer, mode: "file"|"live"|"compare" }
---@return pintle.cli.view.page
function pages.new(out, options)
  local before, after = split_page(options.title, options.mode)
  local self = setmetatable({ out = out, after = after, payload = options.payload, limit = FIRST_BLOCK }, metatable)
  write_to_page(self, before)
  return self
end

---@param title string
---@return string page one that fetches its rows
function pages.live(title) return table.concat { split_page(title, "live") } end

return pages
