-- Runs conformance cases through the server, over the protocol. script/liquid of pintle starts this file.

local conformance = require "spec.support.conformance"
local json = require("pintle.core").json
local pintle = require "pintle"

local PATIENCE = 10
local NOW = "2024-01-01T00:01:58Z"

local function usage()
  io.stderr:write("usage: script/liquid [--json] FILE.jsonl...\n")
  os.exit(2)
end

local function read_arguments()
  local paths, as_json = {}, false
  for _, word in ipairs(arg) do
    if word == "--json" then
      as_json = true
    elseif word:sub(1, 1) == "-" then
      usage()
    else
      paths[#paths + 1] = word
    end
  end
  if #paths == 0 then usage() end
  return paths, as_json
end

local function read_cases(paths)
  local cases = {}
  for _, path in ipairs(paths) do
    local file = assert(io.open(path))
    for line in file:lines() do
      if line:find("%S") then
        local case, message = json.decode(line, nil, true, true)
        cases[#cases + 1] = case or error(path .. ": " .. tostring(message), 0)
      end
    end
    file:close()
  end
  return cases
end

-- The class of an error in the reference: that of "syntax_error" is SyntaxError.
local function class_of(kind)
  local name = ("_" .. tostring(kind)):gsub("_(%a)", string.upper)
  return "Liquid::" .. name
end

local function error_fields(problem, data)
  data = data or problem
  return { message = problem.message, class = class_of(data.type), line = data.line }
end

local function compile(engine, case)
  return engine:call("compile", {
    template = case.template, filesystem = case.filesystem,
    options = conformance.compile_options(case),
  }, { timeout = PATIENCE })
end

local function render(engine, case, id)
  return engine:call("render", {
    template_id = id, environment = case.environment, frozen_time = NOW,
    options = {
      strict_errors = not case.render_errors, resource_limits = case.resource_limits,
      registers = { current_time = NOW },
    },
  }, { timeout = PATIENCE })
end

local function run(engine, case)
  local compiled, err = compile(engine, case)
  if not compiled then return { failure = tostring(err) } end
  if compiled.error and compiled.error ~= json.null then return { parse_error = error_fields(compiled.error) } end
  local rendered
  rendered, err = render(engine, case, compiled.template_id)
  if rendered then return { output = rendered.output } end
  if type(err.data) ~= "table" then return { failure = tostring(err) } end
  return { render_error = error_fields(err, err.data) }
end

local function shown(result)
  if result.output then return result.output end
  local err = result.parse_error or result.render_error
  return err and err.class .. ": " .. err.message or result.failure
end

local function expectation(case)
  return case.expected or case.expected_pattern or json.encode(case.errors or {})
end

local function print_lines(mark, text)
  for line in (text .. "\n"):gmatch("(.-)\n") do print("    " .. mark .. " " .. line) end
end

local function label(case) return tostring(case.suite) .. " " .. tostring(case.name) end

-- Prints the failures by suite, with the expected and the actual results.
local function report(failures)
  table.sort(failures, function(a, b) return label(a.case) < label(b.case) end)
  local suite
  for _, failure in ipairs(failures) do
    local case = failure.case
    if case.suite ~= suite then
      suite = case.suite
      print("\n" .. tostring(suite))
    end
    print("  " .. tostring(case.name) .. " (" .. tostring(case.error_mode) .. ")")
    print_lines(" ", tostring(case.template))
    print_lines("-", expectation(case))
    print_lines("+", shown(failure.result))
  end
end

local function progress(done, total, failed)
  io.stderr:write(("\r%d of %d, %d failed"):format(done, total, failed), done == total and "\n" or "")
end

local function print_json(case, result, passed)
  print(json.encode { suite = case.suite, name = case.name, passed = passed, got = shown(result) })
end

local function run_all(engine, cases, as_json)
  local failures = {}
  for i, case in ipairs(cases) do
    local result = run(engine, case)
    local passed = conformance.passes(case, result)
    if not passed then failures[#failures + 1] = { case = case, result = result } end
    if as_json then print_json(case, result, passed) end
    if i % 100 == 0 or i == #cases then progress(i, #cases, #failures) end
  end
  return failures
end

local paths, as_json = read_arguments()
local cases = read_cases(paths)
local host <close> = pintle.host { dialect = "liquid", log = false }
local package_folder = arg[0]:match("^(.*)/spec/support/[^/]*$") or "."
local engine = assert(host:start { command = { package_folder .. "/script/server" } })
local failures = run_all(engine, cases, as_json)
if not as_json then report(failures) end
print(("%d passed, %d failed"):format(#cases - #failures, #failures))
host:stop()
os.exit(#failures == 0 and #cases > 0, true)
