/*
** The watchdog: interrupting a task that computes without yielding. A count
** hook alone would do, but Lua runs at half its speed with one. So there is
** none until a tick finds the same thread at work that the tick before has
** seen; then it is hooked, and for one instruction only.
*/
#include "lwatchdog.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "core.h"
#include "lapi.h"
#include "tick.h"

/* Seconds from tick to tick. */
#define INTERVAL 0.05
#define LEAST 0.001
#define MOST 3600

/* One resume of a task, in the C frame of that. The tick sees it from the
** moment it is on top, and changes it. */
struct pt_activation {
  pt_activation *outer;
  lua_State *thread;
  volatile sig_atomic_t is_seen;   /* by a tick */
  volatile sig_atomic_t is_hooked; /* or was */
  lua_Hook hook;                   /* what it had before, mask and count */
  int mask;
  int count;
  int gap; /* instructions from one look to the next */
};

/* The user values of a watch: two functions, and a table of sources. */
enum { TICK = 1, MUST_ABORT, PROTECTED, VALUES = PROTECTED };

/* One a state, in the registry. */
struct pt_watch {
  pt_activation *volatile top;      /* the innermost; NULL while none runs */
  volatile sig_atomic_t is_resting; /* the tick has to be started */
  pt_tick *tick;                    /* NULL while nobody watches */
  double interval;
};

typedef pt_watch watch;

static const char watch_key = 0; /* its address is the key in the registry */

/* {====== The tick ====== */

static void on_hook(lua_State *L, lua_Debug *ar);

static watch *push_watch(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &watch_key);
  return lua_touserdata(L, -1);
}

static watch *get_watch(lua_State *L) {
  watch *w = push_watch(L);
  lua_pop(L, 1);
  return w;
}

/* What else was hooked goes on, see on_hook. */
static void hook(pt_activation *a) {
  if (lua_gethook(a->thread) != on_hook) {
    a->hook = lua_gethook(a->thread);
    a->mask = lua_gethookmask(a->thread);
    a->count = lua_gethookcount(a->thread);
  }
  a->is_hooked = 1;
  a->gap = 1;
  lua_sethook(a->thread, on_hook, a->mask | LUA_MASKCOUNT, 1);
}

static void unhook(const pt_activation *a) {
  if (lua_gethook(a->thread) == on_hook)
    lua_sethook(a->thread, a->hook, a->mask, a->count);
}

/* In the signal handler, between two instructions of the processor. To set a
** hook is safe there, as it is in lua.c. */
static int beat(void *subject) {
  watch *w = subject;
  pt_activation *a = w->top;
  if (a == NULL) {
    w->is_resting = 1;
    return 0;
  }
  if (a->is_seen)
    hook(a);
  a->is_seen = 1;
  return 1;
}

/* Whether the function that was interrupted is of a file that must not be. */
static int is_protected(lua_State *L, lua_Debug *ar) {
  int is;
  push_watch(L);
  lua_getiuservalue(L, -1, PROTECTED);
  lua_getinfo(L, "S", ar);
  is = lua_getfield(L, -1, ar->source) != LUA_TNIL;
  lua_pop(L, 3);
  return is;
}

/* Calls one of the two functions; whether it returned true. */
static int call_back(lua_State *L, int function) {
  int is_true;
  push_watch(L);
  if (lua_getiuservalue(L, -1, function) == LUA_TNIL) {
    lua_pop(L, 2);
    return 0;
  }
  lua_call(L, 0, 1);
  is_true = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return is_true;
}

/* A function that is protected is let finish: the hook looks again after 1, 3,
** 7 … 127, 1 instructions, because a look before each is slow. */
static void look_again(pt_activation *a) {
  a->gap = a->gap % 127 * 2 + 1;
  lua_sethook(a->thread, on_hook, a->mask | LUA_MASKCOUNT, a->gap);
}

static void look_again_at_once(pt_activation *a) {
  a->gap = 1;
  lua_sethook(a->thread, on_hook, a->mask | LUA_MASKCOUNT, 1);
}

/* A thread that was made by the one at work just now has inherited the hook. */
static void interrupt(lua_State *L, lua_Debug *ar, const watch *w) {
  pt_activation *a = w->top;
  if (a == NULL || a->thread != L) {
    lua_sethook(L, NULL, 0, 0);
  } else if (is_protected(L, ar)) {
    look_again(a);
  } else {
    if (!call_back(L, MUST_ABORT))
      unhook(a);
    else if (a->gap > 1)
      look_again_at_once(a);
    call_back(L, TICK);
  }
}

static void on_hook(lua_State *L, lua_Debug *ar) {
  const watch *w = get_watch(L);
  if (ar->event != LUA_HOOKCOUNT && w->top != NULL && w->top->hook != NULL)
    w->top->hook(L, ar);
  else
    interrupt(L, ar, w);
}

int pt_is_stopped(lua_State *L, lua_Hook before) {
  lua_Hook now = lua_gethook(L);
  return now != before && now != on_hook;
}

/* }====== */

/* {====== Running threads ====== */

static void put_on_top(watch *w, pt_activation *a) {
  a->is_seen = 0;
  atomic_signal_fence(memory_order_release);
  w->top = a;
  if (w->tick != NULL && (w->is_resting || !pt_tick_is_here(w->tick))) {
    w->is_resting = 0;
    pt_tick_start(w->tick, w->interval);
  }
}

/* A thread that was made by one that was hooked just then has inherited the
** hook, and nothing else to go back to. */
static void enter(watch *w, pt_activation *a, lua_State *thread) {
  a->outer = w->top;
  a->thread = thread;
  a->is_hooked = 0;
  a->hook = NULL;
  a->mask = a->count = 0;
  if (lua_gethook(thread) == on_hook)
    lua_sethook(thread, NULL, 0, 0);
  put_on_top(w, a);
}

/* A thread must not keep a hook from one call to the next. */
static void leave(watch *w, pt_activation *a) {
  w->top = a->outer;
  atomic_signal_fence(memory_order_acquire);
  if (a->is_hooked)
    unhook(a);
}

/* }====== */

/* {====== What Lua sees ====== */

static void stop_watching(watch *w) {
  pt_tick *tick = w->tick;
  w->tick = NULL;
  if (tick != NULL)
    pt_tick_close(tick);
}

/* Starts the tick at once: if nothing runs it comes to rest by itself. 0, or an
** error number. */
static int start_watching(watch *w, double interval) {
  if (w->tick == NULL)
    w->tick = pt_tick_open(beat, w);
  if (w->tick == NULL)
    return ENOTSUP;
  w->interval = interval;
  w->is_resting = 0;
  return pt_tick_start(w->tick, interval);
}

static void set_callback(lua_State *L, int arg, int value) {
  lua_pushvalue(L, arg);
  lua_setiuservalue(L, lua_upvalueindex(1), value);
}

/* core.watchdog(tick, must_abort, interval) -> true | nil, msg, kind, errno:
** calls tick() in a task that computes, every so many seconds, and before every
** instruction while must_abort() is true; without functions it ends */
static int core_watchdog(lua_State *L) {
  watch *w = lua_touserdata(L, lua_upvalueindex(1));
  double interval = luaL_optnumber(L, 3, INTERVAL);
  int err = 0, i;
  luaL_argcheck(L, interval >= LEAST && interval <= MOST, 3,
                "from 0.001 to 3600 seconds expected");
  lua_settop(L, 2);
  for (i = 1; i <= 2; i++)
    if (!lua_isnil(L, i))
      luaL_checktype(L, i, LUA_TFUNCTION);
  if (lua_isnil(L, 1))
    stop_watching(w);
  else
    err = start_watching(w, interval);
  if (err != 0)
    return pt_fail_errno(L, err, "unsupported", "there is no timer to be had");
  set_callback(L, 1, TICK);
  set_callback(L, 2, MUST_ABORT);
  lua_pushboolean(L, 1);
  return 1;
}

/* core.protect(): the code of the file that calls this is not interrupted */
static int core_protect(lua_State *L) {
  lua_Debug ar;
  if (lua_getstack(L, 1, &ar) && lua_getinfo(L, "S", &ar)) {
    lua_getiuservalue(L, lua_upvalueindex(1), PROTECTED);
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, ar.source);
  }
  return 0;
}

static int watch_gc(lua_State *L) {
  stop_watching(lua_touserdata(L, 1));
  return 0;
}

/* }====== */

/* The watch of this state, the one that it has if the module is opened again.
*/
static void push_or_make_watch(lua_State *L) {
  watch *w = push_watch(L);
  if (w != NULL)
    return;
  lua_pop(L, 1);
  w = lua_newuserdatauv(L, sizeof *w, VALUES);
  memset(w, 0, sizeof *w);
  lua_newtable(L);
  lua_setiuservalue(L, -2, PROTECTED);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, watch_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &watch_key);
}

pt_watch *pt_watch_get(lua_State *L) {
  pt_watch *w;
  push_or_make_watch(L);
  w = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return w;
}

int pt_watch_resume(pt_watch *w, lua_State *L, lua_State *thread, int n,
                    int *results) {
  pt_activation a;
  int status;
  enter(w, &a, thread);
  status = lua_resume(thread, L, n, results);
  leave(w, &a);
  return status;
}

pt_activation *pt_watch_pause(pt_watch *w) {
  pt_activation *paused = w->top;
  w->top = NULL;
  return paused;
}

void pt_watch_go_on(pt_watch *w, pt_activation *paused) {
  if (paused != NULL)
    put_on_top(w, paused);
  else
    w->top = NULL;
}

static const luaL_Reg functions[] = {
    {"protect", core_protect}, {"watchdog", core_watchdog}, {NULL, NULL}};

void pt_open_watchdog(lua_State *L) {
  push_or_make_watch(L);
  luaL_setfuncs(L, functions, 1);
}
