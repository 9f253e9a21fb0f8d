/*
** Shared by all binding files: Lua's headers, the functions that open the parts
** of the core module, classes, checks of arguments, and the conversion of
** system errors to `nil, message, kind`.
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
#include <stddef.h>

/* The struct of this type whose `member` is at `pointer`. */
#define PT_CONTAINER(type, member, pointer)                                    \
  ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* Each opener expects the module's table on top of the stack, adds its
** functions to that table and leaves the stack unchanged. It is called when one
** of its names is first used. If it raises, it is called again later; some of
** its names may be set by then. */
void pt_open_fd(lua_State *L);
void pt_open_frames(lua_State *L);
void pt_open_json(lua_State *L);
void pt_open_loop(lua_State *L);
void pt_open_peer(lua_State *L);
void pt_open_process(lua_State *L);
void pt_open_sandbox(lua_State *L);
void pt_open_sha256(lua_State *L);
void pt_open_signals(lua_State *L);
void pt_open_socket(lua_State *L);
void pt_open_watchdog(lua_State *L);

/* Registers the metatable `name`, unless it is registered already. Its __index
** is a table of `methods`. `meta` lists other metamethods. Either may be NULL.
** Pushes nothing. */
void pt_new_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta);

/* The same, and sets this metatable for the userdata on top. */
void pt_set_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta);

/* Returns the userdata of class `name` at `arg`, as luaL_checkudata does. It is
** for methods that are called for every message: to look up the metatable by
** its name would take longer than most of these methods do. The first member of
** the userdata must point to `mark`, the address of a static variable of the
** file that creates the userdata. */
static inline void *pt_check_marked(lua_State *L, int arg, size_t size,
                                    const void *mark, const char *name) {
  void *object = lua_touserdata(L, arg);
  if (object != NULL && lua_rawlen(L, arg) == size &&
      *(const void **)object == mark)
    return object;
  return luaL_checkudata(L, arg, name);
}

/* Allocates, resizes or frees (size 0) a block of `old` bytes with the
** allocator of the Lua state. Returns NULL if there is not enough memory. Never
** raises and never runs the garbage collector. */
void *pt_reallocate(lua_State *L, void *block, size_t old, size_t size);

/* A continuation: returns all values above the first `before` of the stack. */
int pt_return_above(lua_State *L, int status, lua_KContext before);

/* Pushes a new table with weak keys ("k") or values ("v"). */
void pt_push_weak_table(lua_State *L, const char *mode);

/* ====== Arguments ====== */

/* Returns the string at `arg`. Raises if the argument is not a string or
** contains a zero byte. */
const char *pt_check_text(lua_State *L, int arg);

/* Raises if the table at `index` has a key that is not in `names`, a list that
** ends with NULL. `what` names the table in the message. */
void pt_check_names(lua_State *L, int index, const char *const names[],
                    const char *what);

/* Pushes the option `name` of the table at index 1 and returns its type. The
** access is raw: no metamethod runs. */
int pt_push_option(lua_State *L, const char *name);

/* Raises "option 'name': ", followed by the formatted text. */
int pt_refuse_option(lua_State *L, const char *name, const char *format, ...);

/* The same for the value at `index`, whose type is not the `expected` one. */
int pt_refuse_type(lua_State *L, int index, const char *name,
                   const char *expected);

/* Returns the string at `index`, the value of the option `name`. Raises if the
** string contains a zero byte. Also raises for a number: nothing would keep the
** converted string alive. */
const char *pt_check_option(lua_State *L, int index, const char *name);

/* ====== Failures ====== */

/* Returns "full" if the error number says that something has run out, otherwise
** `usual`. */
const char *pt_kind_of(int err, const char *usual);

/* Pushes nil, message and kind, and returns 3. */
int pt_fail(lua_State *L, const char *kind, const char *format, ...);

/* The same for the error number `err`: the message is the formatted text, a
** colon and the system's text. Pushes the number as a fourth result and returns
** 4. */
int pt_fail_errno(lua_State *L, int err, const char *kind, const char *format,
                  ...);

#endif
