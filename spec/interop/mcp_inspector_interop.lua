-- The command line of @modelcontextprotocol/inspector with the tools, resources and prompts of a plugin, in both eras.
local children = require "spec.support.children"
local core = require "pintle.core"
local files = require "spec.support.files"

local json = core.json

local folder

children.leave_nothing()
files.give_each_a_folder(function(path) folder = path end)

-- The inspector keeps files in the home directory. It does not pass its environment on, so script/lua sets the paths.
local function inspect(era, method, ...)
  local text, status = children.run {
    command = {
      "mcp-inspector", "--cli", "--protocol-era", era, "script/lua", "spec/interop/mcp_everything.lua",
      "--method", method, ...,
    },
    env = { HOME = folder }, stderr = "null",
  }
  assert.equal(0, status, text)
  return assert(json.decode(text))
end

local function find(list, key, value)
  for _, item in ipairs(list) do
    if item[key] == value then return item end
  end
end

for _, era in ipairs { "legacy", "modern" } do
  describe("the inspector, with the era " .. era .. ",", function()
    it("lists and calls tools", function()
      local tool = find(inspect(era, "tools/list").tools, "name", "greet")
      assert.same({ "name" }, tool.inputSchema.required)
      local result = inspect(era, "tools/call", "--tool-name", "greet", "--tool-arg", "name=Ada")
      assert.equal("Hello, Ada!", result.content[1].text)
      assert.equal("image/png", inspect(era, "tools/call", "--tool-name", "test_image_content").content[1].mimeType)
    end)

    it("lists and reads resources", function()
      assert.truthy(find(inspect(era, "resources/list").resources, "uri", "test://static-text"))
      assert.equal("test://template/{id}/data",
        inspect(era, "resources/templates/list").resourceTemplates[1].uriTemplate)
      assert.equal("This is the content of the static text resource.",
        inspect(era, "resources/read", "--uri", "test://static-text").contents[1].text)
      local data = inspect(era, "resources/read", "--uri", "test://template/7/data")
      assert.matches("Data for ID: 7", data.contents[1].text)
    end)

    it("lists and gets prompts", function()
      local prompt = find(inspect(era, "prompts/list").prompts, "name", "test_prompt_with_arguments")
      assert.equal("arg1", prompt.arguments[1].name)
      local got = inspect(era, "prompts/get", "--prompt-name", prompt.name, "--prompt-args", "arg1=a", "arg2=b")
      assert.equal("Prompt with arguments: arg1='a', arg2='b'", got.messages[1].content.text)
    end)
  end)
end
