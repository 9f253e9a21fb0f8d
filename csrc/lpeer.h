/*
** One conversation in the loop: the only place that reads and writes messages.
** A response resumes the task that waits for it. A request runs its handler in
** a task, and what the handler returns is the answer. Everything else is
** decided by Lua functions, the policy that a peer is made with; they and their
** arguments are in lua/pintle/_meta/core.lua.
**
** This file has the peer itself: its values, and the bytes that go in and out.
** lsend.c writes messages, lmessage.c reads them, lcall.c makes calls,
** ldispatch.c receives messages and runs handlers, and lopen.c opens a peer and
** has its methods.
*/
#ifndef PT_LPEER_H
#define PT_LPEER_H

#include "core.h"
#include "frame.h"
#include "io.h"
#include "lbuf.h"
#include "ljson.h"
#include "lloop.h"

#pragma GCC visibility push(hidden)

/* {====== Pending calls ======
** The calls that wait for an answer: ids given out from 1 upwards, and for each
** its deadline and what waits for it. The slot is the id's
** place in a ring; an id whose place is still taken is passed over, so nothing
** is ever searched but for what is overdue.
**
** The ring's memory is the caller's. */

typedef struct pt_pending_call {
  int64_t id;   /* 0 where the slot is free */
  double due;   /* when to give up on it; HUGE_VAL for never */
  void *waiter; /* the caller's */
} pt_pending_call;

typedef struct pt_pending {
  pt_pending_call *calls; /* by slot */
  size_t slots;           /* a power of two, or 0 at first */
  size_t count;
  int64_t last;    /* id given out last */
  size_t swept;    /* slots already looked at for what is overdue */
  double earliest; /* deadline among those, if swept is not 0 */
} pt_pending;

#define PT_PENDING_NONE SIZE_MAX

/* Whether the ring must grow before another id can be had. */
int pt_pending_is_full(const pt_pending *p);

/* The next id; it is taken only once it was sent. */
int64_t pt_pending_next(pt_pending *p);
void pt_pending_take(pt_pending *p, int64_t id, double due, void *waiter);

/* The slot of `id`, or PT_PENDING_NONE. */
size_t pt_pending_find(const pt_pending *p, int64_t id);

void pt_pending_remove(pt_pending *p, size_t slot);

/* The slot of a call whose deadline is `now` or before, for the caller to
** remove and ask again; or PT_PENDING_NONE when no more is, and the earliest
** deadline of the others in `next`. Calls made while this is asked again and
** again may be missed by `next`. */
size_t pt_pending_overdue(pt_pending *p, double now, double *next);

/* Moves to a ring of `slots` slots, at least twice as many as before, in the
** memory `calls`; the old memory is the caller's again. */
void pt_pending_move(pt_pending *p, pt_pending_call *calls, size_t slots);

/* }====== */

/* The user values of the userdata. */
enum {
  PT_PEER_SELF = 1, /* the Lua table that it is */
  PT_PEER_POLICY,   /* table: name to function */
  PT_PEER_HANDLERS, /* table: method to function */
  PT_PEER_CONTROLS, /* table: method to function, which is never held */
  PT_PEER_META,     /* the metatable of the context of a handler */
  PT_PEER_KEPT,     /* table: the values of `form`, and the codec */
  PT_PEER_BATCH,    /* the batch being read */
  PT_PEER_OTHERS,   /* table: other members of the last message, or nil */
  PT_PEER_VALUES = PT_PEER_OTHERS
};

/* Keys of the table PT_PEER_KEPT. */
enum {
  PT_KEPT_HEAD = 1,
  PT_KEPT_HEADER,
  PT_KEPT_DECODE,
  PT_KEPT_ENCODE,
  PT_KEPT_EXTRA, /* list: name, value, name, value of the extra members */
  PT_KEPT_VALUES = PT_KEPT_EXTRA
};

/* What comes in. */
typedef struct pt_input {
  pt_io io;
  int is_owned; /* closed with the peer */
  pt_framing framing;
  pt_buf buf;
  int at_end;        /* the input has ended */
  int is_drained;    /* the last read took all there was */
  int is_searched;   /* there is no whole message in the buffer */
  int is_reading;    /* a message is being decoded: the buffer must stay put */
  size_t need;       /* bytes that are missing of the next one, if known */
  size_t largest;    /* that ever was */
  size_t batch;      /* offset of the next member of a batch; 0 if in none */
  size_t batch_used; /* bytes the whole batch takes */
  const char *text;  /* the message being decoded */
  size_t text_len;
  size_t text_used;
} pt_input;

/* When to send while there is more to be read. Sending early lets both sides
** work at the same time, each on a core of its own. Where they share a core it
** only interrupts this side: that shows in the system's count of interruptions,
** and then more is gathered before it is sent. */
typedef struct pt_early {
  int waits_for_more; /* more is gathered */
  int count;       /* times sent early, or not sent, since that was decided */
  long interrupts; /* the system's count then */
} pt_early;

/* What goes out. */
typedef struct pt_output {
  pt_io io;
  int is_owned;
  pt_buf buf;
  pt_early early;
  int is_full;    /* an early write found no room; not tried since */
  int is_blocked; /* output waits for room */
  int is_clogged; /* and it is so much that no request is begun */
  int digits;     /* of the last length written: the guess for the next one */
} pt_output;

/* The forms of own ids that may come back. */
#define PT_ID_INTEGER 1u
#define PT_ID_STRING 2u

/* The form of messages, both ways; the texts are in PT_PEER_KEPT (lopen.c). */
typedef struct pt_form {
  const char *head;   /* the end of a header, and how a message begins: */
  size_t head_len;    /* CR LF CR LF {"jsonrpc":"2.0", */
  const char *header; /* what stands before the length: Content-Length: */
  size_t header_len;
  int string_ids;    /* own ids are sent as strings */
  unsigned id_forms; /* how calls that are pending may have been sent */
  int extras;        /* members that every message must have beside jsonrpc */
  int keeps_others;  /* members that are not JSON-RPC's are kept for a look */
} pt_form;

/* How payloads are read and written. */
typedef struct pt_codec {
  int is_foreign;        /* they go through another codec */
  int is_raw;            /* those received are kept as text */
  int is_ordered;        /* objects received keep the order of their members */
  int big_integers;      /* integers received keep all their digits */
  pt_encode_style style; /* and `depth` of it for what is received, too */
} pt_codec;

typedef struct pt_limits {
  size_t queue;  /* bytes that wait to be sent */
  size_t calls;  /* that wait for an answer */
  size_t text;   /* bytes of a malformed message in its report */
  size_t values; /* in one message */
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
  pt_alarm overdue; /* when the first call in flight has to be answered */

  double timeout; /* of calls, seconds; HUGE_VAL for none */
  double spin;    /* seconds to go on asking for an answer before sleeping */
  lua_Integer
      max_handlers;  /* handlers at work, besides those that wait for us */
  pt_task *handlers; /* at work, a list */
  lua_Integer running;

  int is_held;          /* requests go to the policy, not to handlers */
  int is_paused;        /* nothing is read */
  int fails_calls;      /* no call can be answered any more */
  int is_finished;      /* the input has ended, and the policy knows */
  int expects_end;      /* nothing will come but what is there */
  int watches_activity; /* the policy hears of every answer and every write */
  int watched_events;   /* what the loop watches its descriptors for */
} pt_peer;

/* Pushes a new one, born closed. */
pt_peer *pt_peer_new(lua_State *L, pt_loop *lp, const luaL_Reg *methods);

/* The peer at `arg`, which is a userdata. Raises if it is none. */
pt_peer *pt_peer_check(lua_State *L, int arg);

/* Pushes its userdata; nil, and returns 0, if it is being collected. */
int pt_peer_push(lua_State *L, const pt_peer *p);

/* The peer whose `to_read` this is. */
pt_peer *pt_peer_to_read(pt_link *l);

/* Pushes a function of the policy and the peer as Lua knows it, its first
** argument. The userdata is at `peer`. */
void pt_peer_push_policy(lua_State *L, int peer, const char *name);

/* Moves the value on top into the table of what is kept; pushes what is there
** under `key`, and returns its type. */
void pt_peer_keep(lua_State *L, int peer, int key);
int pt_peer_push_kept(lua_State *L, int peer, int key);

/* Has its descriptors watched as its state says. */
void pt_peer_watch(lua_State *L, pt_peer *p, int peer);

/* {====== Bytes ====== */

/* Reads what is there: 1 if bytes came, or the end; 0 if there is nothing yet;
** -1 if it failed, and the message and the kind are on top. */
int pt_peer_read_bytes(lua_State *L, pt_peer *p);

/* Waits for input by reading it, where nothing else is to be waited for: 1 if
** something came, or the end; 0 if it cannot be done so; -1 if a signal came.
*/
int pt_peer_wait(lua_State *L, pt_peer *p);

/* A message of so many bytes is received. */
void pt_peer_note_size(lua_State *L, pt_peer *p, size_t size);

/* Writes what is queued; the loop and the policy hear of the result. */
void pt_peer_write(lua_State *L, pt_peer *p);

/* Writes what is queued if it is worth it while there is more to be read. A
** failure is left for the next write to report. */
void pt_peer_write_early(lua_State *L, pt_peer *p);

/* There is something to be written: before the loop waits, or now if it does
** not turn. */
void pt_peer_write_soon(lua_State *L, pt_peer *p);
void pt_peer_write_link(lua_State *L, pt_link *to_write); /* for the loop */

/* }====== */

/* Drops the memory and descriptors; what is being decoded is kept until done.
*/
void pt_peer_release(lua_State *L, pt_peer *p);

/* Methods: finish and shut. */
int pt_peer_finish(lua_State *L);
int pt_peer_close_output(lua_State *L);

/* {====== Calls (lcall.c) ======
** Calls to the other side: made by a task, which yields, by code outside of
** tasks, which turns the loop, or for an event. A call is over when it is taken
** out of the ring of pending calls: by its answer, its deadline, or the code
** that gives it up. */

/* Prepares a new peer. */
void pt_call_init(pt_peer *p);

/* Gives the two values on top to what waited for an answer; they are taken off.
** A task is resumed now, or in the next turn if `soon`. */
void pt_call_complete(lua_State *L, void *waiter, int soon);

/* Adds call and notify, the methods of a Lua peer, and the value that stands
** for a missed deadline to the module's table, which is on top. */
void pt_call_add(lua_State *L);

/* Methods of its userdata: ask, complete_call and fail_calls. */
int pt_call_ask(lua_State *L);
int pt_call_complete_id(lua_State *L);
int pt_call_fail_all(lua_State *L);

/* }====== */

/* {====== Dispatch (ldispatch.c) ======
** What comes in: messages are sent on to the calls that wait for them, to
** handlers, or to the policy. A handler runs in a task, and what it returns is
** the answer. */

/* Tells the loop how to read peers. */
void pt_dispatch_set_hooks(lua_State *L, pt_loop *lp);

void pt_dispatch_read_link(lua_State *L, pt_link *to_read); /* for the loop */

/* Whether one more request may be begun. */
int pt_dispatch_has_room(const pt_peer *p);

/* Methods: handle, listen and requests. */
int pt_dispatch_handle(lua_State *L);
int pt_dispatch_receive_only(lua_State *L);
int pt_dispatch_requests(lua_State *L);

/* }====== */

#pragma GCC visibility pop

#endif
