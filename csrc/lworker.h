/*
** The threads of the loop, which run one function after the other.
*/
#ifndef PT_LWORKER_H
#define PT_LWORKER_H

#include "lapi.h"

#pragma GCC visibility push(hidden)

/* Pushes a new one: to be resumed with a function and what that is called with.
** It yields core.idle when that has returned, and so on. */
lua_State *pt_worker_push(lua_State *L);

#pragma GCC visibility pop

#endif
