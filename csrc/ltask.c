/*
** Tasks and events. A task is a userdata with a Lua thread. The thread is used
** for one function after the other, because creating a thread takes longer than
** many handlers run.
*/
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <string.h>

#include "core.h"
#include "io.h"
#include "lloop.h"

#define TASK "pintle.core.task"
#define EVENT "pintle.event"

/* Idle tasks that are kept for reuse. */
#define MOST_IDLE 256

/* The first member of every task and every event points to one of these. */
static const char task_mark = 0;
static const char event_mark = 0;

int pt_is_event(const void *waiter) {
  return *(const void *const *)waiter == &event_mark;
}

/* ====== Tasks ====== */

void pt_task_push(lua_State *L, const pt_task *t) {
  pt_loop_push_kept(L, t->ref);
}

/* push_task_value pushes a user value and returns its type. set_task_value sets
** one to the value on top, which is popped. */
static int push_task_value(lua_State *L, const pt_task *t, int value) {
  int type;
  pt_task_push(L, t);
  type = lua_getiuservalue(L, -1, value);
  lua_remove(L, -2);
  return type;
}

static void set_task_value(lua_State *L, const pt_task *t, int value) {
  pt_task_push(L, t);
  lua_insert(L, -2);
  lua_setiuservalue(L, -2, value);
  lua_pop(L, 1);
}

void pt_task_push_stopped(lua_State *L, const pt_task *t) {
  push_task_value(L, t, PT_TASK_STOPPED);
}

static void fire_event_wait_deadline(lua_State *L, pt_alarm *a);
static void fire_task_deadline(lua_State *L, pt_alarm *a);
static void run_ready_task(lua_State *L, pt_link *l);

/* Creates a task. It is kept alive by its reference from the end of this
** function on; an error before that leaves it to the collector. */
static pt_task *make_task(lua_State *L, pt_loop *lp) {
  pt_task *t = lua_newuserdatauv(L, sizeof *t, PT_TASK_VALUES);
  memset(t, 0, sizeof *t);
  t->mark = &task_mark;
  t->ref = LUA_NOREF;
  t->loop = lp;
  t->late.fire = fire_event_wait_deadline;
  t->deadline.fire = fire_task_deadline;
  t->ready.run = run_ready_task;
  pt_set_class(L, TASK, NULL, NULL);
  t->thread = lua_newthread(L);
  lua_setiuservalue(L, -2, PT_TASK_THREAD);
  pt_watch_set_hook(lp->watch, L, t->thread);
  t->ref = pt_loop_keep(L);
  return t;
}

pt_task *pt_task_take(lua_State *L, pt_loop *lp) {
  pt_task *t = lp->idle;
  if (t == NULL)
    return make_task(L, lp);
  pt_task_push(L, t);
  lp->idle = t->next;
  lp->idle_count--;
  t->next = NULL;
  pt_watch_set_hook(lp->watch, L, t->thread);
  return t;
}

/* An idle task keeps no value of its last function. A thread that has raised is
** not reused: if a hook has raised, hooks stay disabled in that thread. */
void pt_task_rest(lua_State *L, pt_task *t, int status) {
  pt_loop *lp = t->loop;
  lua_pushnil(L);
  set_task_value(L, t, PT_TASK_OBJECT);
  if (t->is_stopped) {
    lua_pushnil(L);
    set_task_value(L, t, PT_TASK_STOPPED);
  }
  pt_loop_clear_alarm(lp, &t->deadline);
  t->is_stopped = 0;
  t->state = PT_TASK_IDLE;
  if (status != LUA_OK || lp->idle_count >= MOST_IDLE) {
    pt_loop_release(L, &t->ref);
    return;
  }
  lua_settop(t->thread, 0);
  t->next = lp->idle;
  lp->idle = t;
  lp->idle_count++;
}

/* A turn that has begun at this depth still runs tasks, one at a time;
** otherwise it would never end. */
static int is_task_too_deep(const pt_loop *lp) {
  return lp->depth >= PT_TASK_DEPTH && lp->depth > lp->turn_depth;
}

/* The next turn resumes the task with the `args` values on its thread's stack.
*/
static void make_task_ready(pt_task *t, int args) {
  t->args = args;
  t->state = PT_TASK_READY;
  pt_loop_add_ready(t->loop, &t->ready);
}

static void run_ready_task(lua_State *L, pt_link *l) {
  pt_task *t = PT_CONTAINER(pt_task, ready, l);
  pt_task_run(L, t, t->args);
}

void pt_task_run(lua_State *L, pt_task *t, int args) {
  pt_loop *lp = t->loop;
  pt_task *outer = lp->current;
  int status, results;
  if (is_task_too_deep(lp)) {
    make_task_ready(t, args);
    return;
  }
  t->state = PT_TASK_RUNNING;
  lp->decoding = NULL;
  lp->current = t;
  lp->depth++;
  status = pt_watch_resume(lp->watch, L, t->thread, args, &results);
  lp->depth--;
  lp->current = outer;
  if (status != LUA_YIELD) {
    t->ended(L, t, status, results);
    /* it has yielded without waiting for anything */
  } else if (t->state == PT_TASK_RUNNING) {
    lua_pop(t->thread, results);
    make_task_ready(t, 0);
  }
}

/* Removes the task from the list of its event. */
static void leave_event_of_task(pt_task *t) {
  pt_task **link;
  if (t->event == NULL)
    return;
  for (link = &t->event->first; *link != t; link = &(*link)->next)
    ;
  *link = t->next;
  t->next = NULL;
  t->event = NULL;
}

void pt_task_wake(lua_State *L, pt_task *t, int args) {
  if (!lua_checkstack(t->thread, args))
    luaL_error(L, "not enough memory");
  leave_event_of_task(t);
  pt_loop_clear_alarm(t->loop, &t->late);
  t->withdraw = NULL;
  lua_xmove(L, t->thread, args);
  make_task_ready(t, args);
}

pt_task *pt_task_here(lua_State *L, const pt_loop *lp) {
  pt_task *t = lp->current;
  return t != NULL && t->thread == L && lua_isyieldable(L) ? t : NULL;
}

int pt_task_wait(lua_State *L, pt_task *t, lua_KContext context,
                 lua_KFunction then) {
  t->state = PT_TASK_WAITING;
  return lua_yieldk(L, 0, context, then);
}

void pt_task_stop(lua_State *L, pt_task *t) {
  void (*withdraw)(lua_State *, pt_task *) = t->withdraw;
  if (t->is_stopped) {
    lua_pop(L, 1);
    return;
  }
  set_task_value(L, t, PT_TASK_STOPPED);
  t->is_stopped = 1;
  if (t->state != PT_TASK_WAITING)
    return;
  lua_pushnil(L);
  pt_task_push_stopped(L, t);
  pt_task_wake(L, t, 2);
  if (withdraw != NULL)
    withdraw(L, t);
}

/* ====== Events ====== */

pt_event *pt_event_check(lua_State *L, int arg) {
  return pt_check_marked(L, arg, sizeof(pt_event), &event_mark, EVENT);
}

/* event:set(a, b) */
static int event_set(lua_State *L) {
  pt_event *e = pt_event_check(L, 1);
  lua_settop(L, 3);
  pt_event_set(L, e, 1);
  return 0;
}

static int push_event_values(lua_State *L) {
  lua_getiuservalue(L, 1, 1);
  lua_getiuservalue(L, 1, 2);
  return 2;
}

/* event:on_set(action): action(event) is called in the turn after the event is
** set */
static int event_on_set(lua_State *L) {
  pt_event_check(L, 1);
  luaL_checktype(L, 2, LUA_TFUNCTION);
  lua_settop(L, 2);
  lua_setiuservalue(L, 1, PT_EVENT_ACTION);
  return 0;
}

/* event:is_set() -> boolean */
static int event_is_set(lua_State *L) {
  lua_pushboolean(L, pt_event_check(L, 1)->is_set);
  return 1;
}

/* Adds the task to the end of the event's list, so that tasks wake in the order
** in which they began to wait. */
static void join_event_waiters(lua_State *L, pt_task *t, pt_event *e,
                               double due) {
  pt_task **last;
  if (due < HUGE_VAL) {
    lua_pushvalue(L, 3);
    set_task_value(L, t, PT_TASK_LATE);
    pt_loop_set_alarm(t->loop, &t->late, due);
  }
  t->event = e;
  for (last = &e->first; *last != NULL; last = &(*last)->next)
    ;
  *last = t;
}

/* Ends the wait of a task at its deadline. */
static void fire_event_wait_deadline(lua_State *L, pt_alarm *a) {
  pt_task *t = PT_CONTAINER(pt_task, late, a);
  lua_pushnil(L);
  push_task_value(L, t, PT_TASK_LATE);
  pt_task_wake(L, t, 2);
}

/* Returns the results of a wait that turned the loop or did not have to wait.
*/
static int end_event_wait(lua_State *L, const pt_event *e) {
  const pt_task *t = e->loop->current;
  if (e->is_set)
    return push_event_values(L);
  lua_pushnil(L);
  if (t != NULL && t->is_stopped)
    pt_task_push_stopped(L, t);
  else
    lua_pushvalue(L, 3);
  return 2;
}

/* event:wait(seconds, late) -> the two values of the event | nil, late | nil,
** the error that the task was stopped with */
static int event_wait(lua_State *L) {
  pt_event *e = pt_event_check(L, 1);
  pt_loop *lp = e->loop;
  double seconds = luaL_optnumber(L, 2, HUGE_VAL), due;
  pt_task *t;
  lua_settop(L, 3);
  if (e->is_set || (lp->current != NULL && lp->current->is_stopped))
    return end_event_wait(L, e);
  due = seconds < HUGE_VAL ? pt_clock_now() + seconds : HUGE_VAL;
  t = pt_task_here(L, lp);
  if (t == NULL)
    return pt_loop_turn_until(L, lp, e, due) == LUA_OK ? end_event_wait(L, e)
                                                       : lua_error(L);
  join_event_waiters(L, t, e, due);
  return pt_task_wait(L, t, 3, pt_return_above);
}

/* A task that waits for an event keeps the event alive: it is on the stack of
** the task. */
pt_event *pt_event_push(lua_State *L, pt_loop *lp) {
  static const luaL_Reg methods[] = {{"is_set", event_is_set},
                                     {"on_set", event_on_set},
                                     {"set", event_set},
                                     {"wait", event_wait},
                                     {NULL, NULL}};
  pt_event *e = lua_newuserdatauv(L, sizeof *e, PT_EVENT_VALUES);
  memset(e, 0, sizeof *e);
  e->mark = &event_mark;
  e->ref = LUA_NOREF;
  e->loop = lp;
  pt_set_class(L, EVENT, methods, NULL);
  return e;
}

/* In a protected call: (action, event). */
static int call_event_action_soon(lua_State *L) {
  pt_loop_call_soon(L, ((pt_event *)lua_touserdata(L, 2))->loop);
  return 0;
}

void pt_event_set(lua_State *L, pt_event *e, int index) {
  int b = lua_gettop(L), a = b - 1;
  if (!e->is_set) {
    lua_pushvalue(L, a);
    lua_setiuservalue(L, index, 1);
    lua_pushvalue(L, b);
    lua_setiuservalue(L, index, 2);
    e->is_set = 1;
    while (e->first != NULL) {
      lua_pushvalue(L, a);
      lua_pushvalue(L, b);
      pt_task_wake(L, e->first, 2);
    }
    if (lua_getiuservalue(L, index, PT_EVENT_ACTION) != LUA_TNIL) {
      lua_pushcfunction(L, call_event_action_soon);
      lua_insert(L, -2);
      lua_pushvalue(L, index);
      lua_pcall(L, 2, 0, 0);
    }
  }
  lua_settop(L, a - 1);
}

/* ====== What Lua sees ====== */

static pt_loop *task_loop_upvalue(lua_State *L) {
  return lua_touserdata(L, lua_upvalueindex(1));
}

/* loop.event() -> event */
static int loop_event(lua_State *L) {
  pt_event_push(L, task_loop_upvalue(L));
  return 1;
}

void pt_task_take_failure(lua_State *L, pt_task *t) {
  lua_State *thread = t->thread;
  /* the watchdog may have set it to abort the task */
  lua_sethook(thread, NULL, 0, 0);
  lua_checkstack(thread, 1);
  lua_pushvalue(thread, -1);
  lua_xmove(thread, L, 1);
  luaL_traceback(L, thread, NULL, 0);
  if (lua_resetthread(thread) != LUA_OK && lua_gettop(thread) > 0) {
    lua_xmove(thread, L, 1);
    lua_replace(L, -3);
  }
}

/* Called when the function of loop.start has ended. Reports an error to the
** task's object. */
static void task_function_ended(lua_State *L, pt_task *t, int status,
                                int results) {
  int top = lua_gettop(L);
  (void)results;
  if (status == LUA_OK) {
    pt_task_rest(L, t, status);
    return;
  }
  pt_task_push(L, t); /* pt_task_rest releases it */
  push_task_value(L, t, PT_TASK_OBJECT);
  pt_task_rest(L, t, status);
  lua_getfield(L, -1, "failed");
  lua_insert(L, -2);
  pt_task_take_failure(L, t);
  lua_call(L, 3, 0);
  lua_settop(L, top);
}

/* loop.start(object, function, ...): runs the function in a task, immediately
** and until it waits. If it raises, object:failed(error, traceback) is called.
*/
static int loop_start(lua_State *L) {
  pt_loop *lp = task_loop_upvalue(L);
  int args = lua_gettop(L) - 2;
  pt_task *t;
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checkany(L, 2);
  if (!lua_checkstack(L, LUA_MINSTACK))
    return luaL_error(L, "not enough memory");
  lua_pushboolean(L, 0);
  /* reserves the field: setting it below cannot fail */
  lua_setfield(L, 1, "task");
  t = pt_task_take(L, lp);
  if (!lua_checkstack(t->thread, args + 1)) {
    pt_task_rest(L, t, LUA_OK);
    return luaL_error(L, "too many arguments");
  }
  lua_pushvalue(L, -1);
  lua_setfield(L, 1, "task");
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, PT_TASK_OBJECT);
  lua_pop(L, 1);
  t->ended = task_function_ended;
  lua_xmove(L, t->thread, args + 1);
  pt_task_run(L, t, args);
  return 0;
}

/* loop.current() -> object | nil */
static int loop_current(lua_State *L) {
  pt_loop *lp = task_loop_upvalue(L);
  if (lp->current == NULL) {
    lua_pushnil(L);
  } else if (push_task_value(L, lp->current, PT_TASK_OBJECT) == LUA_TNIL &&
             lp->push_handler_context != NULL) {
    lua_pop(L, 1);
    lp->push_handler_context(L, lp->current);
  }
  return 1;
}

/* Returns the task that the object at index 1 represents, or NULL if it has
** ended. */
static pt_task *task_of_object(lua_State *L) {
  pt_task *t = NULL;
  luaL_checktype(L, 1, LUA_TTABLE);
  if (lua_getfield(L, 1, "task") == LUA_TUSERDATA) {
    t = pt_check_marked(L, -1, sizeof *t, &task_mark, TASK);
    lua_getiuservalue(L, -1, PT_TASK_OBJECT);
    if (!lua_rawequal(L, -1, 1))
      t = NULL;
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return t;
}

/* loop.stop(object, err): every wait of its task returns nil and err */
static int loop_stop(lua_State *L) {
  pt_task *t = task_of_object(L);
  luaL_checkany(L, 2);
  lua_settop(L, 2);
  if (t != NULL)
    pt_task_stop(L, t);
  return 0;
}

/* loop.set_deadline(object, seconds): calls object:expire() after that time,
** unless its task has ended */
static int loop_set_deadline(lua_State *L) {
  pt_task *t = task_of_object(L);
  double seconds = luaL_checknumber(L, 2);
  if (t != NULL)
    pt_loop_set_alarm(t->loop, &t->deadline, pt_clock_now() + seconds);
  return 0;
}

static void fire_task_deadline(lua_State *L, pt_alarm *a) {
  pt_task *t = PT_CONTAINER(pt_task, deadline, a);
  if (push_task_value(L, t, PT_TASK_OBJECT) == LUA_TTABLE) {
    lua_getfield(L, -1, "expire");
    lua_pushvalue(L, -2);
    lua_call(L, 1, 0);
  }
  lua_pop(L, 1);
}

static const luaL_Reg functions[] = {{"current", loop_current},
                                     {"event", loop_event},
                                     {"set_deadline", loop_set_deadline},
                                     {"start", loop_start},
                                     {"stop", loop_stop},
                                     {NULL, NULL}};

void pt_tasks_add(lua_State *L) { luaL_setfuncs(L, functions, 1); }
