/*
** The order in which the members of an object are written. It is a metatable:
** the members that it names come first, as it names them, then the others.
*/
#ifndef PT_LORDER_H
#define PT_LORDER_H

#include <lua.h>

#pragma GCC visibility push(hidden)

/* json.order(names) -> metatable */
int pt_order_new(lua_State *L);

/* Whether the metatable on top is an order. */
int pt_order_test(lua_State *L);

/* As lua_next with the key on top, in the order that the metatable of the table
** at `table` says. Raises nothing and allocates nothing. */
int pt_order_next(lua_State *L, int table);

#pragma GCC visibility pop

#endif
