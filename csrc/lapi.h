/*
** Lua's own headers, as the bindings see them: with calls that go straight to
** where the loader has found a function, and not through a stub that jumps
** there. A message takes more than a hundred such calls.
*/
#ifndef PT_LAPI_H
#define PT_LAPI_H

#include <luaconf.h>

#if defined(__ELF__) && defined(__has_attribute)
#if __has_attribute(noplt)
#undef LUA_API
#define LUA_API extern __attribute__((noplt))
#endif
#endif

#include <lauxlib.h>
#include <lua.h>

#endif
