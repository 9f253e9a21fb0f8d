---@meta pintle.core
-- The C core as Lua sees it. Nothing here runs; it is the contract of csrc/.
--
-- Misuse raises. What the world does wrong comes back as
-- `nil, message, kind` (and the error number where the system gave one).

local core = {} -- what is in it is made when it is first asked for, so `pairs` does not find all of it

---Where a descriptor is asked for, an integer is borrowed and stays yours;
---a `pintle.fd` is taken over where the text says "takes".
---@alias pintle.descriptor integer|pintle.fd

---A descriptor that closes itself: on `close`, `<close>` and collection.
---@class pintle.fd
local fd = {}

---@return integer number of the descriptor; raises when it is closed
function fd:fileno() end

---What is there, up to `max` bytes (default: 64 KiB): "" at the end of input, false when there is
---nothing yet.
---@param max? integer
---@return string|false|nil data, string? message, string? kind, integer? errno
function fd:read(max) end

---@param data string
---@return integer|false|nil written, string? message, string? kind, integer? errno
function fd:write(data) end

---Closing twice is fine.
function fd:close() end

---@return boolean
function fd:closed() end

---Two ends of a new pipe, both non-blocking and closed on exec.
---@return pintle.fd? read_end, pintle.fd|string write_end_or_message, string? kind, integer? errno
function core.pipe() end

---Two ends of a new Unix stream socket pair, both non-blocking and closed on exec.
---@return pintle.fd? one, pintle.fd|string other_or_message, string? kind, integer? errno
function core.socketpair() end

---Where a socket is: in the file system, or at a host and port. A host is an address in digits or a name; a name is
---looked up, and nothing else happens meanwhile.
---@class pintle.place
---@field path? string
---@field host? string
---@field port? integer

---Begins to connect a stream socket, non-blocking and closed on exec. If it takes longer than a moment it is pending:
---then it is writable when that is over, and `connected` tells how it went. Of several addresses of a name it is the
---first that does not refuse at once. The kind "busy" is for a path where too many wait to be accepted just now.
---@param place pintle.place
---@return pintle.fd? socket, boolean|string pending_or_message, string? kind, integer? errno
function core.connect(place) end

---@param socket pintle.descriptor
---@return boolean? connected false while it is still pending
---@return string? message told once, string? kind, integer? errno
function core.connected(socket) end

---@class pintle.listen_options: pintle.place
---@field host? string "127.0.0.1" unless there is a path
---@field port? integer default: 0, any port that is free; `address` says which
---@field mode? integer permissions of the socket's file; default: what the umask leaves
---@field backlog? integer how many may wait to be accepted: 128

---A socket that is readable when somebody has connected. The file of a Unix socket stays behind when it is closed: who
---listens removes it. One that nobody listens on any more is replaced; any other file is left alone. The kind is "full"
---where somebody else listens.
---@param options pintle.listen_options
---@return pintle.fd? listener, string? message, string? kind, integer? errno
function core.listen(options) end

---@param listener pintle.descriptor
---@return pintle.fd|false|nil socket false when nobody waits
---@return string? message, string? kind, integer? errno
function core.accept(listener) end

---@param socket pintle.descriptor
---@return pintle.place? own where it is itself, not its other end; the path is "" where it has no name
---@return string? message, string? kind, integer? errno
function core.address(socket) end

---Takes stdin and stdout for a protocol: private copies are returned, descriptor 0 becomes /dev/null and
---descriptor 1 becomes stderr, so that no print, library or child can touch the protocol. The second
---call in a process returns nil and says so.
---@return pintle.fd? input, pintle.fd|string output_or_message, string? kind, integer? errno
function core.claim_stdio() end

---@return number seconds on a clock that never goes back
function core.now() end

---@param descriptor pintle.descriptor
---@return boolean
function core.isatty(descriptor) end

---@param descriptor pintle.descriptor
---@return integer? columns of the terminal, nil where it is none
function core.columns(descriptor) end

---@return integer pid of this process
function core.getpid() end

---Whether there is a process of this number, whosever it is. One that has ended and was not waited for by its parent is
---still there.
---@param pid integer
---@return boolean
function core.alive(pid) end

---A descriptor that becomes readable when any process ends, be it a child or not. The kind is "closed" where there is
---no such process, "unsupported" where the system does not tell, or not of this one: then `alive` is left.
---@param pid integer
---@return pintle.fd? observed, string? message, string? kind, integer? errno
function core.observe(pid) end

---What one of the child's stdin, stdout and stderr is. A descriptor is borrowed: it stays open here and yours to
---close. The child gets it as it is, so the ends of `core.pipe` and `core.socketpair` are non-blocking there, too.
---@alias pintle.stdio "pipe"|"inherit"|"null"|pintle.descriptor

---A signal's name without SIG: "TERM", "KILL", "HUP" …
---@alias pintle.signal string

---@class pintle.limits
---@field memory? integer bytes of address space
---@field cpu? integer seconds of CPU time; the child ends with XCPU, or KILL a second later
---@field files? integer open descriptors
---@field processes? integer processes of this user
---@field core? integer bytes of a core file

---@class pintle.spawn_options
---@field command string[] the program and its arguments; no shell is involved. A name without a slash is looked for
---in the host's PATH, one with a slash is taken as it is, relative to `cwd`.
---@field env? table<string, string|false> set on top of what is inherited; false removes a name
---@field inherit? boolean|string[] which of the host's variables pass: all (true, the default), none, or these
---@field cwd? string
---@field stdin? pintle.stdio default: "pipe"
---@field stdout? pintle.stdio default: "pipe"
---@field stderr? pintle.stdio default: "inherit"; what is inherited but closed here is /dev/null there
---@field group? boolean|"session" a process group of its own (true, the default), or a session, too
---@field death_signal? pintle.signal|false default: "KILL"; sent to the child when the thread that started it
---ends, where the system can do that (Linux, FreeBSD)
---@field limits? pintle.limits

---A child. Closing it, `<close>` and collection kill it, or its group if it leads one, reap it, and close what was
---not taken from it.
---@class pintle.process
---@field stdin pintle.fd? our end of its pipe, non-blocking; nil where it has none
---@field stdout pintle.fd?
---@field stderr pintle.fd?
local process = {}

---@return integer
function process:pid() end

---@return integer? descriptor that becomes readable when the child ends, until `close`; nil where there is none
function process:fd() end

---How it ended: its code, or nil and the signal (a number in digits if that has no name); false if it still runs.
---The answer stays the same once it is there. Only this child is waited for. Without `fd` a wait with a timeout
---looks every 1 to 16 ms. nil, a message and the kind "closed" if somebody else has reaped it.
---@param timeout? number seconds; default: 0
---@return integer|false|nil code, string? signal_or_message, string? kind
function process:wait(timeout) end

---Never reaches a process that was waited for; then the kind is "closed". A group has to be killed before `wait` has
---told the end of its leader, which may have ended already; `fd` tells that without waiting.
---@param signal? pintle.signal default: "TERM"
---@param group? boolean the whole group, which the child must lead
---@return true?, string? message, string? kind, integer? errno
function process:kill(signal, group) end

---SIGKILL, to the group if it leads one, unless the end was told already; then waits up to 2 s. Twice is fine.
function process:close() end

---@param options pintle.spawn_options
---@return pintle.process?, string? message, string? kind, integer? errno
function core.spawn(options) end

---Signals that come as events. Those that the program has left alone are taken over; each comes out of `next` once, and
---from then on does what it always does, so that a second one ends a program that does not look. Taken again after
---`close` it comes again. `lua` itself has INT, which it stops scripts with.
---@class pintle.signals
local signals = {}

---@return integer? descriptor that is readable when a signal has come; nil once it is closed
function signals:fd() end

---@return pintle.signal? name of one that has come, nil when there is none
function signals:next() end

---Those that have not come are as before; those that have and were not told are forgotten. Closing twice is fine; also
---by `<close>` and collection.
function signals:close() end

---There can be one at a time in a process, the kind is "full" else. Children are started with all signals as the system
---has them.
---@param names pintle.signal[]
---@param handled? boolean take those over as well that somebody else in the program handles, as `lua` does INT: he has
---them back after `close`, unless they have come
---@return pintle.signals?, string? message, string? kind, integer? errno
function core.signals(names, handled) end

---Does to this process what the signal does by default, whatever the program made of it: for ending with the right
---status after cleaning up. What is in the buffers of `io` is lost if that ends the program.
---@param name pintle.signal
---@return true? survived, string? message, string? kind, integer? errno
function core.raise(name) end

---The SHA-256 of a regular file.
---@param path string
---@return string? hex 64 lower-case digits, string? message, string? kind, integer? errno
function core.sha256(path) end

---The file that spawn would run; absolute if it was searched for.
---@param name string
---@param path? string directories with colons between them; default: the host's PATH
---@return string?, string? message, string? kind, integer? errno
function core.which(name, path) end

---Waits until a descriptor is ready or the time is over, in whole milliseconds rounded up. It is for code without the
---loop, and for up to 16 descriptors: each is followed by the events to wait for, "r", "w" or "rw". A signal does not
---cut it short, unless it stops the program through a debug hook, as Ctrl-C does in lua. A descriptor that has hung up
---or failed is readable, and writable too if that was asked. What the system cannot wait for, such as a regular file,
---is always ready. The kind is "closed" where a number is no descriptor.
---@param seconds? number nil or negative is for ever
---@param ... pintle.descriptor|"r"|"w"|"rw"
---@return "r"|"w"|"rw"|false|nil ... for each descriptor what it is ready for; or nil, a message, the kind and errno
function core.poll(seconds, ...) end

-- {====== The watchdog ======

---Interrupts tasks that compute without yielding. While a task goes on for longer than `interval`, `tick()` is called
---in it about once an interval, between two of its instructions. While `must_abort()` returns true, `tick()` is called
---before every instruction. An error that `tick` raises goes through the code of the task like any error. Neither
---function may yield. A coroutine that the task resumes itself is not interrupted; the task is, when it goes on.
---
---Between ticks nothing slows the task, and no timer runs while no task does. A tick does not end a wait of the loop
---early, but it may end a sleep in another library. On Linux the timer sends a real-time signal that the program does
---not use; elsewhere it sends SIGALRM, and only one Lua state of a process can have it. The kind is "unsupported" where
---there is no timer; tasks run all the same. After a fork it has to be called again.
---@param tick? fun() nil ends the watchdog
---@param must_abort? fun(): boolean
---@param interval? number seconds, from 0.001 to 3600; default: 0.05
---@return true? ok, string? message, string? kind, integer? errno
function core.watchdog(tick, must_abort, interval) end

---Protects the functions of the file that calls it from the watchdog: they run to their end first. Every module of
---pintle calls it whose tables must not be left half changed.
function core.protect() end

-- }======

-- {====== The loop ======

---The loop of this Lua state: the only place that waits. `pintle.loop` adds what is written in Lua.
---
---A turn runs the tasks that are ready, writes what peers have queued, waits until a descriptor is ready or a timer is
---due, reads, and calls the timers. Code that waits in a task yields. Code that waits anywhere else turns the loop
---until the wait is over.
---@class pintle.core.loop
local loop = {}

---@type pintle.core.loop
core.loop = nil

---A function that will be called once, made by `loop.after`. The loop keeps it alive until then.
---@class pintle.timer

---A table whose method the loop calls while it watches a descriptor. It is called again in each turn as long as the
---descriptor is ready, so it has to read, write or stop watching.
---@class pintle.watcher
---@field on_ready fun(self: pintle.watcher, readable: boolean, writable: boolean)

---Calls `action(subject)` once, after so many seconds.
---@param seconds number
---@param action fun(subject: any)
---@param subject? any
---@return pintle.timer
function loop.after(seconds, action, subject) end

---Cancels a timer. A timer that was called or cancelled before is left alone.
---@param timer pintle.timer
function loop.forget(timer) end

---Calls `action(subject)` in the next turn.
---@param action fun(subject: any)
---@param subject? any
function loop.soon(action, subject) end

---Watches a descriptor for these events and no others, until `unwatch`. The loop keeps the watcher alive meanwhile.
---There is one watcher for each descriptor: a new one replaces the old one.
---@param descriptor pintle.descriptor
---@param events ""|"r"|"w"|"rw"
---@param watcher pintle.watcher
---@return true? ok, string? message, string? kind, integer? errno
function loop.watch(descriptor, events, watcher) end

---Stops watching. Call it before the descriptor is closed. It does nothing if another watcher has taken its place.
---@param descriptor pintle.descriptor
---@param watcher pintle.watcher
function loop.unwatch(descriptor, watcher) end

---Does one turn. It waits for at most `timeout` seconds, and not at all if there is something to do already.
---@param timeout? number seconds; default: 0
function loop.step(timeout) end

---When `step` has something to do even if the descriptor of `fileno` is not readable.
---@return number? seconds nil if only descriptors count
function loop.timeout() end

---A descriptor that is readable when something is ready, for another loop to watch.
---@return integer? number nil where the system has only poll(2)
function loop.fileno() end

---@return pintle.event
function loop.event() end

---What runs in this task: a `pintle.task`, the `pintle.request` of a handler, or nil outside of tasks.
---@return table? object
function loop.current() end

---What stands for a task in Lua. The loop sets the field `task` and calls the methods.
---@class pintle.task.object
---@field task? userdata the task of the core, set by `loop.start`
---@field failed fun(self: pintle.task.object, err: any, traceback: string) called if the function raises
---@field expire? fun(self: pintle.task.object) called when the time given to `loop.set_deadline` is over

---Runs `fn(...)` in a task, at once and until it waits. What the function returns is dropped.
---@private
---@param object pintle.task.object
---@param fn function
function loop.start(object, fn, ...) end

---Stops a task: its wait and every later one return `nil, err`. A call that it waits for is withdrawn. Nothing happens
---if the task has ended.
---@private
---@param object pintle.task.object
---@param err pintle.error
function loop.stop(object, err) end

---Has `object:expire()` called after so many seconds, if the task has not ended by then.
---@private
---@param object pintle.task.object
---@param seconds number
function loop.set_deadline(object, seconds) end

---Something that happens once, and that any number of tasks can wait for. Made by `loop.event()`.
---@class pintle.event
local event = {}

---Waits until the event is set. A task yields; code outside of tasks turns the loop.
---@param seconds? number how long to wait; default: without limit
---@param late? any the error to return when the time is over
---@return any a what `set` was given; or nil
---@return any b what `set` was given; or `late`, or the error that the task was stopped with
function event:wait(seconds, late) end

---Sets the event and wakes every task that waits for it, in the next turn. Only the first call counts.
---@param a? any
---@param b? any
function event:set(a, b) end

---@return boolean
function event:is_set() end

---Has `action(event)` called in the turn after the event was set. It replaces an action given before, and is not called
---if the event was set already.
---@param action fun(event: pintle.event)
function event:on_set(action) end

-- }======

-- {====== Peers ======

---A conversation in the loop, whose messages the core reads, dispatches and answers. It is `peer.stream` of a
---`pintle.peer`.
---@class pintle.core.peer
local peer = {}

---@class pintle.core.peer.settings
---@field policy pintle.peer.policy
---@field handlers table<string, pintle.handler> by method; it may be changed at any time
---@field controls table<string, fun(peer: pintle.peer, params: any): boolean> notifications that never wait behind
---requests, by method. One that returns false is handled like any other notification
---@field context table the metatable of contexts
---@field timeout? number|false seconds for a call that has no timeout of its own; default: no limit
---@field spin? number seconds to go on asking for an answer before the loop sleeps; default: 0
---@field requests integer handlers that may be at work; those that wait for the other side are not counted

---Makes a peer. It reads nothing before `begin`. The loop does not keep it alive, but watching its descriptors does.
---@param options pintle.stream.options
---@param lua_peer pintle.peer the first argument of every function of the policy
---@param settings pintle.core.peer.settings
---@return pintle.core.peer? peer, string? message, string? kind, integer? errno
function core.peer(options, lua_peer, settings) end

-- The next two functions are methods of `pintle.peer`. The only field of it that the core reads is `stream`.

---Calls a method of the other side and waits for the answer. A task yields; code outside of tasks turns the loop.
---@param method string
---@param params? any
---@param options? { timeout?: number|false, on_progress?: fun(...) }
---@return any result, pintle.error?
function core.call(self, method, params, options) end

---Sends a notification.
---@param method string
---@param params? any
---@return true?, pintle.error?
function core.notify(self, method, params) end

---The error in an event of `ask` whose call has missed its deadline.
---@type lightuserdata
core.overdue = nil

---What a handler gets as its second argument, and what stands for its task: a table with the metatable
---`settings.context`. The core makes it, and reads `id` and `method` again when the handler ends: without an id nothing
---is answered. A handler with one parameter has no context until `requests` or `loop.current` asks for one.
---@class pintle.core.context: pintle.task.object
---@field peer pintle.peer
---@field id pintle.id? nil for a notification
---@field method string
---@field task userdata

---What the core asks of Lua: the decisions about a conversation. `lua/pintle/peer/policy.lua` is the only one there is.
---The core calls these functions by their names, with the `pintle.peer` first where there is one.
---@class pintle.peer.policy
---@field request fun(peer: pintle.peer, kind: "request"|"notification", id: pintle.id?, method: string, params: any) a
---request or notification that the core did not give to a handler: there is no handler, requests are held, or as many
---as may be are at work
---@field keep fun(peer: pintle.peer, kind: "request"|"notification", id: pintle.id?, method: string, params: any) one
---that was read by `listen`, while a handler computes: nothing may be run now
---@field invalid fun(peer: pintle.peer, kind: "invalid"|"noise", id: pintle.id?, call: integer?, report: pintle.report)
---malformed input. `call` is the id of our call that it would have answered, which still waits
---@field remote_error fun(payload: any): pintle.error makes the error of a response that has one
---@field refuse fun(peer: pintle.peer, ctx: pintle.request?, id: pintle.id?, method: string, err: any) a handler has
---returned nil and an error
---@field failed fun(peer: pintle.peer, ctx: pintle.request?, id: pintle.id?, method: string, err: any, trace: string) a
---handler has raised
---@field unsent fun(peer: pintle.peer, id: pintle.id, method: string, message: string, kind: string) what a handler has
---returned cannot be sent
---@field moved fun(peer: pintle.peer) while `report` is on: a handler has ended, or something was written
---@field call fun(peer: pintle.peer, method: string, params: any, options: any): any, pintle.error? makes a call whose
---options are more than a timeout, or wrong. It may wait
---@field calling fun(peer: pintle.peer) a call was made while requests are held or reading is paused
---@field overdue fun(peer: pintle.peer, id: integer, method: string, timeout: number): pintle.error the error of a call
---that has missed its deadline
---@field withdrawn fun(peer: pintle.peer, id: integer, err: pintle.error) the task that made the call was stopped
---@field refused fun(peer: pintle.peer, kind: string, message: string?): pintle.error the error of a call that could
---not be made. It may wait
---@field failure fun(peer: pintle.peer, kind: string, message: string): pintle.error the error of a notification that
---could not be sent
---@field ended fun(peer: pintle.peer, message: string, kind: string) the input has ended, or reading has failed. The
---kind is "full" if there was not enough memory for a message
---@field lost fun(peer: pintle.peer, message: string) the output cannot be written to
---@field broken fun(peer: pintle.peer, message: string, kind: string) the descriptors cannot be watched

---Begins to read.
function peer:begin() end

---Queues a request, and sets the event to its result, or to nil and an error; `core.overdue` is the error if the
---deadline is missed.
---@param answered pintle.event kept alive until it is set
---@param method string
---@param params any
---@param timeout number|false seconds
---@return integer? id, string? message, string? kind
function peer:ask(answered, method, params, timeout) end

---Gives a call its answer in the next turn, if it still waits for one.
---@param id integer
---@param result any
---@param err any
---@return boolean whether it waited
function peer:settle(id, result, err) end

---Fails every call that waits, and every later one: no answer will come.
---@param err pintle.error
function peer:deafen(err) end

---Runs a handler in a task for a request or notification that the policy was given.
---@param id pintle.id? nil for a notification
---@param method string
---@param params any
---@param handler pintle.handler
function peer:handle(id, method, params, handler) end

---@return boolean whether one more handler may be run: not as many as `requests` are at work, and no more than 1 MiB of
---output waits to be read by the other side
function peer:has_room() end

---@return integer running handlers that are at work
---@return boolean is_clogged whether more than 1 MiB of output waits to be read by the other side
function peer:running() end

---@return pintle.core.context[] contexts of the handlers that are at work, the latest first
function peer:requests() end

---Says whether requests and notifications go to `policy.request` instead of their handlers.
---@param is_held boolean
function peer:hold(is_held) end

---Says whether `policy.moved` is called.
---@param is_reporting boolean
function peer:report(is_reporting) end

---Stops reading, or goes on.
---@param is_paused boolean
function peer:pause(is_paused) end

---Reads what has come while a handler computes, and runs nothing: answers wake their tasks in the next turn, `controls`
---are called, all else goes to `policy.keep` and `policy.invalid`.
---@return boolean goes_on false if the input has ended
function peer:listen() end

---The program at the other end is gone: once everything that it has sent is read, `policy.ended` is called, even if
---another process keeps the pipe open.
function peer:expect_end() end

---Writes what is queued, now.
function peer:write() end

---Writes what is queued before the loop waits; now if no turn is under way.
function peer:write_soon() end

---Closes the output. The other side sees the end of its input, and reading goes on.
function peer:shut() end

---Closes both descriptors, and forgets what is queued. Calls that wait have to be settled before.
function peer:finish() end

---Queues an error response. `write_soon` sends it.
---@param id pintle.id? nil where it could not be told
---@param code integer
---@param message string
---@param data? any
---@return true? queued, string? message, string? kind
function peer:fail(id, code, message, data) end

---How long the message was that was received last.
---@return integer bytes
function peer:size() end

---@return integer calls that wait for an answer
function peer:waiting() end

---@return integer bytes that wait to be sent
function peer:queued() end

---@return integer? read, integer? write
function peer:fds() end

---@return "header"|"line"|"auto" framing auto until the first bytes have told
function peer:framing() end

---@return { received: integer, sent: integer, noise: integer, noise_bytes: integer, stray: integer, invalid: integer }
function peer:stats() end

---The members of the message last received that are not JSON-RPC's, where the peer keeps them; nil where it had none.
---@return table<string, any>?
function peer:others() end

---Sets the form of messages from the next one on, for a server that learns the protocol from the first message. Options
---that are left out stay as they are. Calls that wait are answered in the form they were sent in. A peer that keeps
---`others` looks whether the message last received had the extra members, and keeps none from then on.
---
---With `ordered`, received objects get a metatable as `json.order` makes one, with their names as they came. With
---`big_integers`, received integers of more than 64 bits become tables with `json.bigint_mt`, and not floats. Neither
---has an effect on another codec. `core.peer` takes these options, too.
---@param ways pintle.ways
---@return true?, string? message what is wrong with the last message; the form is set all the same
---@return string? kind
function peer:speak(ways) end

-- }======

---The codec. Integers of 64 bits stay integers and floats stay floats, null is `json.null`, which is
---`cjson.null`; a table that came from an array is marked, so that an empty one goes back as `[]`.
---Of equal names in an object the last wins. Lone surrogates, invalid UTF-8 and numbers too large
---for a double are refused.
core.json = {}

---@type lightuserdata the value that stands for null
core.json.null = nil

---@type table the metatable that marks arrays
core.json.array_mt = nil

---@type table the metatable of integers of more than 64 bits: tables with the decimal text at 1, which `tostring` gives
---and which is written as a number
core.json.bigint_mt = nil

---@param text string|pintle.raw
---@param nesting? integer how deep arrays and objects may be nested; default: 1000
---@param ordered? boolean objects get a metatable as `json.order` makes one, with their names as they came; those with
---the same names may share it
---@param big_integers? boolean integers of more than 64 bits become tables with `json.bigint_mt`, not floats
---@return any value, string? message what is wrong, with line and column
function core.json.decode(text, nesting, ordered, big_integers) end

---Raises, naming the path, for what has no JSON form: NaN, infinities, functions, cycles, lists
---with holes, tables with both items and names, invalid UTF-8.
---@param value any
---@param nesting? integer
---@return string
function core.json.encode(value, nesting) end

---Whether a text is UTF-8, as one has to be that is written. Faster than `utf8.len` by far.
---@param text string
---@return boolean
function core.json.is_utf8(text) end

---The JSON type of a value. A table that is marked as an array, or has items, is an array; any other is an object. For
---values that JSON does not have it is what `type` says.
---@param value any
---@return "null"|"boolean"|"number"|"string"|"array"|"object"|string
function core.json.kind(value) end

---Marks a table as an array, so that it is written as one even when it is empty.
---@generic T: table
---@param list? T
---@return T
function core.json.array(list) end

---A metatable for objects whose members are to be written, and found by `pairs`, in a certain order: those named come
---first, as they are named, then the others in the table's own order. A table with it is always an object, `{}` when
---it is empty. Decoding makes such metatables where it is told to. Raises if the names are not a list of distinct
---strings.
---@param names string[]
---@return table
function core.json.order(names) end

---Watches for objects with certain members in everything that is decoded from now on, so that they are found without a
---walk over all of it. Returns a table with weak keys, the same for all calls: it has true for an object with a watched
---name, and for each array and object around it; and false for a whole value that has none. Texts of less than 4096
---bytes are not watched. Raises for more than 8 names in all, and for a name of more than 22 bytes.
---@param names string[]
---@return table<table, boolean> trail
function core.json.watch(names) end

---Text that is written as it stands where it is used as a value; `tostring` gives it back.
---@class pintle.raw

---@param text string one JSON value; raises if it is none
---@return pintle.raw
function core.json.raw(text) end

---An id that a Lua number or string would not give back byte for byte, such as `1.0`, or one whose
---answer is gathered with those of its batch. `tostring` gives its JSON text.
---@class pintle.ticket

---@alias pintle.id integer|string|lightuserdata|pintle.ticket

---What is wrong with a message, or bytes that are none.
---@class pintle.report
---@field code integer -32700 where it is not JSON, -32600 where it is no valid message
---@field message string what is wrong, and where
---@field text string the first bytes of it, as many as the limit `text` allows
---@field bytes integer how many it had; of a line over its limit, the limit
---@field is_answer? boolean whether it has a result or an error: then it must not be answered

---@class pintle.stream.limits
---@field header? integer bytes of a header block, and of one piece of noise: 8 KiB
---@field message? integer bytes of a message, both ways: 64 MiB
---@field nesting? integer depth of a message: 1000
---@field queue? integer bytes that may wait to be sent: 64 MiB. Answers are always taken, for a lost one would
---leave its caller waiting: who is asked too much stops receiving while `queued` is high
---@field calls? integer calls that may wait for an answer: 65536
---@field values? integer values in one message that is received; default: 4194304
---@field text? integer bytes of a bad message that are handed over: 1 KiB

---@class pintle.stream.options
---@field read pintle.descriptor taken over if it is a `pintle.fd`
---@field write pintle.descriptor taken over if it is a `pintle.fd`; may be the same socket
---@field framing "header"|"line"|"auto" auto tells by the first bytes received, and is line until then
---@field json? table another codec for the payloads: its functions encode and decode are used
---@field raw? boolean payloads received are kept as `pintle.raw`
---@field ids? "integer"|"string" how own ids are sent; default: "integer"
---@field extra? table<string, string|number|boolean> members that every message has beside jsonrpc:
---sent with each, and required in each
---@field header? string what is written before the length: `"Content-Length: "`
---@field others? boolean members that are not JSON-RPC's are kept for `others`, until it is told how to `speak`
---@field limits? pintle.stream.limits

---Frames out of bytes that somebody else reads and writes, by the rules that streams have.
---@class pintle.frames
local frames = {}

---@param bytes string what comes next
function frames:feed(bytes) end

---Nothing will follow: what is unfinished is handed out as what it is.
function frames:finish() end

---What there is, one after the other: a message's body, bytes outside of any message, or the beginning of a frame that
---is refused, and why. Whether a body is JSON is not looked at.
---@return "message"|"noise"|"bad"|nil kind nil until more is fed, string? text, string? what
function frames:next() end

---@return "header"|"line"|"auto" framing auto until the first bytes have told
function frames:framing() end

---@param framing "header"|"line"|"auto"
---@param message_limit? integer bytes: 64 MiB
---@param header_limit? integer bytes of a header block, and of one piece of noise: 8 KiB
---@return pintle.frames
function core.frames(framing, message_limit, header_limit) end

return core
