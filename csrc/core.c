/*
** pintle.core: the C part of pintle as one Lua module. The parts add themselves
** to its table; what they do is in lua/pintle/_meta/core.lua.
*/
#include "core.h"

#include <stdarg.h>
#include <string.h>

/* It is registered when it is whole: memory may be short on the way. */
static void make_class(lua_State *L, const char *name, const luaL_Reg *methods,
                       const luaL_Reg *meta) {
  int n = 0;
  while (methods[n].name != NULL)
    n++;
  lua_newtable(L);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  if (meta != NULL)
    luaL_setfuncs(L, meta, 0);
  lua_createtable(L, 0, n);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "__index");
  lua_pushvalue(L, -1);
  lua_setfield(L, LUA_REGISTRYINDEX, name);
}

static void push_class(lua_State *L, const char *name, const luaL_Reg *methods,
                       const luaL_Reg *meta) {
  if (luaL_getmetatable(L, name) != LUA_TNIL)
    return;
  lua_pop(L, 1);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  make_class(L, name, methods, meta);
}

void pt_new_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta) {
  push_class(L, name, methods, meta);
  lua_pop(L, 1);
}

void pt_set_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta) {
  push_class(L, name, methods, meta);
  lua_setmetatable(L, -2);
}

void pt_check_names(lua_State *L, int index, const char *const names[],
                    const char *what) {
  lua_pushnil(L);
  while (lua_next(L, index)) {
    int i = 0;
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "%s: every key must be a name", what);
    while (names[i] != NULL && strcmp(names[i], lua_tostring(L, -1)) != 0)
      i++;
    if (names[i] == NULL)
      luaL_error(L, "%s: there is no '%s'", what, lua_tostring(L, -1));
  }
}

const char *pt_check_text(lua_State *L, int arg) {
  size_t len;
  const char *s = luaL_checklstring(L, arg, &len);
  luaL_argcheck(L, strlen(s) == len, arg, "a zero byte in the string");
  return s;
}

int pt_fail(lua_State *L, const char *kind, const char *format, ...) {
  va_list args;
  lua_pushnil(L);
  va_start(args, format);
  lua_pushvfstring(L, format, args);
  va_end(args);
  lua_pushstring(L, kind);
  return 3;
}

int pt_fail_errno(lua_State *L, int err, const char *kind, const char *format,
                  ...) {
  va_list args;
  lua_pushnil(L);
  va_start(args, format);
  lua_pushvfstring(L, format, args);
  va_end(args);
  lua_pushfstring(L, "%s: %s", lua_tostring(L, -1), strerror(err));
  lua_remove(L, -2);
  lua_pushstring(L, kind);
  lua_pushinteger(L, err);
  return 4;
}

/* {====== The module ======
** A part is opened when one of its names is first asked for: what a program
** never comes to costs it nothing when it starts. */

typedef struct part {
  void (*open)(lua_State *L);
  const char *names;
} part;

static const part parts[] = {
    {pt_open_fd, "claim_stdio columns isatty now pipe poll socketpair"},
    {pt_open_frames, "frames"},
    {pt_open_json, "json"},
    {pt_open_loop, "loop"},
    {pt_open_peer, "call notify overdue peer"},
    {pt_open_process, "alive getpid observe spawn which"},
    {pt_open_sha256, "sha256"},
    {pt_open_signals, "raise signals"},
    {pt_open_socket, "accept address connect connected listen"},
    {pt_open_watchdog, "protect watchdog"},
};

#define PARTS (sizeof parts / sizeof parts[0])

static int has_name(const char *names, const char *name, size_t len) {
  for (;;) {
    size_t n = strcspn(names, " ");
    if (n == len && memcmp(names, name, n) == 0)
      return 1;
    if (names[n] == '\0')
      return 0;
    names += n + 1;
  }
}

/* Finds what the module, at 1, does not have yet under the name at 2. */
static int find(lua_State *L) {
  size_t i, len;
  const char *name;
  if (lua_type(L, 2) != LUA_TSTRING)
    return 0;
  name = lua_tolstring(L, 2, &len);
  for (i = 0; i < PARTS; i++)
    if (has_name(parts[i].names, name, len)) {
      lua_pushvalue(L, 1);
      parts[i].open(L);
      lua_pushvalue(L, 2);
      lua_rawget(L, -2);
      return 1;
    }
  return 0;
}

LUAMOD_API int luaopen_pintle_core(lua_State *L) {
  luaL_checkversion(L);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, find);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  return 1;
}

/* }====== */
