-- An extension with every kind of description.
local pintle = require "pintle"

local plugin = pintle.plugin {
  name = "kubernetes", version = "1.2.0", description = "Kubernetes resource operations",
  requires = { "pintle-no-such-command" },
}

plugin:operation("apply", {
  description = "Apply a Kubernetes manifest",
  params = {
    type = "object",
    properties = {
      file = { type = "string", description = "Path to manifest file" },
      namespace = { type = "string", default = "default", description = "Target namespace" },
    },
    required = { "file" },
  },
}, function() return true end)

plugin:operation("condition", {
  description = "Verify a resource condition",
  params = {
    type = "object",
    properties = {
      resource = { type = "string", description = "Resource (e.g., pod/nginx)" },
      conditionType = { type = "string", description = "Condition type (e.g., Ready)" },
      status = { type = "string", default = "True", description = "Expected status value" },
      timeout = { type = "string", default = "60s", description = "How long to wait (duration format)" },
    },
    required = { "resource", "conditionType" },
  },
}, function() return true end)

plugin:serve()
