-- A plugin with resources, prompts and completions of MCP, and operations that change them while it serves.
local pintle = require "pintle"

local plugin = pintle.plugin {
  name = "catalog", version = "1.0.0",
  dialects = { mcp = { page_size = 3, limits = { subscriptions = 2 } } },
}

-- {====== Resources ======

plugin:resource("book:///index", {
  title = "The index", description = "All books", mimeType = "text/plain", size = 7,
  annotations = { priority = 1 }, _meta = { shelf = 1 },
}, function(uri, ctx)
  ctx:log("info", "reading", { uri = uri })
  return "a\nb\nc\n"
end)

plugin:resource("book:///cover", { name = "cover", mimeType = "image/x-own" }, function()
  return pintle.bytes "\x89PNG\r\n\x1a\n"
end)

plugin:resource("book:///all", {}, function(uri)
  return { "first", pintle.bytes("\0\1", "image/png"), { uri = uri .. "/3", text = "third", mimeType = "text/x" } }
end)

local FAILURES = {
  ["book:///gone"] = function() return nil end,
  ["book:///locked"] = function() return nil, "it is locked" end,
  ["book:///coded"] = function() return nil, { code = -32050, message = "refused" } end,
  ["book:///wrong"] = function() return 5 end,
  ["book:///raises"] = function() error "torn" end,
}
for uri, fn in pairs(FAILURES) do plugin:resource(uri, {}, fn) end

local CHAPTERS = { "begin", "between", "end" }

plugin:resource_template("book:///{book}/chapters/{chapter}", {
  name = "chapter", description = "A chapter", mimeType = "text/plain",
  complete = {
    chapter = CHAPTERS,
    book = function(value, ctx, others)
      if value == "?" then return nil, "no such letter" end
      if value == "" then
        local all = {}
        for i = 1, 250 do all[i] = "book" .. i end
        return all
      end
      return { value .. "!", ctx.method, others.chapter }, 1000
    end,
  },
  list = function()
    local list = {}
    for i, name in ipairs(CHAPTERS) do list[i] = { uri = "book:///a/chapters/" .. name, title = name } end
    return list
  end,
}, function(variables, _, uri)
  if variables.chapter == "none" then return nil end
  return ("%s of %s (%s)"):format(variables.chapter, variables.book, uri)
end)

plugin:resource_template("file:///{+path}", {}, function(variables) return variables.path end)

-- }======

-- {====== Prompts ======

plugin:prompt("review", {
  title = "Review", description = "Reviews a book",
  arguments = { { name = "book", description = "Its name", required = true }, "style" },
  complete = { style = { "short", "long", "Sharp" } },
}, function(args) return ("Review %s, %s"):format(args.book, args.style or "anyhow") end)

plugin:prompt("talk", {}, function()
  return {
    description = "A talk",
    messages = { "Look:", pintle.bytes("\0", "image/png"), { role = "assistant", content = "I see." } },
  }
end)

plugin:prompt("fails", {}, function() return nil, "out of words" end)
plugin:prompt("empty", {}, function() end)
plugin:prompt("wrong", {}, function() return { { role = "narrator", content = "x" } } end)

-- }======

-- {====== Changes ======

plugin:operation("touch", {}, function(args) plugin:resource_updated(args.uri) end)

plugin:operation("grow", {}, function()
  for i = 1, 3 do plugin:operation("grown" .. i, {}, function() return "grown" end) end
  plugin:resource("book:///new", {}, function() return "new" end)
  plugin:prompt("new", {}, function() return "new" end)
end)

plugin:operation("shrink", {}, function()
  plugin:remove_operation "shrink"
  plugin:remove_resource "book:///index"
  plugin:remove_resource "file:///{+path}"
  plugin:remove_prompt "review"
  return "shrunk"
end)

-- }======

plugin:serve()
