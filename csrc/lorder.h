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
  int count;
  /* it has names that Lua does not intern, so their pointers may differ */
  int has_long;
  uint32_t mask;
  uint32_t *slots; /* hash table of places; 0 in an empty slot */
  const void *names[];
} pt_order;

/* Returns the slot with the place of the name, or the empty slot for it. */
static inline uint32_t *pt_order_slot(const pt_order *o, const void *name) {
  uint64_t mixed = (uintptr_t)name * UINT64_C(0x9E3779B97F4A7C15);
  uint32_t i = (uint32_t)(mixed >> 32) & o->mask;
  while (o->slots[i] != 0 && o->names[o->slots[i] - 1] != name)
    i = (i + 1) & o->mask;
  return &o->slots[i];
}

/* Gives the table at `table` the order of the names above it on the stack, each
** followed by its value: at most PT_ORDER_SHARED names. The table has no
** metatable yet and gets no more members. It shares the metatable of recent
** tables with the same names in the same order. Uses at most five stack slots.
*/
void pt_order_share(lua_State *L, const pt_decode_env *v, int table,
                    int members);

/* The same for a table that gets its members in several parts. These members
** follow the `noted` ones of earlier calls. */
void pt_order_append(lua_State *L, int table, lua_Integer noted, int members,
                     int is_last);

/* The following functions do not raise and do not allocate. */

/* Returns the order of the metatable on top, or NULL if it has none. */
const pt_order *pt_order_get(lua_State *L);

/* As pt_order_place, for a key whose pointer is not among the names. */
int pt_order_place_of_text(lua_State *L, int table, int key);

/* Returns the place of the key at `key` in the order of the table at `table`,
** from 1; 0 if the order does not name it. */
static inline int pt_order_place(lua_State *L, const pt_order *o, int table,
                                 int key) {
  uint32_t place = *pt_order_slot(o, lua_topointer(L, key));
  return place > 0 || !o->has_long ? (int)place
                                   : pt_order_place_of_text(L, table, key);
}

/* As lua_next with the key on top, in the order of the table at `table`. */
int pt_order_next(lua_State *L, int table);

/* As lua_next, for the members that the order does not name. The key on top is
** such a member or nil. */
int pt_order_next_other(lua_State *L, const pt_order *o, int table);

#pragma GCC visibility pop

#endif
