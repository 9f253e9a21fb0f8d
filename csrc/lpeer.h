/*
** One conversation in the loop: the only place that reads messages and sends
** them on. A response resumes the task that waits for it; a request runs its
** handler in a task, and what that returns is the answer; everything else is
** decided by functions of Lua's, the policy that a peer is made with. They and
** what they are given are in lua/pintle/_meta/core.lua.
**
** lpeer.c makes calls and has the methods; ldispatch.c takes messages in and
** runs handlers.
*/
#ifndef PT_LPEER_H
#define PT_LPEER_H

#include "lloop.h"
#include "lstream.h"

#pragma GCC visibility push(hidden)

typedef struct pt_peer {
  pt_stream s; /* first: a peer is a stream */
  pt_loop *loop;
  pt_link to_write, to_read;
  pt_alarm overdue; /* when the first call in flight has to be answered */

  double timeout;    /* of calls, seconds; HUGE_VAL for none */
  double spin;       /* seconds to go on asking for an answer before sleeping */
  lua_Integer bound; /* handlers at work, besides those that wait for us */

  pt_task *handlers; /* at work, a list */
  lua_Integer running;

  int is_held;      /* requests go to the policy, not to handlers */
  int is_paused;    /* nothing is read */
  int is_deaf;      /* no call can be answered any more */
  int is_finished;  /* the input has ended, and the policy knows */
  int is_orphaned;  /* nothing will come but what is there */
  int is_blocked;   /* output waits for room */
  int is_clogged;   /* and it is so much that no request is begun */
  int is_reporting; /* the policy hears of every answer and every write */
  int watches;      /* what the loop watches its descriptors for */
} pt_peer;

/* The peer at `arg`, which is a userdata. Raises if it is none. */
pt_peer *pt_peer_check(lua_State *L, int arg);

/* Pushes its userdata; nil, and returns 0, if it is being collected. */
int pt_peer_push(lua_State *L, const pt_peer *p);

/* Pushes a function of the policy and the peer as Lua knows it, its first
** argument. The userdata is at `peer`. */
void pt_peer_push_policy(lua_State *L, int peer, const char *name);

/* There is something to be written. */
void pt_peer_queued(lua_State *L, pt_peer *p);

/* Has its descriptors watched as its state says. */
void pt_peer_watch(lua_State *L, pt_peer *p, int peer);

/* {====== ldispatch.c ====== */

/* Gives the two values on top to what waited for an answer; they are taken off.
** A task is resumed now, or in the next turn if `soon`. */
void pt_peer_settle(lua_State *L, void *waiter, int soon);

/* What PT_LOOP_READ is: (peer, readable, writable). */
void pt_peer_push_reader(lua_State *L);

/* For the loop. */
void pt_peer_give_up(lua_State *L, pt_link *to_read);
void pt_peer_describe(lua_State *L, pt_task *handler);
int pt_peer_wait_reading(lua_State *L, int watcher);

/* Whether one more request may be begun. */
int pt_peer_has_room(const pt_peer *p);

/* Methods. */
int pt_peer_handle(lua_State *L);
int pt_peer_requests(lua_State *L);
void pt_peer_push_listen(lua_State *L);

/* }====== */

#pragma GCC visibility pop

#endif
