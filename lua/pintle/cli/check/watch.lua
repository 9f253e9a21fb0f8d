-- Probes that look at everything that was said while the others were at work.

---@class pintle.cli.check.watch
---@field name string also the rule that offences are told by
---@field rule string
---@field framing? "line"|"header" if it is for that alone
---@field only? string member of a dialect without which there is nothing to watch
---@field level? "fail"|"warn"

---@type pintle.cli.check.watch[]
return {
  { name = "stdout", rule = "on stdout are messages and nothing else" },
  { name = "framing", rule = "headers are written as they should be", framing = "header" },
  { name = "line-length", rule = "no line is longer than hosts read", only = "most_bytes_of_line", level = "warn" },
  { name = "envelope", rule = "every message is one of JSON-RPC 2.0" },
  { name = "answers", rule = "every answer is to a request, and there is one to each" },
  { name = "traffic", rule = "it sends what the protocol knows, in its form", only = "judge_notification" },
}
