rockspec_format = "3.0"
package = "pintle-liquid"
version = "scm-1"
source = {
  url = "git+https://github.com/pintle-lua/pintle.git",
  dir = "pintle/examples/liquid",
}
description = {
  summary = "The template language Liquid in plain Lua",
  detailed = [[
    A template engine that implements Shopify's Liquid: all standard tags and filters, three parsing modes, resource
    limits, and filters and tags of the program. The engine needs Lua only. The server (liquid-server) and the JSON
    data of liquid-render also need the rock pintle, which is not installed with this one.
  ]],
  homepage = "https://github.com/pintle-lua/pintle/tree/main/examples/liquid",
  license = "MIT",
  labels = { "liquid", "template" },
}
dependencies = {
  "lua >= 5.4, < 5.5",
}
build = {
  type = "builtin",
  modules = {
    ["liquid"] = "liquid/init.lua",
    ["liquid.bigint"] = "liquid/bigint.lua",
    ["liquid.block"] = "liquid/block.lua",
    ["liquid.body"] = "liquid/body.lua",
    ["liquid.calendar"] = "liquid/calendar.lua",
    ["liquid.collections"] = "liquid/collections.lua",
    ["liquid.comparison"] = "liquid/comparison.lua",
    ["liquid.context"] = "liquid/context.lua",
    ["liquid.date_forms"] = "liquid/date_forms.lua",
    ["liquid.drops"] = "liquid/drops.lua",
    ["liquid.errors"] = "liquid/errors.lua",
    ["liquid.expressions"] = "liquid/expressions.lua",
    ["liquid.filters"] = "liquid/filters.lua",
    ["liquid.filters.arrays"] = "liquid/filters/arrays.lua",
    ["liquid.filters.dates"] = "liquid/filters/dates.lua",
    ["liquid.filters.math"] = "liquid/filters/math.lua",
    ["liquid.filters.strings"] = "liquid/filters/strings.lua",
    ["liquid.lax"] = "liquid/lax.lua",
    ["liquid.markup"] = "liquid/markup.lua",
    ["liquid.numbers"] = "liquid/numbers.lua",
    ["liquid.plugin"] = "liquid/plugin.lua",
    ["liquid.reader"] = "liquid/reader.lua",
    ["liquid.ruby_hash"] = "liquid/ruby_hash.lua",
    ["liquid.tags.conditions"] = "liquid/tags/conditions.lua",
    ["liquid.tags.loops"] = "liquid/tags/loops.lua",
    ["liquid.tags.partials"] = "liquid/tags/partials.lua",
    ["liquid.tags.variables"] = "liquid/tags/variables.lua",
    ["liquid.tags.verbatim"] = "liquid/tags/verbatim.lua",
    ["liquid.template"] = "liquid/template.lua",
    ["liquid.text"] = "liquid/text.lua",
    ["liquid.values"] = "liquid/values.lua",
  },
  install = {
    bin = {
      ["liquid-render"] = "script/render",
      ["liquid-server"] = "script/server",
    },
  },
}
