-- What is compared. `is_rate` figures are the better the larger they are; the others the smaller. What `is_still` is
-- the same in every round. Only some libraries have tool calls (`is_tool`).

return {
  { name = "one call after another", mode = "sequential", n = 0 },
  { name = "64 calls in flight", mode = "flight", n = 64, is_rate = true },
  { name = "a tool call, one after another", mode = "tool", n = 1, is_tool = true },
  { name = "64 tool calls in flight", mode = "tool", n = 64, is_tool = true },
  { name = "1 MiB string there and back", mode = "string", n = 1048576, is_rate = true },
  { name = "spawn to first answer", mode = "start", n = 0 },
  { name = "resident memory of a plugin", mode = "memory", n = 0, is_still = true },
  { name = "resident memory of its host", mode = "memory", n = 1, is_still = true },
}
