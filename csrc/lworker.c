#include "lworker.h"

#include "core.h"
#include "lapi.h"

static const char idle = 0; /* its address is core.idle */

static int run(lua_State *L, int status, lua_KContext ctx);

/* Nothing that it has worked on is kept by a thread that has nothing to do. */
static int rest(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  lua_settop(L, 0);
  lua_pushlightuserdata(L, (void *)&idle);
  return lua_yieldk(L, 1, 0, run);
}

static int run(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  luaL_checkany(L, 1);
  lua_callk(L, lua_gettop(L) - 1, 0, 0, rest);
  return rest(L, LUA_OK, 0);
}

static int work(lua_State *L) { return run(L, LUA_OK, 0); }

lua_State *pt_worker_push(lua_State *L) {
  lua_State *thread = lua_newthread(L);
  lua_pushcfunction(thread, work);
  return thread;
}

/* core.worker() -> thread */
static int core_worker(lua_State *L) {
  pt_worker_push(L);
  return 1;
}

void pt_open_worker(lua_State *L) {
  lua_pushcfunction(L, core_worker);
  lua_setfield(L, -2, "worker");
  lua_pushlightuserdata(L, (void *)&idle);
  lua_setfield(L, -2, "idle");
}
