-- Random JSON-RPC messages, with what a receiver must find in their envelope without decoding them.

local random_messages = {}

local function pick(list) return list[math.random(#list)] end

local NAMES = { '"id"', '"method"', '"result"', '"error"', '"params"', '"x"', '"i\\u0064"', '""', '"\\\\"', '"\\"id"' }

local function random_string()
  local parts = {}
  for i = 1, math.random(0, 6) do
    parts[i] = pick { "a", "{", "}", "[", "]", ",", ":", '\\"', "\\\\", "\\u0022", "\u{e9}", '\\"id\\":1', "id" }
  end
  return '"' .. table.concat(parts) .. '"'
end

local function space() return pick { "", "", "", " ", "\t", "  " } end

local random_value

local function random_members(depth)
  local members = {}
  for i = 1, math.random(0, 3) do members[i] = pick(NAMES) .. space() .. ":" .. space() .. random_value(depth + 1) end
  return members
end

local function random_items(depth)
  local items = {}
  for i = 1, math.random(0, 3) do items[i] = random_value(depth + 1) end
  return items
end

function random_value(depth)
  local kind = math.random(depth > 4 and 2 or 4)
  if kind == 1 then return random_string() end
  if kind == 2 then return pick { "1", "-2.5e3", "true", "false", "0" } end
  if kind == 3 then return "{" .. table.concat(random_members(depth), space() .. "," .. space()) .. "}" end
  return "[" .. space() .. table.concat(random_items(depth), ",") .. space() .. "]"
end

-- Each member of an envelope: its text and its meaning.
local MAKERS = {
  function(calls)
    local id = math.random(calls)
    return '"id"', tostring(id), "id", id
  end,
  function() return pick { '"result"', '"\\u0072esult"', '"error"' }, random_value(0), "outcome" end,
  function() return pick { '"result"', '"error"' }, "null", "null outcome" end,
  function() return '"method"', random_string(), "method" end,
  function() return pick { '"params"', '"x"', '"ids"', '"i"', '"Id"' }, random_value(0), "other" end,
}

-- What is known when the kind of the message is decided, by the rules of csrc/skim.h.
local function take(known, what, id)
  if known.is_decided then return end
  if what == "id" then known.id = id end
  if what == "method" then known.method = true end
  if what == "outcome" or what == "null outcome" then known.outcome = true end
  known.is_uncancellable = known.is_uncancellable or what == "outcome"
  known.is_decided = known.id and (known.method or known.is_uncancellable)
end

---A message over `limit` bytes, and its description: its id, the call of this id if it answers one of `calls` calls,
---and whether it is certainly an answer.
---@param limit integer
---@param calls integer
---@return string text, string expected
function random_messages.message(limit, calls)
  local members, known = {}, {}
  local fill = math.random(0, 4)
  for i = 0, 4 do
    local name, value, what, id = pick(MAKERS)(calls)
    if i == fill then
      name, value, what = '"fill"', '"' .. ("f"):rep(limit) .. '"', "other"
    end
    members[#members + 1] = space() .. name .. space() .. ":" .. space() .. value .. space()
    take(known, what, id)
  end
  return "{" .. table.concat(members, ",") .. "}", ("%s %s %s"):format(known.id or "-",
    known.id and not known.method and "call " .. known.id or "-",
    known.outcome and not known.method and "answer" or "other")
end

return random_messages
