-- echo: an output as a tag.

local output = require "liquid.output"

return { echo = output.node }
