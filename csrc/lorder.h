/*
** The order in which the members of an object are written, and in which pairs
** finds them. It is a metatable: the members that it names come first, as it
** names them, then the others.
*/
#ifndef PT_LORDER_H
#define PT_LORDER_H

#include "lapi.h"
#include "lnames.h"

#pragma GCC visibility push(hidden)

/* json.order(names) -> metatable */
int pt_order_new(lua_State *L);

/* Gives the table at `table` the order of the names that stand behind it on the
** stack, each with its value. It has no metatable yet and gets no more members,
** and shares the metatable of the last tables that had the same names in the
** same order. Uses five slots at the most. */
void pt_order_share(lua_State *L, const pt_vocabulary *v, int table,
                    int members);

/* The same for a table that gets its members in parts: these come behind as
** many as have been noted before. */
void pt_order_append(lua_State *L, int table, lua_Integer noted, int members);

/* Whether the metatable on top is an order; -1 if that cannot be told because
** memory is short. Runs neither finalizers nor Lua code. */
int pt_order_test(lua_State *L);

/* As lua_next with the key on top, in the order that the metatable of the table
** at `table` says. Raises nothing and allocates nothing. */
int pt_order_next(lua_State *L, int table);

#pragma GCC visibility pop

#endif
