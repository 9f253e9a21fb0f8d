/*
** The order in which the members of an object are written, and in which pairs
** finds them. It is a metatable: the members that it names come first, as it
** names them, then the others.
*/
#ifndef PT_LORDER_H
#define PT_LORDER_H

#include "core.h"
#include "ljson.h"

#pragma GCC visibility push(hidden)

#define PT_ORDER_SHARED 64 /* most names of an order that is shared */

typedef struct pt_order {
  int count;
  int has_long; /* a name that its pointer does not tell */
  uint32_t mask;
  uint32_t *slots; /* of the hash table: places, 0 in an empty one */
  const void *names[];
} pt_order;

/* The slot that holds the place of the name, or the empty one for it. */
static inline uint32_t *pt_order_slot(const pt_order *o, const void *name) {
  uint64_t mixed = (uintptr_t)name * UINT64_C(0x9E3779B97F4A7C15);
  uint32_t i = (uint32_t)(mixed >> 32) & o->mask;
  while (o->slots[i] != 0 && o->names[o->slots[i] - 1] != name)
    i = (i + 1) & o->mask;
  return &o->slots[i];
}

/* Gives the table at `table` the order of the names that stand behind it on the
** stack, each with its value: PT_ORDER_SHARED at the most. It has no metatable
** yet and gets no more members, and shares the metatable of the last tables
** that had the same names in the same order. Uses five slots at the most. */
void pt_order_share(lua_State *L, const pt_vocabulary *v, int table,
                    int members);

/* The same for a table that gets its members in parts: these come behind as
** many as have been noted before. */
void pt_order_append(lua_State *L, int table, lua_Integer noted, int members,
                     int is_last);

/* These raise nothing and allocate nothing. */

/* The order that the metatable on top is; NULL if it is none. */
const pt_order *pt_order_get(lua_State *L);

/* As pt_order_place for a key whose pointer is not among the names. */
int pt_order_place_of_text(lua_State *L, int table, int key);

/* The place of the key at `key` in the order of the table at `table`, from 1;
** 0 if it is not named. */
static inline int pt_order_place(lua_State *L, const pt_order *o, int table,
                                 int key) {
  uint32_t place = *pt_order_slot(o, lua_topointer(L, key));
  return place > 0 || !o->has_long ? (int)place
                                   : pt_order_place_of_text(L, table, key);
}

/* As lua_next with the key on top, in the order of the table at `table`. */
int pt_order_next(lua_State *L, int table);

/* As lua_next with the key on top, which the order does not name and which may
** be nil, for the members that it does not name. */
int pt_order_next_other(lua_State *L, const pt_order *o, int table);

#pragma GCC visibility pop

#endif
