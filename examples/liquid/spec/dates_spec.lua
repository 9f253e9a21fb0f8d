local support = require "spec.support.engine"
local pintle = require "pintle"
local calendar = require "liquid.calendar"

local NOW = 1704067318 -- 2024-01-01 00:01:58

-- The date in a text; nil if the filter finds none and returns the text.
local function moment(text)
  local output = support.render("{{ text | date: '%Y-%m-%d %H:%M:%S %z %Z' }}", { text = text }, { now = NOW })
  return output ~= text and output or nil
end

describe("the calendar", function()
  it("converts days to dates and back", function()
    for days = -800000, 800000, 9973 do
      assert.equal(days, calendar.days(calendar.date(days)))
    end
    assert.same({ 2000, 2, 29 }, { calendar.date(calendar.days(2000, 2, 29)) })
  end)
end)

describe("dates in texts", function()
  it("are parsed in common forms", function()
    for text, expected in pairs {
      ["2006-07-05 10:00:00"] = "2006-07-05 10:00:00 +0000 UTC",
      ["2006-07-05T10:00:00-04:00"] = "2006-07-05 10:00:00 -0400 ",
      ["Fri Jul 16 01:00:00 2004"] = "2004-07-16 01:00:00 +0000 UTC",
      ["July 5, 2006"] = "2006-07-05 00:00:00 +0000 UTC",
      ["5 Jul 2006 3pm"] = "2006-07-05 15:00:00 +0000 UTC", ["16.07.2004"] = "2004-07-16 00:00:00 +0000 UTC",
      ["20060705T101112Z"] = "2006-07-05 10:11:12 +0000 UTC", ["10:30"] = "2024-01-01 10:30:00 +0000 UTC",
      ["Mar 14, 16"] = "2016-03-14 00:00:00 +0000 UTC", ["2006-02-30"] = "2006-03-02 00:00:00 +0000 UTC",
      ["1-9-2010"] = "2010-09-01 00:00:00 +0000 UTC", ["'13 jul 3"] = "2013-07-03 00:00:00 +0000 UTC",
      ["the 14th"] = "2024-01-14 00:00:00 +0000 UTC", ["no. 22"] = "2024-01-22 00:00:00 +0000 UTC",
      ["1.25"] = "2024-01-25 00:00:00 +0000 UTC", ["day 123"] = "2024-05-02 00:00:00 +0000 UTC",
      ["at 1225"] = "2024-12-25 00:00:00 +0000 UTC", ["for 990523"] = "1999-05-23 00:00:00 +0000 UTC",
      ["June 7 18:33:38 JST 1992"] = "1992-06-07 18:33:38 +0000 UTC",
      ["2001-09-21 19:12 GMT+2"] = "2001-09-21 19:12:00 +0000 UTC", ["10:00 b"] = "2024-01-01 10:00:00 +0200 ",
      ["2020-100"] = "2020-04-09 00:00:00 +0000 UTC", ["1999-05-23 21:34:56 PST"] = "1999-05-23 21:34:56 -0800 ",
    } do
      assert.equal(expected, moment(text), text)
    end
  end)

  it("may have a time of day and a zone", function()
    for text, expected in pairs {
      ["9:15: 8"] = "2024-01-01 09:15:08 +0000 UTC", ["21 : 40"] = "2024-01-01 21:40:00 +0000 UTC",
      ["6h"] = "2024-01-01 06:00:00 +0000 UTC", ["Thurs 6h20m"] = "2024-01-01 06:20:00 +0000 UTC",
      ["3 Feb 2011 17h5m"] = "2011-02-03 17:05:00 +0000 UTC", ["7pm +01:00"] = "2024-01-01 19:00:00 +0100 ",
      ["12 a.m. EDT"] = "2023-12-31 00:00:00 -0400 ", ["8:30 +01:30:15"] = "2024-01-01 08:30:00 +0130 ",
      ["2011-02-03 8:05 Pacific Standard Time"] = "2011-02-03 08:05:00 +0000 UTC",
      ["2011-02-03 8:05 -3"] = "2011-02-03 08:05:00 +0000 UTC", ["10:20 4"] = "2024-01-04 10:20:00 +0000 UTC",
    } do
      assert.equal(expected, moment(text), text)
    end
  end)

  it("may have any year, and parts in any order", function()
    for text, expected in pairs {
      ["Mar 4 55 BC"] = "-0054-03-04 00:00:00 +0000 UTC", ["H21.04.06"] = "2009-04-06 00:00:00 +0000 UTC",
      ["--11-09"] = "2024-11-09 00:00:00 +0000 UTC", ["--1109"] = "2024-11-09 00:00:00 +0000 UTC",
      ["Oct 7 - 6:05"] = "2024-10-07 06:05:00 +0000 UTC", ["oct'98"] = "1998-10-01 00:00:00 +0000 UTC",
      ["2-nov-87"] = "1987-11-02 00:00:00 +0000 UTC",
      ["1998-200 3:04"] = "1998-07-19 03:04:00 +0000 UTC", ["2011-W12-3 4:05"] = "2024-01-01 04:05:00 +0000 UTC",
      ["5 Jan 3rd"] = "2005-01-03 00:00:00 +0000 UTC", ["20110203 0405"] = "2011-02-03 04:05:00 +0000 UTC",
      ["-0007-02-03"] = "-0007-02-03 00:00:00 +0000 UTC", ["110203T0405"] = "2011-02-03 04:05:00 +0000 UTC",
    } do
      assert.equal(expected, moment(text), text)
    end
  end)

  it("are not found in other texts", function()
    for _, text in ipairs {
      "abc", "Friday", "2006-13-45", "", "07/16/2004", "24:01", "2011-W12", "2011-366", "3:04 +27:00", "x 1 y",
    } do
      assert.is_nil(moment(text), text)
    end
  end)

  it("are searched in random texts without an error", function()
    for _, text in ipairs {
      "'", "'-", "--", "--1", "1.2.", "1/", "5-jan-", "jan-", "+", "[", "12[+", "12[+3:]", "h", ":", "1:", "w", "-w-",
      ("9"):rep(128), ("9"):rep(60) .. "/1/1", "1:" .. ("9"):rep(100), "am", "1 am", "bc", "b.c.", "1 bc", "\xFF\xFE",
    } do
      assert.has_no.errors(function() moment(text) end, text)
    end
  end)
end)

describe("the date filter", function()
  it("formats directives with flags and widths", function()
    local expected = {
      ["%a %A %b %B"] = "Wed Wednesday Jul July", ["%d %e %-d %_m %03d"] = "05  5 5  7 005",
      ["%j %U %W %V %G %u %w"] = "186 27 27 27 2006 3 3",
      ["%H %I %l %M %S %p %P"] = "16 04  4 09 08 PM pm", ["%y %C %Y %s"] = "06 20 2006 1152115748",
      ["%D %F %T %R %r"] = "07/05/06 2006-07-05 16:09:08 16:09 04:09:08 PM",
      ["%c|%x|%X"] = "Wed Jul  5 16:09:08 2006|07/05/06|16:09:08", ["%z %:z %Z"] = "+0000 +00:00 UTC",
      ["%^a %#p %L %3N"] = "WED pm 000 000",
      ["%% %n%t %Q"] = "% \n\t %Q", ["%10Y"] = "0000002006",
    }
    for format, output in pairs(expected) do
      assert.equal(output, support.render("{{ '2006-07-05 16:09:08' | date: f }}", { f = format }), format)
    end
  end)

  it("accepts seconds and now, and returns other inputs unchanged", function()
    local function date(input) return support.render("{{ i | date: '%Y-%m-%d' }}", { i = input }, { now = NOW }) end
    assert.equal("2006-07-05", date(1152098955))
    assert.equal("2006-07-05", date("1152098955"))
    assert.equal("2024-01-01", date("now"))
    assert.equal("2024-01-01", date("Today"))
    assert.equal("soon", date("soon"))
    assert.equal("", date(nil))
    assert.equal("soon", support.render "{{ 'soon' | date: '' }}")
  end)
end)

describe("date formats", function()
  local time = calendar.at(1709967906, 5400, "", 123456789)

  it("have directives with flags and widths", function()
    for pattern, expected in pairs {
      ["%Y-%m-%d %H:%M"] = "2024-03-09 08:35", ["%-d/%-m %l %P"] = "9/3  8 am",
      ["%^a %#B %10b|"] = "SAT MARCH        Mar|",
      ["%3N %L %6N %12N"] = "123 123 123456 123456789000", ["%z %:z %::z %:::z"] = "+0130 +01:30 +01:30:00 +01:30",
      ["%Ey %Od %EQ"] = "24 09 %EQ", ["%Ea %OY %E%d %Oz"] = "%Ea %OY %E09 %Oz",
      ["%j %U %W %V %G %u %w"] = "069 09 10 10 2024 6 6",
      ["%s %C %e %k %I %p"] = "1709967906 20  9  8 08 AM", ["%D %F %T %R %r %c"] = "03/09/24 2024-03-09 08:35:06 08:35 "
        .. "08:35:06 AM Sat Mar  9 08:35:06 2024", ["%% %n%t %v"] = "% \n\t  9-MAR-2024",
    } do
      assert.equal(expected, calendar.strftime(time, pattern), pattern)
    end
  end)

  it("pad a directive as its last flag says", function()
    for pattern, expected in pairs {
      ["%-9A|%_9A|%09A"] = "Saturday| Saturday|0Saturday", ["%0_4d|%_04d|%-_4d"] = "   9|0009|9",
      ["%_z|%_:z|%_8:z"] = " +130| +1:30|   +1:30", ["%9z|%10::z"] = "+00000130|+001:30:00", ["%:8z"] = "%:8z",
      ["%#p %^#p %#P %#c"] = "am am AM Sat Mar  9 08:35:06 2024", ["%9Z|%#10b"] = "|       MAR",
    } do
      assert.equal(expected, calendar.strftime(time, pattern), pattern)
    end
    assert.equal("-0044", calendar.strftime(calendar.at(calendar.days(-44, 3, 15) * 86400), "%G"))
    assert.equal("utc", calendar.strftime(calendar.at(0), "%#Z"))
  end)

  it("print unknown directives as they are", function()
    for _, pattern in ipairs { "%Q", "%i", "%:y", "%::::z", "%+" } do
      assert.equal(pattern, calendar.strftime(time, pattern))
    end
  end)

  it("are invalid if they end in the middle of a directive", function()
    for _, pattern in ipairs { "%", "%y%", "%-", "%5", "%%%" } do
      assert.is_nil(calendar.strftime(time, pattern), pattern)
      support.outputs { ["0 | date: '" .. pattern .. "'"] = "Liquid error (line 1): invalid format: " .. pattern }
    end
    assert.equal("% %", calendar.strftime(time, "%% %-%"))
  end)

  it("print negative years", function()
    assert.equal("-0001-05-06", calendar.strftime({ year = -1, month = 5, day = 6 }, "%Y-%m-%d"))
    assert.equal("0033-05-06", calendar.strftime({ year = 33, month = 5, day = 6 }, "%Y-%m-%d"))
  end)

  it("apply to texts of digits, which are seconds", function()
    support.outputs { ["'1709967906' | date: '%m'"] = "03", ["-5 | date: '%H'"] = "23" }
  end)
end)

describe("dates before 1970 and with offsets", function()
  -- The outputs of ruby-liquid, in UTC.
  for expression, output in pairs {
    ["'-86400' | date: '%Y-%m-%d'"] = "-86400", ["-86400 | date: '%Y-%m-%d'"] = "1969-12-31",
    ["'-5' | date: '%Y'"] = "-5", ["'-0' | date: '%F'"] = "-0", ["'-20240102' | date: '%F'"] = "-2024-01-02",
    ["'+86400' | date: '%F'"] = "+86400", ["' 86400' | date: '%F'"] = " 86400", ["'86400' | date: '%F'"] = "1970-01-02",
    ["-86400 | date: '%s %j %U %W %V %G %a %e %k'"] = "-86400 365 52 52 01 1970 Wed 31  0",
    ["-62135596800 | date: '%F %T'"] = "0001-01-01 00:00:00",
    ["-99999999999 | date: '%F %T %C %y %G'"] = "-1199-02-15 14:13:21 -12 01 -1199",
    ["'1969-07-20 20:17:40' | date: '%s %j %a'"] = "-14182940 201 Sun",
    ["'1600-02-29 12:00 -03:00' | date: '%F %a %T %z %s'"] = "1600-02-29 Tue 12:00:00 -0300 -11670944400",
    ["'2024-01-02T03:04:05+02:00' | date: '%F %T %z %Z'"] = "2024-01-02 03:04:05 +0200 ",
    ["'2024-01-02 03:04:05 -0530' | date: '%s %:z'"] = "1704184445 -05:30",
    ["'2024-12-31 23:59:59.123456 +05:45' | date: '%F %T.%L %z'"] = "2024-12-31 23:59:59.123 +0545",
    ["'Thu, 01 Jan 1970 00:00:00 +0100' | date: '%F %T %z %s'"] = "1970-01-01 00:00:00 +0100 -3600",
    ["9223372036854775807 | date: '%F'"] = "292277026596-12-04",
    ["-9223372036854775808 | date: '%F %T'"] = "-292277022657-01-27 08:29:52",
    ["12345678901234567890 | date: '%F %a %s'"] = "391218992360-04-13 Wed 12345678901234567890",
    ["'12345678901234567890' | date: '%F'"] = "391218992360-04-13",
  } do
    it("are printed as Ruby prints them: " .. expression, function() support.outputs { [expression] = output } end)
  end

  it("are the current time, with the offset of current_time", function()
    local now = { current_time = "1969-12-31T22:30:00.25-05:00" }
    support.outputs({
      ["'now' | date: '%F %T %z %L %s'"] = "1969-12-31 22:30:00 -0500 250 12600",
      ["'today' | date: '%z'"] = "-0500",
      ["'10:00' | date: '%F %R %z'"] = "1970-01-01 10:00 +0000",
    }, {}, now)
    support.outputs({ ["'now' | date: '%F %z'"] = "1970-01-01 +0000" }, {}, { now = 12600 })
  end)

  it("are the current time through the protocol, too", function()
    local host = pintle.host { dialect = "liquid", log = false }
    local engine = assert(host:start { command = { "script/server" } })
    local outcome = assert(engine:execute("render", {
      template = "{{ 'now' | date: '%F %T %z' }}", frozen_time = "2024-01-01T02:01:58+02:00",
    }, { timeout = support.timeout }))
    host:stop()
    assert.equal("2024-01-01 02:01:58 +0200", outcome.message)
  end)
end)
