/*
** Tasks: threads of the loop, which run one function after the other. A task
** waits for an answer to a call or for an event; what it is resumed with are
** the results of that wait. Whatever resumes a task from outside of the loop's
** turn makes it ready instead, and the next turn resumes it.
**
** Tasks that have not ended, and those that are idle, are kept alive by the
** loop. An event is kept alive by whoever waits for it or is going to set it.
*/
#ifndef PT_LTASK_H
#define PT_LTASK_H

#include <stdint.h>

#include "lapi.h"
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
  PT_TASK_PEER,    /* for a handler: the peer that it answers, */
  PT_TASK_ID,      /* the id, if there is no object that has it, */
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
  const void *mark; /* see pt_check_self */
  pt_loop *loop;
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
  ** its own stack, or the error. */
  void (*ended)(lua_State *L, pt_task *t, int status, int results);

  /* For a handler. */
  void *peer;
  pt_task *next_handler, *previous_handler;
  pt_alarm deadline;
};

/* What is waited for, and happens once. */
struct pt_event {
  const void *mark;
  pt_loop *loop;
  int is_set;
  int is_owned;   /* by the call that turns the loop for it, which lets it go */
  pt_task *first; /* tasks that wait for it */
};

/* Its user values: the two values that it is set to, and a function. */
enum { PT_EVENT_ACTION = 3, PT_EVENT_VALUES = PT_EVENT_ACTION };

/* {====== Tasks ====== */

/* Pushes an idle task, its stack empty. */
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

/* For `ended`: pushes what was raised and a traceback. What the thread has left
** open is closed first, and what that raises counts instead. */
void pt_task_take_failure(lua_State *L, pt_task *t);

/* Pushes the error that it was stopped with. */
void pt_task_push_stopped(lua_State *L, const pt_task *t);

/* }====== */

/* {====== Events ====== */

/* The event at `arg`; raises if it is none. */
pt_event *pt_event_check(lua_State *L, int arg);

/* Pushes a new one. */
pt_event *pt_event_push(lua_State *L, pt_loop *lp);

/* Sets the event at `index` to the two values on top, which are taken off, and
** wakes all that wait for it. Only the first time counts. */
void pt_event_set(lua_State *L, pt_event *e, int index);

/* What waits for an answer is a task or an event; both begin with a mark. */
int pt_is_event(const void *waiter);

/* Adds the functions that Lua sees to the table below the loop, which is on
** top and taken off. */
void pt_tasks_add(lua_State *L);

/* }====== */

#pragma GCC visibility pop

#endif
