/*
** The event loop, the only code that waits. Each Lua state has one. A turn runs
** the tasks that are ready, writes the queued output of peers, waits until a
** descriptor is ready, a timer is due or the deadline is reached, and then
** reads input and fires timers.
**
** While Lua code runs, no pending work is stored in a local variable of a turn:
** the Lua code may turn the loop itself, and the nested turn must find that
** work.
**
** A task is a thread of the loop. It runs one function after the other. A task
** waits for the answer to a call or for an event, and is resumed with the
** results of that wait. Code outside of a turn makes a task ready; the next
** turn resumes it.
**
** The loop keeps unfinished and idle tasks alive. An event is kept alive by the
** code that waits for it or is going to set it.
**
** lloop.c turns the loop; ltask.c implements tasks and events.
*/
#ifndef PT_LLOOP_H
#define PT_LLOOP_H

#include <stdint.h>

#include "core.h"
#include "ljson.h"
#include "lwatchdog.h"
#include "poll.h"

typedef struct pt_loop pt_loop;

/* A timer and the function that it calls. */
typedef struct pt_alarm {
  pt_timer timer;
  void (*fire)(lua_State *L, struct pt_alarm *a);
} pt_alarm;

/* Work that the loop does before it waits. A link is a member of another
** struct, and is in its list at most once. */
typedef struct pt_link {
  void (*run)(lua_State *L, struct pt_link *l);
  struct pt_link *next;
  int is_listed;
  unsigned turn; /* for a peer: number of the turn that read it last */
} pt_link;

typedef struct pt_list {
  pt_link *first, *last;
} pt_list;

typedef struct pt_task pt_task;
typedef struct pt_event pt_event;

/* User values of a task. */
enum {
  PT_TASK_THREAD = 1,
  PT_TASK_OBJECT,  /* the Lua table that represents the running function */
  PT_TASK_STOPPED, /* the error that waits return after the task was stopped */
  PT_TASK_ID,      /* for a handler: the id of the request ... */
  PT_TASK_METHOD,  /* ... and its method */
  PT_TASK_LATE,    /* the error of a wait that has timed out */
  PT_TASK_VALUES = PT_TASK_LATE
};

typedef enum pt_task_state {
  PT_TASK_IDLE,
  PT_TASK_RUNNING,
  PT_TASK_READY,  /* will be resumed by the next turn */
  PT_TASK_WAITING /* for an event or an answer */
} pt_task_state;

struct pt_task {
  const void *mark; /* see pt_check_marked */
  pt_loop *loop;
  int ref; /* see pt_loop_keep */
  lua_State *thread;
  pt_task_state state;
  pt_link ready;  /* in the loop's list while the state is PT_TASK_READY */
  int args;       /* values on the thread's stack for the next resume */
  int is_stopped; /* every wait returns nil and the error immediately */
  pt_task *next;  /* next idle task, or next task waiting for the same event */
  pt_event *event;
  pt_alarm late; /* deadline of its wait for an event */

  /* Set while the task waits for an answer: withdraws the call, so that a late
  ** answer is dropped. `caller` and `call` belong to this function. */
  void (*withdraw)(lua_State *L, pt_task *t);
  void *caller;
  int64_t call;

  /* Called after the task's function has returned or raised. The results, or
  ** the error, are on the task's own stack. Must call pt_task_rest before
  ** anything that can raise. */
  void (*ended)(lua_State *L, pt_task *t, int status, int results);

  /* For a handler: its peer. NULL for any other task. */
  void *peer;
  pt_task *next_handler, *previous_handler;
  pt_alarm deadline;
};

/* Tasks wait for an event. An event is set at most once. */
struct pt_event {
  const void *mark;
  pt_loop *loop;
  int ref; /* while a pending call will set it */
  int is_set;
  int is_owned;   /* by a call that turns the loop until it is set */
  pt_event *next; /* next spare event */
  pt_task *first; /* first of the tasks that wait for it */
};

/* User values of an event: its two values, and a function. */
enum { PT_EVENT_ACTION = 3, PT_EVENT_VALUES = PT_EVENT_ACTION };

/* Values of the loop in the registry. */
enum {
  PT_LOOP_SELF,     /* the userdata */
  PT_LOOP_WATCHERS, /* table: descriptor to watcher */
  PT_LOOP_PEERS,    /* table: pointer to peer; weak */
  PT_LOOP_READ,     /* function(peer, PT_POLL_READ, PT_POLL_WRITE or both) */
  PT_LOOP_VALUES
};

struct pt_loop {
  /* registry references: access by integer is fast */
  int values[PT_LOOP_VALUES];
  pt_poll poll;
  int is_open;
  int has_outer_loop; /* another loop waits for the descriptor of the poller */
  int watched;        /* number of watched descriptors */
  pt_timers timers;

  pt_list ready; /* tasks, and callbacks of loop.soon */
  size_t ready_count;
  /* peers with queued output; peers with unread input */
  pt_list unwritten, unread;

  pt_task *idle;
  int idle_count;
  /* the running task; NULL outside of tasks and during a turn */
  pt_task *current;
  int depth;      /* number of nested running tasks */
  int turn_depth; /* `depth` at the start of the current turn */
  int is_turning;
  unsigned turns; /* number of turns so far */
  pt_watch *watch;

  /* `to_read` of the peer whose message is being decoded or answered, or NULL.
  ** If there is not enough memory, that peer is closed. */
  pt_link *decoding;
  /* `to_read` of a peer that must be closed because there was not enough
  ** memory, or NULL */
  pt_link *broken;
  void (*give_up)(lua_State *L, pt_link *to_read); /* closes such a peer */
  int (*wait_reading)(lua_State *L, int watcher);
  void (*push_handler_context)(lua_State *L,
                               /* pushes the object of a handler's task */
                               pt_task *handler);
  double spin; /* seconds of busy polling before the next wait sleeps */
  pt_gc_debt *gc_debt;
  pt_event *spare_events; /* unused events for calls from outside of tasks */
};

/* Returns the loop of this state, and creates it on the first call. */
pt_loop *pt_loop_get(lua_State *L);

/* Push one of the values; set one to the value on top, which is popped. */
void pt_loop_push(lua_State *L, const pt_loop *lp, int value);
void pt_loop_set(lua_State *L, const pt_loop *lp, int value);

/* Turns the loop until the event is set (if `e` is not NULL), the running task
** is stopped, or the deadline is reached (HUGE_VAL: no deadline). Writes queued
** output before it returns LUA_OK. With any other status, the error of a
** callback is on top. */
int pt_loop_turn_until(lua_State *L, pt_loop *lp, const pt_event *e,
                       double deadline);

/* Watches `fd` for PT_POLL_READ and PT_POLL_WRITE (0: neither) for the watcher
** at `index`. Returns 0 or an error number. */
int pt_loop_watch(lua_State *L, pt_loop *lp, int fd, int events, int index);
void pt_loop_unwatch(lua_State *L, pt_loop *lp, int fd);

/* Sets or changes an alarm. The struct that contains the alarm must stay alive
** until the alarm has fired or was cleared. */
void pt_loop_set_alarm(pt_loop *lp, pt_alarm *a, double at);
void pt_loop_clear_alarm(pt_loop *lp, pt_alarm *a);

/* pt_loop_keep keeps the userdata on top alive and returns a reference.
** pt_loop_release drops the reference and sets it to LUA_NOREF.
** pt_loop_push_kept pushes the userdata, or nil for LUA_NOREF. */
int pt_loop_keep(lua_State *L);
void pt_loop_release(lua_State *L, int *ref);
void pt_loop_push_kept(lua_State *L, int ref);

/* The next turn runs the link. */
void pt_loop_add_ready(pt_loop *lp, pt_link *l);

/* The next turn calls the function at -2 with the value on top. Both are
** popped. */
void pt_loop_call_soon(lua_State *L, pt_loop *lp);

void pt_list_add(pt_list *list, pt_link *l);
void pt_list_remove(pt_list *list, pt_link *l);

/* ====== Tasks (ltask.c) ====== */

/* Pushes an idle task with an empty stack. Do everything that can raise before
** this call: a task that is neither run nor passed to pt_task_rest is lost. */
pt_task *pt_task_take(lua_State *L, pt_loop *lp);

/* Pushes the userdata of the task. */
void pt_task_push(lua_State *L, const pt_task *t);

/* Resumes the task with the `args` values on its thread's stack, until it waits
** or ends. At most PT_TASK_DEPTH tasks run nested in each other; a task at a
** greater depth becomes ready instead. */
void pt_task_run(lua_State *L, pt_task *t, int args);

#define PT_TASK_DEPTH 50

/* The next turn resumes a waiting task with the `args` values on top of the
** stack of L, which are moved to the task. */
void pt_task_wake(lua_State *L, pt_task *t, int args);

/* Returns the task that runs in this thread and can yield here, or NULL. */
pt_task *pt_task_here(lua_State *L, const pt_loop *lp);

/* Yields until the task is woken. The calling C function must return the
** result. `then` finds the results of the wait above the values that are on the
** stack now. */
int pt_task_wait(lua_State *L, pt_task *t, lua_KContext context,
                 lua_KFunction then);

/* Ends the current and every later wait of a task: they return nil and the
** error on top, which is popped. */
void pt_task_stop(lua_State *L, pt_task *t);

/* For `ended`, after it has moved the results and user values that it still
** needs: makes the task idle. A task that has raised is released instead; then
** its userdata must be on the stack of L. */
void pt_task_rest(lua_State *L, pt_task *t, int status);

/* For `ended`: pushes the error and a traceback. First closes the to-be-closed
** variables of the thread; an error raised by them replaces the first one. */
void pt_task_take_failure(lua_State *L, pt_task *t);

/* Pushes the error that the task was stopped with. */
void pt_task_push_stopped(lua_State *L, const pt_task *t);

/* ====== Events (ltask.c) ====== */

/* Returns the event at `arg`. Raises if it is not one. */
pt_event *pt_event_check(lua_State *L, int arg);

/* Pushes a new event. */
pt_event *pt_event_push(lua_State *L, pt_loop *lp);

/* Sets the event at `index` to the two values on top, which are popped, and
** wakes all tasks that wait for it. Only the first call has an effect. Never
** raises: if there is not enough memory, the action is not called. */
void pt_event_set(lua_State *L, pt_event *e, int index);

/* Whether the waiter of a call is an event. If not, it is a task. */
int pt_is_event(const void *waiter);

/* Adds the functions for tasks to the table below the loop's userdata, which is
** on top and is popped. */
void pt_tasks_add(lua_State *L);

#endif
