/*
** core.sole: a program that only serves on its stdin and stdout, before there
** is anything else. It needs no loop: the stream waits for requests and has
** them handled by itself. It is C so that such a program parses next to nothing
** before its first answer. All else that makes a peer, and the loop, are loaded
** when something is asked of them, or something comes that is not so simple,
** and take over where this was.
*/
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "lapi.h"
#include "lfd.h"
#include "lresume.h"
#include "lstream.h"
#include "lworker.h"

/* What every function here is given: the module, and core.sole. */
#define CORE lua_upvalueindex(1)
#define SOLE lua_upvalueindex(2)

#define LAST_WORDS 1 /* seconds for what is queued to be taken at the end */

static void load(lua_State *L, const char *module) {
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  lua_call(L, 1, 1);
}

static int has_loop(lua_State *L) {
  int is_loaded;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
  lua_getfield(L, -1, "pintle.loop");
  is_loaded = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return is_loaded;
}

/* All that is on the stack behind `base`. */
static int give_back(lua_State *L, int status, lua_KContext base) {
  (void)status;
  return lua_gettop(L) - (int)base;
}

/* {====== Making a whole peer of it ====== */

/* What is loaded may be missing: then the peer is as it was. */
static void complete(lua_State *L) {
  load(L, "pintle.peer");
  lua_getfield(L, -1, "complete");
  if (lua_getfield(L, SOLE, "peer") == LUA_TNIL) {
    lua_pop(L, 3);
    return;
  }
  lua_pushnil(L);
  lua_setfield(L, SOLE, "peer");
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

/* sole.complete() */
static int sole_complete(lua_State *L) {
  complete(L);
  return 0;
}

/* What a handler is given is a request, once it is looked at. */
static int request_index(lua_State *L) {
  load(L, "pintle.request");
  lua_getfield(L, -1, "methods");
  lua_pushvalue(L, 2);
  lua_gettable(L, -2);
  return 1;
}

/* As answers.answer, which is not loaded before it is needed. */
static int answer(lua_State *L) {
  int n = lua_gettop(L);
  load(L, "pintle.peer.answers");
  lua_getfield(L, -1, "answer");
  lua_replace(L, -2);
  lua_insert(L, 1);
  lua_callk(L, n, LUA_MULTRET, 0, give_back);
  return give_back(L, LUA_OK, 0);
}

/* Who computes is reached by what this loads. */
static int reach(lua_State *L) {
  load(L, "pintle.request");
  return 0;
}

/* }====== */

/* {====== Methods of the peer ====== */

/* sole.on(peer, method, handler) */
static int sole_on(lua_State *L) {
  lua_settop(L, 3);
  if (lua_type(L, 2) != LUA_TSTRING)
    return luaL_error(L, "method: string expected, got %s",
                      luaL_typename(L, 2));
  if (!lua_isnil(L, 3) && !lua_isfunction(L, 3)) {
    load(L, "pintle.options");
    lua_getfield(L, -1, "check_handler");
    lua_pushvalue(L, 3);
    lua_call(L, 1, 0);
    lua_settop(L, 3);
  }
  lua_getfield(L, 1, "handlers");
  lua_replace(L, 1);
  lua_settable(L, 1);
  return 0;
}

/* The thread that serves, and what stream:serve is called with in it. The peer
** is at 1, its stream at 2. */
static void start_server(lua_State *L) {
  lua_State *thread;
  int n;
  pt_watch_push(L);
  thread = pt_worker_push(L);
  lua_getfield(L, SOLE, "owners");
  lua_pushvalue(L, 4);
  lua_getfield(L, 1, "reader");
  lua_rawset(L, 5);
  lua_getfield(L, 2, "serve");
  lua_pushvalue(L, 2);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 5);
  lua_getfield(L, SOLE, "request");
  lua_pushcfunction(L, answer);
  if (pt_resume(L, 3, thread, 6, &n) != LUA_YIELD) {
    lua_xmove(thread, L, 1);
    lua_error(L);
  }
  lua_pop(thread, n);
  lua_settop(L, 2);
}

static void watch(lua_State *L) {
  lua_getfield(L, CORE, "watch");
  lua_pushcfunction(L, reach);
  lua_call(L, 1, 0);
}

static void attend(lua_State *L) {
  lua_settop(L, 2);
  lua_getfield(L, 2, "attend");
  lua_pushvalue(L, 2);
  lua_call(L, 1, LUA_MULTRET);
}

/* Whether what stream:attend told is nothing but that requests were served. */
static int has_only_served(lua_State *L) {
  return lua_isboolean(L, 3) && !lua_toboolean(L, 3) && lua_toboolean(L, 4);
}

/* Puts what stream:attend told, and the peer, into a table at 2. */
static void gather(lua_State *L) {
  int i;
  lua_createtable(L, lua_gettop(L) - 2, 1);
  lua_replace(L, 2);
  for (i = lua_gettop(L) - 2; i > 0; i--)
    lua_rawseti(L, 2, i);
  lua_pushvalue(L, 1);
  lua_setfield(L, 2, "peer");
}

/* Serves until there is something that it cannot do, which is then at 2, as the
** loop takes it. */
static void serve(lua_State *L) {
  lua_settop(L, 1);
  lua_getfield(L, 1, "stream");
  start_server(L);
  watch(L);
  lua_pushvalue(L, 1);
  lua_setfield(L, SOLE, "attended");
  do
    attend(L);
  while (has_only_served(L) && !has_loop(L));
  lua_pushnil(L);
  lua_setfield(L, SOLE, "attended");
  gather(L);
}

/* peer:join(timeout) -> as that of a whole peer, which it ends as */
static int peer_join(lua_State *L) {
  int is_timed = lua_toboolean(L, 2);
  lua_settop(L, 2);
  if (!is_timed)
    serve(L);
  complete(L);
  if (!is_timed) {
    lua_getfield(L, 1, "go_on_soon_with");
    lua_pushvalue(L, 1);
    lua_rotate(L, 2, -1);
    lua_call(L, 2, 0);
    lua_pushnil(L);
  }
  lua_getfield(L, 1, "join");
  lua_insert(L, 1);
  lua_callk(L, 2, LUA_MULTRET, 0, give_back);
  return give_back(L, LUA_OK, 0);
}

/* The methods there are already, which are in the third upvalue; else those of
** a whole peer. */
static int peer_index(lua_State *L) {
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(3)) != LUA_TNIL)
    return 1;
  complete(L);
  lua_pushvalue(L, 2);
  lua_gettable(L, 1);
  return 1;
}

static int peer_close(lua_State *L) {
  lua_settop(L, 1);
  lua_getfield(L, 1, "close");
  lua_insert(L, 1);
  lua_callk(L, 1, 0, 0, give_back);
  return 0;
}

/* }====== */

/* {====== Beginning ====== */

/* What os.exit is meanwhile, and what it was: upvalues. */
enum { LEAVE = 1, PEER, PROCESS };

static int leave(lua_State *L, int status, lua_KContext n) {
  (void)status;
  lua_settop(L, (int)n);
  lua_pushvalue(L, lua_upvalueindex(LEAVE));
  lua_insert(L, 1);
  lua_callk(L, (int)n, LUA_MULTRET, 0, give_back);
  return give_back(L, LUA_OK, 0);
}

static int has_last_words(lua_State *L) {
  const pt_stream *s;
  lua_getfield(L, lua_upvalueindex(PEER), "stream");
  s = pt_stream_test(L, -1);
  lua_pop(L, 1);
  return s != NULL && pt_buf_len(&s->out) > 0 &&
         lua_tointeger(L, lua_upvalueindex(PROCESS)) == (lua_Integer)getpid();
}

/* os.exit, as `pintle.exit` has it for others. */
static int exit_after_sending(lua_State *L) {
  int n = lua_gettop(L);
  if (has_last_words(L)) {
    lua_getfield(L, lua_upvalueindex(PEER), "drain");
    lua_pushvalue(L, lua_upvalueindex(PEER));
    lua_pushinteger(L, LAST_WORDS);
    lua_pcallk(L, 2, 0, 0, n, leave);
  }
  return leave(L, LUA_OK, n);
}

/* For the peer on top. */
static void wrap_exit(lua_State *L) {
  lua_getglobal(L, "os");
  lua_getfield(L, -1, "exit");
  lua_pushvalue(L, -3);
  lua_pushinteger(L, getpid());
  lua_pushcclosure(L, exit_after_sending, PROCESS);
  lua_setfield(L, -2, "exit");
  lua_pop(L, 1);
}

/* Whether the table at 1 asks for stdin and stdout, and no more than that. */
static int is_simple(lua_State *L) {
  int has_stdio = 0;
  if (lua_type(L, 1) != LUA_TTABLE || lua_getmetatable(L, 1) || has_loop(L))
    return 0;
  lua_pushnil(L);
  while (lua_next(L, 1)) {
    int is_name = lua_type(L, -2) == LUA_TSTRING;
    if (is_name && strcmp(lua_tostring(L, -2), "stdio") == 0)
      has_stdio = lua_toboolean(L, -1);
    else if (!is_name || strcmp(lua_tostring(L, -2), "framing") != 0)
      return 0;
    lua_pop(L, 1);
  }
  return has_stdio;
}

/* Pushes the framing; 0 if there is no such one. */
static int push_framing(lua_State *L) {
  static const char *const names[] = {"line", "header", "auto"};
  int i;
  if (lua_getfield(L, 1, "framing") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushstring(L, names[0]);
  }
  if (lua_type(L, -1) != LUA_TSTRING)
    return 0;
  for (i = 0; i < 3; i++)
    if (strcmp(lua_tostring(L, -1), names[i]) == 0)
      return 1;
  return 0;
}

/* Pushes a stream with the framing at 2; 0 if stdin and stdout cannot be had.
*/
static int push_stream(lua_State *L) {
  lua_getfield(L, CORE, "stream");
  lua_createtable(L, 0, 3);
  if (pt_claim_stdio(L) != 2)
    return 0;
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  lua_setfield(L, 4, "write");
  lua_setfield(L, 4, "read");
  lua_pushvalue(L, 2);
  lua_setfield(L, 4, "framing");
  lua_call(L, 1, 2);
  if (lua_isnil(L, -2))
    lua_error(L);
  lua_pop(L, 1);
  return 1;
}

/* sole.connect(options) -> peer | nil: where it is not as simple as that */
static int sole_connect(lua_State *L) {
  lua_settop(L, 1);
  if (!is_simple(L) || !push_framing(L) || !push_stream(L))
    return 0;
  lua_createtable(L, 0, 3);
  lua_insert(L, -2);
  lua_setfield(L, -2, "stream");
  lua_newtable(L);
  lua_setfield(L, -2, "handlers");
  lua_newtable(L);
  lua_setfield(L, -2, "reader");
  lua_getfield(L, SOLE, "metatable");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_setfield(L, SOLE, "peer");
  wrap_exit(L);
  return 1;
}

/* }====== */

static const luaL_Reg functions[] = {{"complete", sole_complete},
                                     {"connect", sole_connect},
                                     {"on", sole_on},
                                     {NULL, NULL}};

static const luaL_Reg methods[] = {
    {"join", peer_join}, {"on", sole_on}, {NULL, NULL}};

/* Pushes the two that are given to every function. */
static void push_upvalues(lua_State *L, int core) {
  lua_pushvalue(L, core);
  lua_pushvalue(L, core + 1);
}

/* The metatable of a peer that has only just begun. */
static void push_metatable(lua_State *L, int core) {
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "pintle.peer");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, peer_close);
  lua_setfield(L, -2, "__close");
  push_upvalues(L, core);
  lua_createtable(L, 0, 2);
  push_upvalues(L, core);
  luaL_setfuncs(L, methods, 2);
  lua_pushcclosure(L, peer_index, 3);
  lua_setfield(L, -2, "__index");
}

/* The metatable of requests. */
static void push_request(lua_State *L) {
  lua_createtable(L, 0, 2);
  lua_pushliteral(L, "pintle.request");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, request_index);
  lua_setfield(L, -2, "__index");
}

/* Who runs in a thread. A thread that handles one request after another changes
** hands. */
static void push_owners(lua_State *L) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

void pt_open_sole(lua_State *L) {
  int core = lua_gettop(L);
  lua_createtable(L, 0, 8);
  push_upvalues(L, core);
  luaL_setfuncs(L, functions, 2);
  push_metatable(L, core);
  lua_setfield(L, -2, "metatable");
  push_request(L);
  lua_setfield(L, -2, "request");
  push_owners(L);
  lua_setfield(L, -2, "owners");
  lua_setfield(L, -2, "sole");
}
