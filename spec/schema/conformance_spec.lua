-- Runs the official test suite of JSON Schema. It is not part of the project: a copy is looked for beside the checkout,
-- and without one only the other specs test schemas.
local json = require("pintle.core").json
local lfs = require "lfs"
local schema = require "pintle.schema"

local folder = "../shared/conformance/json-schema"
local remotes = "../shared/conformance/json-schema-remotes"

local function decoded(path)
  local file <close> = assert(io.open(path, "rb"))
  return assert(json.decode(file:read "a"), path)
end

local function files(path, found, below)
  found, below = found or {}, below or ""
  for name in lfs.dir(path .. below) do
    local kind = lfs.attributes(path .. below .. "/" .. name, "mode")
    if kind == "directory" and name:sub(1, 1) ~= "." then
      files(path, found, below .. "/" .. name)
    elseif name:find "%.json$" then
      found[#found + 1] = below .. "/" .. name
    end
  end
  table.sort(found)
  return found
end

-- The URIs of the meta-schemas do not have the suffix .json.
local function remote_documents()
  local documents = {}
  for _, name in ipairs(files(remotes .. "/draft2020-12")) do
    documents["http://localhost:1234/draft2020-12" .. name] = decoded(remotes .. "/draft2020-12" .. name)
  end
  for _, name in ipairs(files(remotes .. "/metaschema")) do
    local uri = "https://json-schema.org/draft/2020-12" .. name:gsub("%.json$", "")
    documents[uri] = decoded(remotes .. "/metaschema" .. name)
  end
  return documents
end

local function assert_error(err, where)
  assert.is_string(err.message, where)
  assert.is_string(err.instance_path, where)
  assert.is_string(err.schema_path, where)
  assert.is_string(err.keyword, where)
  assert.matches("^at [^\n]+: [^\n]+$", tostring(err), 1, false, where)
end

local function assert_verdict(validate, case, where)
  local valid, err = validate(case.data)
  assert.equal(case.valid, valid == true, where .. ": " .. tostring(err))
  if not case.valid then assert_error(err, where) end
end

describe("the JSON Schema test suite", function()
  if not lfs.attributes(folder) then
    it("is skipped, because there is no copy beside this checkout", function() end)
    return
  end

  local documents = remote_documents()

  it("is complete", function() assert.equal(46, #files(folder)) end)

  for _, name in ipairs(files(folder)) do
    it("passes: " .. name:sub(2, -6), function()
      for _, group in ipairs(decoded(folder .. name)) do
        local validate = assert(schema.compile(group.schema, { documents = documents }))
        for _, case in ipairs(group.tests) do
          assert_verdict(validate, case, ("%s: %s: %s"):format(name, group.description, case.description))
        end
      end
    end)
  end

  it("gets the same verdicts on schemas from the code as from the meta-schema", function()
    local META = "https://json-schema.org/draft/2020-12/schema"
    local by_document = assert(schema.compile({ ["$ref"] = META }, { documents = documents }))
    local by_code = assert(schema.compile { ["$ref"] = META })
    for _, name in ipairs(files(folder)) do
      for _, group in ipairs(decoded(folder .. name)) do
        assert.is_true(by_document(group.schema), group.description)
        assert.is_true(by_code(group.schema), group.description)
        for _, case in ipairs(group.tests) do
          assert.equal(by_document(case.data), by_code(case.data), group.description .. ": " .. case.description)
        end
      end
    end
  end)
end)
