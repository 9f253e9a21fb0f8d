/*
** The options of core.spawn as a plan.
*/
#ifndef PT_LPLAN_H
#define PT_LPLAN_H

#include "lapi.h"
#include "spawn.h"

#pragma GCC visibility push(hidden)

/* Reads the options in the table at argument `arg`, and raises if something is
** wrong with them. Opens nothing and does not look for the program: `path` is
** left NULL. Pushes what the plan points to, which has to stay on the stack
** for as long as the plan is used. */
void pt_plan_check(lua_State *L, int arg, pt_spawn_plan *plan);

#pragma GCC visibility pop

#endif
