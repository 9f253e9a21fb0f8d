/*
** Shared by all binding files: the openers of the parts of the core module,
** classes, checks of arguments, and the conversion of failures of the system to
** `nil, message, kind`.
*/
#ifndef PT_CORE_H
#define PT_CORE_H

#include <luaconf.h>

/* Calls of the Lua API go through the global offset table directly instead of
** through a PLT stub. A message takes more than a hundred such calls. */
#if defined(__ELF__) && defined(__has_attribute)
#if __has_attribute(noplt)
#undef LUA_API
#define LUA_API extern __attribute__((noplt))
#endif
#endif

#include <lauxlib.h>
#include <lua.h>

#pragma GCC visibility push(hidden)

/* Each opener finds the module's table on top of the stack, adds its functions
** to it and leaves the stack as it was. It is called when one of its names is
** first used. It is called again if it raised an error; then some of its names
** may be set already. */
void pt_open_fd(lua_State *L);
void pt_open_frames(lua_State *L);
void pt_open_json(lua_State *L);
void pt_open_loop(lua_State *L);
void pt_open_peer(lua_State *L);
void pt_open_process(lua_State *L);
void pt_open_sha256(lua_State *L);
void pt_open_signals(lua_State *L);
void pt_open_socket(lua_State *L);
void pt_open_watchdog(lua_State *L);

/* Registers the metatable `name` if there is none yet. Its __index is a table
** of the methods; `meta` has other metamethods, or is NULL. Pushes nothing. */
void pt_new_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta);

/* Gives the userdata on top such a metatable. */
void pt_set_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta);

/* The userdata of class `name` at `arg`, as luaL_checkudata, for methods that
** are called for every message: looking up the metatable by its name would take
** longer than most of them do. The first member of the userdata points to
** `mark`, the address of a static variable of the file that makes it. */
static inline void *pt_check_marked(lua_State *L, int arg, size_t size,
                                    const void *mark, const char *name) {
  void *object = lua_touserdata(L, arg);
  if (object != NULL && lua_rawlen(L, arg) == size &&
      *(const void **)object == mark)
    return object;
  return luaL_checkudata(L, arg, name);
}

/* {====== Arguments ====== */

/* The string at `arg`. Raises if it is none or has a zero byte in it. */
const char *pt_check_text(lua_State *L, int arg);

/* Raises if the table at `index` has a key that is not in `names`, which ends
** with NULL; `what` names the table in the message. */
void pt_check_names(lua_State *L, int index, const char *const names[],
                    const char *what);

/* Pushes the option `name` of the table at 1, and returns its type. The access
** is raw: no metamethod runs. */
int pt_push_option(lua_State *L, const char *name);

/* Raises "option 'name': ", followed by the formatted text. */
int pt_refuse_option(lua_State *L, const char *name, const char *format, ...);

/* The same for the value at `index`, which has not the type `expected`. */
int pt_refuse_type(lua_State *L, int index, const char *name,
                   const char *expected);

/* The string at `index`, a value of the option `name`. Raises for a number,
** too, because nothing would own the string that it is converted to, and if
** there is a zero byte in the string. */
const char *pt_check_option(lua_State *L, int index, const char *name);

/* }====== */

/* {====== Failures ====== */

/* Pushes nil, message, kind and returns 3. */
int pt_fail(lua_State *L, const char *kind, const char *format, ...);

/* The same for the error number `err`: the message is the formatted text, a
** colon and the system's text. Pushes the number as a fourth result. */
int pt_fail_errno(lua_State *L, int err, const char *kind, const char *format,
                  ...);

/* }====== */

#pragma GCC visibility pop

#endif
