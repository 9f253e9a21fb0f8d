-- What the harness around a conformance case provides, told by its features and the family its name begins with; never
-- by what it expects.

local harness = {}

local function features_of(case)
  local set = {}
  if type(case.features) == "table" then
    for _, feature in ipairs(case.features) do set[feature] = true end
  end
  return set
end

---What a template of the case is compiled with, besides its text and files.
---
--- * `shopify_error_format`: the template has a name, the one that was recorded.
--- * `template_factory`: partials are called by where the factory has them.
--- * the family `fs_`, of file systems, compiles without line numbers; nothing else in a case says so.
---@param case table
---@return { error_mode?: string, line_numbers: boolean, template_name?: string, partial_path?: string }
function harness.compile_options(case)
  local features = features_of(case)
  return {
    error_mode = type(case.error_mode) == "string" and case.error_mode or nil,
    line_numbers = not tostring(case.name):find("^fs_"),
    template_name = features.shopify_error_format and "templates/test" or nil,
    partial_path = features.template_factory and "some/path" or nil,
  }
end

return harness
