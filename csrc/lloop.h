/*
** The loop: the only place that waits. One a Lua state. A turn runs the tasks
** that are ready, writes what peers have queued, waits until a descriptor is
** ready, a timer is due or the deadline has come, and then reads and fires.
**
** Nothing that is still to be done is in a local variable while Lua code runs:
** that code may turn the loop itself.
*/
#ifndef PT_LLOOP_H
#define PT_LLOOP_H

#include "lapi.h"
#include "lnames.h"
#include "lwatchdog.h"
#include "ltask.h"
#include "poll.h"
#include "timer.h"

#pragma GCC visibility push(hidden)

/* The user values of the loop. */
enum {
  PT_LOOP_WATCHERS = 1, /* table: descriptor to watcher */
  PT_LOOP_SLOTS,        /* the memory of `poll` */
  PT_LOOP_LIVE,         /* table: pointer to userdata, which is kept alive */
  PT_LOOP_CALLS,        /* table: functions to be called, and their subjects */
  PT_LOOP_PEERS,        /* table: pointer to peer, which is not kept alive */
  PT_LOOP_READ,         /* function(peer, readable, writable) */
  PT_LOOP_VALUES = PT_LOOP_READ
};

/* Peers that have something to write, or to read, before the loop waits. A
** link is part of the peer, and in its list at most once. */
typedef struct pt_link {
  struct pt_link *next;
  int is_listed;
} pt_link;

typedef struct pt_list {
  pt_link *first, *last;
} pt_list;

struct pt_loop {
  const void *mark;
  pt_poll poll;
  int is_open;
  int is_public; /* another loop waits for the poller's descriptor */
  int watched;   /* descriptors */
  pt_timers timers;

  pt_task **ready; /* a ring; NULL stands for the next of PT_LOOP_CALLS */
  size_t ready_first, ready_count, ready_room;
  lua_Integer first_call, last_call;

  pt_task *idle;
  int idle_count;
  pt_task *current; /* runs; NULL outside of tasks, and while the loop turns */
  int depth;        /* of tasks inside of each other */
  int turn_depth;   /* the same where the turn under way has begun */
  int is_turning;
  pt_watch *watch;

  pt_list unwritten, unread;
  pt_link *decoding; /* a peer whose message is being decoded, or NULL */
  pt_link *broken;   /* one for whose message memory was short, or NULL */
  void (*push_peer)(lua_State *L, pt_link *to_read);
  void (*write)(lua_State *L, pt_link *to_write);
  void (*give_up)(lua_State *L, pt_link *to_read); /* for want of memory */
  int (*wait_reading)(lua_State *L, int watcher);
  void (*describe)(lua_State *L, pt_task *handler); /* pushes its object */
  double spin; /* seconds to go on asking before the next wait sleeps */
  pt_arrears *arrears;
  pt_event *spare; /* for a call from outside of tasks, if it is not in use */
  int is_spare_used;
};

/* The loop of this state; made if there is none yet. */
pt_loop *pt_loop_get(lua_State *L);

/* Pushes the loop itself, and one of its user values. */
void pt_loop_push_self(lua_State *L);
void pt_loop_push(lua_State *L, int value);

/* Turns until the event is set (if there is one), the running task is stopped,
** or the deadline has come; HUGE_VAL is none. What is queued is written before
** it returns LUA_OK. Any other status leaves on top what a callback raised. */
int pt_loop_turn_until(lua_State *L, pt_loop *lp, const pt_event *e,
                       double deadline);

/* Watches `fd` for PT_POLL_READ and PT_POLL_WRITE, 0 for neither, and has the
** watcher at `index` called. 0, or an error number. */
int pt_loop_watch(lua_State *L, pt_loop *lp, int fd, int events, int index);
void pt_loop_unwatch(lua_State *L, pt_loop *lp, int fd);

/* Sets or moves an alarm of a struct that somebody keeps alive. Raises when
** memory is short. */
void pt_loop_set_alarm(lua_State *L, pt_loop *lp, pt_alarm *a, double at);
void pt_loop_clear_alarm(pt_loop *lp, pt_alarm *a);

/* Keeps the userdata on top alive under its pointer, and lets go of it. */
void pt_loop_keep(lua_State *L, const void *pointer);
void pt_loop_let_go(lua_State *L, const void *pointer);

/* Adds a task to those that are ready; NULL for the last of PT_LOOP_CALLS.
** Raises when memory is short, and then nothing has changed. */
void pt_loop_add_ready(lua_State *L, pt_loop *lp, pt_task *t);

/* Has the function at -2 called with the value on top in the next turn; both
** are taken off. */
void pt_loop_call_soon(lua_State *L, pt_loop *lp);

void pt_list_add(pt_list *list, pt_link *l);
void pt_list_remove(pt_list *list, pt_link *l);

#pragma GCC visibility pop

#endif
