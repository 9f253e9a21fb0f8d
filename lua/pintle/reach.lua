-- Reaching who computes without waiting: `tick` of a runner is called about every INTERVAL seconds while it does. What
-- that raises comes out of the code that computes, between two of its instructions. A runner that `is_doomed` is
-- reached before every instruction, so that no pcall saves it.
--
-- Nobody is reached inside of pintle's own code, whose work must not be torn apart, but as soon as he has left it.

local core = require "pintle.core"
local loop = require "pintle.loop"

local owners, getinfo, sethook = loop.owners, debug.getinfo, debug.sethook

local INTERVAL = 0.05

local HOME = getinfo(1, "S").source:match "^(.*)reach%.lua$"
local COMPUTES = { "manifest", "schema" } -- what of pintle may take its time, and can be broken off anywhere

local function belongs_to_us(source)
  if not HOME or source:sub(1, #HOME) ~= HOME then return false end
  for _, name in ipairs(COMPUTES) do
    if source:sub(#HOME + 1, #HOME + #name) == name then return false end
  end
  return true
end

local known = {} ---@type table<string, boolean>

-- Whether the function at this level, as the caller counts it, is pintle's own.
local function is_own(level)
  local source = getinfo(level + 1, "S").source
  if known[source] == nil then known[source] = belongs_to_us(source) end
  return known[source]
end

-- Instructions between two looks: 1, 3, 7 … 127, 1. A look before each is slow.
local gap = 1

-- A hook, called until the runner is reached.
local function look()
  local owner = owners[coroutine.running()]
  if not owner or not owner.tick then return sethook() end
  local own = is_own(2)
  gap = own and not owner.is_doomed and gap % 127 * 2 + 1 or 1
  sethook((own or owner.is_doomed) and look or nil, "", gap)
  if not own then owner:tick() end
end

core.watch(function(thread)
  local owner = owners[thread]
  if not owner or not owner.tick then return end
  local has_hook = debug.gethook() ~= nil
  if not has_hook and (owner.is_doomed or is_own(2)) then sethook(look, "", 1) end
  if not is_own(2) then owner:tick() end
end, INTERVAL)
