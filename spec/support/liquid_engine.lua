-- A Liquid engine that a spec plays in its own process, for the host's side of the protocol.
local connect = require "pintle.connect"
local json = require("pintle.core").json
local liquid = require "pintle.dialect.liquid"
local new_session = require "spec.support.session"

local engine = {}

local INITIALIZED = { version = "1.0", implementation = "my-liquid", liquid_version = "6.0.0", features = { "core" } }

-- A session, the requests that the fake engine got, as text, and the engine. An answer may be a value or a function.
function engine.open(answers)
  local near, far = connect.pair({ name = "x" }, { raw = true })
  local asked = {}
  answers.initialize = answers.initialize == nil and INITIALIZED or answers.initialize
  for method, answer in pairs(answers) do
    far:on(method, function(params)
      asked[#asked + 1] = method .. " " .. tostring(params)
      if type(answer) == "function" then return answer(far, json.decode(tostring(params))) end
      return answer
    end)
  end
  return new_session(liquid, near), asked, far
end

function engine.opened(answers)
  answers.compile = answers.compile or { template_id = "tmpl_1" }
  answers.render = answers.render or { output = "", errors = json.array() }
  local session, asked, far = engine.open(answers)
  assert(liquid.host.open(session))
  table.remove(asked, 1)
  return session, asked, far
end

function engine.close(session, far)
  session.peer:close()
  far:close()
end

function engine.execute(session, operation, args, context)
  return liquid.host.execute(session, operation, args, context or {})
end

-- The requests for these arguments, and the outcome.
function engine.sent(operation, args, answers)
  local session, asked, far = engine.opened(answers or {})
  local outcome, err = engine.execute(session, operation, args)
  engine.close(session, far)
  return asked, outcome, err
end

-- Runs a render in which the engine accesses the environment: `ask` gets a function that sends its requests.
function engine.asking(environment, ask)
  local result
  local session, _, far = engine.opened {
    render = function(far, params)
      result = ask(function(method, asked)
        local answer, err = far:call(method, asked)
        if answer == nil then return nil, err end
        return tostring(answer)
      end, params.environment)
      return { output = "", errors = {} }
    end,
  }
  assert(engine.execute(session, "render", { template = "", environment = environment }))
  engine.close(session, far)
  return result
end

return engine
