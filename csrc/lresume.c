/*
** core.resume, and reaching a thread that it runs and that computes without
** yielding. A count hook alone would do, but Lua runs at half its speed with
** one. So there is none until a tick finds the same thread at work that the
** tick before has seen; then it is hooked, and for one instruction only.
*/
#include "lresume.h"

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

/* One call of core.resume, in that call's own frame. The tick sees it from the
** moment it is on top, and changes it. */
struct pt_activation {
  pt_activation *outer;
  lua_State *thread;
  volatile sig_atomic_t is_seen;   /* by a tick */
  volatile sig_atomic_t is_hooked; /* or was */
  lua_Hook hook;                   /* what it had before, mask and count */
  int mask;
  int count;
};

/* One a state, in the registry. Its user value is the callback. */
typedef struct watch {
  pt_activation *volatile top;      /* the innermost; NULL while none runs */
  volatile sig_atomic_t is_resting; /* the tick has to be started */
  pt_tick *tick;                    /* NULL while nobody watches */
  double interval;
} watch;

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

/* 0 if the thread is not the one at work, but was made by it just now and has
** inherited the hook. */
static int take_hook(lua_State *L, const watch *w) {
  const pt_activation *a = w->top;
  if (a == NULL || a->thread != L) {
    lua_sethook(L, NULL, 0, 0);
    return 0;
  }
  unhook(a);
  return 1;
}

static void call_back(lua_State *L) {
  push_watch(L);
  if (lua_getiuservalue(L, -1, 1) != LUA_TNIL) {
    lua_pushthread(L);
    lua_call(L, 1, 0);
  }
}

static void on_hook(lua_State *L, lua_Debug *ar) {
  const watch *w = get_watch(L);
  if (ar->event != LUA_HOOKCOUNT && w->top != NULL && w->top->hook != NULL)
    w->top->hook(L, ar);
  else if (take_hook(L, w))
    call_back(L);
}

int pt_is_stopped(lua_State *L, lua_Hook before) {
  lua_Hook now = lua_gethook(L);
  return now != before && now != on_hook;
}

/* }====== */

/* {====== core.resume ====== */

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

/* False and the error on top of the stack. */
static int fail(lua_State *L) {
  lua_pushboolean(L, 0);
  lua_insert(L, -2);
  return 2;
}

/* As many as LUA_MINSTACK values find room in any call. */
static int hand_back(lua_State *L, lua_State *thread, int n) {
  if (n >= LUA_MINSTACK && !lua_checkstack(L, n + 1)) {
    lua_pop(thread, n);
    lua_pushliteral(L, "too many results to resume");
    return fail(L);
  }
  lua_pushboolean(L, 1);
  if (n > 0)
    lua_xmove(thread, L, n);
  return n + 1;
}

static const char parked = 0; /* its address is core.parked */

void pt_resume_push_parked(lua_State *L) {
  lua_pushlightuserdata(L, (void *)&parked);
}

int pt_resume_is_parked(lua_State *thread, int status, int n) {
  if (status != LUA_YIELD || n != 1 || lua_touserdata(thread, -1) != &parked)
    return 0;
  lua_pop(thread, 1);
  return 1;
}

/* The first of what the thread has to say, or nil. */
static void take_first(lua_State *L, lua_State *thread, int n) {
  if (n == 0) {
    lua_pushnil(L);
    return;
  }
  lua_pop(thread, n - 1);
  lua_xmove(thread, L, 1);
}

int pt_resume(lua_State *L, int index, lua_State *thread, int n, int *results) {
  watch *w = lua_touserdata(L, index);
  pt_activation a;
  int status;
  if (!lua_checkstack(thread, n))
    return luaL_error(L, "no room for a result");
  lua_xmove(L, thread, n);
  enter(w, &a, thread);
  status = lua_resume(thread, L, n, results);
  leave(w, &a);
  return status;
}

pt_activation *pt_resume_pause(lua_State *L, int index) {
  watch *w = lua_touserdata(L, index);
  pt_activation *paused = w->top;
  w->top = paused->outer;
  return paused;
}

void pt_resume_go_on(lua_State *L, int index, pt_activation *paused) {
  put_on_top(lua_touserdata(L, index), paused);
}

void pt_resume_tell(lua_State *L, int status, int n) {
  lua_State *thread = lua_tothread(L, -1);
  lua_pushliteral(L, "resumed");
  lua_insert(L, -2);
  lua_pushboolean(L, status == LUA_OK || status == LUA_YIELD);
  if (status == LUA_OK || status == LUA_YIELD)
    take_first(L, thread, n);
  else
    lua_xmove(thread, L, 1);
}

int pt_resume_is_innermost(lua_State *L, int index) {
  const watch *w = lua_touserdata(L, index);
  return w->top != NULL && w->top->thread == L;
}

int pt_resume_is_none(lua_State *L, int index) {
  const watch *w = lua_touserdata(L, index);
  return w->top == NULL;
}

/* core.yielder() -> thread | nil */
static int core_yielder(lua_State *L) {
  if (lua_isyieldable(L))
    lua_pushthread(L);
  else
    lua_pushnil(L);
  return 1;
}

/* core.innermost() -> thread, may_yield | nil: the innermost that core.resume
** runs, and whether it is the one that asks and may yield */
static int core_innermost(lua_State *L) {
  const watch *w = lua_touserdata(L, lua_upvalueindex(1));
  lua_State *thread = w->top != NULL ? w->top->thread : NULL;
  if (thread == L) {
    lua_pushthread(L);
  } else if (thread != NULL && lua_checkstack(thread, 1)) {
    lua_pushthread(thread);
    lua_xmove(thread, L, 1);
  } else {
    lua_pushnil(L);
  }
  lua_pushboolean(L, thread == L && lua_isyieldable(L));
  return 2;
}

/* core.resume(thread, ...) -> true, ... | false, error */
static int core_resume(lua_State *L) {
  watch *w = lua_touserdata(L, lua_upvalueindex(1));
  lua_State *thread = lua_tothread(L, 1);
  int n = lua_gettop(L) - 1, status;
  pt_activation a;
  if (thread == NULL)
    return luaL_typeerror(L, 1, "thread");
  if (n > 0 && !lua_checkstack(thread, n)) {
    lua_pushliteral(L, "too many arguments to resume");
    return fail(L);
  }
  if (n > 0)
    lua_xmove(L, thread, n);
  enter(w, &a, thread);
  status = lua_resume(thread, L, n, &n);
  leave(w, &a);
  if (status == LUA_OK || status == LUA_YIELD)
    return hand_back(L, thread, n);
  lua_xmove(thread, L, 1);
  return fail(L);
}

/* }====== */

/* {====== core.watch ====== */

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

/* core.watch(callback, interval) -> true | nil, msg, kind, errno */
static int core_watch(lua_State *L) {
  watch *w = lua_touserdata(L, lua_upvalueindex(1));
  int is_wanted = !lua_isnoneornil(L, 1), err = 0;
  double interval = luaL_optnumber(L, 2, INTERVAL);
  if (is_wanted)
    luaL_checktype(L, 1, LUA_TFUNCTION);
  luaL_argcheck(L, interval >= LEAST && interval <= MOST, 2,
                "from 0.001 to 3600 seconds expected");
  if (is_wanted)
    err = start_watching(w, interval);
  lua_settop(L, is_wanted && err == 0);
  if (lua_gettop(L) == 0) {
    stop_watching(w);
    lua_pushnil(L);
  }
  lua_setiuservalue(L, lua_upvalueindex(1), 1);
  if (err != 0)
    return pt_fail_errno(L, err, "unsupported", "there is no timer to be had");
  lua_pushboolean(L, 1);
  return 1;
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
  w = lua_newuserdatauv(L, sizeof *w, 1);
  memset(w, 0, sizeof *w);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, watch_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &watch_key);
}

void pt_watch_push(lua_State *L) { push_or_make_watch(L); }

static const luaL_Reg functions[] = {{"innermost", core_innermost},
                                     {"resume", core_resume},
                                     {"watch", core_watch},
                                     {"yielder", core_yielder},
                                     {NULL, NULL}};

void pt_open_resume(lua_State *L) {
  push_or_make_watch(L);
  luaL_setfuncs(L, functions, 1);
  pt_resume_push_parked(L);
  lua_setfield(L, -2, "parked");
}
