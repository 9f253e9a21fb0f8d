/*
** The options of core.spawn.
*/
#ifndef PT_LSPAWN_H
#define PT_LSPAWN_H

#include "core.h"
#include "spawn.h"

#pragma GCC visibility push(hidden)

/* Reads the options in the table at index 1. Leaves on the stack everything
** that the plan points to. Opens nothing and does not search for the program.
** Raises for a wrong option. */
void pt_spawn_read(lua_State *L, pt_spawn_plan *plan);

#pragma GCC visibility pop

#endif
