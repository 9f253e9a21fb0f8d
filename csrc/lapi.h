/*
** Lua's own headers, set up so that calls of the Lua API go through the global
** offset table directly instead of through a PLT stub. A message takes more
** than a hundred such calls.
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
