/*
** A Lua state for the targets that need one: made at the first input and again
** after many, so that inputs do not build on each other for long. Memory that
** is left when a state was closed, in its pool or outside, is a leak. It is
** looked for then, and not after every input: a state always has more than
** before, so that libFuzzer would search all memory each time.
*/
#ifndef FUZZ_STATE_H
#define FUZZ_STATE_H

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <sanitizer/lsan_interface.h>

#include "fuzz.h"
#include "pool.h"

#define FUZZ_STATE_INPUTS 4000

LUAMOD_API int luaopen_pintle_core(lua_State *L);

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

/* The global `run` is what the file returns. */
static inline void fuzz_load(lua_State *L, const char *file) {
  if (luaL_loadfile(L, file) != LUA_OK) {
    fprintf(stderr, "%s (run it in the project's folder)\n",
            lua_tostring(L, -1));
    exit(1);
  }
  fuzz_call(L, 0, 1);
  lua_setglobal(L, "run");
}

static inline lua_State *fuzz_open(fuzz_pool *pool, const char *harness) {
  lua_State *L;
  pool_open(pool);
  L = lua_newstate(pool_alloc, pool);
  fuzz_check(L != NULL);
  luaL_openlibs(L);
  luaL_requiref(L, "pintle.core", luaopen_pintle_core, 0);
  lua_setglobal(L, "core");
  if (harness != NULL)
    fuzz_load(L, harness);
  return L;
}

/* The state, with nothing on its stack and `core` as a global. A new one loads
** the file `harness`, unless that is NULL. */
static inline lua_State *fuzz_state(const char *harness) {
  static fuzz_pool pool;
  static lua_State *L;
  static int inputs;
  if (L != NULL && ++inputs == FUZZ_STATE_INPUTS) {
    lua_close(L);
    L = NULL;
    fuzz_check(pool.live == 0);
    __lsan_do_leak_check();
  }
  if (L == NULL) {
    L = fuzz_open(&pool, harness);
    inputs = 0;
  }
  lua_settop(L, 0);
  return L;
}

/* Has the collector work at every chance, or as it usually does. */
static inline void fuzz_stress(lua_State *L, int stress) {
  if (stress)
    lua_gc(L, LUA_GCINC, 1, 400, 7);
  else
    lua_gc(L, LUA_GCINC, 200, 100, 13);
}

/* The same with young objects alone, so that it costs little where much Lua is
** loaded; else seldom, when the state has doubled. */
static inline void fuzz_stress_young(lua_State *L, int stress) {
  lua_gc(L, LUA_GCGEN, stress ? 2 : 100, 100);
}

#endif
