local core = require "pintle.core"
local children = require "spec.support.children"

describe("core.sha256", function()
  local path, nothing_left

  before_each(function()
    path, nothing_left = os.tmpname(), children.stock()
  end)

  after_each(function()
    os.remove(path)
    nothing_left()
  end)

  local function write(text)
    local file <close> = assert(io.open(path, "wb"))
    file:write(text)
  end

  local function hash_of(text)
    write(text)
    return core.sha256(path)
  end

  it("gives the checksums of the standard", function()
    assert.equal("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", hash_of "")
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", hash_of "abc")
    assert.equal("248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
      hash_of "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")
    assert.equal("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0", hash_of(("a"):rep(1000000)))
  end)

  it("agrees with sha256sum on files of every size around a block", function()
    local bytes = {}
    for i = 1, 200 do bytes[i] = string.char(i * 167 % 256) end
    local sizes = { 65535, 65536, 65537, 131072, 200001 }
    for i = 0, 200 do sizes[#sizes + 1] = i end
    local folder = path
    os.remove(folder)
    assert(os.execute("mkdir " .. folder))
    local names, all = {}, table.concat(bytes):rep(1001)
    for i, size in ipairs(sizes) do
      names[i] = ("%s/%d"):format(folder, size)
      local file <close> = assert(io.open(names[i], "wb"))
      file:write(all:sub(1, size))
    end
    local theirs, ours = children.run { command = { "sha256sum", table.unpack(names) } }, {}
    for i, name in ipairs(names) do ours[i] = core.sha256(name) .. "  " .. name .. "\n" end
    assert(os.execute("rm -r " .. folder))
    assert.equal(theirs, table.concat(ours))
  end)

  it("returns why it cannot read a file", function()
    for name, why in pairs { ["/nowhere"] = "No such file or directory", ["/"] = "Invalid argument",
      ["/dev/zero"] = "Invalid argument" } do
      local hash, message, kind, errno = core.sha256(name)
      assert.same({ n = 3, nil, ('cannot read "%s": %s'):format(name, why), "invalid" },
        table.pack(hash, message, kind))
      assert.equal("integer", math.type(errno))
    end
  end)

  it("does not wait for the writer of a pipe", function()
    os.remove(path)
    assert(os.execute("mkfifo " .. path))
    assert.is_nil((core.sha256(path)))
  end)

  it("requires one name", function()
    assert.has_error(function() core.sha256() end)
    assert.has_error(function() core.sha256 "a\0b" end)
  end)
end)
