-- A session on a peer, as a host creates it for its dialect. `session.logged` collects its log entries.
return function(dialect, peer, options)
  local session = { peer = peer, name = "x", handshake_timeout = 10, running = {}, state = {}, logged = {} }
  for name, value in pairs(options or {}) do session[name] = value end
  function session:log(level, message, data) self.logged[#self.logged + 1] = { level, message, data } end
  peer:adopt(dialect)
  for method, handler in pairs(dialect.host.handlers) do
    peer:on(method, function(params, ctx) return handler(session, params, ctx) end)
  end
  return session
end
