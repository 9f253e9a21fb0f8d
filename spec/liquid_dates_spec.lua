local load = require "spec.support.liquid.load"
local calendar = require "liquid.dates.calendar"
local parse = require "liquid.dates.parse"
local strftime = require "liquid.dates.strftime"

local NOW = 1704067318 -- 2024-01-01 00:01:58

local function moment(text)
  local time = parse(text, calendar.at, NOW)
  return time and strftime(time, "%Y-%m-%d %H:%M:%S %z %Z")
end

describe("the calendar", function()
  it("goes from days to dates and back", function()
    for days = -800000, 800000, 9973 do
      assert.equal(days, calendar.days(calendar.date(days)))
    end
    assert.same({ 2000, 2, 29 }, { calendar.date(calendar.days(2000, 2, 29)) })
  end)
end)

describe("dates in texts", function()
  it("are found in the forms that people use", function()
    for text, expected in pairs {
      ["2006-07-05 10:00:00"] = "2006-07-05 10:00:00 +0000 UTC",
      ["2006-07-05T10:00:00-04:00"] = "2006-07-05 10:00:00 -0400 ",
      ["Fri Jul 16 01:00:00 2004"] = "2004-07-16 01:00:00 +0000 UTC",
      ["July 5, 2006"] = "2006-07-05 00:00:00 +0000 UTC",
      ["5 Jul 2006 3pm"] = "2006-07-05 15:00:00 +0000 UTC", ["16.07.2004"] = "2004-07-16 00:00:00 +0000 UTC",
      ["20060705T101112Z"] = "2006-07-05 10:11:12 +0000 UTC", ["10:30"] = "2024-01-01 10:30:00 +0000 UTC",
      ["Mar 14, 16"] = "2016-03-14 00:00:00 +0000 UTC", ["2006-02-30"] = "2006-03-02 00:00:00 +0000 UTC",
      ["2020-100"] = "2020-04-09 00:00:00 +0000 UTC", ["1999-05-23 21:34:56 PST"] = "1999-05-23 21:34:56 -0800 ",
    } do
      assert.equal(expected, moment(text), text)
    end
  end)

  it("are not found where there are none", function()
    for _, text in ipairs { "abc", "Friday", "2006-13-45", "", "07/16/2004" } do assert.is_nil(moment(text), text) end
  end)
end)

describe("the date filter", function()
  it("knows the directives, flags and widths", function()
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
      assert.equal(output, load.render("{{ '2006-07-05 16:09:08' | date: f }}", { f = format }), format)
    end
  end)

  it("takes seconds, and now, and leaves the rest alone", function()
    local function date(input) return load.render("{{ i | date: '%Y-%m-%d' }}", { i = input }, { now = NOW }) end
    assert.equal("2006-07-05", date(1152098955))
    assert.equal("2006-07-05", date("1152098955"))
    assert.equal("2024-01-01", date("now"))
    assert.equal("2024-01-01", date("Today"))
    assert.equal("soon", date("soon"))
    assert.equal("", date(nil))
    assert.equal("soon", load.render "{{ 'soon' | date: '' }}")
  end)
end)
