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
pt_sandbox *pt_sandbox_read(lua_State *L);

/* Sets its rules, for a child whose directory is `cwd` (NULL: the current one):
** those of an earlier start that are in the table `kept` of the description, if
** they fit, otherwise new ones. Returns 0, or the number of values pushed that
** say what failed. */
int pt_sandbox_take_rules(lua_State *L, pt_sandbox *s, const char *cwd);

/* Ends the use of the rules, which are kept for the next start if this one has
** succeeded. */
void pt_sandbox_release_rules(const pt_sandbox *s, int has_started);

#pragma GCC visibility pop

#endif
