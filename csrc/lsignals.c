/*
** core.signals and core.raise: signals that come as events, and ending by one.
*/
#define _GNU_SOURCE

#include <errno.h>
#include <string.h>

#include "core.h"
#include "lapi.h"
#include "process.h"
#include "signals.h"

#define CLASS "pintle.signals"

/* Its user value: a table from signals to their names. What has come is taken
** out of the pipe, so telling its name must not ask for memory. */
#define NAMES 1

static pt_signals *check_signals(lua_State *L) {
  return luaL_checkudata(L, 1, CLASS);
}

/* The signal whose name is on top of the stack. */
static int check_name(lua_State *L, int arg) {
  const char *name;
  int sig;
  luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, arg,
                "a signal's name expected");
  name = lua_tostring(L, -1);
  sig = pt_signal_number(name);
  if (sig == 0)
    luaL_argerror(L, arg, lua_pushfstring(L, "unknown signal '%s'", name));
  return sig;
}

/* Moves the list at 1 to a table from signals to names, on top of the stack. */
static int read_names(lua_State *L, int wanted[PT_SIGNALS_MOST]) {
  int i, count;
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argcheck(L, lua_rawlen(L, 1) <= PT_SIGNALS_MOST, 1, "too many names");
  count = (int)lua_rawlen(L, 1);
  lua_createtable(L, 0, count);
  for (i = 0; i < count; i++) {
    lua_rawgeti(L, 1, i + 1);
    wanted[i] = check_name(L, 1);
    lua_rawseti(L, -2, wanted[i]);
  }
  return count;
}

/* core.signals(names, handled) -> signals | nil, msg, kind, errno */
static int core_signals(lua_State *L) {
  int wanted[PT_SIGNALS_MOST];
  int handled = lua_toboolean(L, 2);
  pt_signals *s = lua_newuserdatauv(L, sizeof *s, 1);
  int count, err;
  memset(s, 0, sizeof *s);
  luaL_setmetatable(L, CLASS);
  count = read_names(L, wanted);
  lua_setiuservalue(L, -2, NAMES);
  err = pt_signals_open(s, wanted, count, handled);
  if (err == EBUSY)
    return pt_fail(L, "full", "signals are watched in this process already");
  if (err != 0)
    return pt_fail_errno(L, err, "full", "cannot watch signals");
  return 1;
}

/* core.raise(name) -> true | nil, msg, kind, errno */
static int core_raise(lua_State *L) {
  int err;
  lua_settop(L, 1);
  err = pt_signal_raise(check_name(L, 1));
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "cannot raise %s",
                         lua_tostring(L, 1));
  lua_pushboolean(L, 1);
  return 1;
}

/* signals:fd() -> integer | nil */
static int signals_fd(lua_State *L) {
  const pt_signals *s = check_signals(L);
  if (s->is_open)
    lua_pushinteger(L, s->input);
  else
    lua_pushnil(L);
  return 1;
}

/* signals:next() -> name | nil */
static int signals_next(lua_State *L) {
  int sig = pt_signals_next(check_signals(L));
  lua_getiuservalue(L, 1, NAMES);
  lua_rawgeti(L, -1, sig);
  return 1;
}

/* signals:names() -> list */
static int signals_names(lua_State *L) {
  const pt_signals *s = check_signals(L);
  int i;
  lua_getiuservalue(L, 1, NAMES);
  lua_createtable(L, s->count, 0);
  for (i = 0; i < s->count; i++) {
    lua_rawgeti(L, -2, s->taken[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* signals:close() */
static int signals_close(lua_State *L) {
  pt_signals_close(check_signals(L));
  return 0;
}

static const luaL_Reg methods[] = {{"close", signals_close},
                                   {"fd", signals_fd},
                                   {"names", signals_names},
                                   {"next", signals_next},
                                   {NULL, NULL}};

static const luaL_Reg meta[] = {
    {"__close", signals_close}, {"__gc", signals_close}, {NULL, NULL}};

static const luaL_Reg functions[] = {
    {"raise", core_raise}, {"signals", core_signals}, {NULL, NULL}};

void pt_open_signals(lua_State *L) {
  pt_new_class(L, CLASS, methods, meta);
  luaL_setfuncs(L, functions, 0);
}
