-- What both sides know of the messages.

local wire = {
  ---That an operation ran and failed, as opposed to one that could not be run. Codes outside of JSON-RPC's own range
  ---are for applications to use.
  FAILED = 1,
}

return wire
