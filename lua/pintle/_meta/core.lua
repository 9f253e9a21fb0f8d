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

---What is there, up to `max` bytes (64 KiB unless told): "" at the end of input, false when there is
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
---@field port? integer 0 unless told, which is any that is free: `address` tells which
---@field mode? integer permissions of the socket's file; what the umask leaves unless told
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
---@field stdin? pintle.stdio "pipe" unless told
---@field stdout? pintle.stdio "pipe" unless told
---@field stderr? pintle.stdio "inherit" unless told; what is inherited but closed here is /dev/null there
---@field group? boolean|"session" a process group of its own (true, the default), or a session, too
---@field death_signal? pintle.signal|false "KILL" unless told: sent to the child when the thread that started it
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
---@param timeout? number seconds, 0 unless told
---@return integer|false|nil code, string? signal_or_message, string? kind
function process:wait(timeout) end

---Never reaches a process that was waited for; then the kind is "closed". A group has to be killed before `wait` has
---told the end of its leader, which may have ended already; `fd` tells that without waiting.
---@param signal? pintle.signal "TERM" unless told
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

---@return pintle.signal[] names of those that were taken over
function signals:names() end

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
---@param path? string directories with colons between them; the host's PATH unless told
---@return string?, string? message, string? kind, integer? errno
function core.which(name, path) end

---Waits for many descriptors at once: epoll, kqueue or poll, whatever the system has.
---@class pintle.poller
local poller = {}

---Watches a descriptor for `events`, and only for those: what an earlier `set` asked is replaced, and
---what the last `wait` found for it is forgotten. Stop watching a descriptor before you close it. What
---the system cannot wait for, such as a regular file, is always ready.
---@param descriptor pintle.descriptor borrowed, never taken
---@param events? ""|"r"|"w"|"rw" nothing stops watching, which cannot fail
---@param token any anything but nil; kept while the descriptor is watched
---@param stream? pintle.stream what reads from it, for `deliver`
---@return true? ok, string? message, string? kind, integer? errno
function poller:set(descriptor, events, token, stream) end

---Watches for the end of a process, once; it comes out of `next` as readable. Only where the system has
---kqueue; elsewhere the kind is "unsupported", and a pidfd is watched like any other descriptor.
---@param pid integer
---@param token any nil stops watching
---@return true? ok, string? message, string? kind, integer? errno
function poller:set_exit(pid, token) end

---Waits until something is ready or the time is over, in whole milliseconds rounded up. A signal does
---not cut it short, unless it stops the program through a debug hook, as Ctrl-C does in lua.
---@param timeout? number seconds; nil or negative is for ever
---@return integer? ready how many `next` will hand out, 0 when the time is over
---@return string? message, string? kind, integer? errno
function poller:wait(timeout) end

---The next of those that are ready, each once; what has hung up or failed is readable, and writable too if
---that was asked. What was set again or no longer watched since `wait` is left out.
---@return any token, boolean? readable, boolean? writable
function poller:next() end

---As `next`, but if all that the descriptor is ready for is to be read by a stream, that is delivered, and what comes
---of it is sent. If that was all, the next one is looked at. If not, what `stream:deliver` returned follows two nils,
---and the last result is true if there is something left to be sent. At the end nil and the token of the last of which
---nothing was told.
---@return any token, boolean? readable, boolean? writable, any ...
function poller:deliver() end

---The token whose stream is being delivered. To wait in the middle of that is fine, if what the stream has to send was
---flushed.
---@return any token
function poller:current() end

---The descriptor that is readable for another loop when something here is ready.
---@return integer? number nil where the system has only poll(2)
function poller:fileno() end

---Closing twice is fine; also by `<close>` and collection. All else raises from then on.
function poller:close() end

---@return pintle.poller? poller, string? message, string? kind, integer? errno
function core.poller() end

---As `coroutine.resume`, but what `core.watch` has set can reach the thread while it runs.
---@param thread thread
---@param ... any
---@return boolean ok, any ...
function core.resume(thread, ...) end

---Reaches threads that compute without yielding: while one that `core.resume` runs goes on for longer than `interval`,
---the callback is called in it about once an interval, between two of its instructions. If it raises, that goes
---through the thread's code like any error. It may not yield. Of threads that run each other the innermost is reached;
---one that the thread resumes by other means than `core.resume` is passed over: it is reached when control is back.
---
---Between ticks nothing slows the thread, and nobody is woken once nothing runs. Waiting here is not cut short, but a
---sleep in other libraries may be. On Linux a timer sends a real-time signal that the program has left alone; elsewhere
---it is SIGALRM, for one Lua state a process, and no longer `alarm`'s. The kind is "unsupported" where neither is to be
---had; then `core.resume` works all the same. After a fork it has to be called again.
---@param callback? fun(thread: thread) nil ends it
---@param interval? number seconds: 0.05 unless told
---@return true? ok, string? message, string? kind, integer? errno
function core.watch(callback, interval) end

---What a thread yields to say that it waits for an answer to a call.
---@type lightuserdata
core.parked = nil

---A thread that runs one function after the other: it is resumed with one and what that is called with, yields
---`core.idle` when that has returned, and is resumed with the next.
---@return thread
function core.worker() end

---@type lightuserdata
core.idle = nil

---@return thread? thread the running one, if it may yield
function core.yielder() end

---@return thread? thread the innermost that `core.resume` runs, also while that runs others by other means
---@return boolean may_yield whether it is the running one, and may
function core.innermost() end

---Makes the function that is `peer:call`; the peer's stream is in its field `stream`. Where a thread that has an owner
---asks, and nothing is special, it yields `core.parked` until it is resumed with the answer, or nil and an error.
---Everything else is what the Lua functions return.
---@param owners table<thread, table> whoever runs in a thread; if his `stopped` is set that is special
---@param long_way fun(peer: table, method: any, params: any, options: any, timeout: number|false|nil): ... what is
---special: options besides a timeout, a stream that is not `open` or has no `plan`, a deadline before its `alarm`; and
---what cannot be sent, with the timeout by itself
---@param outside fun(peer: table, timeout: number|false|nil, method: string, params: any): ... where no thread runs
---@param mark fun(peer: table) told when something is to be sent, once until `stream:flush` is called
---@param explain fun(peer: table, id: integer, method: string, err: any, timeout: number|false): any the error that is
---returned
---@return fun(peer: table, method: string, params: any, options: any): ...
function core.caller(owners, long_way, outside, mark, explain) end

---Makes a function for `outside`: while there is nothing else to do it asks, sends, waits for the answer and returns
---it; whoever else has to be seen to is waited for beside it.
---
---Calls that follow each other within a millisecond look at nothing else but their answers. A tick such as that of
---`core.watch` ends that after a tenth of a second at the latest; it may cut a sleep in other libraries short until
---shortly after the last of them.
---@param readiness { focus: table, poller: pintle.poller, favourite: table? } the first item of the focus is false
---while there is nothing else to do; the peer is put there for the time of the call, whose stream is to be disturbed if
---there is after all. The favourite is the peer that is not in the poller, if there is one: only beside that it is
---known whether the poller has something for others, so another one has to go the long way now and then
---@param timers { due: number } when the next one is
---@param go_on fun(peer: table, waiter: table, method: string, timeout: number|false, id: integer, due: number, ...)
---the call was made, and something else came first: what `stream:attend` returns. It has to give the waiter its answer,
---and returns what the call does
---@param long_way fun(peer: table, timeout: number|false|nil, method: string, params: any): ... where something else is
---to be done first, or it cannot be sent
---@return fun(peer: table, timeout: number|false|nil, method: string, params: any): ...
function core.alone(readiness, timers, go_on, long_way) end

---What a thread waits for in such a call. Whoever takes it out of the stream may resume it.
---@param thread thread
---@return table? peer, integer? id
function core.asking(thread) end

---A program that only serves on its stdin and stdout, before there is a loop: what it begins with, and what the loop
---then goes on with.
---@class pintle.sole
---@field peer? pintle.peer that has nothing yet but this
---@field attended? pintle.peer that is waited for here
---@field owners table<thread, pintle.runner> who runs in a thread. A thread that handles one request after another
---changes hands
---@field request table the metatable of requests
---@field metatable table that of the peer, until it is whole
core.sole = {}

---Begins a peer, if no more is asked for than `stdio` and a `framing`, and there is no loop yet. It has `on` and
---`join`; whatever else is asked of it makes it whole.
---@param options pintle.connect.options
---@return pintle.peer? peer nil where it is not as simple as that
function core.sole.connect(options) end

---Makes it whole: has `pintle.peer` furnish it.
function core.sole.complete() end

---Says who handles a method; nil takes the handler away. A handler returns a result; or nil and an error, a string or
---a table with `code`, `message` and `data`; or it raises, which is an internal error.
---@param method string
---@param handler pintle.handler?
function core.sole.on(self, method, handler) end

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
---@param nesting? integer how deep arrays and objects may be nested, 1000 unless told
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
---@field text? integer bytes of a bad message that are handed over: 1 KiB

---@class pintle.stream.options
---@field read pintle.descriptor taken over if it is a `pintle.fd`
---@field write pintle.descriptor taken over if it is a `pintle.fd`; may be the same socket
---@field framing "header"|"line"|"auto" auto tells by the first bytes received, and is line until then
---@field json? table another codec for the payloads: its functions encode and decode are used
---@field raw? boolean payloads received are kept as `pintle.raw`
---@field ids? "integer"|"string" how own ids are sent: integer unless told
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

---One end of a conversation. Nothing here calls back, and nothing waits but `wait`.
---@class pintle.stream
local stream = {}

---@param options pintle.stream.options
---@return pintle.stream? stream, string? message, string? kind, integer? errno
function core.stream(options) end

---The methods, for those that call them for every message and need not look them up.
---@type pintle.stream
core.stream_methods = nil

---Queues a request. The waiter comes back with the answer.
---@param waiter any anything but nil
---@param method string
---@param params? any left out when nil
---@param timeout? number seconds; when they are over nothing happens but that `overdue` hands the call out
---@return integer? id, number|string deadline_or_message by the clock of `core.now`; huge where there is none
---@return string? kind `invalid`, `full` or `closed`
function stream:request(waiter, method, params, timeout) end

---@param method string
---@param params? any
---@return true? queued, string? message, string? kind
function stream:notify(method, params) end

---@param id pintle.id as `receive` gave it
---@param result any nil is sent as null
---@return true? queued, string? message, string? kind
function stream:reply(id, result) end

---@param id pintle.id? nil where it could not be told
---@param code integer
---@param message string
---@param data? any
---@return true? queued, string? message, string? kind
function stream:fail(id, code, message, data) end

---Writes what is queued, as far as that can be done without waiting.
---@return boolean? done false if some is left: wait until it is writable
---@return string? message, string? kind, integer? errno
function stream:flush() end

---Reads and hands over one message, or `false` when there is none yet:
---
--- | kind | id | what | payload |
--- |---|---|---|---|
--- | request | id | method | params or nil |
--- | notification | nil | method | params or nil |
--- | result | id | waiter | result |
--- | error | id | waiter | error object |
--- | stray | id | nil | result or error that nobody waits for |
--- | invalid | id or nil | waiter if it is an answer | pintle.report |
--- | noise | nil | nil | pintle.report |
---
---The members of a batch come one by one; the answers to their ids are sent together. `more` says whether
---it is worth asking again at once. While many messages are taken in a row, what is queued is sent as soon as
---it outweighs what is left to read.
---@param spin? number seconds to go on asking for, if an answer is due
---@return string|false|nil kind, pintle.id|string|nil id_or_message, any what_or_kind, any payload, boolean? more
function stream:receive(spin) end

---As `receive`, but a result whose waiter is a thread is given to it at once, by resuming it; and if that yields
---`core.parked` and nothing else, because it waits again, the next message is looked at. So are requests given to the
---thread in `serve`, if there is one. Whatever else a thread does comes back as `"resumed", thread, ok, what, more`, as
---`core.resume` would have it; and `false, n, nil, nil, more` says that n messages were handed out and there is none
---besides, or that others should have their turn first. The last result is true if `serve` has answered something,
---which is to be sent.
---@param spin? number
---@return string|false|nil kind, any id, any what, any payload, boolean? more, true? has_answered
function stream:deliver(spin) end

---Makes the running thread the one that handles requests. It yields `core.parked`; from then on `deliver` resumes it
---with requests that have a handler, and it answers them with what that returns, one after the other for as long as
---none waits. One that does, or raises, comes out of `deliver` as "resumed", and the thread serves no more. When the
---handler has returned at last, `answer(peer, request, result, err)` is called, and that is the end of it; so also for
---one that returned nil and an error, or what cannot be sent, or that was handed out by `dismiss`.
---@param peer { handlers: table<string, function>, reader: any } its handlers are called with params and a request: a
---table with peer, id and method, and this metatable. One that has no second parameter leaves it to the next
---@param owners table<thread, any> where the request stands while a handler is at work in the thread, and the `reader`
---if it fails between two
---@param metatable table
---@param answer fun(peer: table, request: table, result: any, err: any)
function stream:serve(peer, owners, metatable, answer) end

---The request that is being handled in the thread that serves, which does not go on with others then.
---@return table? request
function stream:dismiss() end

---Whether `deliver` may give requests to the thread that serves, or else hands them over; and whether calls may go the
---short way, see `core.caller`.
---@param is_open boolean
function stream:admit(is_open) end

---Sends what is queued and waits until there is something to receive; for a program that has nothing else to
---wait for. On a pipe that the stream has taken over and without a timeout it costs one system call. If nobody
---reads what it sends, it says so once, closes the output, and from then on waits for input alone.
---
---With a poller it waits for anything there as well, and is false as soon as that has something; what there is to
---receive comes first. Whether the poller watches the stream's descriptors, too, does not matter. For a host that
---talks to one plugin: a call and its answer cost three system calls and no `next`.
---@param timeout? number seconds; nil or negative is for ever
---@param beside? pintle.poller
---@return boolean? ready false when the time is over, the poller has something, or a signal wants to stop the program
---@return string? message, string? kind "unsupported" where pollers have no `fileno`
---@return integer? errno
function stream:wait(timeout, beside) end

---Sends what is queued, waits, and delivers, again and again, for as long as all that comes is handed out to threads:
---for a loop that has nothing else to do. Comes back when there is something besides, the time is over, the poller has
---something, `disturb` was called, answers find no room to be sent; and now and then if there is a time.
---@param timeout? number seconds; nil or negative is for ever
---@param beside? pintle.poller one with a `fileno`, as for `wait`
---@return string|false|nil kind, any id, any what, any payload, boolean? more as from `deliver`
---@return boolean has_answered
---@return boolean has_others whether the poller has something
function stream:attend(timeout, beside) end

---Has an `attend` that is under way come back as soon as what it runs now is done with.
function stream:disturb() end

---From now on calls may go the short way, see `core.caller`.
---@param peer table
---@param timeout? number seconds that they may take
function stream:plan(peer, timeout) end

---Says when it will be looked for what is overdue. A call whose deadline is before that goes the long way.
---@param due number huge if there is no such time
function stream:alarm(due) end

---Gives up on a call: its answer will be a stray.
---@param id integer
---@return any waiter
function stream:abandon(id) end

---Any call that still waits, taken out: for telling them all that no answer will come.
---@return integer? id, any waiter
function stream:orphan() end

---A call whose deadline has come, taken out; or nil and the earliest deadline of those that still wait.
---@param now number
---@return integer? id, any waiter_or_next
function stream:overdue(now) end

---How long the message was that was received last.
---@return integer bytes
function stream:size() end

---@return integer calls that wait for an answer
function stream:waiting() end

---@return integer bytes that wait to be sent
function stream:queued() end

---@return integer? read, integer? write
function stream:fds() end

---@return "header"|"line"|"auto" framing auto until the first bytes have told
function stream:framing() end

---Whether objects that are received get a metatable as `json.order` makes one, with their names as they came: from the
---next message on, and not where another codec is used.
---@param on boolean
function stream:keep_order(on) end

---Whether integers of more than 64 bits that are received become tables with `json.bigint_mt`, and not floats: from the
---next message on, and not where another codec is used.
---@param on boolean
function stream:keep_big_integers(on) end

---@return { received: integer, sent: integer, noise: integer, noise_bytes: integer, stray: integer, invalid: integer }
function stream:stats() end

---The members of the message last received that are not JSON-RPC's, where the stream keeps them; nil where it had none.
---@return table<string, any>?
function stream:others() end

---Speaks like this from the next message on, for who learns only from the first message whom it speaks with; what is
---not told stays as it is. Calls that wait are answered in the form they were sent in. A stream that keeps `others`
---looks whether the message last received had the extra members, and keeps none from then on.
---@param ways { ids?: "integer"|"string", extra?: table<string, string|number|boolean>, header?: string }
---@return true?, string? message what is wrong with the last message; it speaks like this all the same
---@return string? kind
function stream:speak(ways) end

---The other side sees the end of its input; reading goes on.
function stream:close_output() end

---Closes what it took over and forgets what was queued; calls that wait can still be had from `orphan`.
function stream:close() end

return core
