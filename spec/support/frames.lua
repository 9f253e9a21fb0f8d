-- Input bytes, good and bad, and their events: the beginnings of the lines that spec.support.wire returns. The limits
-- are small, so that inputs can exceed them.
local frames = {}

frames.limits = { header = 128, message = 96 }

local function body(method)
  return ('{"jsonrpc":"2.0","method":"%s"}'):format(method)
end

local function framed(method)
  return ("Content-Length: %d\r\n\r\n%s"):format(#body(method), body(method))
end

local a, b, c = framed "a", framed "b", framed "c"
local n = #body "a"

local function fixture(framing, name, bytes, expected)
  frames[#frames + 1] = { framing = framing, name = name, bytes = bytes, expected = expected }
end

local function header(...) return fixture("header", ...) end
local function line(...) return fixture("line", ...) end
local function auto(...) return fixture("auto", ...) end

-- Bytes before two messages, which must be received in spite of them.
local function refused(name, bytes, why)
  header(name, a .. bytes .. b .. c, { "got a", "invalid -32600 " .. why, "got b", "got c" })
end

local function accepted(name, bytes)
  header(name, a .. bytes .. body "b" .. c, { "got a", "got b", "got c" })
end

header("takes messages one after the other", a .. b .. c, { "got a", "got b", "got c" })
header("takes nothing for nothing", "", {})
header("takes an empty body for one that is not JSON", "Content-Length: 0\r\n\r\n" .. a,
  { "invalid -32700 unfinished value", "got a" })

accepted("compares names without case", ("cOnTeNt-LENGTH: %d\r\n\r\n"):format(n))
accepted("needs no space behind the colon", ("Content-Length:%d\r\n\r\n"):format(n))
accepted("takes any spaces around the length", ("Content-Length: \t %d \t\r\n\r\n"):format(n))
accepted("takes a lone line feed", ("Content-Length: %d\n\n"):format(n))
accepted("takes line ends of both kinds", ("Content-Length: %d\r\nX-A: 1\n\r\n"):format(n))
accepted("takes leading zeros", ("Content-Length: 000000000000000000%d\r\n\r\n"):format(n))
accepted("passes over fields it does not know", ("X-One: 1\r\nContent-Length: %d\r\nX-Two:\r\n\r\n"):format(n))
accepted("takes the same length twice", ("Content-Length: %d\r\nContent-Length: %d\r\n\r\n"):format(n, n))
accepted("passes over blank lines between messages", ("\r\n\n\r\nContent-Length: %d\r\n\r\n"):format(n))
for _, kind in ipairs {
  "application/vscode-jsonrpc; charset=utf-8", "application/vscode-jsonrpc; charset=utf8", "application/json",
  "application/vscode-jsonrpc;charset=UTF-8", 'application/json; charset="utf-8"', "text/x; charset=utf-8; v=1", "",
} do
  accepted("takes the content type " .. kind, ("Content-Type: %s\r\nContent-Length: %d\r\n\r\n"):format(kind, n))
end

refused("refuses a header without a length", "X-One: 1\r\n\r\n", "header has no Content-Length")
refused("refuses a content type without a length", "Content-Type: application/json\r\n\r\n",
  "header has no Content-Length")
refused("refuses lengths that differ", "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
  "Content-Length is given twice and differs, header line 2")
for name, length in pairs {
  negative = "-2", signed = "+2", hexadecimal = "0x2", suffixed = "2x", ["in words"] = "two", fractional = "2.0",
  ["in two parts"] = "2 2", ["with an exponent"] = "2e0",
} do
  refused("refuses a length that is " .. name, "Content-Length: " .. length .. "\r\n\r\n",
    "Content-Length is not a plain decimal number, header line 1")
end
refused("refuses an empty length", "Content-Length: \r\n\r\n", "Content-Length is empty, header line 1")
refused("refuses an empty length without a space", "Content-Length:\r\n\r\n", "Content-Length is empty, header line 1")
for _, length in ipairs { "9223372036854775808", "18446744073709551616", "18446744073709551646", ("9"):rep(60) } do
  refused("refuses the overflowing length " .. length, "Content-Length: " .. length .. "\r\n\r\n",
    "Content-Length is too large, header line 1")
end
refused("refuses another charset and drops the body",
  "Content-Length: 4\r\nContent-Type: x; charset=latin1\r\n\r\n\xe9\n\xe9\n",
  "Content-Type has a charset other than utf-8, header line 2")
refused("refuses a value that is not ASCII", "Content-Length: 4\r\nX-Name: \xc3\xa9\r\n\r\n{  }",
  "a byte that is not ASCII, header line 2")
refused("refuses a length that is not ASCII", "Content-Length: \xd9\xa3\r\n\r\n",
  "a byte that is not ASCII, header line 1")
refused("refuses a line in a header that is no field", "Content-Length: 4\r\nno field\r\n\r\n{  }",
  'not "name: value", header line 2')
refused("refuses a name that is not ASCII", "Content-Length: 4\r\nX-\xc3\xa9: 1\r\n\r\n{  }",
  'not "name: value", header line 2')
refused("skips a body over the limit", "Content-Length: 97\r\n\r\n" .. ("x\n"):rep(48) .. "x",
  "message is longer than the limit of 96")
refused("skips a body far over the limit", "Content-Length: 5000\r\n\r\n" .. b:rep(100):sub(1, 5000),
  "message is longer than the limit of 96")
refused("refuses a header with too many fields", ("X-Field: 1\r\n"):rep(40) .. "\r\n",
  "header is longer than the limit of 128")
refused("skips the body of a header with too many fields",
  "Content-Length: 4\r\n" .. ("X-Field: 1\r\n"):rep(40) .. "\r\n{  }", "header is longer than the limit of 128")
refused("skips the body also if its length comes late",
  ("X-Field: 1\r\n"):rep(40) .. "Content-Length: 4\r\n\r\n{  }", "header is longer than the limit of 128")
refused("refuses a header with a line that is too long",
  "Content-Length: 4\r\nX-Long: " .. ("x"):rep(500) .. "\r\n\r\n{  }",
  "header is longer than the limit of 128")
refused("refuses a first line that is too long", "X-Long: " .. ("x"):rep(500) .. "\r\nContent-Length: 4\r\n\r\n{  }",
  "header is longer than the limit of 128")

header("takes a body of just the limit", ('Content-Length: 96\r\n\r\n%-96s'):format(body "b") .. c,
  { "got b", "got c" })
header("takes a header of just the limit",
  ("Content-Length: %d\r\nX-Fill: %s\r\n\r\n"):format(n, ("x"):rep(128 - 20 - 8 - 4)) .. body "b" .. c,
  { "got b", "got c" })
header("refuses a header of one byte more",
  ("Content-Length: %d\r\nX-Fill: %s\r\n\r\n"):format(n, ("x"):rep(129 - 20 - 8 - 4)) .. body "b" .. c,
  { "invalid -32600 header is longer than the limit of 128", "got c" })
header("tells junk lines from messages", "starting up\r\n" .. a .. "oops\nwarning!\n" .. b,
  { 'noise "starting up"', "got a", 'noise "oops"', 'noise "warning!"', "got b" })
header("tells junk that is glued to a header from it", "loading..." .. a .. "50%" .. b,
  { 'noise "loading..."', "got a", 'noise "50%"', "got b" })
header("cuts junk without an end of line into pieces", ("x"):rep(300) .. a,
  { 'noise "' .. ("x"):rep(128), 'noise "' .. ("x"):rep(128), 'noise "' .. ("x"):rep(44), "got a" })
for before = 110, 130 do
  header("finds a header wherever junk is cut: " .. before, ("x"):rep(before) .. a .. b, before > 128 and
    { 'noise "x', 'noise "x', "got a", "got b" } or { 'noise "x', "got a", "got b" })
end
header("tells junk of any bytes from messages", "\0\xff\1\r\n" .. a, { 'noise "\\0\xff\\1"', "got a" })
header("tells JSON without a header from messages", body "a" .. "\n" .. b, { "noise ", "got b" })
header("takes a body that is not JSON for an invalid message", "Content-Length: 4\r\n\r\noops" .. a,
  { "invalid -32700 invalid value at line 1, column 1", "got a" })
header("tells of a header that the input ends in", a .. "Content-Length: 30\r\n",
  { "got a", "invalid -32600 input ends inside a header" })
header("tells of a body that the input ends in", a .. "Content-Length: 30\r\n\r\n{}",
  { "got a", "invalid -32600 input ends inside a message, bytes missing: 28" })
header("tells of a body that is missing at the end of input", "Content-Length: 30\r\n\r\n",
  { "invalid -32600 input ends inside a message, bytes missing: 30" })
header("hands over junk at the end of input", a .. "bye", { "got a", 'noise "bye"' })
header("hands over half a name at the end of input", a .. "Content-Len", { "got a", 'noise "Content-Len"' })

line("takes a message a line", body "a" .. "\n" .. body "b" .. "\n", { "got a", "got b" })
line("takes lines that end in CR LF", body "a" .. "\r\n" .. body "b" .. "\r\n", { "got a", "got b" })
line("passes over empty and blank lines",
  "\n\r\n  \n\t\r\n" .. body "a" .. "\n\n\n" .. body "b" .. "\n", { "got a", "got b" })
line("takes white space around a message", " \t" .. body "a" .. "  \r\n", { "got a" })
line("takes a last line without an end", body "a" .. "\n" .. body "b", { "got a", "got b" })
line("takes a last line that ends in CR", body "a" .. "\r", { "got a" })
line("takes a line of just the limit", ("%-96s\n%-96s\r\n"):format(body "a", body "b"), { "got a", "got b" })
line("takes a last line of just the limit", ("%-96s"):format(body "a"), { "got a" })
line("takes a last line of just the limit with a CR", ("%-96s\r"):format(body "a"), { "got a" })
line("refuses a line of one byte more", ("%-97s\n"):format(body "a") .. body "b" .. "\n",
  { "invalid -32600 line is longer than the limit of 96", "got b" })
line("refuses a line of one byte more with a CR", ("%-97s\r\n"):format(body "a") .. body "b" .. "\n",
  { "invalid -32600 line is longer than the limit of 96", "got b" })
line("skips a line far over the limit",
  ("x"):rep(3000) .. "\n" .. body "b" .. "\n" .. ("y"):rep(3000) .. "\r\n" .. body "c",
  { "invalid -32600 line is longer", "got b", "invalid -32600 line is longer", "got c" })
line("skips a last line far over the limit", body "a" .. "\n" .. ("x"):rep(3000),
  { "got a", "invalid -32600 line is longer" })
line("tells what is not JSON from messages", "starting up\n" .. body "a" .. "\n\0\xff\n[1,2\n\"half\n" .. body "b",
  { 'noise "starting up"', "got a", 'noise "\\0\xff"', 'noise "[1,2"', "noise ", "got b" })
line("takes half a message for one that is not JSON", '{"jsonrpc":"2.0","method":\n' .. body "a" .. "\n",
  { "invalid -32700 ", "got a" })
line("takes JSON that is no object for an invalid message", "12\n\"text\"\nnull\n" .. body "a",
  { "invalid -32600 not an object", "invalid -32600 not an object", "invalid -32600 not an object", "got a" })
line("tells a header from messages", a, { 'noise "Content-Length: ' .. n .. '"', "got a" })

auto("takes other fields before the first length",
  ("X-One: 1\r\nAccept: a\r\nContent-Length: %d\r\n\r\n%s"):format(n, body "a") .. b, { "got a", "got b" })
auto("takes other fields before the first length, with lone line feeds",
  ("X-One: 1\nContent-Length: %d\n\n%s"):format(n, body "a") .. b, { "got a", "got b" })
auto("takes a printed line for noise that looks like a field", "INFO: ready\n" .. a .. b,
  { 'noise "INFO: ready"', "got a", "got b" })
auto("takes lines for noise that look like fields, and are not followed by a length",
  "INFO: one\nWARN: two\n" .. body "a" .. "\n", { 'noise "INFO: one"', 'noise "WARN: two"', "got a" })
auto("takes fields up to an empty line for noise", "X-One: 1\r\n\r\n" .. a, { 'noise "X-One: 1"', "got a" })
auto("takes fields for noise at the end of input", "X-One: 1\r\nX-Two: 2\r\n",
  { 'noise "X-One: 1"', 'noise "X-Two: 2"' })
auto("takes fields for noise that go on beyond the limit of a header",
  ("X-One: " .. ("1"):rep(40) .. "\r\n"):rep(3) .. a,
  { 'noise "X-One: 1', 'noise "X-One: 1', 'noise "X-One: 1', "got a" })
auto("knows lines by their first byte", body "a" .. "\n" .. body "b" .. "\n", { "got a", "got b" })
auto("knows lines behind spaces", " \t " .. body "a" .. "\n" .. body "b" .. "\n", { "got a", "got b" })
auto("knows lines behind empty ones", "\r\n\n \n" .. body "a" .. "\n", { "got a" })
auto("knows a batch", "[" .. body "a" .. "," .. body "b" .. "]\n", { "got a", "got b" })
auto("knows headers by their first field", a .. b, { "got a", "got b" })
auto("knows headers in any case", a:lower() .. b:lower(), { "got a", "got b" })
auto("knows headers that begin with another field", "content-type: application/json; charset=utf8\r\n" .. a .. b,
  { "got a", "got b" })
auto("knows headers behind empty lines", "\r\n\n" .. a, { "got a" })
auto("knows lines behind noise", "hello\nwarning: x\n" .. body "a" .. "\n" .. "bye\n",
  { 'noise "hello"', 'noise "warning: x"', "got a", 'noise "bye"' })
auto("knows headers behind noise", "hello\nwarning: x\r\n" .. a .. "bye\n" .. b,
  { 'noise "hello"', 'noise "warning: x"', "got a", 'noise "bye"', "got b" })
auto("knows headers glued to noise", "hello" .. a .. b, { 'noise "hello"', "got a", "got b" })
auto("knows lines behind noise of any length", ("x"):rep(300) .. "\n" .. body "a",
  { 'noise "' .. ("x"):rep(128), 'noise "' .. ("x"):rep(128), 'noise "' .. ("x"):rep(44), "got a" })
auto("knows headers behind a long line that looks like a field", "Note: " .. ("x"):rep(300) .. a .. b,
  { 'noise "Note: xxx', 'noise "xxx', 'noise "xxx', "got a", "got b" })
auto("takes a last line without an end", body "a", { "got a" })
auto("hands over noise and nothing else", "hello\nthere", { 'noise "hello"', 'noise "there"' })
auto("hands over half a name at the end of input", "Conte", { 'noise "Conte"' })
auto("takes nothing for nothing", "", {})

return frames
