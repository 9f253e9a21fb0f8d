-- Addresses: IP, hosts, mail.

local network = {}

-- Four numbers up to 255, of three digits at most.
local function is_quad(text)
  local octets = { text:match "^(%d+)%.(%d+)%.(%d+)%.(%d+)$" }
  for _, octet in ipairs(octets) do
    if #octet > 3 or tonumber(octet) > 255 then return false end
  end
  return #octets == 4
end

---@param text string
---@return boolean
function network.is_ipv4(text) return is_quad(text) and not ("." .. text):find "%.0%d" end

-- How many of the eight groups a part without :: has; nil if it is none.
local function count_groups(text)
  if text == "" then return 0 end
  local count = 0
  for group in (text .. ":"):gmatch "([^:]*):" do
    if not group:find "^%x+$" or #group > 4 then return nil end
    count = count + 1
  end
  return count
end

-- The last two groups may be an address of the older kind.
local function count_last_groups(text)
  local head, tail = text:match "^(.-):?([^:]*)$"
  if not tail:find(".", 1, true) then return count_groups(text) end
  local count = text:sub(1, 1) ~= ":" and network.is_ipv4(tail) and count_groups(head)
  return count and count + 2 or nil
end

---@param text string
---@return boolean
function network.is_ipv6(text)
  local at = text:find("::", 1, true)
  if not at then return count_last_groups(text) == 8 end
  local before = count_groups(text:sub(1, at - 1))
  local after = count_last_groups(text:sub(at + 2))
  return before ~= nil and after ~= nil and before + after <= 7
end

---Letters, digits and hyphens, as a label of a host's name may be made of.
---@param label string
---@return boolean
function network.is_label(label)
  return #label <= 63 and label:find "^%w" ~= nil and label:find "%w$" ~= nil and not label:find "[^%w-]"
end

-- Mail allows zeros in front (RFC 5321, Snum).
local function is_address_literal(text)
  local inside = text:match "^%[(.*)%]$"
  if not inside then return false end
  local six = inside:match "^[Ii][Pp][Vv]6:(.*)$"
  if six then return network.is_ipv6(six) end
  return is_quad(inside)
end

local function is_plain_hostname(text)
  if #text > 253 then return false end
  for label in (text .. "."):gmatch "([^.]*)%." do
    if not network.is_label(label) then return false end
  end
  return true
end

local ATOM = "[^%w!#$%%&'*+/=?^_`{|}~.\x80-\xff-]"

local function is_dot_atom(text)
  return text ~= "" and not text:find(ATOM) and not text:find "^%." and not text:find "%.$"
    and not text:find("..", 1, true)
end

local function is_quoted(text)
  local inside = text:match '^"(.*)"$'
  if not inside then return false end
  inside = inside:gsub("\\[\x20-\x7e]", "")
  return not inside:find '[%c"\\]'
end

---@param text string
---@param is_host fun(text: string): boolean
---@return boolean
function network.is_mailbox(text, is_host)
  local name, host = text:match "^(.*)@([^@]*)$"
  if not name or #name > 64 then return false end
  return (is_dot_atom(name) or is_quoted(name)) and (is_address_literal(host) or is_host(host))
end

---@param text string
---@return boolean
function network.is_email(text)
  return not text:find "[\x80-\xff]" and network.is_mailbox(text, is_plain_hostname)
end

return network
