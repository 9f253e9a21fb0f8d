-- What a page is made of: files that lie beside this one, in a checkout as well as in a rock.

local bytes = require "pintle.bytes"
local core = require "pintle.core"

local STYLES = { "page", "diagram", "panes" }
local SCRIPTS = {
  "text", "model", "json", "search", "mark", "virtual", "row", "overview", "payload", "details", "latencies", "page",
  "keys", "main",
}

local _, own_path = ...
local folder = own_path:match "^(.*)/" or "."

local parts = {}

local function path_of(name) return ("%s/%s"):format(folder, name) end

local function read(name)
  local file <close> = assert(io.open(path_of(name), "rb"))
  return file:read "a"
end

local function from_hex(digits)
  return (digits:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end))
end

-- As a policy names it.
local function source_of(name)
  local digest = bytes.new(from_hex(assert(core.sha256(path_of(name)))))
  return ("'sha256-%s'"):format(digest["$bytes"])
end

-- The files as elements of their own, each with its source.
local function elements(names, suffix, tag)
  local texts, sources = {}, {}
  for i, name in ipairs(names) do
    texts[i] = ("<%s>%s</%s>"):format(tag, read(name .. suffix), tag)
    sources[i] = source_of(name .. suffix)
  end
  return table.concat(texts, "\n"), table.concat(sources, " ")
end

-- Nothing runs but these files, and nothing is fetched, whatever a recording has in it.
local function policy(script_sources, style_sources)
  return table.concat({
    "default-src 'none'", "script-src " .. script_sources, "style-src " .. style_sources, "base-uri 'none'",
    "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
  }, "; ")
end

local NAMES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

---The page without its data.
---@param title string
---@return string before, string after what the data stands between
function parts.around(title)
  local scripts, script_sources = elements(SCRIPTS, ".js", "script")
  local styles, style_sources = elements(STYLES, ".css", "style")
  local values = {
    scripts = scripts, styles = styles, policy = policy(script_sources, style_sources),
    title = title:gsub("%c", " "):gsub("[&<>\"']", NAMES),
  }
  local before, after = read("page.html"):match "^(.*){{data}}(.*)$"
  return before:gsub("{{(%l+)}}", values), (after:gsub("{{(%l+)}}", values))
end

return parts
