-- URIs and IRIs (RFC 3986, RFC 3987), and templates for them (RFC 6570).

local network = require "pintle.schema.formats.network"

local uri = {}

local UNRESERVED = "%w._~%-"
local SUB_DELIMITERS = "!$&'()*+,;="

-- Whether a part is made of these characters and of %XX. Beyond ASCII all that RFC 3987 allows is allowed, if any is.
local function made_of(set)
  local other = "[^" .. set .. "\x80-\xff]"
  return function(text)
    local plain = text:gsub("%%%x%x", "")
    return not plain:find(other)
  end
end

local is_user = made_of(UNRESERVED .. SUB_DELIMITERS .. ":")
local is_name = made_of(UNRESERVED .. SUB_DELIMITERS)
local is_path = made_of(UNRESERVED .. SUB_DELIMITERS .. ":@/")
local is_query = made_of(UNRESERVED .. SUB_DELIMITERS .. ":@/?")

local function is_ip_literal(host)
  local inside = host:match "^%[(.*)%]$"
  if not inside then return false end
  return network.is_ipv6(inside) or inside:find "^[vV]%x+%.[%w._~!$&'()*+,;=:-]+$" ~= nil
end

local function is_authority(text)
  local user, rest = text:match "^([^@]*)@(.*)$"
  if user and not is_user(user) then return false end
  local host, port = (rest or text):match "^(%[.*%])(.*)$"
  if not host then
    host, port = (rest or text):match "^([^:]*)(.*)$"
  end
  return (port == "" or port:find "^:%d*$" ~= nil) and (is_ip_literal(host) or is_name(host))
end

-- scheme, authority, path, query, fragment; those that are not there are nil
local function split(text)
  local rest, fragment = text:match "^([^#]*)#(.*)$"
  local hierarchy, query = (rest or text):match "^([^?]*)%?(.*)$"
  hierarchy = hierarchy or rest or text
  local scheme, after = hierarchy:match "^(%a[%w+.-]*):(.*)$"
  local authority, path = (after or hierarchy):match "^//([^/]*)(.*)$"
  return scheme, authority, path or after or hierarchy, query, fragment
end

local function is_reference(text)
  local scheme, authority, path, query, fragment = split(text)
  if authority and not is_authority(authority) then return false end
  if not scheme and not authority and path:find "^[^/]*:" then return false end
  return is_path(path) and (not query or is_query(query)) and (not fragment or is_query(fragment))
end

-- Control characters, tags and code points that are no characters.
local function is_strange(code)
  return code >= 0x80 and code < 0xA0 or code >= 0xE0000 and code <= 0xE0FFF or code & 0xFFFE == 0xFFFE
    or code >= 0xFDD0 and code <= 0xFDEF or code >= 0xFFF0 and code <= 0xFFFF
end

local function is_private(code) return code >= 0xE000 and code <= 0xF8FF or code >= 0xF0000 end

local function has(text, test)
  for _, code in utf8.codes(text) do
    if test(code) then return true end
  end
  return false
end

local function is_wide(text) return utf8.len(text) ~= nil and not has(text, is_strange) end

-- Characters of private use are for the query alone.
local function without_query(text)
  local path, fragment = text:match "^([^?#]*)[^#]*(.*)$"
  return path .. fragment
end

---@param text string
---@return boolean
function uri.is_iri_reference(text)
  return is_wide(text) and not has(without_query(text), is_private) and is_reference(text)
end

---@param text string
---@return boolean
function uri.is_iri(text) return split(text) ~= nil and uri.is_iri_reference(text) end

---@param text string
---@return boolean
function uri.is_uri_reference(text) return not text:find "[\x80-\xff]" and is_reference(text) end

---@param text string
---@return boolean
function uri.is_uri(text) return split(text) ~= nil and uri.is_uri_reference(text) end

local function is_variable(text)
  local name = text:match "^(.-)%*$" or text:match "^(.-):[1-9]%d?%d?%d?$" or text
  name = name:gsub("%%%x%x", "x")
  return name:find "^[%w_][%w_.]*$" ~= nil and not name:find("..", 1, true) and not name:find "%.$"
end

local function is_expression(text)
  local list = text:gsub("^[+#./;?&=,!@|]", "")
  for variable in (list .. ","):gmatch "([^,]*)," do
    if not is_variable(variable) then return false end
  end
  return true
end

-- The apostrophe, which RFC 6570 leaves out, is back by its erratum 6937.
local function is_literal(text)
  local plain = text:gsub("%%%x%x", "")
  return not plain:find "[%c \"%%<>\\^`{|}]"
end

---@param text string
---@return boolean
function uri.is_template(text)
  if not is_wide(text) then return false end
  local at = 1
  while at <= #text do
    local literal, expression, after = text:match("^([^{}]*){([^{}]*)}()", at)
    if not literal then return is_literal(text:sub(at)) end
    if not is_literal(literal) or not is_expression(expression) then return false end
    at = after
  end
  return true
end

return uri
