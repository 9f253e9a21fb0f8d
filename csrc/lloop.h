/*
** The loop: the only place that waits. There is one for each Lua state. A turn
** runs the tasks that are ready, writes the queued output of peers, waits
** until a descriptor is ready, a timer is due or the deadline has come, and
** then reads and fires timers.
**
** No work that is still to be done is in a local variable while Lua code runs:
** that code may turn the loop itself.
**
** Tasks are threads of the loop; each runs one function after the other. A
** task waits for the answer to a call or for an event, and is resumed with the
** results of that wait. Code outside of a turn makes a task ready, and the
** next turn resumes it.
**
** The loop keeps tasks alive that have not ended, and idle ones. An event is
** kept alive by the code that waits for it or is going to set it.
**
** lloop.c turns the loop; ltask.c has the tasks and events.
*/
#ifndef PT_LLOOP_H
#define PT_LLOOP_H

#include <stdint.h>

#include "core.h"
#include "ljson.h"
#include "lwatchdog.h"
#include "poll.h"

#pragma GCC visibility push(hidden)

typedef struct pt_loop pt_loop;

/* A timer and its function. */
typedef struct pt_alarm {
  pt_timer timer; /* first: the heap knows it by this address */
  void (*fire)(lua_State *L, struct pt_alarm *a);
} pt_alarm;

/* Work for the loop before it waits: a member of the struct that it is for,
** and in its list at most once. */
typedef struct pt_link {
  void (*run)(lua_State *L, struct pt_link *l);
  struct pt_link *next;
  int is_listed;
  unsigned turn; /* for a peer: the turn that has read it last */
} pt_link;

typedef struct pt_list {
  pt_link *first, *last;
} pt_list;

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
  pt_link ready;  /* in the loop's list while its state is PT_TASK_READY */
  int args;       /* values on the thread's stack for the next resume */
  int is_stopped; /* every wait returns nil and the error at once */
  pt_task *next;  /* in the list of idle tasks, or of those of an event */
  pt_event *event;
  pt_alarm late; /* the deadline of its wait for an event */

  /* While it waits for an answer: withdraws the call, so that a late answer is
  ** dropped. `caller` and `call` are for this function. */
  void (*withdraw)(lua_State *L, pt_task *t);
  void *caller;
  int64_t call;

  /* Called when its function has returned or raised; the results, or the
  ** error, are on its own stack. Has to call pt_task_rest, before anything
  ** that can raise. */
  void (*ended)(lua_State *L, pt_task *t, int status, int results);

  /* For a handler: its peer; NULL for any other task. */
  void *peer;
  pt_task *next_handler, *previous_handler;
  pt_alarm deadline;
};

/* Something to wait for that happens once. */
struct pt_event {
  const void *mark;
  pt_loop *loop;
  int ref; /* while a call is to be answered by it */
  int is_set;
  int is_owned;   /* by the call that turns the loop for it */
  pt_event *next; /* among the spare ones */
  pt_task *first; /* the tasks that wait for it */
};

/* Its user values: the two values that it is set to, and a function. */
enum { PT_EVENT_ACTION = 3, PT_EVENT_VALUES = PT_EVENT_ACTION };

/* The values of the loop in the registry. */
enum {
  PT_LOOP_SELF,     /* the userdata */
  PT_LOOP_WATCHERS, /* table: descriptor to watcher */
  PT_LOOP_PEERS,    /* table: pointer to peer; weak */
  PT_LOOP_READ,     /* function(peer, PT_POLL_READ, PT_POLL_WRITE or both) */
  PT_LOOP_VALUES
};

struct pt_loop {
  int values[PT_LOOP_VALUES]; /* references: an integer is found fast */
  pt_poll poll;
  int is_open;
  int is_public; /* another loop waits for the poller's descriptor */
  int watched;   /* descriptors */
  pt_timers timers;

  pt_list ready; /* tasks, and functions of loop.soon */
  size_t ready_count;
  pt_list unwritten, unread; /* peers with output or input */

  pt_task *idle;
  int idle_count;
  pt_task *current; /* runs; NULL outside of tasks, and while the loop turns */
  int depth;        /* of tasks inside of each other */
  int turn_depth;   /* `depth` where the turn under way has begun */
  int is_turning;
  unsigned turns; /* so far */
  pt_watch *watch;

  pt_link *decoding; /* `to_read` of the peer whose message is decoded or
                     ** answered, or NULL: if memory is short, it is closed */
  pt_link *broken;   /* that of a peer to close for want of memory, or NULL */
  void (*give_up)(lua_State *L, pt_link *to_read); /* closes such a peer */
  int (*wait_reading)(lua_State *L, int watcher);
  void (*push_handler_context)(lua_State *L,
                               pt_task *handler); /* pushes its object */
  double spin; /* seconds to poll again and again before the next wait sleeps */
  pt_gc_debt *gc_debt;
  pt_event *spare; /* for calls from outside of tasks, a list */
};

/* The loop of this state; made if there is none yet. */
pt_loop *pt_loop_get(lua_State *L);

/* Pushes one of its values; sets one to the value on top, which is popped. */
void pt_loop_push(lua_State *L, const pt_loop *lp, int value);
void pt_loop_set(lua_State *L, const pt_loop *lp, int value);

/* Turns until the event is set (if there is one), the running task is stopped,
** or the deadline has come; HUGE_VAL is none. Queued output is written before
** it returns LUA_OK. With any other status, the error of a callback is on
** top. */
int pt_loop_turn_until(lua_State *L, pt_loop *lp, const pt_event *e,
                       double deadline);

/* Watches `fd` for PT_POLL_READ and PT_POLL_WRITE, 0 for neither, for the
** watcher at `index`. 0, or an error number. */
int pt_loop_watch(lua_State *L, pt_loop *lp, int fd, int events, int index);
void pt_loop_unwatch(lua_State *L, pt_loop *lp, int fd);

/* Sets or moves an alarm of a struct that is kept alive. */
void pt_loop_set_alarm(pt_loop *lp, pt_alarm *a, double at);
void pt_loop_clear_alarm(pt_loop *lp, pt_alarm *a);

/* Keeps the userdata on top alive and returns a reference; ends that, and the
** reference is LUA_NOREF then; pushes the userdata, nil for LUA_NOREF. */
int pt_loop_keep(lua_State *L);
void pt_loop_release(lua_State *L, int *ref);
void pt_loop_push_kept(lua_State *L, int ref);

/* Has the next turn run the link. */
void pt_loop_add_ready(pt_loop *lp, pt_link *l);

/* Has the next turn call the function at -2 with the value on top; both are
** popped. */
void pt_loop_call_soon(lua_State *L, pt_loop *lp);

void pt_list_add(pt_list *list, pt_link *l);
void pt_list_remove(pt_list *list, pt_link *l);

/* {====== Tasks (ltask.c) ====== */

/* Pushes an idle task; its stack is empty. Do what can raise before: a task
** that is neither run nor put to rest is lost. */
pt_task *pt_task_take(lua_State *L, pt_loop *lp);

/* Pushes the task's own userdata. */
void pt_task_push(lua_State *L, const pt_task *t);

/* Resumes it with the `args` values on its thread's stack, until it waits or
** ends. At most PT_TASK_DEPTH tasks run inside of each other: a deeper one
** becomes ready instead. */
void pt_task_run(lua_State *L, pt_task *t, int args);

#define PT_TASK_DEPTH 50

/* Has the next turn resume a waiting task with the `args` values on top of the
** stack of L, which are moved. */
void pt_task_wake(lua_State *L, pt_task *t, int args);

/* The task that runs in this very thread and can yield there, or NULL. */
pt_task *pt_task_here(lua_State *L, const pt_loop *lp);

/* Yields until the task is woken; a C function returns the result. `then`
** finds the results of the wait behind the values that are on the stack
** now. */
int pt_task_wait(lua_State *L, pt_task *t, lua_KContext context,
                 lua_KFunction then);

/* Ends the wait of a task, and every later one: they return nil and the error
** on top, which is popped. */
void pt_task_stop(lua_State *L, pt_task *t);

/* For `ended`, once the results and the user values that are still needed were
** moved: makes the task idle. A task that has raised is let go instead; then
** its userdata has to be on the stack of L. */
void pt_task_rest(lua_State *L, pt_task *t, int status);

/* For `ended`: pushes the error and a traceback. Closes the to-be-closed
** variables of the thread first; an error of that replaces the first one. */
void pt_task_take_failure(lua_State *L, pt_task *t);

/* Pushes the error that it was stopped with. */
void pt_task_push_stopped(lua_State *L, const pt_task *t);

/* }====== */

/* {====== Events (ltask.c) ====== */

/* The event at `arg`; raises if it is none. */
pt_event *pt_event_check(lua_State *L, int arg);

/* Pushes a new one. */
pt_event *pt_event_push(lua_State *L, pt_loop *lp);

/* Sets the event at `index` to the two values on top, which are popped, and
** wakes all tasks that wait for it. Only the first call has an effect. Never
** raises: if memory is short, the action is not called. */
void pt_event_set(lua_State *L, pt_event *e, int index);

/* Whether a waiter for an answer, a task or an event, is an event. */
int pt_is_event(const void *waiter);

/* Adds the functions of tasks to the table below the loop, which is on top and
** popped. */
void pt_tasks_add(lua_State *L);

/* }====== */

#pragma GCC visibility pop

#endif
