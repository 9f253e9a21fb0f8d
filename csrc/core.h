/*
** What the binding files share: how each adds itself to the core module, and
** the one way in which a failure of the system becomes `nil, message, kind`.
*/
#ifndef PT_CORE_H
#define PT_CORE_H

#include "lapi.h"

#pragma GCC visibility push(hidden)

/* Each opener finds the module's table on top of the stack, adds its functions
** to it and leaves the stack as it was. It is called when one of its names is
** first asked for; again, if it failed, and then the others of its names may be
** there. */
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

/* A metatable `name`, if there is none yet, with its methods as a table of its
** own, and no more: the metamethods in `meta` (NULL for none) are set beside
** it. Leaves nothing. */
void pt_new_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta);

/* Gives the userdata on top such a metatable. */
void pt_set_class(lua_State *L, const char *name, const luaL_Reg *methods,
                  const luaL_Reg *meta);

/* The userdata of class `name` at `arg`, as luaL_checkudata, for methods that
** are called for every message: looking the metatable up by its name would cost
** more than most of them do. Its first member points to `mark`, which is the
** address of a static of the file that makes it. */
static inline void *pt_check_marked(lua_State *L, int arg, size_t size,
                                    const void *mark, const char *name) {
  void *object = lua_touserdata(L, arg);
  if (object != NULL && lua_rawlen(L, arg) == size &&
      *(const void **)object == mark)
    return object;
  return luaL_checkudata(L, arg, name);
}

/* Raises if the table at `index` has a key that is not in `names`, which ends
** with NULL; `what` is what it is called. */
void pt_check_names(lua_State *L, int index, const char *const names[],
                    const char *what);

/* The string at `arg`, which has no zero byte in it; raises for anything else.
 */
const char *pt_check_text(lua_State *L, int arg);

/* Pushes nil, message, kind and returns 3. */
int pt_fail(lua_State *L, const char *kind, const char *format, ...);

/* The same for the error number `err`: the message is what was tried, a colon
** and the system's words. A fourth result is the number itself. */
int pt_fail_errno(lua_State *L, int err, const char *kind, const char *format,
                  ...);

#pragma GCC visibility pop

#endif
