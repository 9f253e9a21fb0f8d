/*
** The order in which the members of an object are written, and in which pairs
** visits them. An order is a metatable. The members that it names come first,
** in that order, then all others.
*/
#ifndef PT_LORDER_H
#define PT_LORDER_H

#include "core.h"
#include "ljson.h"

#pragma GCC visibility push(hidden)

#define PT_ORDER_SHARED 64 /* maximum number of names of a shared order */

typedef struct pt_order {
  int count; /* names of a shared order, -1 for any other */
  const void *names[];
} pt_order;

/* json.order(names) -> metatable */
int pt_order_new(lua_State *L);

/* Gives the table at `table` the order of the names above it on the stack, each
** followed by its value: at most PT_ORDER_SHARED names. The table has no
** metatable yet and gets no more members. It shares the metatable of recent
** tables with the same names in the same order. Uses at most eight stack slots.
*/
void pt_order_share(lua_State *L, const pt_decode_env *v, int table,
                    int members);

/* The same for a table that gets its members in several parts. */
void pt_order_append(lua_State *L, int table, int members);

/* The following functions do not raise and do not allocate. */

/* Whether the metatable on top has an order. */
int pt_has_order(lua_State *L);

/* As lua_next with the key on top, in the order of the table at `table`. Uses
** at most four stack slots. */
int pt_order_next(lua_State *L, int table);

#pragma GCC visibility pop

#endif
