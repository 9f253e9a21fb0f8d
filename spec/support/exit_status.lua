-- Lets a spec see how a plugin ends: the exit status of a wrapped command is written to a file.
local exit_status = {}

---@param command string[]
---@param path string the file
---@return string[]
function exit_status.wrap(command, path)
  return { "sh", "-c", '"$@"; echo $? > "$0"', path, table.unpack(command) }
end

---@param path string
---@return integer? status nil if the command was killed, or still runs
function exit_status.read(path)
  local file <close> = assert(io.open(path))
  return file:read "n"
end

return exit_status
