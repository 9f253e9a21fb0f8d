local errors = require "pintle.error"

describe("an error", function()
  it("has a kind, a message and other fields", function()
    local err = errors.new("closed", "it is gone", { exit = { code = 3 }, stderr = { "no disk" } })
    assert.equal("closed", err.kind)
    assert.equal("it is gone", err.message)
    assert.same({ code = 3 }, err.exit)
    assert.same({ "no disk" }, err.stderr)
  end)

  it("does not let other fields replace kind and message", function()
    local err = errors.new("remote", "mine", { kind = "other", message = "theirs" })
    assert.same({ "remote", "mine" }, { err.kind, err.message })
  end)

  it("is distinguished from other values", function()
    assert.is_true(errors.is(errors.new("full", "no room")))
    for _, value in ipairs { "full", 1, true, { kind = "full", message = "no room" }, io.stdout, print } do
      assert.is_false(errors.is(value))
    end
    assert.is_false(errors.is(nil))
    assert.equal("pintle.error", getmetatable(errors.new("full", "")).__name)
  end)

  it("is printed as one line", function()
    assert.equal("first second third", tostring(errors.new("closed", "first\n  second\r\nthird")))
    assert.equal("it said [31mno", tostring(errors.new("closed", "it said \27[31mno")))
    assert.equal("it said 31mno, é", tostring(errors.new("closed", "it said\u{9b}31mno, é")))
    assert.equal("a b – c", tostring(errors.new("closed", "a\u{202E}b\u{2069} – \u{61C}c")))
  end)

  it("is printed with the code of the other side, and no other", function()
    assert.equal("no such thing (code -32601)", tostring(errors.new("remote", "no such thing", { code = -32601 })))
    assert.equal("no such thing", tostring(errors.new("remote", "no such thing")))
    assert.equal("no such thing", tostring(errors.new("closed", "no such thing", { code = 7 })))
  end)

  it("can be raised and caught unchanged", function()
    local err = errors.new("timeout", "too late")
    local ok, caught = pcall(error, err)
    assert.is_false(ok)
    assert.equal(err, caught)
  end)

  it("describes how a process ended", function()
    assert.equal("status 0", errors.describe_exit { code = 0 })
    assert.equal("signal KILL", errors.describe_exit { signal = "KILL" })
  end)
end)
