/*
** peer:call for who is outside of the loop, while there is nothing else to do:
** asked, sent, waited for and received in one, without turning the loop.
**
** What the loop waits for by itself is the first item of its focus, which is
** false while it is at rest. What is waited for here stands there meanwhile, to
** be disturbed if there is something to do after all.
*/
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <string.h>

#include "clock.h"
#include "core.h"
#include "lapi.h"
#include "ldeliver.h"
#include "lpoll.h"

/* The upvalues behind those that handing out needs. */
enum {
  FOCUS = PT_DELIVER_UPVALUES + 1,
  READINESS, /* its `favourite`, and its poller: */
  POLLER,
  TIMERS,   /* its `due` */
  GO_ON,    /* where something else came first */
  LONG_WAY, /* where there is something else to do */
  CELL,     /* who waits: nobody else does so at the same time */
  METHOD,   /* what is asked; nil while nobody waits */
  OUTLOOK,
  UPVALUES = OUTLOOK
};

/* What else there is is looked at once in a while. In between, calls that
** follow each other closely wait for their answers alone, under a guard. */
typedef struct outlook {
  pt_guard guard;
  double last; /* when it was */
} outlook;

#define LOOK_AFTER 0.001 /* seconds */

/* {====== Whether it may ====== */

static int is_at_rest(lua_State *L) {
  int is = lua_rawgeti(L, lua_upvalueindex(FOCUS), 1) == LUA_TBOOLEAN;
  lua_pop(L, 1);
  return is;
}

/* Puts the peer's stream in its place, or does nothing and returns NULL if
** there is anything to be seen to first. */
static pt_stream *take_stream(lua_State *L) {
  pt_stream *s;
  lua_getfield(L, 1, "stream");
  s = pt_stream_test(L, -1);
  if (s != NULL && s->is_open && s->call_timeout >= 0 &&
      pt_buf_len(&s->out) == 0) {
    lua_replace(L, 1);
    return s;
  }
  lua_pop(L, 1);
  return NULL;
}

/* How long it may take, huge if that does not matter. */
static double seconds_at(lua_State *L, int timeout, const pt_stream *s) {
  if (lua_type(L, timeout) == LUA_TNUMBER)
    return lua_tonumber(L, timeout);
  return lua_isboolean(L, timeout) ? HUGE_VAL : s->call_timeout;
}

/* }====== */

/* {====== What the loop is told ====== */

static int is_favourite(lua_State *L) {
  int is;
  lua_getfield(L, lua_upvalueindex(READINESS), "favourite");
  lua_getiuservalue(L, 1, PT_STREAM_PEER);
  is = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  return is;
}

/* A guard to wait under, or NULL if it is time to look at what else there is.
*/
static pt_guard *guard_at(outlook *o, double now) {
  if (now - o->last < LOOK_AFTER)
    return &o->guard;
  o->last = now;
  pt_guard_inspect(&o->guard);
  return NULL;
}

/* Whether the loop has to be turned before the next call: somebody has said so,
** the poller has something, or it is not known whether it has anything but the
** stream, and this is the time to look. */
static int is_disturbed(lua_State *L, const pt_stream *s, const pt_wait *w) {
  return s->is_disturbed ||
         (w->is_other_ready && (w->guard == NULL || is_favourite(L)));
}

/* It is waited for from now on, as somebody else may want to know: finalizers
** run whenever memory is allocated. The stream, the method and the params are
** on the stack where pt_stream_request_until wants them; the waiter takes the
** place of the time. A method that is still there was left by an error, with a
** cell that may yet be given an answer. */
static void begin(lua_State *L, pt_stream *s) {
  if (!lua_isnil(L, lua_upvalueindex(METHOD))) {
    lua_newtable(L);
    lua_replace(L, lua_upvalueindex(CELL));
  }
  lua_copy(L, 3, lua_upvalueindex(METHOD));
  lua_copy(L, lua_upvalueindex(CELL), 2);
  lua_getiuservalue(L, 1, PT_STREAM_PEER);
  lua_rawseti(L, lua_upvalueindex(FOCUS), 1);
  s->is_disturbed = 0;
}

/* At rest again, unless there is something to do. */
static void finish(lua_State *L, int has_to_do) {
  if (has_to_do)
    lua_pushnil(L);
  else
    lua_pushboolean(L, 0);
  lua_rawseti(L, lua_upvalueindex(FOCUS), 1);
  lua_pushnil(L);
  lua_replace(L, lua_upvalueindex(METHOD));
}

/* }====== */

/* Calls one of the upvalues with so many values on top. */
static int go(lua_State *L, int way, int args) {
  int before = lua_gettop(L) - args;
  lua_pushvalue(L, lua_upvalueindex(way));
  lua_insert(L, before + 1);
  lua_call(L, args, LUA_MULTRET);
  return lua_gettop(L) - before;
}

static void push_timeout(lua_State *L, double seconds) {
  if (seconds < HUGE_VAL)
    lua_pushnumber(L, seconds);
  else
    lua_pushboolean(L, 0);
}

/* Something else came first, which is on top. The cell is in use from now on.
*/
static int go_on(lua_State *L, int results, double seconds) {
  lua_getiuservalue(L, 1, PT_STREAM_PEER);
  lua_pushvalue(L, lua_upvalueindex(CELL));
  lua_pushvalue(L, lua_upvalueindex(METHOD));
  push_timeout(L, seconds);
  lua_rotate(L, -results - 4, 4);
  lua_newtable(L);
  lua_replace(L, lua_upvalueindex(CELL));
  finish(L, 1);
  return go(L, GO_ON, results + 4);
}

/* What cannot be sent is asked again the long way, to be explained. */
static int explain(lua_State *L, double seconds) {
  finish(L, 0);
  lua_settop(L, 4);
  push_timeout(L, seconds);
  lua_replace(L, 2);
  lua_getiuservalue(L, 1, PT_STREAM_PEER);
  lua_replace(L, 1);
  return go(L, LONG_WAY, 4);
}

static double next_timer(lua_State *L) {
  double due;
  lua_getfield(L, lua_upvalueindex(TIMERS), "due");
  due = lua_tonumber(L, -1);
  lua_pop(L, 1);
  return due;
}

/* (peer, timeout, method, params) -> result | nil, err */
int pt_call_alone(lua_State *L) {
  outlook *o = lua_touserdata(L, lua_upvalueindex(OUTLOOK));
  pt_stream *s;
  pt_asked asked = {0};
  double seconds, now;
  int results;
  lua_settop(L, 4);
  s = is_at_rest(L) ? take_stream(L) : NULL;
  if (s == NULL)
    return go(L, LONG_WAY, 4);
  seconds = seconds_at(L, 2, s);
  now = pt_clock_now();
  begin(L, s);
  asked.wait.other =
      pt_poller_fileno(L, lua_upvalueindex(POLLER), &asked.is_over);
  asked.wait.guard = guard_at(o, now);
  asked.wait.begun = now;
  asked.waiter = lua_topointer(L, 2);
  asked.until = next_timer(L);
  asked.due = now + seconds;
  if (!pt_stream_request_until(L, s, asked.due))
    return explain(L, seconds);
  asked.id = lua_tointeger(L, -1);
  results = pt_stream_await_answer(L, s, &asked);
  if (results > 0)
    return go_on(L, results, seconds);
  finish(L, is_disturbed(L, s, &asked.wait));
  return 1;
}

static int outlook_gc(lua_State *L) {
  pt_guard_close(&((outlook *)lua_touserdata(L, 1))->guard);
  return 0;
}

static void push_outlook(lua_State *L) {
  outlook *o = lua_newuserdatauv(L, sizeof *o, 0);
  memset(o, 0, sizeof *o);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, outlook_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
}

/* core.alone(readiness, timers, go_on, long_way) -> call */
static int core_alone(lua_State *L) {
  int is_ready, i;
  for (i = 1; i <= 2; i++)
    luaL_checktype(L, i, LUA_TTABLE);
  for (i = 3; i <= 4; i++)
    luaL_checktype(L, i, LUA_TFUNCTION);
  lua_settop(L, 4);
  pt_stream_push_deliver_upvalues(L);
  lua_getfield(L, 1, "focus");
  lua_pushvalue(L, 1);
  lua_getfield(L, 1, "poller");
  pt_poller_fileno(L, -1, &is_ready);
  for (i = 2; i <= 4; i++)
    lua_pushvalue(L, i);
  lua_newtable(L);
  lua_pushnil(L);
  push_outlook(L);
  lua_pushcclosure(L, pt_call_alone, UPVALUES);
  return 1;
}

void pt_open_alone(lua_State *L) {
  lua_pushcfunction(L, core_alone);
  lua_setfield(L, -2, "alone");
}
