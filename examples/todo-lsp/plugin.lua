#!/usr/bin/env lua5.4
-- A language server for TODO and FIXME in the comments of any language: diagnostics and hover.

local pintle = require "pintle"

local INCREMENTAL = 2
local SEVERITY = { FIXME = 2, TODO = 3 } -- warning, information
local COMMENTS = { "%-%-", "//", "#", ";", "/%*", "<!%-%-", "^%s*%*" }

local plugin = pintle.plugin {
  name = "todo-lsp", version = "1.0.0", description = "Finds TODO and FIXME",
  dialects = { lsp = { capabilities = { textDocumentSync = { change = INCREMENTAL } } } },
}

-- {====== Text: lines and columns begin at 0; columns are UTF-16 code units, of which "😀" has two ======

local function width_of(text) return utf8.len(text) + select(2, text:gsub("[\xF0-\xF4]", "")) end

-- The first byte of a line, and its last byte before the line break.
local function find_line(text, number)
  local start = 1
  for _ = 1, number do
    local stop = text:find("[\r\n]", start)
    if not stop then return #text + 1, #text end
    start = text:sub(stop, stop + 1) == "\r\n" and stop + 2 or stop + 1
  end
  return start, (text:find("[\r\n]", start) or #text + 1) - 1
end

-- The byte of a position. A column after the end of the line is its end; one inside of a character is its begin.
local function byte_of(text, position)
  local at, stop = find_line(text, position.line)
  local left = position.character
  for char in text:sub(at, stop):gmatch(utf8.charpattern) do
    left = left - (#char == 4 and 2 or 1)
    if left < 0 then break end
    at = at + #char
  end
  return at
end

local function changed(text, change)
  if not change.range then return change.text end
  local from, to = byte_of(text, change.range.start), byte_of(text, change.range["end"])
  return text:sub(1, from - 1) .. change.text .. text:sub(to)
end

-- }======

-- {====== Finding ======

local function find_comment(line)
  local first = math.huge
  for _, pattern in ipairs(COMMENTS) do first = math.min(first, line:find(pattern) or math.huge) end
  return first < math.huge and first or nil
end

-- The text without the end of the comment.
local function note_of(text) return (text:gsub("%s*%*/.*$", ""):gsub("%s*%-%->.*$", ""):gsub("%s+$", "")) end

-- The first mark in the comment of a line, and the text after it.
local function find_mark(line)
  local start = find_comment(line)
  while start do
    local from, to, mark = line:find("%f[%w_](%u+)%f[^%w_]", start)
    if SEVERITY[mark] then return mark, from, note_of(line:sub(from)) end
    start = to and to + 1
  end
end

local function find_all(text)
  local found, number = {}, 0
  for line in (text:gsub("\r\n?", "\n") .. "\n"):gmatch "([^\n]*)\n" do
    local mark, from, note = find_mark(line)
    if mark then
      local column = width_of(line:sub(1, from - 1))
      found[#found + 1] = { mark = mark, note = note, range = {
        start = { line = number, character = column },
        ["end"] = { line = number, character = column + width_of(note) },
      } }
    end
    number = number + 1
  end
  return found
end

-- }======

-- {====== The protocol ======

local documents = {} -- text by URI

local function publish(ctx, uri, version)
  local diagnostics = pintle.array {}
  for i, item in ipairs(find_all(documents[uri] or "")) do
    diagnostics[i] = { range = item.range, severity = SEVERITY[item.mark], source = "todo", message = item.note }
  end
  ctx:notify("textDocument/publishDiagnostics", { uri = uri, version = version, diagnostics = diagnostics })
end

plugin:method("textDocument/didOpen", function(params, ctx)
  documents[params.textDocument.uri] = params.textDocument.text
  publish(ctx, params.textDocument.uri, params.textDocument.version)
end)

plugin:method("textDocument/didChange", function(params, ctx)
  local uri = params.textDocument.uri
  for _, change in ipairs(params.contentChanges) do documents[uri] = changed(documents[uri] or "", change) end
  publish(ctx, uri, params.textDocument.version)
end)

plugin:method("textDocument/didClose", function(params, ctx)
  documents[params.textDocument.uri] = nil
  publish(ctx, params.textDocument.uri)
end)

plugin:method("textDocument/hover", function(params)
  local found, at = find_all(documents[params.textDocument.uri] or ""), params.position
  for i, item in ipairs(found) do
    local from, to = item.range.start, item.range["end"]
    if at.line == from.line and at.character >= from.character and at.character <= to.character then
      local text = ("**%s**, %d of %d in this file"):format(item.mark, i, #found)
      return { contents = { kind = "markdown", value = text }, range = item.range }
    end
  end
  return pintle.null
end)

-- }======

plugin:operation("todo.count", {
  description = "Count TODO and FIXME in a file",
  params = { type = "object", required = { "path" }, properties = { path = { type = "string" } } },
}, function(args, ctx)
  local file <close>, problem = io.open(ctx:path(args.path), "rb")
  if not file then return nil, problem end
  local text = file:read "a"
  if not utf8.len(text) then return nil, args.path .. " is not UTF-8" end
  local count = { TODO = 0, FIXME = 0 }
  for _, item in ipairs(find_all(text)) do count[item.mark] = count[item.mark] + 1 end
  return ("%d TODO, %d FIXME"):format(count.TODO, count.FIXME)
end)

plugin:serve()
