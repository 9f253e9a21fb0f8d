/*
** One connection in the loop, and the only code that reads and writes messages.
** A response resumes the task that waits for it. A request runs its handler in
** a task; the handler's result is the answer. Lua functions decide everything
** else: the policy that a peer is created with. They and their arguments are
** described in lua/pintle/_meta/core.lua.
**
** lpeer.c has the peer itself: its values, its pending calls, and the bytes
** that it reads and writes. lsend.c writes messages, lenvelope.c and lmessage.c
** parse them, lcall.c makes calls, ldispatch.c receives messages, lhandler.c
** runs handlers. lopen.c opens a peer and has its methods.
*/
#ifndef PT_LPEER_H
#define PT_LPEER_H

#include "core.h"
#include "frame.h"
#include "io.h"
#include "lbuf.h"
#include "ljson.h"
#include "lloop.h"

/* ====== Pending calls ======
** The calls that wait for an answer. Ids count up from 1. For each call there
** is a deadline and a waiter. The slot of a call is the place of its id in a
** ring; an id whose slot is still in use is skipped. So no operation searches
** the ring, except the one that looks for overdue calls. */

typedef struct pt_pending_call {
  int64_t id;   /* 0 if the slot is free */
  double due;   /* deadline; HUGE_VAL for none */
  void *waiter; /* the task or event that waits */
} pt_pending_call;

typedef struct pt_pending {
  pt_pending_call *calls; /* by slot */
  size_t slots;           /* a power of two, or 0 at first */
  size_t count;
  int64_t last; /* the last id that was used */
} pt_pending;

#define PT_PENDING_NONE SIZE_MAX

/* Returns the next id. Raises if there is not enough memory. pt_pending_take
** marks the id as used after the request was queued. */
int64_t pt_pending_next(lua_State *L, pt_pending *p);
void pt_pending_take(pt_pending *p, int64_t id, double due, void *waiter);

/* Returns the slot of `id`, or PT_PENDING_NONE. */
size_t pt_pending_find(const pt_pending *p, int64_t id);

void pt_pending_remove(pt_pending *p, size_t slot);

/* ====== The peer ====== */

/* User values of the userdata. */
enum {
  PT_PEER_SELF = 1, /* the Lua peer, a table */
  PT_PEER_POLICY,   /* table: name to function */
  PT_PEER_HANDLERS, /* table: method to function */
  /* table: method to function; called even while requests are held */
  PT_PEER_CONTROLS,
  PT_PEER_META,  /* the metatable of handler contexts */
  PT_PEER_BATCH, /* the batch that is being read */
  PT_PEER_HEAD,  /* the texts of pt_form */
  PT_PEER_HEADER,
  PT_PEER_EXTRA, /* table: the members that every message has, and values */
  /* table: members of the last message that are not JSON-RPC's, or nil */
  PT_PEER_OTHERS,
  PT_PEER_DECODE, /* the functions of another codec */
  PT_PEER_ENCODE,
  PT_PEER_REPEATED_NAME, /* see pt_repeat */
  PT_PEER_REPEATED_TEXT,
  PT_PEER_REPEATED,
  PT_PEER_VALUES = PT_PEER_REPEATED
};

/* The input. */
typedef struct pt_input {
  pt_io io;
  int is_owned; /* closed together with the peer */
  pt_framing framing;
  pt_buf buf;
  int at_end;      /* the input has ended */
  int is_drained;  /* the last read returned all available bytes */
  int is_searched; /* the buffer has no complete message */
  int is_reading;  /* a message is being decoded: the buffer must not move */
  size_t need;     /* bytes still missing of the next message, if known */
  size_t batch; /* offset of the next member of a batch; 0 outside of a batch */
  size_t batch_used; /* bytes of the whole batch */
  const char *text;  /* the message that is being decoded */
  size_t text_len;
  size_t text_used;
} pt_input;

/* The output. */
typedef struct pt_output {
  pt_io io;
  int is_owned;
  pt_buf buf;
  int is_full;    /* an early write found no space; no write was tried since */
  int is_blocked; /* output waits for space in the pipe or socket */
  int is_clogged; /* so much output waits that no request is started */
  /* digits of the last length written: the guess for the next one */
  int digits;
} pt_output;

/* The forms in which our ids may come back. */
#define PT_ID_INTEGER 1u
#define PT_ID_STRING 2u

/* The form of messages, in both directions (lopen.c). */
typedef struct pt_form {
  const char *head;   /* end of a frame header and beginning of a message: */
  size_t head_len;    /* CR LF CR LF {"jsonrpc":"2.0", */
  const char *header; /* text before the length, such as Content-Length: */
  size_t header_len;
  int string_ids;    /* our ids are sent as strings */
  unsigned id_forms; /* forms in which pending calls may have been sent */
  int has_extra;     /* every message has members besides those of JSON-RPC */
  int keeps_others;  /* for stream:others */
} pt_form;

/* How payloads are decoded and encoded. */
typedef struct pt_codec {
  int is_foreign;        /* they go through another codec */
  int is_raw;            /* those received are kept as text */
  int is_ordered;        /* objects received keep the order of their members */
  int big_integers;      /* integers received keep all their digits */
  pt_repeat repeat;      /* in params and results that are received */
  pt_encode_style style; /* and `depth` of it for what is received, too */
} pt_codec;

typedef struct pt_limits {
  size_t queue;  /* bytes of queued output */
  size_t calls;  /* pending calls */
  size_t text;   /* bytes of a malformed message that its report contains */
  size_t values; /* values in one received message */
} pt_limits;

typedef struct pt_counts {
  lua_Integer received, sent, noise, noise_bytes, stray, invalid;
} pt_counts;

typedef struct pt_peer {
  const void *mark; /* see pt_check_marked */
  pt_loop *loop;
  pt_input input;
  pt_output output;
  pt_form form;
  pt_codec codec;
  pt_limits limits;
  pt_counts counts;
  pt_pending pending;
  pt_link to_write, to_read;
  pt_alarm overdue; /* fires at the earliest deadline of the pending calls */

  double timeout; /* default timeout of calls in seconds; HUGE_VAL for none */
  /* seconds of busy polling for an answer before the loop sleeps */
  double spin;
  /* maximum number of running handlers, not counting those that wait for the
  ** other side */
  lua_Integer max_handlers;
  pt_task *handlers; /* list of the running handlers */
  lua_Integer running;

  int is_held;     /* requests go to the policy, not to handlers */
  int is_paused;   /* no input is read */
  int fails_calls; /* every call fails immediately: no answer can come */
  int is_finished; /* the input has ended, and the policy was called */
  /* the other side has ended: only what it has already sent will come */
  int expects_end;
  /* policy.after_activity is called after every handler and every write */
  int watches_activity;
  int watched_events; /* events that the loop watches its descriptors for */
} pt_peer;

/* Pushes a new, closed peer. */
pt_peer *pt_peer_new(lua_State *L, pt_loop *lp, const luaL_Reg *methods);

/* Returns the peer of the userdata at `arg`. Raises if it is not one. */
pt_peer *pt_peer_check(lua_State *L, int arg);

/* Pushes the userdata of the peer. If the peer is being collected, pushes nil
** and returns 0. */
int pt_peer_push(lua_State *L, const pt_peer *p);

/* Returns the peer whose `to_read` this is. */
pt_peer *pt_peer_to_read(pt_link *l);

/* Pushes a function of the policy and its first argument, the Lua peer. The
** userdata is at `peer`. */
void pt_peer_push_policy(lua_State *L, int peer, const char *name);

/* Watches the descriptors as the state of the peer requires. */
void pt_peer_watch(lua_State *L, pt_peer *p, int peer);

/* ====== Bytes ====== */

/* Reads the available input. Returns 1 if bytes or the end were read, 0 if
** there is no input yet, and -1 on failure, with the message and the kind on
** top. */
int pt_peer_read_bytes(lua_State *L, pt_peer *p);

/* Waits for input by a blocking read, when nothing else is to be waited for.
** Returns 1 if bytes or the end were read, 0 if a blocking read is not
** possible, and -1 if a signal arrived. */
int pt_peer_wait(lua_State *L, pt_peer *p);

/* Writes the queued output. Updates the watched events, and calls the policy if
** that is needed. */
void pt_peer_write(lua_State *L, pt_peer *p);

/* Writes the queued output if that is worth it while there is more input to
** read: then both sides can work at the same time. The next regular write
** reports a failure. */
void pt_peer_write_early(lua_State *L, pt_peer *p);

/* Queues the peer for writing before the loop waits; writes now if the loop is
** not turning. */
void pt_peer_write_soon(lua_State *L, pt_peer *p);

/* Called by the loop. */
void pt_peer_write_link(lua_State *L, pt_link *to_write);

/* ====== Closing ====== */

/* Frees the memory and closes the descriptors. A message that is being decoded
** stays until it is done. */
void pt_peer_release(lua_State *L, pt_peer *p);

/* Methods of the stream: finish and close_output. */
int pt_peer_finish(lua_State *L);
int pt_peer_close_output(lua_State *L);

/* ====== Calls (lcall.c) ======
** Calls to the other side. A task makes a call and yields; code outside of
** tasks makes a call and turns the loop; stream:ask makes a call for an event.
** A call ends when it is removed from the ring of pending calls: by its answer,
** by its deadline, or by the code that withdraws it. */

/* Initialises the part of a new peer that belongs to calls. */
void pt_call_init(pt_peer *p);

/* Completes a call with the two values on top, result and error, which are
** popped. A task is resumed now, or in the next turn if `soon`. */
void pt_call_complete(lua_State *L, void *waiter, int soon);

/* Adds peer:call, peer:notify and core.overdue, the value that represents a
** missed deadline, to the module's table, which is on top. */
void pt_call_add(lua_State *L);

/* Methods of the stream: ask, complete_call and fail_calls. */
int pt_call_ask(lua_State *L);
int pt_call_complete_id(lua_State *L);
int pt_call_fail_all(lua_State *L);

/* ====== Handlers (lhandler.c) ======
** A handler runs in a task; its result is the answer. */

/* Pushes the handler of the method at a stack index. Returns 0 if there is
** none. The peer is at index 1. */
int pt_handler_push(lua_State *L, int method);

/* Runs the handler on top, which is popped, in a task. The other arguments are
** stack indexes; `id` is 0 or that of nil for a notification. */
void pt_handler_run(lua_State *L, pt_peer *p, int id, int method, int params);

/* Called before a handler is run: afterwards the stack could no longer grow
** without risk, because an error would lose the message. */
void pt_handler_check_stack(lua_State *L);

/* Pushes the context of a handler that was called without one; nil for a task
** that is not a handler. */
void pt_handler_push_context(lua_State *L, pt_task *t);

/* Pushes the value at a stack index, nil for 0. */
static inline void pt_push_at(lua_State *L, int at) {
  if (at > 0)
    lua_pushvalue(L, at);
  else
    lua_pushnil(L);
}

/* Methods of the stream: handle and requests. */
int pt_handler_handle(lua_State *L);
int pt_handler_requests(lua_State *L);

/* ====== Dispatch (ldispatch.c) ======
** Receives messages and passes them on to pending calls, to handlers or to the
** policy. */

/* Sets the functions with which the loop reads peers. */
void pt_dispatch_set_hooks(lua_State *L, pt_loop *lp);

/* Called by the loop. */
void pt_dispatch_read_link(lua_State *L, pt_link *to_read);

/* Whether one more request may be started. */
int pt_dispatch_has_room(const pt_peer *p);

/* Method of the stream: receive_only. */
int pt_dispatch_receive_only(lua_State *L);

#endif
