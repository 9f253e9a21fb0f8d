-- What a plugin of Reginald has besides: a manifest.json that tells all of it. The plugin writes that itself.

---@type pintle.cli.new.dialect
return {
  declaration = [[
  dialects = { reginald = { domain = "@name@" } },
]],
  spec = [[

  it("has a manifest.json that is up to date", function()
    local pipe = assert(io.popen "./plugin.lua --manifest reginald")
    local told = pipe:read "a"
    pipe:close()
    local file <close> = assert(io.open "manifest.json")
    assert.equal(told, file:read "a")
  end)
]],
  readme = [[

## In Reginald
Releases that look for a manifest.json take this directory as it is, in `~/.local/share/reginald/plugins`. After every
change of the operations it is written anew: `./plugin.lua --manifest reginald > manifest.json`.
Those before start every program there whose name begins with `reginald-`: a link `reginald-@name@` to `plugin.lua`.
]],
  manifest = [[
{
  "name": "@name@",
  "version": "0.1.0",
  "domain": "@name@",
  "description": "Says hello",
  "executable": "plugin.lua",
  "config": [],
  "commands": [
    {
      "name": "greet",
      "usage": "greet [options]",
      "description": "Say hello to somebody",
      "config": [
        {
          "value": "",
          "type": "string",
          "key": "name",
          "flag": {
            "name": "name",
            "shorthand": "",
            "description": "Whom to greet (required)"
          }
        }
      ]
    }
  ],
  "tasks": [
    {
      "taskType": "greet",
      "description": "Say hello to somebody",
      "config": [
        {
          "value": "",
          "type": "string",
          "key": "name"
        }
      ]
    }
  ]
}
]],
}
