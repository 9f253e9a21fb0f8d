---@meta pintle.core
-- The C core as Lua sees it: the contract of csrc/. Nothing here runs.
--
-- Misuse raises. A failure of the outside world returns `nil, message, kind`, and the error number where the system
-- gave one.

-- {====== Descriptors, processes, signals ======

---An integer is borrowed; a `pintle.fd` is taken over where the text says so.
---@alias pintle.descriptor integer|pintle.fd

---A non-blocking descriptor that closes itself: on `close`, `<close>` and collection.
---@class pintle.fd
---@field fileno fun(self): integer raises when it is closed
---@field read fun(self, max?: integer): (string|false)?, string?, string?, integer? reads at most `max` bytes (default:
---64 KiB); "" at the end of input, false if there is no input yet
---@field write fun(self, data: string): (integer|false)?, string?, string?, integer? number of bytes written; false if
---there is no room
---@field close fun(self) closing twice is fine
---@field closed fun(self): boolean

---The address of a socket: a path, or a host and port. A host is an address in digits, or a name; looking a name up
---blocks the program.
---@class pintle.place
---@field path? string
---@field host? string
---@field port? integer

---@class pintle.listen_options: pintle.place
---@field host? string default: "127.0.0.1" unless there is a path
---@field port? integer default: 0, any port that is free; `address` returns it
---@field mode? integer permissions of the socket's file; default: what the umask leaves
---@field backlog? integer connections that may wait to be accepted; default: 128

---One of the child's stdin, stdout and stderr. A descriptor is borrowed and passed as it is, so the ends of `core.pipe`
---and `core.socketpair` are non-blocking in the child, too.
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
---@field command string[] the program and its arguments, without a shell. A name without a slash is looked up in the
---host's PATH; one with a slash is relative to `cwd`
---@field program? string the file that is executed, which is then not looked up
---@field env? table<string, string|false> variables on top of the inherited ones; false removes one
---@field inherit? boolean|string[] the host's variables to pass: all (true), none, or these; default: true
---@field cwd? string
---@field stdin? pintle.stdio default: "pipe"
---@field stdout? pintle.stdio default: "pipe"
---@field stderr? pintle.stdio default: "inherit"; a descriptor that is closed here is /dev/null there
---@field group? boolean|"session" a process group of its own, or a session; default: true
---@field death_signal? pintle.signal|false sent to the child when the thread that started it ends (Linux, FreeBSD);
---default: "KILL"
---@field limits? pintle.limits
---@field sandbox? pintle.sandbox_description from `pintle.process.sandbox`; then the child leads a session
---@field sha256? string the checksum of the program, in lower case. The file that was checked is executed by its
---descriptor, except for a script, which its interpreter opens again

---What Linux enforces for a child: Landlock, a seccomp filter, namespaces and control groups. The child loses its
---capabilities and cannot gain privileges. With `filter` it cannot leave its session, so all its processes are killed
---with it.
---@class pintle.sandbox_description
---@field files? boolean Landlock restricts files to the lists of paths
---@field read? string[] files and directories to read and execute
---@field read_optional? string[] the same, if they exist
---@field read_fixed? string[] the same; no other file takes the place of one of these while the host runs
---@field write? string[]
---@field write_optional? string[]
---@field code? string[] the files of the program, to read and execute if they exist; in both layers
---@field needs? pintle.sandbox_description with lists of paths only: a second layer. A path must be in both
---@field connect? integer[] the ports to which Landlock restricts TCP connections
---@field listen? integer[] the ports that it may bind
---@field kept? table where the rules of Landlock stay for the next start whose description is the same, but for `code`,
---`groups` and `namespaces`. They are used if all paths lead to the same files as before (Linux 6.8), and hold one
---descriptor, or two with `needs`
---@field scoped? boolean Landlock confines signals and abstract sockets to the child's own processes
---@field partial? boolean rights over files that this kernel's Landlock lacks are left out
---@field filter? boolean seccomp refuses calls that reach out of the sandbox
---@field sockets? ("tcp"|"udp"|"unix"|"internet")[] those that the filter allows
---@field watch? boolean the filter allows to watch files, wherever they are
---@field namespaces? "user"|"network" "network" includes "user"
---@field groups? string[] files cgroup.procs that the child writes itself into

---A child. `close` and garbage collection kill it (or its group, if it leads one), reap it, and close its pipes that
---were not taken over.
---@class pintle.process
---@field stdin pintle.fd? our end of its pipe; nil where it has none
---@field stdout pintle.fd?
---@field stderr pintle.fd?
---@field pid fun(self): integer
---@field fd fun(self): integer? a descriptor that becomes readable when the child ends, until `close`; nil where the
---system has none
---@field wait fun(self, timeout?: number): (integer|false)?, string?, string? returns the exit code; nil and the name
---of the signal (digits if it has none); false if it still runs; or nil, a message and "closed" if other code has
---reaped the child. Later calls return the same. `timeout` is in seconds; default: 0. Where `fd` returns nil, it polls
---every 1 to 16 ms
---@field kill fun(self, signal?: pintle.signal, group?: boolean): true?, string?, string?, integer? sends a signal
---(default: "TERM") to the child, or with `group` to its process group, which it must lead. Once `wait` has returned
---the exit, it fails with the kind "closed"; so kill a group before that
---@field close fun(self) SIGKILL unless it has ended, then waits up to 2 s. Closing twice is fine

---Signals as events. `next` returns each signal once. Then the signal has its default effect, so a second one ends a
---program that ignores the first; with `repeated` it returns them all. There can be one such object in a process.
---Children start with default signals.
---@class pintle.signals
---@field fd fun(self): integer? a descriptor that is readable when a signal has arrived; nil after `close`
---@field next fun(self): pintle.signal? a signal that has arrived
---@field close fun(self) restores the previous effect of signals that have not arrived, and drops arrived ones that
---`next` has not returned. Closing twice is fine

---Splits bytes that the caller has read into frames, by the same rules as peers.
---@class pintle.frames
---@field feed fun(self, bytes: string) adds bytes of the input
---@field finish fun(self) marks the end of the input: `next` then also returns an unfinished frame
---@field next fun(self): ("message"|"noise"|"bad")?, string?, string? "message" and its body, whose JSON is not
---checked; "noise" and bytes outside of any message; or "bad", the beginning of a refused frame, and the reason. Nil if
---it needs more input
---@field framing fun(self): "header"|"line"|"auto" "auto" until the first bytes have decided it

-- }======

---The module. Its members are created on first use, so `pairs` does not list all of them. Functions that may fail
---return `nil, message, kind, errno`.
---@class pintle.core
---@field getpid fun(): integer
---@field pipe fun(): pintle.fd?, pintle.fd|string, string?, integer? both ends of a pipe, closed on exec
---@field socketpair fun(): pintle.fd?, pintle.fd|string, string?, integer? two Unix stream sockets, closed on exec
---@field claim_stdio fun(): pintle.fd?, pintle.fd|string, string?, integer? takes stdin and stdout for a protocol:
---returns private copies, makes descriptor 0 /dev/null and descriptor 1 stderr, so that no print, library or child can
---touch the protocol. A second call in a process fails
---@field claim_stdin fun(): pintle.fd?, string?, string?, integer? the same for stdin alone; stdout stays as it is
---@field isatty fun(descriptor: pintle.descriptor): boolean
---@field columns fun(descriptor: pintle.descriptor): integer? width of the terminal; nil if the descriptor is not a
---terminal
---@field poll fun(seconds: number?, ...: pintle.descriptor|"r"|"w"|"rw"): ("r"|"w"|"rw"|false)?, ... waits for up to 16
---descriptors without the loop. Each is followed by its events; the results say what each is ready for. `seconds` are
---rounded up to milliseconds; nil or a negative number means no limit. Only a debug hook ends the wait early, such as
---that of Ctrl-C in `lua`. A descriptor that has hung up or failed is readable, and writable if that was asked for. One
---that the system cannot wait for, such as a regular file, is always ready. The kind is "closed" if a number is not an
---open descriptor
---@field connect fun(place: pintle.place): pintle.fd?, boolean|string, string?, integer? returns a socket, closed on
---exec, and whether the connection is pending. A pending socket becomes writable, and then `connected` returns the
---outcome. If a name has several addresses, the first that does not refuse at once is used. The kind is "busy" if the
---queue of a Unix socket is full
---@field connected fun(socket: pintle.descriptor): boolean?, string?, string?, integer? false while the connection is
---pending; a failure is reported once
---@field listen fun(options: pintle.listen_options): pintle.fd?, string?, string?, integer? a socket that is readable
---when there is a connection to accept. Closing it does not remove the file of a Unix socket. The file of a socket that
---no process listens on is replaced; any other file is left alone. The kind is "full" if another process listens
---@field accept fun(listener: pintle.descriptor): (pintle.fd|false)?, string?, string?, integer? false if no connection
---waits
---@field address fun(socket: pintle.descriptor): pintle.place?, string?, string?, integer? the address of the socket
---itself; the path is "" if it has no name
---@field spawn fun(options: pintle.spawn_options): pintle.process?, string?, string?, integer?
---@field which fun(name: string, path?: string): string?, string?, string?, integer? the file that `spawn` would run,
---absolute if it was searched for; `path` has directories separated by colons; default: the host's PATH
---@field alive fun(pid: integer): boolean whether there is a process of this number, of any user. A zombie counts
---@field pidfd fun(pid: integer): pintle.fd?, string?, string?, integer? a descriptor that becomes readable when the
---process ends, which need not be a child. The kind is "closed" if there is no such process, "unsupported" if the
---system has no such descriptors; then poll `alive`
---@field signals fun(names: pintle.signal[], handled?: boolean, repeated?: boolean): pintle.signals?, string?, string?,
---integer? takes over the signals that the program does not handle; with `handled` also those that it handles (as `lua`
---handles INT), until `close`. The kind is "full" if there is such an object already
---@field raise fun(name: pintle.signal): true?, string?, string?, integer? ends this process by the default action of
---the signal, so that it has the right status after cleaning up. Unwritten buffers of `io` are lost
---@field sandbox fun(): integer, boolean, boolean the version of Landlock (0: none), whether seccomp filters work, and
---whether this process is root
---@field realpath fun(path: string): string?, string?, string?, integer? absolute, without links
---@field sha256 fun(path: string): string?, string?, string?, integer? the checksum of a regular file, in 64 lower-case
---digits
---@field frames fun(framing: "header"|"line"|"auto", message_limit?: integer, header_limit?: integer): pintle.frames
---limits in bytes; default: 64 MiB, and 8 KiB for a header block or one piece of noise
---@field watchdog fun(tick?: fun(), must_abort?: fun(): boolean, interval?: number): true?, string?, string?, integer?
---interrupts tasks that compute without yielding. While a task runs for longer than `interval` (0.001 to 3600 seconds;
---default: 0.05), `tick()` is called in it about once per interval, between two of its instructions, and before every
---instruction while `must_abort()` returns true. An error that `tick` raises passes through the code of the task.
---Neither function may yield. A coroutine that the task itself resumes is not interrupted; the task is, when it
---continues. Calling it without `tick` ends the watchdog. The timer runs only while a task runs. A tick may end a sleep
---in another library early, but no wait of the loop. On Linux the timer sends a real-time signal that the program does
---not use; elsewhere it sends SIGALRM, and only one Lua state of a process can have it. The kind is "unsupported" if
---there is no timer. Call it again after a fork
---@field protect fun() keeps the watchdog from interrupting the functions of the calling file. Modules of pintle call
---it if their tables must not be left half changed
---@field loop pintle.core.loop
---@field peer fun(options: pintle.stream.options, lua_peer: pintle.peer, settings: pintle.core.peer.settings):
---pintle.core.peer?, string?, string?, integer? makes a peer that reads nothing before `begin`. `lua_peer` is the first
---argument of the policy's functions. The loop does not keep the peer alive, but watching its descriptors does
---@field overdue lightuserdata the error in an event of `stream:ask` whose call has missed its deadline
local core = {}

---@return number seconds on a clock that never goes back
function core.now() end

-- {====== The loop ======

---The loop of this Lua state: the only place that waits. `pintle.loop` adds the functions that are written in Lua.
---
---A turn runs the tasks that are ready, writes what peers have queued, waits until a descriptor is ready or a timer is
---due, reads, and calls the timers. Code that waits in a task yields. Code that waits anywhere else turns the loop
---until the wait is over.
---@class pintle.core.loop
local loop = {}

---A function that will be called once, made by `loop.after`. The loop keeps it alive until then.
---@class pintle.timer

---A table whose method the loop calls in each turn while a descriptor that it watches is ready: so the method has to
---read, write or stop watching.
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
function loop.cancel(timer) end

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

---The time until `step` has work to do even if the descriptor of `fileno` is not readable.
---@return number? seconds nil if there is no timer
function loop.timeout() end

---A descriptor that is readable when something is ready, for another loop to watch.
---@return integer number
function loop.fileno() end

---@return pintle.event
function loop.event() end

---The object of the running task: a `pintle.task`, the `pintle.request` of a handler, or nil outside of tasks.
---@return table? object
function loop.current() end

---The Lua object of a task. The loop sets the field `task` and calls the methods.
---@class pintle.task.object
---@field task? userdata the task of the core, set by `loop.start`
---@field failed fun(self: pintle.task.object, err: any, traceback: string) called if the function raises
---@field expire? fun(self: pintle.task.object) called when the time given to `loop.set_deadline` is over

---@private runs the function in a task, now and until it waits, and drops its results
---@param object pintle.task.object
function loop.start(object, fn, ...) end

---@private ends the task's wait and every later one with `nil, err`, and withdraws the call that it waits for
---@param object pintle.task.object
function loop.stop(object, err) end

---@private calls `object:expire()` after `seconds`, if the task has not ended by then
---@param object pintle.task.object
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

---Calls `action(event)` in the turn after the event was set. It replaces an earlier action. It is not called if the
---event was set before `on_set`.
---@param action fun(event: pintle.event)
function event:on_set(action) end

-- }======

-- {====== Peers ======

---@class pintle.stream.limits
---@field header? integer bytes of a header block, and of one piece of noise: 8 KiB
---@field message? integer bytes of a message, both ways: 64 MiB
---@field nesting? integer depth of a message: 1000
---@field queue? integer unsent bytes: 64 MiB. Answers are queued even beyond that, because a lost answer would leave
---its caller waiting
---@field calls? integer calls that may wait for an answer: 65536
---@field values? integer values in one message that is received; default: 4194304
---@field text? integer bytes of a malformed message that are reported: 1 KiB

---@class pintle.stream.options
---@field read pintle.descriptor taken over if it is a `pintle.fd`
---@field write pintle.descriptor taken over if it is a `pintle.fd`; may be the same socket
---@field framing "header"|"line"|"auto" "auto" is decided by the first bytes received, and sends lines until then
---@field json? table another codec for the payloads: its functions encode and decode are used
---@field raw? boolean received payloads are kept as `pintle.raw`
---@field ids? "integer"|"string" how own ids are sent; default: "integer"
---@field extra? table<string, string|number|boolean> members of every message beside jsonrpc: sent, and required
---@field header? string what is written before the length; default: `"Content-Length: "`
---@field others? boolean keeps members that JSON-RPC does not define, for `others`, until `set_envelope` is called
---@field limits? pintle.stream.limits

---@class pintle.core.peer.settings
---@field policy pintle.peer.policy
---@field handlers table<string, pintle.handler> by method; it may be changed at any time
---@field controls table<string, fun(peer: pintle.peer, params: any): boolean> notifications that never wait behind
---requests, by method. If the function returns false, the notification is handled like any other
---@field context table the metatable of contexts
---@field timeout? number|false seconds for a call that has no timeout of its own; default: no limit
---@field spin? number seconds to poll for an answer before the loop sleeps; default: 0
---@field requests integer handlers that may run at once; those that wait for the other side do not count

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

---A conversation in the loop, whose messages the core reads, dispatches and answers: `peer.stream` of a `pintle.peer`.
---`clogged` means that more than 1 MiB of output waits to be read by the other side.
---@class pintle.core.peer
---@field begin fun(self) begins to read
---@field ask fun(self, answered: pintle.event, method: string, params: any, timeout: number|false): integer?, string?,
---string? queues a request and returns its id. The event, which is kept alive until then, is set to the result, or to
---nil and an error. That is `core.overdue` if the deadline is missed
---@field complete_call fun(self, id: integer, result: any, err: any): boolean completes a pending call in the
---next turn; false if it is not pending
---@field fail_calls fun(self, err: pintle.error) fails every call that waits, and every later one
---@field handle fun(self, id: pintle.id?, method: string, params: any, handler: pintle.handler) runs a handler for a
---message that `policy.request` got
---@field has_room fun(self): boolean whether one more handler may run: fewer than `requests` run, and it is not clogged
---@field running fun(self): integer, boolean how many handlers run; whether it is clogged
---@field requests fun(self): pintle.core.context[] contexts of the running handlers, the latest first
---@field hold fun(self, is_held: boolean) whether requests and notifications go to `policy.request`, not to handlers
---@field watch_activity fun(self, is_on: boolean) whether `policy.after_activity` is called
---@field pause fun(self, is_paused: boolean) stops reading, or continues
---@field receive_only fun(self): boolean reads while a handler computes, and runs no other handler: answers wake their
---tasks in the next turn, `controls` are called, the rest goes to `policy.keep` and `policy.invalid`. False if the
---input has ended
---@field expect_end fun(self) the program at the other end has ended: `policy.ended` is called when its output was
---read, even if another process keeps the pipe open
---@field write fun(self) writes the queued bytes now
---@field write_soon fun(self) writes the queued bytes before the loop waits; now if no turn is under way
---@field close_output fun(self) closes the output: the other side sees the end of its input, and reading goes on
---@field finish fun(self) closes both descriptors and drops the queued bytes. Call `fail_calls` first if calls wait
---@field fail fun(self, id: pintle.id?, code: integer, message: string, data?: any): true?, string?, string? queues an
---error response; `write_soon` sends it
---@field size fun(self): integer bytes of the last message received
---@field waiting fun(self): integer calls that wait for an answer
---@field queued fun(self): integer bytes that wait to be sent
---@field fds fun(self): integer?, integer? the descriptors to read and to write
---@field framing fun(self): "header"|"line"|"auto" "auto" until the first bytes have decided it
---@field stats fun(self): { received: integer, sent: integer, noise: integer, noise_bytes: integer, stray: integer,
---invalid: integer }
---@field others fun(self): table<string, any>? members of the last message that JSON-RPC does not define, if they are
---kept
---@field set_envelope fun(self, conventions: pintle.conventions): true?, string?, string? sets the form of all later
---messages: `ids`, `extra`, `header`, `ordered`, `big_integers` and `repeated`; a member that is nil stays as it was.
---Pending calls are answered in the form in which they were sent. If `others` are kept, it checks that the last message
---had the members of `extra`, and keeps no `others` from then on. The form is set even if that check fails

---The second argument of a handler, and the object of its task: a table with the metatable `settings.context`. The core
---creates it, and reads `id` and `method` again when the handler ends: without an id no answer is sent. A handler with
---one parameter has no context until `requests` or `loop.current` asks for one.
---@class pintle.core.context: pintle.task.object
---@field peer pintle.peer
---@field id pintle.id? nil for a notification
---@field method string
---@field task userdata

---The decisions about a conversation, which the core calls by these names. `lua/pintle/peer/policy.lua` is the only
---policy, and describes them.
---@class pintle.peer.policy
---@field request fun(peer: pintle.peer, kind: "request"|"notification", id: pintle.id?, method: string, params: any)
---@field keep fun(peer: pintle.peer, kind: "request"|"notification", id: pintle.id?, method: string, params: any)
---@field invalid fun(peer: pintle.peer, kind: "invalid"|"noise", id: pintle.id?, call: integer?, report: pintle.report)
---@field remote_error fun(payload: any): pintle.error
---@field refuse fun(peer: pintle.peer, ctx: pintle.request?, id: pintle.id?, method: string, err: any)
---@field failed fun(peer: pintle.peer, ctx: pintle.request?, id: pintle.id?, method: string, err: any, trace: string)
---@field unsent fun(peer: pintle.peer, id: pintle.id, method: string, message: string, kind: string)
---@field after_activity fun(peer: pintle.peer)
---@field call fun(peer: pintle.peer, method: string, params: any, options: any): any, pintle.error? may wait
---@field calling fun(peer: pintle.peer)
---@field overdue fun(peer: pintle.peer, id: integer, method: string, timeout: number): pintle.error
---@field withdrawn fun(peer: pintle.peer, id: integer, err: pintle.error)
---@field refused fun(peer: pintle.peer, kind: string, message: string?): pintle.error may wait
---@field failure fun(peer: pintle.peer, kind: string, message: string): pintle.error
---@field ended fun(peer: pintle.peer, message: string, kind: string)
---@field lost fun(peer: pintle.peer, message: string)
---@field broken fun(peer: pintle.peer, message: string, kind: string)

---An id that a Lua number or string cannot represent byte for byte, such as `1.0`, or the id of a request in a batch,
---whose answers are collected. `tostring` gives its JSON text.
---@class pintle.ticket

---@alias pintle.id integer|string|lightuserdata|pintle.ticket

---Describes a malformed message, or bytes that are not a message.
---@class pintle.report
---@field code integer -32700 if it is not JSON, -32600 if it is not a valid message
---@field message string what is wrong, and where
---@field text string its first bytes, up to the limit `text`
---@field bytes integer its length; for a line over the limit, the limit
---@field is_answer? boolean whether it has a result or an error: then it must not be answered

-- }======

-- {====== JSON ======

---The codec. Integers of 64 bits stay integers and floats stay floats, null is `json.null`, which is `cjson.null`; a
---table that came from an array is marked, so that an empty one goes back as `[]`. Of equal names in an object the last
---wins. Lone surrogates, invalid UTF-8 and numbers too large for a double are refused.
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
---@param ordered? boolean objects get a metatable like those of `json.order`, with their names in the order of the
---text; objects with the same names may share it
---@param big_integers? boolean integers of more than 64 bits become tables with `json.bigint_mt`, not floats
---@return any value, string? message what is wrong, with line and column
function core.json.decode(text, nesting, ordered, big_integers) end

---Raises for a value without a JSON form, and names its path: NaN, infinities, functions, cycles, lists with holes,
---tables with both items and names, invalid UTF-8.
---@param value any
---@param nesting? integer
---@return string
function core.json.encode(value, nesting) end

---Whether a text is valid UTF-8, as every text has to be that is written. Much faster than `utf8.len`.
---@param text string
---@return boolean
function core.json.is_utf8(text) end

---The JSON type of a value. A table that is marked as an array, or has items, is an array; any other is an object. For
---a value that JSON does not have, it is the result of `type`.
---@param value any
---@return "null"|"boolean"|"number"|"string"|"array"|"object"|string
function core.json.kind(value) end

---Marks a table as an array, so that it is written as one even when it is empty.
---@generic T: table
---@param list? T
---@return T
function core.json.array(list) end

---A metatable that sets the order in which the members of an object are written, and visited by `pairs`: first `names`,
---in this order, then the others in the table's own order. A table with it is always an object, `{}` when it is empty.
---Decoding makes such metatables if `ordered` is set. Raises if the names are not a list of distinct strings.
---@param names string[]
---@return table
function core.json.order(names) end

---Finds objects with certain members in every value that is decoded from now on, without a walk over the whole value.
---Returns a table with weak keys, the same for all calls: it has true for an object with a watched name, and for each
---array and object around it; and false for a decoded value without any. Texts of less than 4096 bytes are not watched.
---Raises for more than 8 names in all, and for a name of more than 22 bytes.
---@param names string[]
---@return table<table, boolean> trail
function core.json.watch(names) end

---JSON text that is written unchanged where it is used as a value; `tostring` returns it.
---@class pintle.raw

---@param text string one JSON value; anything else raises
---@return pintle.raw
function core.json.raw(text) end

-- }======

return core
