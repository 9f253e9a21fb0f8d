-- The formats that the keyword `format` can assert.

local lazy = require "pintle.lazy"
local errors = require "pintle.schema.errors"
local values = require "pintle.schema.values"

local idn = lazy "pintle.schema.idn"
local patterns = lazy "pintle.schema.pattern"
local references = lazy "pintle.schema.references"

---Each `is_` function takes a string and returns a boolean.
local formats = {}

-- {====== UUIDs and JSON pointers ======

local HEX_4 = ("%x"):rep(4)
local UUID = "^" .. table.concat({ HEX_4 .. HEX_4, HEX_4, HEX_4, HEX_4, HEX_4 .. HEX_4 .. HEX_4 }, "%-") .. "$"

function formats.is_uuid(text) return text:find(UUID) ~= nil end

function formats.is_pointer(text) return values.pointer_tokens(text) ~= nil end

function formats.is_relative_pointer(text)
  local levels, rest = text:match "^(%d+)(.*)$"
  if not levels or levels:find "^0." then return false end
  local offset, after = rest:match "^[-+](%d+)(.*)$"
  if offset and offset:find "^0." then return false end
  rest = after or rest
  return rest == "#" or formats.is_pointer(rest)
end

-- }======

-- {====== Dates, times and durations (RFC 3339) ======

local DAYS = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

local function is_leap_year(year) return year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0) end

local function days_in_month(year, month)
  if month == 2 and not is_leap_year(year) then return 28 end
  return DAYS[month] or 0
end

function formats.is_date(text)
  local year, month, day = text:match "^(%d%d%d%d)%-(%d%d)%-(%d%d)$"
  if not year then return false end
  day = tonumber(day)
  return day >= 1 and day <= days_in_month(tonumber(year), tonumber(month))
end

-- Minutes that local time is ahead of UTC; nil if the zone is not valid.
local function time_zone_offset(zone)
  if zone == "Z" or zone == "z" then return 0 end
  local sign, hours, minutes = zone:match "^([-+])(%d%d):(%d%d)$"
  if not sign or hours > "23" or minutes > "59" then return nil end
  return (sign == "-" and -1 or 1) * (hours * 60 + minutes)
end

-- Second 60, a leap second, is valid in the last minute of a day in UTC.
function formats.is_time(text)
  local hour, minute, second, fraction, zone = text:match "^(%d%d):(%d%d):(%d%d)(%.?%d*)([-+Zz].*)$"
  if not hour or fraction ~= "" and not fraction:find "^%.%d+$" then return false end
  local offset = time_zone_offset(zone)
  if not offset or hour > "23" or minute > "59" or second > "60" then return false end
  return second < "60" or (hour * 60 + minute - offset) % 1440 == 1439
end

function formats.is_date_time(text)
  local date, rest = text:match "^([%d-]+)[Tt](.*)$"
  return date ~= nil and formats.is_date(date) and formats.is_time(rest)
end

-- Whether the text is numbers with these units. Units may be left out at either end, but not in between.
local function has_duration_units(text, units)
  local first, last, rest = nil, nil, text
  while rest ~= "" do
    local unit, after = rest:match "^%d+(%a)(.*)$"
    local place = unit and units:find(unit, 1, true)
    if not place or last and place ~= last + 1 then return false end
    first, last, rest = first or place, place, after
  end
  return first ~= nil
end

function formats.is_duration(text)
  if text:find "^P%d+W$" then return true end
  local date, mark, clock = text:match "^P([%dYMD]*)(T?)([%dHMS]*)$"
  if not date or date == "" and mark == "" then return false end
  if date ~= "" and not has_duration_units(date, "YMD") then return false end
  if mark == "" then return clock == "" end
  return has_duration_units(clock, "HMS")
end

-- }======

-- {====== IP addresses and mail addresses ======

-- Four numbers up to 255 with at most three digits.
local function is_dotted_quad(text)
  local octets = { text:match "^(%d+)%.(%d+)%.(%d+)%.(%d+)$" }
  for _, octet in ipairs(octets) do
    if #octet > 3 or tonumber(octet) > 255 then return false end
  end
  return #octets == 4
end

function formats.is_ipv4(text) return is_dotted_quad(text) and not ("." .. text):find "%.0%d" end

-- The number of groups in a part without ::, or nil if it is not valid.
local function count_ipv6_groups(text)
  if text == "" then return 0 end
  local count = 0
  for group in (text .. ":"):gmatch "([^:]*):" do
    if not group:find "^%x+$" or #group > 4 then return nil end
    count = count + 1
  end
  return count
end

-- The last two groups may be written as an IPv4 address.
local function count_last_ipv6_groups(text)
  local head, tail = text:match "^(.-):?([^:]*)$"
  if not tail:find(".", 1, true) then return count_ipv6_groups(text) end
  local count = text:sub(1, 1) ~= ":" and formats.is_ipv4(tail) and count_ipv6_groups(head)
  return count and count + 2 or nil
end

function formats.is_ipv6(text)
  local at = text:find("::", 1, true)
  if not at then return count_last_ipv6_groups(text) == 8 end
  local before = count_ipv6_groups(text:sub(1, at - 1))
  local after = count_last_ipv6_groups(text:sub(at + 2))
  return before ~= nil and after ~= nil and before + after <= 7
end

---Whether it is a label of a host name in ASCII: letters, digits, and hyphens inside.
---@param label string
---@return boolean
function formats.is_label(label)
  return #label <= 63 and label:find "^%w" ~= nil and label:find "%w$" ~= nil and not label:find "[^%w-]"
end

-- In mail addresses the numbers may have leading zeros (RFC 5321, Snum).
local function is_address_literal(text)
  local inside = text:match "^%[(.*)%]$"
  if not inside then return false end
  local six = inside:match "^[Ii][Pp][Vv]6:(.*)$"
  if six then return formats.is_ipv6(six) end
  return is_dotted_quad(inside)
end

local function is_plain_hostname(text)
  if #text > 253 then return false end
  for label in (text .. "."):gmatch "([^.]*)%." do
    if not formats.is_label(label) then return false end
  end
  return true
end

local ATOM = "[^%w!#$%%&'*+/=?^_`{|}~.\x80-\xff-]"

local function is_mail_dot_atom(text)
  return text ~= "" and not text:find(ATOM) and not text:find "^%." and not text:find "%.$"
    and not text:find("..", 1, true)
end

local function is_quoted_mail_name(text)
  local inside = text:match '^"(.*)"$'
  if not inside then return false end
  inside = inside:gsub("\\[\x20-\x7e]", "")
  return not inside:find '[%c"\\]'
end

---@param text string
---@param is_host fun(text: string): boolean
---@return boolean
function formats.is_mailbox(text, is_host)
  local name, host = text:match "^(.*)@([^@]*)$"
  if not name or #name > 64 then return false end
  return (is_mail_dot_atom(name) or is_quoted_mail_name(name)) and (is_address_literal(host) or is_host(host))
end

function formats.is_email(text)
  return not text:find "[\x80-\xff]" and formats.is_mailbox(text, is_plain_hostname)
end

-- }======

-- {====== URIs and IRIs (RFC 3986, RFC 3987), URI templates (RFC 6570) ======

local UNRESERVED = "%w._~%-"
local SUB_DELIMITERS = "!$&'()*+,;="

-- Returns a test: whether a text has only these characters and %XX. Characters beyond ASCII are tested elsewhere.
local function uri_character_test(set)
  local other = "[^" .. set .. "\x80-\xff]"
  return function(text)
    local plain = text:gsub("%%%x%x", "")
    return not plain:find(other)
  end
end

local is_uri_user = uri_character_test(UNRESERVED .. SUB_DELIMITERS .. ":")
local is_uri_name = uri_character_test(UNRESERVED .. SUB_DELIMITERS)
local is_uri_path = uri_character_test(UNRESERVED .. SUB_DELIMITERS .. ":@/")
local is_uri_query = uri_character_test(UNRESERVED .. SUB_DELIMITERS .. ":@/?")

local function is_ip_literal(host)
  local inside = host:match "^%[(.*)%]$"
  if not inside then return false end
  return formats.is_ipv6(inside) or inside:find "^[vV]%x+%.[%w._~!$&'()*+,;=:-]+$" ~= nil
end

local function is_uri_authority(text)
  local user, rest = text:match "^([^@]*)@(.*)$"
  if user and not is_uri_user(user) then return false end
  local host, port = (rest or text):match "^(%[.*%])(.*)$"
  if not host then
    host, port = (rest or text):match "^([^:]*)(.*)$"
  end
  return (port == "" or port:find "^:%d*$" ~= nil) and (is_ip_literal(host) or is_uri_name(host))
end

local function is_reference(text)
  local parts = references.split_uri(text)
  local path, query, fragment = parts.path, parts.query, parts.fragment
  if parts.authority and not is_uri_authority(parts.authority) then return false end
  if not parts.scheme and not parts.authority and path:find "^[^/]*:" then return false end
  return is_uri_path(path) and (not query or is_uri_query(query)) and (not fragment or is_uri_query(fragment))
end

-- Control characters, tags, and code points that are not characters.
local function is_forbidden(code)
  return code >= 0x80 and code < 0xA0 or code >= 0xE0000 and code <= 0xE0FFF or code & 0xFFFE == 0xFFFE
    or code >= 0xFDD0 and code <= 0xFDEF or code >= 0xFFF0 and code <= 0xFFFF
end

local function is_private_use(code) return code >= 0xE000 and code <= 0xF8FF or code >= 0xF0000 end

local function has_character(text, test)
  for _, code in utf8.codes(text) do
    if test(code) then return true end
  end
  return false
end

local function is_unicode_iri(text) return utf8.len(text) ~= nil and not has_character(text, is_forbidden) end

-- Private-use characters are allowed only in the query.
local function without_uri_query(text)
  local path, fragment = text:match "^([^?#]*)[^#]*(.*)$"
  return path .. fragment
end

function formats.is_iri_reference(text)
  return is_unicode_iri(text) and not has_character(without_uri_query(text), is_private_use) and is_reference(text)
end

function formats.is_iri(text) return references.split_uri(text).scheme ~= nil and formats.is_iri_reference(text) end

function formats.is_uri_reference(text) return not text:find "[\x80-\xff]" and is_reference(text) end

function formats.is_uri(text) return references.split_uri(text).scheme ~= nil and formats.is_uri_reference(text) end

local function is_template_variable(text)
  local name = text:match "^(.-)%*$" or text:match "^(.-):[1-9]%d?%d?%d?$" or text
  name = name:gsub("%%%x%x", "x")
  return name:find "^[%w_][%w_.]*$" ~= nil and not name:find("..", 1, true) and not name:find "%.$"
end

local function is_template_expression(text)
  local list = text:gsub("^[+#./;?&=,!@|]", "")
  for variable in (list .. ","):gmatch "([^,]*)," do
    if not is_template_variable(variable) then return false end
  end
  return true
end

-- The apostrophe is allowed by erratum 6937 of RFC 6570.
local function is_template_literal(text)
  local plain = text:gsub("%%%x%x", "")
  return not plain:find "[%c \"%%<>\\^`{|}]"
end

function formats.is_uri_template(text)
  if not is_unicode_iri(text) then return false end
  local at = 1
  while at <= #text do
    local literal, expression, after = text:match("^([^{}]*){([^{}]*)}()", at)
    if not literal then return is_template_literal(text:sub(at)) end
    if not is_template_literal(literal) or not is_template_expression(expression) then return false end
    at = after
  end
  return true
end

-- }======

-- The module of each format, and the function in it.
local FUNCTIONS = {
  date = { formats, "is_date" }, time = { formats, "is_time" }, ["date-time"] = { formats, "is_date_time" },
  duration = { formats, "is_duration" },
  email = { formats, "is_email" }, ["idn-email"] = { idn, "is_email" },
  hostname = { idn, "is_ascii_hostname" }, ["idn-hostname"] = { idn, "is_hostname" },
  ipv4 = { formats, "is_ipv4" }, ipv6 = { formats, "is_ipv6" },
  uri = { formats, "is_uri" }, ["uri-reference"] = { formats, "is_uri_reference" },
  ["uri-template"] = { formats, "is_uri_template" },
  iri = { formats, "is_iri" }, ["iri-reference"] = { formats, "is_iri_reference" },
  uuid = { formats, "is_uuid" }, ["json-pointer"] = { formats, "is_pointer" },
  ["relative-json-pointer"] = { formats, "is_relative_pointer" },
  regex = { patterns, "is_valid" },
}

local function reject_format(node, reason) errors.reject(node.path .. "/format", reason) end

---Unknown formats are annotations, unless the vocabulary of the schema requires that all are known.
---@param node pintle.schema.node
---@param name string
---@return (fun(text: string): boolean)? is_valid
function formats.find(node, name)
  local found = FUNCTIONS[name]
  if not found then
    if node.resource.dialect.formats then reject_format(node, ("the format %s is unknown"):format(name)) end
    return nil
  end
  if found[1] == patterns and not patterns.are_available() then
    reject_format(node, ("the format %s needs the rock lrexlib-pcre2, which is not installed"):format(name))
  end
  return found[1][found[2]]
end

return formats
