/*
** A Lua state for the targets that need one: made at the first input and again
** after many, so that what leaks is seen and inputs do not build on each other
** for long.
*/
#ifndef FUZZ_STATE_H
#define FUZZ_STATE_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "fuzz.h"

#define FUZZ_STATE_INPUTS 1000

LUAMOD_API int luaopen_pintle_core(lua_State *L);

/* The state, with nothing on its stack and `core` as a global. A new one is
** prepared by `open`, unless that is NULL. */
static inline lua_State *fuzz_state(void (*open)(lua_State *L)) {
  static lua_State *L;
  static int inputs;
  if (L != NULL && ++inputs < FUZZ_STATE_INPUTS) {
    lua_settop(L, 0);
    return L;
  }
  if (L != NULL)
    lua_close(L);
  inputs = 0;
  L = luaL_newstate();
  fuzz_check(L != NULL);
  luaL_openlibs(L);
  luaL_requiref(L, "pintle.core", luaopen_pintle_core, 0);
  lua_setglobal(L, "core");
  if (open != NULL)
    open(L);
  lua_settop(L, 0);
  return L;
}

static inline int fuzz_failed(lua_State *L) {
  luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
  fprintf(stderr, "%s\n", lua_tostring(L, -1));
  abort();
}

/* Calls the function below its `args` arguments; an error ends the process. */
static inline void fuzz_call(lua_State *L, int args, int results) {
  int handler = lua_gettop(L) - args;
  lua_pushcfunction(L, fuzz_failed);
  lua_insert(L, handler);
  lua_pcall(L, args, results, handler);
  lua_remove(L, handler);
}

/* Has the collector work at every chance, or as it usually does. */
static inline void fuzz_stress(lua_State *L, int stress) {
  if (stress)
    lua_gc(L, LUA_GCINC, 1, 400, 7);
  else
    lua_gc(L, LUA_GCINC, 200, 100, 13);
}

#endif
