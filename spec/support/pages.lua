-- Runs the examples of a page in their order, like a reader who follows the page literally. Fences separate them.
--
-- The language after the first fence says what a block is:
--
--   lua       a program: it runs, exits with status 0, and prints the following block without a language, or nothing.
--             It is saved as the file that its first line names, as in "-- server.lua"
--   console   commands after "$ ", each with its output; "pintle> " is a prompt with typed input
--   sh        commands that have to succeed; their output is ignored
--   json      one value, or one per line
--   text      not run: a drawing, a form, messages; the text after → and ← is JSON
--   (none)    the output of the program above
--
-- A line above the first fence may change that:
--
--   <!-- not run: WHY -->    the block is parsed, but not run
--   <!-- file: NAME -->      the block is saved as this file
--
-- In an expected output "…" matches anything in a line, and alone any lines; durations are not compared.

local json = require("pintle.core").json

local pages = {}

-- {====== Reading ======

---@class page.block
---@field line integer where it begins
---@field language string
---@field text string
---@field note? string what is said above it: "not run", "file"
---@field value? string and what of that
---@field is_behind boolean whether it follows another one immediately

local function read_note(line)
  if not line:find "^<!%-%-" then return nil end
  local note, value = line:match "^<!%-%- ([%l ]+): (.+) %-%->$"
  return note or line, value
end

---@param text string of a page
---@return page.block[]
function pages.blocks(text)
  local list, open, number, last, behind = {}, nil, 0, "", 0
  for line in text:gmatch "([^\n]*)\n" do
    number = number + 1
    if open and line == "```" then
      list[#list + 1], open, behind = open, nil, number + 1
    elseif open then
      open.text = open.text .. line .. "\n"
    elseif line:find "^```" then
      open = { line = number, language = line:sub(4), text = "", is_behind = number == behind }
      open.note, open.value = read_note(last)
    end
    last = line
  end
  assert(not open, "a block has no end")
  return list
end

-- }======

-- {====== What is wrong without trying it ======

local function are_values(text)
  if json.decode(text) ~= nil then return true end
  for line in text:gmatch "[^\n]+" do
    local value, message = json.decode(line)
    if value == nil then return nil, message end
  end
  return true
end

local function are_messages(text)
  for line in text:gmatch "[^\n]+" do
    local message = line:match "^→ ({.*})$" or line:match "^← ({.*})$"
    if message and not message:find("…", 1, true) then
      local value, problem = json.decode(message)
      if value == nil then return nil, problem end
    end
  end
  return true
end

local LOOKED_AT = { lua = load, json = are_values, text = are_messages }
local LANGUAGES = { lua = true, console = true, sh = true, json = true, text = true, [""] = true }
local NOTES = { ["not run"] = true, file = true }

---@param block page.block
---@param above page.block?
---@return string? problem
function pages.problem(block, above)
  if not LANGUAGES[block.language] then return ("there is no %q among the languages"):format(block.language) end
  if block.note and not (NOTES[block.note] and block.value) then return block.note .. " is no note that is known" end
  if block.language == "" and not (block.is_behind and above and above.language == "lua") then
    return "what is it? Only what a program above it prints has no language"
  end
  local look = LOOKED_AT[block.language]
  local ok, message = true, nil
  if look then ok, message = look((block.text:gsub("^#!", "--"))) end
  return not ok and message or nil
end

-- }======

-- {====== What there is to try ======

---@class page.step
---@field line integer
---@field what string for people
---@field code string for a shell
---@field shown? string what it prints; nil if that does not matter
---@field must_succeed boolean

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function name_of(block)
  if block.note == "file" then return block.value end
  return block.language == "lua" and (block.text:gsub("^#![^\n]*\n", ""):match "^%-%- ([%w_/.-]+%.lua)\n") or nil
end

local function keep(block, name)
  return ("mkdir -p \"$(dirname %s)\" && printf %%s %s > %s"):format(name, quoted(block.text), name)
end

local function add_file(steps, block, name)
  steps[#steps + 1] = {
    line = block.line, what = "has " .. name, code = keep(block, name), shown = "", must_succeed = true,
  }
end

local function add_program(steps, block, printed)
  local name = name_of(block) or "example.lua"
  add_file(steps, block, name)
  if block.note == "not run" then return end
  steps[#steps + 1] = {
    line = block.line, what = "runs " .. name, code = "lua5.4 " .. name, shown = printed, must_succeed = true,
  }
end

-- The commands of a console, each with its typed input and its output.
local function commands(text)
  local list, is_unfinished = {}, false
  for line in text:gmatch "([^\n]*\n)" do
    local command, typed = line:match "^%$ (.*)\n$", line:match "^pintle> (.*)$"
    if command then list[#list + 1] = { code = command, typed = "", shown = "" }
    else assert(list[1], "a console begins with a command") end
    local latest = list[#list]
    if is_unfinished then latest.code = latest.code .. "\n" .. line:sub(1, -2)
    elseif typed then latest.typed = latest.typed .. typed
    elseif not command then latest.shown = latest.shown .. line end
    is_unfinished = (command or is_unfinished) and line:find "\\\n$" ~= nil
  end
  return list
end

local function add_console(steps, block)
  for _, command in ipairs(commands(block.text)) do
    steps[#steps + 1] = {
      line = block.line, what = "shows " .. command.code, code = command.code, shown = command.shown,
      typed = command.typed,
    }
  end
end

local function add_script(steps, block)
  steps[#steps + 1] = { line = block.line, what = "has commands", code = block.text, must_succeed = true }
end

---@param blocks page.block[]
---@return page.step[]
function pages.steps(blocks)
  local steps = {}
  for i, block in ipairs(blocks) do
    local is_run, next_block = block.note ~= "not run", blocks[i + 1]
    if block.language == "lua" then
      local is_shown = next_block and next_block.language == ""
      add_program(steps, block, is_shown and next_block.text or "")
    elseif name_of(block) then add_file(steps, block, name_of(block))
    elseif block.language == "console" and is_run then add_console(steps, block)
    elseif block.language == "sh" and is_run then add_script(steps, block) end
  end
  return steps
end

-- }======

-- {====== Trying ======

local MARK = "\30" -- nobody prints it

---The steps as one script, so that changes by one command are there for the next.
---@param steps page.step[]
---@return string
function pages.script(steps)
  local lines = { "exec 2>&1" }
  for _, step in ipairs(steps) do
    lines[#lines + 1] = ("eval %s <<'TYPED'\n%sTYPED"):format(quoted(step.code), step.typed or "")
    lines[#lines + 1] = ("status=$?; printf '%s%%d%s' $status; (exit $status)"):format(MARK, MARK)
  end
  return table.concat(lines, "\n") .. "\n"
end

---The output and the status of each step.
---@param steps page.step[]
---@param output string of the script
---@return { printed: string, status: integer }[]
function pages.results(steps, output)
  local results, pattern = {}, ("([^%s]*)%s(%%d+)%s"):format(MARK, MARK, MARK)
  for printed, status in output:gmatch(pattern) do
    results[#results + 1] = { printed = printed, status = math.tointeger(status) }
  end
  for i = #results + 1, #steps do results[i] = { printed = "(it was not done in time)", status = -1 } end
  return results
end

local function without_times(text) return (text:gsub("%d[%d.]*( ?m?s)%f[%W]", "0%1")) end

---@param shown string
---@param printed string
---@return boolean
function pages.fits(shown, printed)
  local pattern = without_times(shown):gsub("%p", "%%%0"):gsub("%f[^\n\0]…\n", ".-"):gsub("…", "[^\n]*")
  return without_times(printed):find("^" .. pattern .. "$") ~= nil
end

-- }======

return pages
