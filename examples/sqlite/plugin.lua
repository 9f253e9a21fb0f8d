#!/usr/bin/env lua5.4
-- A gevals extension for tasks that use an SQLite database: it creates one from a script, runs queries, and checks
-- rows. It runs the sqlite3 program in its safe mode, so that SQL cannot run a shell or open other files.

local pintle = require "pintle"

local plugin = pintle.plugin {
  name = "sqlite",
  version = "1.0.0",
  description = "Create, query and check SQLite databases",
  requires = { "sqlite3" },
}

local LINE = 30000 -- maximum bytes of rows in an output: a host may limit lines to 64 KiB, and escapes make them longer

local DATABASE = { type = "string", minLength = 1, description = "Path of the database, from the task's directory" }
local SQL = { type = "string", minLength = 1, description = "One SELECT statement" }

-- The path of a file. It begins with a slash or a dot, so that sqlite3 takes it neither for an option nor for a URI.
local function path_of(ctx, name)
  local path = ctx:path(name)
  return path:sub(1, 1) == "/" and path or "./" .. path
end

local function complaint_of(done)
  local words = done.stderr:gsub("%s+$", "")
  if words ~= "" then return words end
  return "sqlite3 ended with " .. (done.signal and "signal " .. done.signal or "status " .. done.code)
end

-- Runs sqlite3. Returns its output, or nil and its error message.
local function sqlite(ctx, path, options)
  local command = { "sqlite3", "-batch", "-bail", "-safe", input = options.input }
  table.move(options, 1, #options, #command + 1, command)
  command[#command + 1] = path
  local done, err = ctx:run(command)
  if not done then return nil, err end
  if not done.success then return nil, complaint_of(done) end
  if done.truncated then return nil, ("%d bytes of rows are too many"):format(done.stdout_bytes) end
  return done.stdout
end

local function exists(path)
  local file <close> = io.open(path)
  return file ~= nil
end

-- Rows as JSON with sorted columns, so that equal rows have the same text.
local function text_of(rows)
  local names = {}
  for name in pairs(rows[1] or {}) do names[#names + 1] = name end
  table.sort(names)
  local order = pintle.json.order(names)
  for _, row in ipairs(rows) do setmetatable(row, order) end
  return pintle.json.encode(pintle.array(rows))
end

-- Runs a query. Returns the rows and their text, or nil and a message.
local function rows_of(ctx, args)
  local path = path_of(ctx, args.database)
  if not exists(path) then return nil, "no database " .. args.database end
  local text, err = sqlite(ctx, path, { "-readonly", "-json", input = args.sql .. "\n;\n" })
  if not text then return nil, err end
  local rows, message = pintle.json.decode(text:find "%S" and text or "[]")
  if type(rows) == "table" then return rows, text_of(rows) end
  return nil, ("no rows of one SELECT: %s; hex() makes text of blobs"):format(message or text)
end

local function counted(rows) return #rows == 1 and "1 row" or #rows .. " rows" end

plugin:operation("create", {
  description = "Create a database from an SQL script",
  params = {
    type = "object", required = { "database" }, additionalProperties = false,
    properties = {
      database = DATABASE,
      script = { type = "string", description = "The SQL itself" },
      file = { type = "string", description = "A file with the SQL, from the task's directory" },
      replace = { type = "boolean", default = false, description = "Replace a database that is there already" },
    },
    oneOf = pintle.array { { required = { "script" } }, { required = { "file" } } },
  },
}, function(args, ctx)
  local path, script = path_of(ctx, args.database), args.script
  if exists(path) and not args.replace then return nil, args.database .. " is there already" end
  if args.file then
    local file <close>, problem = io.open(ctx:path(args.file), "rb")
    if not file then return nil, problem end
    script = file:read "a"
  end
  ctx:log("info", "creating " .. args.database, { bytes = #script })
  local fresh = path .. ".new" -- an existing database stays until the script has succeeded
  os.remove(fresh)
  local ok, err = sqlite(ctx, fresh, { input = script .. "\n" })
  if ok then ok, err = os.rename(fresh, path) end
  if ok then return "Created " .. args.database end
  os.remove(fresh)
  return nil, err
end)

plugin:operation("query", {
  description = "Run a query; its rows come back as JSON",
  params = {
    type = "object", required = { "database", "sql" }, additionalProperties = false,
    properties = { database = DATABASE, sql = SQL },
  },
}, function(args, ctx)
  local rows, text = rows_of(ctx, args)
  if not rows then return nil, text end
  if #text > LINE then return nil, ("%s of %d bytes, too many for an output"):format(counted(rows), #text) end
  return { message = counted(rows), outputs = { count = #rows, rows = text } }
end)

local function same_row(expected, row)
  for column, value in pairs(expected) do
    if row[column] ~= value then return false, column end
  end
  return true
end

local function first_difference(expected, rows)
  if #rows ~= #expected then return ("%s, not %d"):format(counted(rows), #expected) end
  for i, row in ipairs(rows) do
    local same, column = same_row(expected[i], row)
    if not same then
      return ("row %d: %s is %s, not %s"):format(i, column, pintle.json.encode(row[column] or pintle.null),
        pintle.json.encode(expected[i][column]))
    end
  end
end

plugin:operation("assert_rows", {
  description = "Check the rows of a query: their number, or the columns that are named, row by row",
  params = {
    type = "object", required = { "database", "sql" }, additionalProperties = false,
    properties = {
      database = DATABASE,
      sql = SQL,
      count = { type = "integer", minimum = 0, description = "How many rows there must be" },
      rows = { type = "array", items = { type = "object" }, description = "The rows there must be" },
    },
    anyOf = pintle.array { { required = { "count" } }, { required = { "rows" } } },
  },
}, function(args, ctx)
  local rows, text = rows_of(ctx, args)
  if not rows then return nil, text end
  local problem = args.count and #rows ~= args.count and ("%s, not %d"):format(counted(rows), args.count)
    or args.rows and first_difference(args.rows, rows)
  if not problem then return counted(rows) .. ", as expected" end
  return nil, { message = "The rows differ", error = problem, outputs = { rows = #text <= LINE and text or nil } }
end)

plugin:serve()
