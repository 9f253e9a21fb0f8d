/*
** peer:call where it is simple: a thread of the loop asks, and waits for the
** answer. That is where a busy host spends its time, so it is one function that
** asks and yields. All else goes the long way, which is a function of Lua's.
**
** A thread that waits here is known by that alone: it is suspended in this
** function, and its call is in the stream's ring of pending calls. Whoever
** takes that out has the right to resume it.
*/
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <string.h>

#include "clock.h"
#include "core.h"
#include "lapi.h"
#include "lresume.h"
#include "lstream.h"

/* The upvalues of a function that calls. */
enum {
  WATCH = 1,
  OWNERS,
  LONG_WAY, /* for all that is special */
  OUTSIDE,  /* for who is in no thread of the loop, and nothing special else */
  MARK,
  EXPLAIN,
  UPVALUES = EXPLAIN
};

/* What is on its stack behind the peer, the method and the params. */
enum { OPTIONS = 4 };

/* What is there while it waits. */
enum { STREAM = 1, ID, METHOD, TIMEOUT, WAITING = TIMEOUT };

/* {====== The long way ====== */

static int give_back(lua_State *L, int status, lua_KContext before) {
  (void)status;
  return lua_gettop(L) - (int)before;
}

/* Puts how long a call may take on top: nothing if that is not said. */
static void push_timeout(lua_State *L, double seconds) {
  if (seconds < 0)
    lua_pushnil(L);
  else if (seconds < HUGE_VAL)
    lua_pushnumber(L, seconds);
  else
    lua_pushboolean(L, 0);
}

/* With what is on the stack behind `before`. */
static int go(lua_State *L, int way, int before) {
  lua_pushvalue(L, lua_upvalueindex(way));
  lua_insert(L, before + 1);
  lua_callk(L, lua_gettop(L) - before - 1, LUA_MULTRET, before, give_back);
  return give_back(L, LUA_OK, before);
}

/* }====== */

/* {====== The short way ====== */

/* Pushes the timeout if that is all there is in the options. */
static int push_timeout_alone(lua_State *L) {
  lua_pushnil(L);
  if (!lua_next(L, OPTIONS) || lua_type(L, -2) != LUA_TSTRING ||
      strcmp(lua_tostring(L, -2), "timeout") != 0)
    return 0;
  lua_pushvalue(L, -2);
  return lua_next(L, OPTIONS) == 0;
}

/* Reads options that say nothing but how long it may take: huge if that does
** not matter, negative if there are none; 0 if they are special. */
static int read_options(lua_State *L, double *seconds) {
  int type;
  *seconds = -1;
  if (lua_isnil(L, OPTIONS))
    return 1;
  if (lua_type(L, OPTIONS) != LUA_TTABLE || !push_timeout_alone(L))
    return 0;
  type = lua_type(L, -1);
  if (type == LUA_TNUMBER)
    *seconds = lua_tonumber(L, -1);
  else if (type == LUA_TBOOLEAN && !lua_toboolean(L, -1))
    *seconds = HUGE_VAL;
  return *seconds >= 0;
}

/* Whether nothing else is asked for than a peer, a method, params and a time.
** These and the options are all that is on the stack. */
static int is_plain(lua_State *L, double *seconds) {
  int is = lua_type(L, 1) == LUA_TTABLE && lua_type(L, 2) == LUA_TSTRING &&
           read_options(L, seconds);
  lua_settop(L, OPTIONS);
  return is;
}

/* Whether this thread is one of the loop's, and may wait. */
static int may_wait(lua_State *L) {
  int may;
  if (!pt_resume_is_innermost(L, lua_upvalueindex(WATCH)) ||
      !lua_isyieldable(L))
    return 0;
  lua_pushthread(L);
  may = lua_rawget(L, lua_upvalueindex(OWNERS)) == LUA_TTABLE &&
        (lua_getfield(L, -1, "stopped"), !lua_toboolean(L, -1));
  lua_settop(L, OPTIONS);
  return may;
}

/* Pushes the peer's stream, or pushes nothing and returns NULL if a call to it
** that may take so long is special. */
static pt_stream *push_stream(lua_State *L, double *seconds, double *due) {
  pt_stream *s;
  lua_getfield(L, 1, "stream");
  s = pt_stream_test(L, -1);
  if (s != NULL && s->is_open && s->call_timeout >= 0) {
    if (*seconds < 0)
      *seconds = s->call_timeout;
    *due = *seconds < HUGE_VAL ? *seconds + pt_clock_now() : *seconds;
    if (*due >= s->alarm)
      return s;
  }
  lua_pop(L, 1);
  return NULL;
}

/* Has Lua send it soon. */
static void mark(lua_State *L, pt_stream *s) {
  if (s->is_marked)
    return;
  s->is_marked = 1;
  lua_pushvalue(L, lua_upvalueindex(MARK));
  lua_getiuservalue(L, STREAM, PT_STREAM_PEER);
  lua_call(L, 1, 0);
}

/* The answer, or nil and what went wrong. */
static int answered(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  if (lua_isnoneornil(L, WAITING + 2))
    return lua_gettop(L) - WAITING;
  lua_settop(L, WAITING + 2);
  lua_pushnil(L);
  lua_pushvalue(L, lua_upvalueindex(EXPLAIN));
  lua_getiuservalue(L, STREAM, PT_STREAM_PEER);
  lua_pushvalue(L, ID);
  lua_pushvalue(L, METHOD);
  lua_pushvalue(L, WAITING + 2);
  lua_pushvalue(L, TIMEOUT);
  lua_call(L, 5, 1);
  return 2;
}

/* What cannot be sent goes the long way, to be explained. */
static int refused(lua_State *L, double seconds) {
  lua_settop(L, 4);
  lua_getiuservalue(L, STREAM, PT_STREAM_PEER);
  lua_replace(L, 2);
  lua_pushnil(L);
  push_timeout(L, seconds);
  return go(L, LONG_WAY, 1);
}

/* Asks and waits; the peer, the method and the params are on the stack, and on
** top is the stream. */
static int ask(lua_State *L, pt_stream *s, double seconds, double due) {
  lua_replace(L, OPTIONS);
  lua_rotate(L, 1, 1);
  lua_pushthread(L);
  lua_replace(L, 2);
  if (!pt_stream_request_until(L, s, due))
    return refused(L, seconds);
  lua_replace(L, ID);
  lua_settop(L, METHOD);
  push_timeout(L, seconds);
  mark(L, s);
  pt_resume_push_parked(L);
  return lua_yieldk(L, 1, 0, answered);
}

/* From outside of the loop: the peer, the time, the method and the params. */
static int go_outside(lua_State *L, double seconds) {
  lua_copy(L, 3, 4);
  lua_copy(L, 2, 3);
  push_timeout(L, seconds);
  lua_replace(L, 2);
  return go(L, OUTSIDE, 0);
}

/* peer:call(method, params, options) -> result | nil, err */
static int call(lua_State *L) {
  pt_stream *s;
  double seconds, due;
  lua_settop(L, OPTIONS);
  if (!is_plain(L, &seconds))
    return go(L, LONG_WAY, 0);
  if (pt_resume_is_none(L, lua_upvalueindex(WATCH)))
    return go_outside(L, seconds);
  s = may_wait(L) ? push_stream(L, &seconds, &due) : NULL;
  return s != NULL ? ask(L, s, seconds, due) : go(L, LONG_WAY, 0);
}

/* }====== */

/* core.caller(owners, long_way, outside, mark, explain) -> call */
static int core_caller(lua_State *L) {
  int i;
  luaL_checktype(L, 1, LUA_TTABLE);
  for (i = 2; i < UPVALUES; i++)
    luaL_checktype(L, i, LUA_TFUNCTION);
  lua_settop(L, UPVALUES - 1);
  pt_watch_push(L);
  lua_insert(L, 1);
  lua_pushcclosure(L, call, UPVALUES);
  return 1;
}

/* core.asking(thread) -> peer, id | nil */
static int core_asking(lua_State *L) {
  lua_State *thread = lua_tothread(L, 1);
  lua_Debug level;
  if (thread == NULL)
    return luaL_typeerror(L, 1, "thread");
  if (lua_status(thread) != LUA_YIELD || !lua_checkstack(thread, 2) ||
      !lua_getstack(thread, 0, &level))
    return 0;
  lua_getinfo(thread, "f", &level);
  lua_xmove(thread, L, 1);
  if (lua_tocfunction(L, -1) != call ||
      lua_getlocal(thread, &level, STREAM) == NULL)
    return 0;
  lua_getlocal(thread, &level, ID);
  lua_xmove(thread, L, 2);
  if (!lua_isinteger(L, -1)) /* it goes the long way */
    return 0;
  lua_getiuservalue(L, -2, PT_STREAM_PEER);
  lua_insert(L, -2);
  return 2;
}

/* stream:plan(peer, timeout): calls may go the short way */
int pt_stream_plan(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  double timeout = luaL_optnumber(L, 3, HUGE_VAL);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_argcheck(L, timeout >= 0, 3, "seconds expected");
  lua_settop(L, 2);
  lua_setiuservalue(L, 1, PT_STREAM_PEER);
  s->call_timeout = timeout;
  return 0;
}

/* stream:alarm(due) */
int pt_stream_alarm(lua_State *L) {
  pt_stream_check(L)->alarm = luaL_checknumber(L, 2);
  return 0;
}

static const luaL_Reg functions[] = {
    {"asking", core_asking}, {"caller", core_caller}, {NULL, NULL}};

void pt_open_call(lua_State *L) { luaL_setfuncs(L, functions, 0); }
