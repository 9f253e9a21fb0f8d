/*
** The loop: the only place that waits. One a Lua state. A turn runs the tasks
** that are ready, writes what peers have queued, waits until a descriptor is
** ready, a timer is due or the deadline has come, and then reads and fires.
**
** Nothing that is still to be done is in a local variable while Lua code runs:
** that code may turn the loop itself.
**
** Tasks: threads of the loop, which run one function after the other. A task
** waits for an answer to a call or for an event; what it is resumed with are
** the results of that wait. Whatever resumes a task from outside of the loop's
** turn makes it ready instead, and the next turn resumes it.
**
** Tasks that have not ended, and those that are idle, are kept alive by the
** loop. An event is kept alive by whoever waits for it or is going to set it.
**
** lloop.c turns; ltask.c has the tasks and events.
*/
#ifndef PT_LLOOP_H
#define PT_LLOOP_H

#include <stdint.h>

#include "lapi.h"
#include "ljson.h"
#include "lwatchdog.h"
#include "poll.h"
#include "timer.h"

#pragma GCC visibility push(hidden)

typedef struct pt_loop pt_loop;

/* A timer, and what is done when it is due. */
typedef struct pt_alarm {
  pt_timer timer; /* first: the heap knows it by this address */
  void (*fire)(lua_State *L, struct pt_alarm *a);
} pt_alarm;

typedef struct pt_task pt_task;
typedef struct pt_event pt_event;

/* The user values of a task. */
enum {
  PT_TASK_THREAD = 1,
  PT_TASK_OBJECT,  /* the Lua table that stands for what runs in it */
  PT_TASK_STOPPED, /* the error that its waits return once it was stopped */
  PT_TASK_ID,      /* for a handler: the id that it answers, */
  PT_TASK_METHOD,  /* and the method */
  PT_TASK_LATE,    /* the error of a wait that takes too long */
  PT_TASK_VALUES = PT_TASK_LATE
};

typedef enum pt_task_state {
  PT_TASK_IDLE,
  PT_TASK_RUNNING,
  PT_TASK_READY,  /* will be resumed by the next turn */
  PT_TASK_WAITING /* for an event, or an answer */
} pt_task_state;

struct pt_task {
  const void *mark; /* see pt_check_marked */
  pt_loop *loop;
  int ref; /* see pt_loop_keep */
  lua_State *thread;
  pt_task_state state;
  int args;       /* values on the thread's stack for the next resume */
  int is_stopped; /* every wait returns nil and the error at once */
  pt_task *next;  /* among the idle, or among those that wait for an event */
  pt_event *event;
  pt_alarm late; /* the deadline of its wait for an event */

  /* While it waits for an answer: takes the call back, so that the answer is
  ** for nobody. `caller` and `call` are its arguments. */
  void (*withdraw)(lua_State *L, pt_task *t);
  void *caller;
  int64_t call;

  /* Called when its function has returned or raised, with so many results on
  ** its own stack, or the error. Has to call pt_task_rest, before anything that
  ** can raise. */
  void (*ended)(lua_State *L, pt_task *t, int status, int results);

  /* For a handler: its peer; NULL for any other task. */
  void *peer;
  pt_task *next_handler, *previous_handler;
  pt_alarm deadline;
};

/* What is waited for, and happens once. */
struct pt_event {
  const void *mark;
  pt_loop *loop;
  int ref; /* while a call is to be answered by it */
  int is_set;
  int is_owned;   /* by the call that turns the loop for it */
  pt_event *next; /* among the spare ones */
  pt_task *first; /* tasks that wait for it */
};

/* Its user values: the two values that it is set to, and a function. */
enum { PT_EVENT_ACTION = 3, PT_EVENT_VALUES = PT_EVENT_ACTION };

/* The values of the loop, which the registry keeps. */
enum {
  PT_LOOP_SELF,     /* the userdata */
  PT_LOOP_WATCHERS, /* table: descriptor to watcher */
  PT_LOOP_SLOTS,    /* the memory of `poll` */
  PT_LOOP_CALLS,    /* table: functions to be called, and their subjects */
  PT_LOOP_PEERS,    /* table: pointer to peer, which is not kept alive */
  PT_LOOP_READ,     /* function(peer, PT_POLL_READ, PT_POLL_WRITE or both) */
  PT_LOOP_VALUES
};

/* Peers that have something to write, or to read, before the loop waits. A
** link is part of the peer, and in its list at most once. */
typedef struct pt_link {
  struct pt_link *next;
  int is_listed;
  unsigned turn; /* in which it was read last */
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

  /* A ring; NULL stands for the next of PT_LOOP_CALLS. It has room for every
  ** task and every call, so that to wake a task never needs memory. */
  pt_task **ready;
  size_t ready_first, ready_count, ready_room;
  size_t tasks; /* that are alive, the idle ones too */
  lua_Integer first_call, last_call;

  pt_task *idle;
  int idle_count;
  pt_task *current; /* runs; NULL outside of tasks, and while the loop turns */
  int depth;        /* of tasks inside of each other */
  int turn_depth;   /* the same where the turn under way has begun */
  int is_turning;
  unsigned turns; /* so far */
  pt_watch *watch;

  pt_list unwritten, unread;
  pt_link *decoding; /* a peer whose message is taken in or answered, or NULL:
                     ** given up if memory is short for that */
  pt_link *broken;   /* one for whose message memory was short, or NULL */
  void (*push_peer)(lua_State *L, pt_link *to_read);
  void (*write)(lua_State *L, pt_link *to_write);
  void (*give_up)(lua_State *L, pt_link *to_read); /* for want of memory */
  int (*wait_reading)(lua_State *L, int watcher);
  void (*describe)(lua_State *L, pt_task *handler); /* pushes its object */
  double spin; /* seconds to go on asking before the next wait sleeps */
  pt_arrears *arrears;
  pt_event *spare; /* for calls from outside of tasks, a list */
};

/* The loop of this state; made if there is none yet. */
pt_loop *pt_loop_get(lua_State *L);

/* Pushes one of its values; takes one off the stack. */
void pt_loop_push(lua_State *L, int value);
void pt_loop_set(lua_State *L, int value);

/* Turns until the event is set (if there is one), the running task is stopped,
** or the deadline has come; HUGE_VAL is none. What is queued is written before
** it returns LUA_OK. Any other status leaves on top what a callback raised. */
int pt_loop_turn_until(lua_State *L, pt_loop *lp, const pt_event *e,
                       double deadline);

/* Watches `fd` for PT_POLL_READ and PT_POLL_WRITE, 0 for neither, and has the
** watcher at `index` called. 0, or an error number. */
int pt_loop_watch(lua_State *L, pt_loop *lp, int fd, int events, int index);
void pt_loop_unwatch(lua_State *L, pt_loop *lp, int fd);

/* Makes room for one more alarm, after which setting one cannot fail; 0 when
** memory is short. */
int pt_loop_reserve_alarm(lua_State *L, pt_loop *lp);

/* Sets or moves an alarm of a struct that is kept alive. Raises when memory is
** short, and then nothing has changed. */
void pt_loop_set_alarm(lua_State *L, pt_loop *lp, pt_alarm *a, double at);
void pt_loop_clear_alarm(pt_loop *lp, pt_alarm *a);

/* Keeps the userdata on top alive, and returns the reference to it; lets go of
** it, and the reference is LUA_NOREF then; pushes it, nil for LUA_NOREF. */
int pt_loop_keep(lua_State *L);
void pt_loop_let_go(lua_State *L, int *ref);
void pt_loop_push_kept(lua_State *L, int ref);

/* Makes room in the ring for one more task, or call. Raises when memory is
** short, and then nothing has changed. */
void pt_loop_reserve_ready(lua_State *L, pt_loop *lp);

/* Adds a task to those that are ready; NULL for the last of PT_LOOP_CALLS.
** There is room for it. */
void pt_loop_add_ready(pt_loop *lp, pt_task *t);

/* Has the function at -2 called with the value on top in the next turn; both
** are taken off. */
void pt_loop_call_soon(lua_State *L, pt_loop *lp);

void pt_list_add(pt_list *list, pt_link *l);
void pt_list_remove(pt_list *list, pt_link *l);

/* {====== Tasks (ltask.c) ====== */

/* Pushes an idle task, its stack empty. What can raise comes before this: a
** task that is neither run nor at rest is lost. */
pt_task *pt_task_take(lua_State *L, pt_loop *lp);

/* Pushes the task's own userdata. */
void pt_task_push(lua_State *L, const pt_task *t);

/* Resumes it with the `args` values that are on its thread's stack, until it
** waits or ends. Runs at most PT_TASK_DEPTH tasks inside of each other: what is
** deeper becomes ready. */
void pt_task_run(lua_State *L, pt_task *t, int args);

#define PT_TASK_DEPTH 50

/* Has the next turn resume a task that waits, with the `args` values on top of
** the stack of L, which are moved. */
void pt_task_wake(lua_State *L, pt_task *t, int args);

/* The task that runs in this very thread and can yield there, or NULL. */
pt_task *pt_task_here(lua_State *L, const pt_loop *lp);

/* Yields until somebody resumes it, for a C function to return. `then` finds
** the results of the wait behind what is on the stack now. */
int pt_task_wait(lua_State *L, pt_task *t, lua_KContext context,
                 lua_KFunction then);

/* Ends the wait of a task, and every later one: they return nil and the error
** on top, which is taken off. */
void pt_task_stop(lua_State *L, pt_task *t);

/* For `ended`, once the results were taken off its stack and what is needed of
** its user values is elsewhere: has it wait for another function. If it has
** raised it is let go; then its userdata has to be on the stack of L. */
void pt_task_rest(lua_State *L, pt_task *t, int status);

/* For `ended`: pushes what was raised and a traceback. What the thread has left
** open is closed first, and what that raises counts instead. */
void pt_task_take_failure(lua_State *L, pt_task *t);

/* Pushes the error that it was stopped with. */
void pt_task_push_stopped(lua_State *L, const pt_task *t);

/* }====== */

/* {====== Events (ltask.c) ====== */

/* The event at `arg`; raises if it is none. */
pt_event *pt_event_check(lua_State *L, int arg);

/* Pushes a new one. */
pt_event *pt_event_push(lua_State *L, pt_loop *lp);

/* Sets the event at `index` to the two values on top, which are taken off, and
** wakes all that wait for it. Only the first time counts. Never raises: when
** memory is short it is the action that is not called. */
void pt_event_set(lua_State *L, pt_event *e, int index);

/* What waits for an answer is a task or an event; both begin with a mark. */
int pt_is_event(const void *waiter);

/* Adds the functions that Lua sees to the table below the loop, which is on
** top and taken off. */
void pt_tasks_add(lua_State *L);

/* }====== */

#pragma GCC visibility pop

#endif
