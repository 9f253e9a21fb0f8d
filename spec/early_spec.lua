-- When to send while there is more to be read; see spec/support/early.c.

describe("sending early", function()
  local program

  setup(function()
    program = os.tmpname()
    local sources = "spec/support/early.c csrc/early.c"
    assert(os.execute(("${CC:-cc} -std=c11 -O1 -o %s %s"):format(program, sources)))
  end)

  teardown(function() os.remove(program) end)

  local function sent(interrupted, queued, left, times)
    local run <close> = assert(io.popen(("%s %d %d %d %d"):format(program, interrupted, queued, left, times)))
    return run:read "n"
  end

  it("is for what is worth it and outweighs what is left", function()
    assert.equal(0, sent(0, 2047, 0, 100))
    assert.equal(100, sent(0, 2048, 2048, 100))
    assert.equal(0, sent(0, 2048, 2049, 100))
    assert.equal(0, sent(0, 100000, 100001, 100))
  end)

  it("goes on for as long as nobody is interrupted by it", function()
    assert.equal(100000, sent(0, 4096, 0, 100000))
  end)

  it("ends when it has this side interrupted, and is tried again after a while", function()
    local trial = sent(1, 4096, 0, 1000)
    assert.is_true(trial > 0 and trial < 30)
    local of_many = sent(1, 4096, 0, 1000000)
    assert.is_true(of_many > 10 * trial and of_many < 10000)
  end)

  it("is done with much in any case", function()
    assert.equal(100000, sent(1, 32768, 0, 100000))
  end)
end)
