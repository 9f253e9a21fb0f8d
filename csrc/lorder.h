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

/* Takes note, in the order that is the metatable of the table at `table`, of
** the names that stand behind it on the stack, each with its value: they come
** behind those noted before. A table without a metatable gets one. Uses five
** slots at the most. */
void pt_order_note(lua_State *L, int table, int members);

/* The same for a table without a metatable that gets no more members: it shares
** the metatable of the last tables that had the same names in the same order.
*/
void pt_order_share(lua_State *L, const pt_vocabulary *v, int table,
                    int members);

/* Whether the metatable on top is an order. */
int pt_order_test(lua_State *L);

/* As lua_next with the key on top, in the order that the metatable of the table
** at `table` says. Raises nothing and allocates nothing. */
int pt_order_next(lua_State *L, int table);

#pragma GCC visibility pop

#endif
