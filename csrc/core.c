/*
** pintle.core: the C part of pintle as one Lua module. The parts add themselves
** to its table; what they do is in lua/pintle/_meta/core.lua.
*/
#include "core.h"

#include <stdarg.h>
#include <string.h>

void pt_new_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta) {
  int n = 0;
  while (methods[n].name != NULL)
    n++;
  luaL_newmetatable(L, name);
  if (meta != NULL)
    luaL_setfuncs(L, meta, 0);
  lua_createtable(L, 0, n);
  luaL_setfuncs(L, methods, 0);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
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

#define NAMES 32 /* about as many as there are in the module */

LUAMOD_API int luaopen_pintle_core(lua_State *L) {
  luaL_checkversion(L);
  lua_createtable(L, 0, NAMES);
  pt_open_alone(L);
  pt_open_call(L);
  pt_open_fd(L);
  pt_open_frames(L);
  pt_open_json(L);
  pt_open_observe(L);
  pt_open_poller(L);
  pt_open_process(L);
  pt_open_resume(L);
  pt_open_sha256(L);
  pt_open_signals(L);
  pt_open_socket(L);
  pt_open_stream(L);
  return 1;
}
