local children = require "spec.support.children"
local extension = require "spec.support.extension"

local once = extension.once

children.leave_nothing()

local function failure_of(...)
  local answer, _, complaints = once(...)
  assert.is_nil(answer.result)
  return answer.error, complaints
end

describe("the result of an operation", function()
  local function result_of(operation)
    local answer, status = once(operation)
    assert.equal(0, status)
    return answer.result
  end

  it("is a success", function()
    assert.same({ success = true, message = "done" }, result_of "text")
    assert.same({ success = true }, result_of "nothing")
    assert.same({ success = true }, result_of "yes")
  end)

  it("is a success with outputs, which are strings", function()
    assert.same({
      success = true, message = "made",
      outputs = { text = "t", whole = "3", real = "0.5", float = "2.0", yes = "true" },
    }, result_of "outputs")
  end)

  it("is a failure with a message and an error", function()
    assert.same({ success = false, message = "it is broken", error = "it is broken" }, result_of "failure")
    assert.same({ success = false }, result_of "no")
    assert.same({ success = false, message = "Condition not met", error = "Timed out", outputs = { tries = "3" } },
      result_of "long-failure")
    assert.same({ success = false, message = "Timed out", error = "Timed out" }, result_of "short-failure")
  end)

  it("is a protocol error", function()
    assert.same({ code = -32050, message = "refused", data = { why = "because" } }, (failure_of "code"))
    assert.same({ code = -32002, message = "no glue" }, (failure_of "error"))
  end)

  it("is an internal error if it raises, and only stderr has the traceback", function()
    local err, complaints = failure_of "raise"
    assert.equal(-32603, err.code)
    assert.matches("^Internal error: spec/support/plugins/workshop.lua:%d+: boom$", err.message)
    assert.is_nil(err.data)
    assert.matches("\nworkshop: execute failed: spec/support/plugins/workshop.lua:%d+: boom\nstack traceback:\n",
      complaints)
    assert.same({ code = -32051, message = "thrown" }, (failure_of "raise-table"))
  end)

  it("has content and lists of outputs as text, where the protocol has no others", function()
    assert.same({ success = true, message = '["a"]' }, result_of "list-output")
    assert.same({ success = true, message = "see\nsome text\n[image: image/png, 8 bytes]\nnote: note:///a\nthe note" },
      result_of "content")
    assert.same({ success = true, message = "[resource attachment:///1: application/pdf, 5 bytes]" }, result_of "bytes")
    assert.same({ success = false, message = "broken\n[audio: audio/wav, 1 bytes]", error = "broken" },
      result_of "failed-content")
  end)

  it("is an internal error that names the mistake if it is anything else", function()
    local cases = {
      number = 'operation "number" returned a number; it may return a string, a table with message and outputs, '
        .. "true or nothing",
      typo = 'operation "typo" returned a table with "mesage"; it may have message, error, content and outputs',
      ["bad-message"] = 'operation "bad-message" returned a number as its message; a string expected',
      ["bad-error"] = 'operation "bad-error" returned nil and a number; a string or a table expected',
      ["table-output"] = 'output "items" of operation "table-output": text expected, got array; pintle.json.encode '
        .. "makes some of it",
      ["function-output"] = 'output "f" of operation "function-output": text expected, got function; '
        .. "pintle.json.encode makes some of it",
      ["null-output"] = 'output "n" of operation "null-output": text expected, got null; pintle.json.encode makes '
        .. "some of it",
      ["bad-content"] = 'operation "bad-content" returned wrong content: [2]: data: is not base64',
      ["infinite-output"] = 'output "n" of operation "infinite-output": a finite number expected',
      ["bytes-output"] = 'output "b" of operation "bytes-output": this host takes no bytes',
    }
    for operation, message in pairs(cases) do
      local err, complaints = failure_of(operation)
      assert.same({ code = -32603, message = "Internal error: " .. message }, err)
      assert.truthy(complaints:find(message, 1, true), "the author is not told: " .. complaints)
    end
    assert.matches("^Internal error: .*UTF%-8", failure_of("bad-utf8").message)
  end)
end)
