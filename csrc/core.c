/*
** pintle.core: the C part of pintle as one Lua module. Its parts add their
** functions to its table; lua/pintle/_meta/core.lua describes them.
*/
#include "core.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

/* The metatable is registered only when it is complete: there may be not enough
** memory before that. */
static void make_class(lua_State *L, const char *name, const luaL_Reg *methods,
                       const luaL_Reg *meta) {
  lua_newtable(L);
  lua_pushstring(L, name);
  lua_setfield(L, -2, "__name");
  if (meta != NULL)
    luaL_setfuncs(L, meta, 0);
  lua_newtable(L);
  if (methods != NULL)
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

/* The allocator of the state, so that its limits hold for the core, too. */
void *pt_reallocate(lua_State *L, void *block, size_t old, size_t size) {
  void *ud;
  lua_Alloc alloc = lua_getallocf(L, &ud);
  return alloc(ud, block, old, size);
}

/* The rest of a function that has called code that may yield. */
int pt_return_above(lua_State *L, int status, lua_KContext before) {
  (void)status;
  return lua_gettop(L) - (int)before;
}

void pt_push_weak_table(lua_State *L, const char *mode) {
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushstring(L, mode);
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
}

/* ====== Arguments ====== */

/* A system call would use only the part of the string before a zero byte. */
const char *pt_check_text(lua_State *L, int arg) {
  size_t len;
  const char *s = luaL_checklstring(L, arg, &len);
  luaL_argcheck(L, strlen(s) == len, arg, "a zero byte in the string");
  return s;
}

static int list_has_name(const char *const names[], const char *name) {
  while (*names != NULL && strcmp(*names, name) != 0)
    names++;
  return *names != NULL;
}

void pt_check_names(lua_State *L, int index, const char *const names[],
                    const char *what) {
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "%s: every key must be a name", what);
    if (!list_has_name(names, lua_tostring(L, -2)))
      luaL_error(L, "%s: unknown name '%s'", what, lua_tostring(L, -2));
  }
}

/* Without metamethods: an options table is data. */
int pt_push_option(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  return lua_rawget(L, 1);
}

int pt_refuse_option(lua_State *L, const char *name, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lua_pushvfstring(L, format, args);
  va_end(args);
  return luaL_error(L, "option '%s': %s", name, lua_tostring(L, -1));
}

int pt_refuse_type(lua_State *L, int index, const char *name,
                   const char *expected) {
  return pt_refuse_option(L, name, "%s expected, got %s", expected,
                          luaL_typename(L, index));
}

const char *pt_check_option(lua_State *L, int index, const char *name) {
  size_t len;
  const char *s;
  if (lua_type(L, index) != LUA_TSTRING)
    pt_refuse_type(L, index, name, "string");
  s = lua_tolstring(L, index, &len);
  if (strlen(s) != len)
    pt_refuse_option(L, name, "a zero byte in the string");
  return s;
}

/* ====== Failures ====== */

const char *pt_kind_of(int err, const char *usual) {
  static const int full[] = {EMFILE, ENFILE,  ENOMEM,
                             ENOSPC, ENOBUFS, EADDRINUSE};
  for (size_t i = 0; i < sizeof full / sizeof full[0]; i++)
    if (err == full[i])
      return "full";
  return usual;
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
  lua_pushfstring(L, ": %s", strerror(err));
  lua_concat(L, 2);
  lua_pushstring(L, kind);
  lua_pushinteger(L, err);
  return 4;
}

/* ====== The module ======
** A part is opened when one of its names is first used: a part that a program
** does not use costs nothing at start-up. */

typedef struct part {
  void (*open)(lua_State *L);
  const char *names[9]; /* ends with NULL */
} part;

static const part parts[] = {
    {pt_open_fd,
     {"claim_stdin", "claim_stdio", "columns", "isatty", "now", "pipe", "poll",
      "socketpair"}},
    {pt_open_frames, {"frames"}},
    {pt_open_json, {"json"}},
    {pt_open_loop, {"loop"}},
    {pt_open_peer, {"call", "notify", "overdue", "peer"}},
    {pt_open_process, {"alive", "getpid", "pidfd", "spawn", "which"}},
    {pt_open_sandbox, {"realpath", "sandbox"}},
    {pt_open_sha256, {"sha256"}},
    {pt_open_signals, {"raise", "signals"}},
    {pt_open_socket, {"accept", "address", "connect", "connected", "listen"}},
    {pt_open_watchdog, {"protect", "watchdog"}},
};

/* __index of the module: (module, name). Opens the part that has this name. */
static int open_part(lua_State *L) {
  const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
    if (list_has_name(parts[i].names, name)) {
      lua_pushvalue(L, 1);
      parts[i].open(L);
      lua_pushvalue(L, 2);
      lua_rawget(L, -2);
      return 1;
    }
  return 0;
}

/* The only name that the library exports. */
LUAMOD_API __attribute__((visibility("default"))) int
luaopen_pintle_core(lua_State *L) {
  luaL_checkversion(L);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, open_part);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  return 1;
}
