-- The one line of stderr that a call of a crashed program fails with.
local children = require "spec.support.children"
local connect = require "pintle.connect"
local core = require "pintle.core"
local crash = require "pintle.process.crash"

local function summary_of(text)
  local reports = crash.new()
  for line in text:gmatch "([^\n]*)\n" do reports:add_line(line) end
  return reports:summary()
end

-- {====== Programs that are here ======

children.leave_nothing()

local function ending_of(command)
  local peer <close> = assert(connect.open { command = command, name = "it", on_stderr = function() end })
  local _, err = peer:call("any", {}, { timeout = children.patience })
  assert.equal("closed", err.kind)
  return err.message
end

local PROGRAMS = {
  ["lua5.4"] = {
    flag = "-e",
    ['local function f() error "boom" end f()'] = "status 1: lua5.4: (command line):1: boom",
    ['require "no.such"'] = "status 1: lua5.4: (command line):1: module 'no.such' not found:",
    ['error("first\\nsecond")'] = "status 1: lua5.4: (command line):1: first",
    ["error {}"] = "status 1: lua5.4: (error object is a table value)",
    ['io.stderr:write "no water\\n" os.exit(4)'] = "status 4: no water",
  },
  node = {
    flag = "-e",
    ['throw new TypeError("boom")'] = "status 1: TypeError: boom",
    ['const e = new RangeError("first\\nsecond"); e.code = "X"; throw e'] = "status 1: RangeError: first",
    ['throw new Error("outer", { cause: new Error("inner") })'] = "status 1: Error: outer",
    ['require("fs").readFileSync("/no/such")'] =
      "status 1: Error: ENOENT: no such file or directory, open '/no/such'",
    ['throw "text"'] = "status 1: text",
    ['console.error(new Error("handled")); console.error("no water"); process.exit(4)'] = "status 4: no water",
  },
  python3 = {
    flag = "-c",
    ['def f(): raise ValueError("boom")\nf()'] = "status 1: ValueError: boom",
    ['raise ValueError("first\\nsecond")'] = "status 1: ValueError: first",
    ["try: 1 / 0\nexcept Exception as e: raise KeyError('outer') from e"] = "status 1: KeyError: 'outer'",
    ["def ("] = "status 1: SyntaxError: invalid syntax",
    ["import sys; sys.exit('no water')"] = "status 1: no water",
  },
  ruby = { flag = "-e", ['def f; raise "boom"; end; f'] = "status 1: -e:1:in `f': boom (RuntimeError)" },
  perl = { flag = "-e", ['die "boom"'] = "status 255: boom at -e line 1." },
}

describe("the error of a call to a program of", function()
  for program, endings in pairs(PROGRAMS) do
    (core.which(program) and it or pending)(program .. " that has crashed says what happened", function()
      for code, expected in pairs(endings) do
        if code ~= "flag" then
          local message = ending_of({ program, endings.flag, code }):gsub(": /%S*/lua5%.4: ", ": lua5.4: ")
          assert.equal("it ended with " .. expected, (message:gsub("in '[%w#]*f'", "in `f'")))
        end
      end
    end)
  end
end)

-- }======

describe("the line that says what happened", function()
  local GO_STACK = [[

goroutine 1 [running]:
main.(*server).serve(0xc0000140a0, {0x4b1f20?, 0xc000012018?})
	/home/ada/tea/main.go:21 +0x1d
main.main()
	/home/ada/tea/main.go:9 +0x25
]]

  it("is Go's panic, not its stack trace or the status that go run prints", function()
    assert.equal("panic: no water", summary_of("2026/01/02 brewing\npanic: no water\n" .. GO_STACK))
    assert.equal("panic: no water", summary_of("panic: no water\n" .. GO_STACK .. "exit status 2\n"))
    assert.equal("panic: runtime error: invalid memory address or nil pointer dereference", summary_of(
      "panic: runtime error: invalid memory address or nil pointer dereference\n"
      .. "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x48f0b6]\n" .. GO_STACK))
    assert.equal("panic: first [recovered]", summary_of("panic: first [recovered]\n\tpanic: second\n" .. GO_STACK))
    assert.equal("panic: two", summary_of("panic: two\nlines of it\n" .. GO_STACK))
    assert.equal("2026/01/02 no water", summary_of "2026/01/02 no water\nexit status 1\n")
  end)

  it("is Go's fatal error, however many goroutines there are", function()
    local lines = { "fatal error: all goroutines are asleep - deadlock!" }
    for i = 1, 500 do
      lines[#lines + 1] = ("\ngoroutine %d [chan receive]:\nmain.wait(...)\n\t/home/ada/tea/main.go:5"):format(i)
      lines[#lines + 1] = "created by main.main in goroutine 1\n\t/home/ada/tea/main.go:8 +0x25"
    end
    assert.equal(lines[1], summary_of(table.concat(lines, "\n") .. "\n"))
  end)

  it("is Rust's panic with its message, which is on the next line since 1.73", function()
    local note = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
    assert.equal("thread 'main' panicked at src/main.rs:2:5: no water",
      summary_of("\nthread 'main' panicked at src/main.rs:2:5:\nno water\n" .. note))
    assert.equal("thread 'main' (935) panicked at src/main.rs:2:5: no water", summary_of(
      "\nthread 'main' (935) panicked at src/main.rs:2:5:\nno water\nstack backtrace:\n"
      .. "   0: std::panicking::begin_panic\n"
      .. "             at /rustc/59807616/library/std/src/panicking.rs:689:5\n   1: tea::main\n"
      .. "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n"))
    assert.equal("thread 'main' panicked at 'no water', src/main.rs:2:5",
      summary_of("thread 'main' panicked at 'no water', src/main.rs:2:5\n" .. note))
    assert.equal('Error: Custom { kind: Other, error: "no water" }',
      summary_of 'Error: Custom { kind: Other, error: "no water" }\n')
  end)

  it("is a sanitizer's summary, not the bytes after it", function()
    local summary = "SUMMARY: AddressSanitizer: heap-use-after-free tea.c:2:60 in main"
    local lines = {
      "=================================================================",
      "==28081==ERROR: AddressSanitizer: heap-use-after-free on address 0x602000000011 at pc 0x5570252e3f0d",
      "READ of size 1 at 0x602000000011 thread T0", "    #0 0x5570252e3f0c in main tea.c:2:60", "", summary,
      "Shadow bytes around the buggy address:",
    }
    for _ = 1, 30 do lines[#lines + 1] = "  0x0c047fff7fb0: 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00" end
    table.move({
      "=>0x0c047fff8000: fa fa[fd]fa fa fa fa fa fa fa fa fa fa fa fa fa",
      "Shadow byte legend (one shadow byte represents 8 application bytes):", "  Addressable:           00",
      "==28081==ABORTING", "",
    }, 1, 5, #lines + 1, lines)
    assert.equal(summary, summary_of(table.concat(lines, "\n")))
  end)

  it("is the message of Java and .NET, which have their own form of stack trace", function()
    assert.equal('Exception in thread "main" java.lang.IllegalStateException: no water', summary_of [[
Exception in thread "main" java.lang.IllegalStateException: no water
	at tea.Pot.brew(Pot.java:12)
	at tea.Main.main(Main.java:5)
]])
    assert.equal("Unhandled exception. System.Exception: no water",
      summary_of "Unhandled exception. System.Exception: no water\n   at Tea.Brew() in /tea/Pot.cs:line 3\n")
  end)

  it("is the last line if there is no report at the end", function()
    assert.equal("", summary_of "")
    assert.equal("no water", summary_of "no water\n\n")
    assert.equal("no tea", summary_of("panic: no water\n" .. GO_STACK .. "restarted\nno tea\n"))
    assert.equal("no tea", summary_of "panic: is a word\nno tea\n")
    assert.equal("no tea", summary_of "Error: handled\n    at f (/tea.js:1:1)\nno tea\n")
    local long_ago = "Traceback (most recent call last):\n  File \"tea.py\", line 1\nValueError: handled\n"
    assert.equal("no tea", summary_of(long_ago .. ("going on\n"):rep(10) .. "no tea\n"))
    assert.equal("exit status 1", summary_of "exit status 1\n")
  end)

  it("is one line of limited length", function()
    assert.equal("a [31mb c", summary_of "  a\27[31mb\r\tc\r\n")
    local long = summary_of(("ä"):rep(4000) .. "\n")
    assert.equal(("ä"):rep(250) .. "…", long)
    long = summary_of("x" .. ("ä"):rep(4000) .. "\n")
    assert.equal("x" .. ("ä"):rep(249) .. "…", long)
    assert.equal(500 + #"…", #summary_of("panic: " .. ("x"):rep(8000) .. "\n" .. GO_STACK))
    local rust = summary_of(("thread '%s' panicked at x:1:1:\n%s\n"):format(("t"):rep(400), ("m"):rep(8000)))
    assert.truthy(#rust <= 500 + #"…" and rust:find "…$")
  end)

  it("is found quickly in text that is made to be slow", function()
    local started = core.now()
    for _, text in ipairs { "Error", "lua", "thread ", "A:", ": ", "Error: " } do
      summary_of((text:rep(1600) .. "\n"):rep(50))
    end
    assert.truthy(core.now() - started < 10)
  end)
end)
