/*
** The option `sandbox` of core.spawn, and core.sandbox.
*/
#ifndef PT_LSANDBOX_H
#define PT_LSANDBOX_H

#include "core.h"
#include "sandbox.h"

#pragma GCC visibility push(hidden)

/* Returns the sandbox that the option `sandbox` of the table at index 1
** describes; NULL without the option. Leaves values on the stack that keep it
** alive. Raises for a wrong description. */
const pt_sandbox *pt_sandbox_read(lua_State *L);

#pragma GCC visibility pop

#endif
