/*
** An order is a metatable. Under a private key it has a userdata: the names as
** pointers, in their order, and a hash table from a pointer to its place. The
** user value of the userdata is a list of the names, which keeps them alive.
**
** Lua has only one string for equal texts of up to 40 bytes, so a pointer
** identifies a short name. Longer names are also found by their text, in the
** list.
*/
#include "lorder.h"

#include <string.h>

#define INTERNED 40 /* LUAI_MAXSHORTLEN, which Lua does not publish */

static const char order_key = 0; /* its address is the private key */

/* {====== Places ====== */

/* Returns the slot with the place of the name, or the empty slot for it. */
static uint32_t *find_name_slot(const pt_order *o, const void *name) {
  uint64_t mixed = (uintptr_t)name * UINT64_C(0x9E3779B97F4A7C15);
  uint32_t i = (uint32_t)(mixed >> 32) & o->mask;
  while (o->slots[i] != 0 && o->names[o->slots[i] - 1] != name)
    i = (i + 1) & o->mask;
  return &o->slots[i];
}

/* Returns the place of a long name, found by its text. */
static int find_long(lua_State *L, int list, int name) {
  int place;
  lua_pushvalue(L, name);
  lua_rawget(L, list);
  place = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return place;
}

/* Pushes the list of names that orders the table at `table`. */
static void push_list(lua_State *L, int table) {
  lua_getmetatable(L, table);
  lua_rawgetp(L, -1, &order_key);
  lua_getiuservalue(L, -1, 1);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Returns the place of the key at `key` in the order of the table at `table`,
** from 1; 0 if the order does not name it. */
static int find_place(lua_State *L, const pt_order *o, int table, int key) {
  int place = (int)*find_name_slot(o, lua_topointer(L, key));
  if (place > 0 || !o->has_long || lua_type(L, key) != LUA_TSTRING)
    return place;
  push_list(L, table);
  place = find_long(L, lua_gettop(L), key);
  lua_pop(L, 1);
  return place;
}

/* Gives the name on top the next place. Returns 0 if it has one already. The
** list at `list` may contain the name already. */
static int add_name(lua_State *L, pt_order *o, int list, int is_in_list) {
  int name = lua_gettop(L);
  int is_long = lua_rawlen(L, name) > INTERNED;
  const void *pointer = lua_topointer(L, name);
  uint32_t *slot = find_name_slot(o, pointer);
  if (*slot != 0 || (is_long && find_long(L, list, name) != 0))
    return 0;
  o->names[o->count++] = pointer;
  *slot = (uint32_t)o->count;
  if (is_long) {
    o->has_long = 1;
    lua_pushvalue(L, name);
    lua_pushinteger(L, o->count);
    lua_rawset(L, list);
  }
  if (!is_in_list) {
    lua_pushvalue(L, name);
    lua_rawseti(L, list, o->count);
  }
  return 1;
}

/* Pushes an order without names, with room for `names` names. The list at
** `list` becomes its user value. */
static pt_order *push_order(lua_State *L, int list, lua_Integer names) {
  size_t slots = 4, room = (size_t)names, size;
  pt_order *o;
  while (slots < room + room / 4)
    slots *= 2;
  size = sizeof *o + room * sizeof *o->names + slots * sizeof *o->slots;
  o = lua_newuserdatauv(L, size, 1);
  o->count = o->has_long = 0;
  o->mask = (uint32_t)(slots - 1);
  o->slots = (uint32_t *)(void *)(o->names + room);
  memset(o->slots, 0, slots * sizeof *o->slots);
  lua_pushvalue(L, list);
  lua_setiuservalue(L, -2, 1);
  return o;
}

/* }====== */

/* {====== pairs ====== */

/* step(table, key) -> key, value | nil */
static int order_step(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  luaL_argcheck(L, lua_getmetatable(L, 1) && pt_order_get(L) != NULL, 1,
                "has no order");
  lua_settop(L, 2);
  if (pt_order_next(L, 1))
    return 2;
  lua_pushnil(L);
  return 1;
}

/* __pairs(table) -> step, table, nil */
static int order_pairs(lua_State *L) {
  lua_settop(L, 1);
  lua_pushcfunction(L, order_step);
  lua_insert(L, 1);
  lua_pushnil(L);
  return 3;
}

/* }====== */

/* {====== Making orders ====== */

/* Replaces the order on top by a metatable that contains it. */
static void to_metatable(lua_State *L) {
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "pintle.order");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, order_pairs);
  lua_setfield(L, -2, "__pairs");
  lua_insert(L, -2);
  lua_rawsetp(L, -2, &order_key);
}

/* json.order(names) -> metatable */
int pt_order_new(lua_State *L) {
  lua_Integer n, members = 0;
  pt_order *o;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  n = (lua_Integer)lua_rawlen(L, 1);
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1))
    members++;
  luaL_argcheck(L, members == n, 1, "is not a list of names");
  lua_createtable(L, (int)n, 0);
  o = push_order(L, 2, n);
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_rawgeti(L, 1, i) != LUA_TSTRING)
      return luaL_argerror(L, 1, "a list of names must contain only strings");
    if (!add_name(L, o, 2, 0))
      return luaL_argerror(
          L, 1, lua_pushfstring(L, "'%s' occurs twice", lua_tostring(L, -1)));
    lua_pop(L, 1);
  }
  to_metatable(L);
  return 1;
}

/* Replaces the list on top by an order. A name that occurs again keeps its
** first place. */
static pt_order *to_order(lua_State *L) {
  int list = lua_gettop(L);
  lua_Integer n = (lua_Integer)lua_rawlen(L, list);
  pt_order *o = push_order(L, list, n);
  for (lua_Integer i = 1; i <= n; i++) {
    lua_rawgeti(L, list, i);
    add_name(L, o, list, o->count == i - 1);
    lua_pop(L, 1);
  }
  for (; n > o->count; n--) {
    lua_pushnil(L);
    lua_rawseti(L, list, n);
  }
  lua_replace(L, list);
  return o;
}

/* Appends the names above the table, each followed by its value, to the list on
** top. */
static void append_names(lua_State *L, int table, lua_Integer noted,
                         int members) {
  for (int i = 1; i <= members; i++) {
    lua_pushvalue(L, table - 1 + i * 2);
    lua_rawseti(L, -2, noted + i);
  }
}

/* While the table still gets members, the list is in the place of its
** metatable. */
void pt_order_append(lua_State *L, int table, lua_Integer noted, int members,
                     int is_last) {
  if (!lua_getmetatable(L, table)) {
    lua_createtable(L, members * 2, 0);
    lua_pushvalue(L, -1);
    lua_setmetatable(L, table);
  }
  append_names(L, table, noted, members);
  if (is_last) {
    to_order(L);
    to_metatable(L);
    lua_setmetatable(L, table);
  } else {
    lua_pop(L, 1);
  }
}

/* }====== */

/* {====== Sharing ====== */

/* The objects of a list usually have the same names, so orders are cached. Here
** are pointers to them; the table of strings keeps the orders and their
** metatables alive. */

/* Stores the names above the table in `names`, and returns the first slot of
** the cache for them. */
static unsigned read_names(lua_State *L, int table, int members,
                           const void **names) {
  uint64_t mixed = (uint64_t)members;
  for (int i = 0; i < members; i++) {
    names[i] = lua_topointer(L, table + 1 + i * 2);
    mixed = (mixed ^ (uintptr_t)names[i]) * UINT64_C(0x9E3779B97F4A7C15);
  }
  return (unsigned)(mixed >> 32) & (PT_ORDERS_KEPT - 1);
}

static int has_names(const pt_order *o, const void **names, int members) {
  return o != NULL && o->count == members &&
         memcmp(o->names, names, sizeof *names * (size_t)members) == 0;
}

void pt_order_share(lua_State *L, const pt_decode_env *v, int table,
                    int members) {
  const void *names[PT_ORDER_SHARED];
  struct pt_order **kept = v->names->orders, *o;
  unsigned slot = read_names(L, table, members, names);
  if (kept[slot] != NULL && !has_names(kept[slot], names, members))
    slot ^= 1;
  if (has_names(kept[slot], names, members)) {
    lua_rawgeti(L, v->strings, PT_NAMES_ORDERS + (int)slot);
    lua_setmetatable(L, table);
    return;
  }
  lua_createtable(L, members, 0);
  append_names(L, table, 0, members);
  o = to_order(L);
  lua_pushvalue(L, -1);
  to_metatable(L);
  lua_pushvalue(L, -1);
  lua_setmetatable(L, table);
  kept[slot] = NULL;
  lua_rawseti(L, v->strings, PT_NAMES_ORDERS + (int)slot);
  lua_rawseti(L, v->strings, PT_NAMES_ORDERS + PT_ORDERS_KEPT + (int)slot);
  kept[slot] = o;
}

/* }====== */

/* {====== Walking ====== */

const pt_order *pt_order_get(lua_State *L) {
  const pt_order *o = NULL;
  if (lua_rawgetp(L, -1, &order_key) == LUA_TUSERDATA)
    o = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return o;
}

/* Pushes the first member whose name has at least the place `place`. Returns
** whether there is one. */
static int push_named(lua_State *L, int table, int list, lua_Integer place) {
  for (; lua_rawgeti(L, list, place) != LUA_TNIL; place++) {
    lua_pushvalue(L, -1);
    if (lua_rawget(L, table) != LUA_TNIL)
      return 1;
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
  return 0;
}

/* As lua_next, for the members that the order does not name. The key on top is
** such a member or nil. A key that is not a string is not skipped: the encoder
** reports it. */
static int next_other(lua_State *L, const pt_order *o, int table) {
  while (lua_next(L, table)) {
    if (find_place(L, o, table, lua_gettop(L) - 1) == 0)
      return 1;
    lua_pop(L, 1);
  }
  return 0;
}

int pt_order_next(lua_State *L, int table) {
  int key = lua_gettop(L), place = 0;
  const pt_order *o;
  lua_getmetatable(L, table);
  o = pt_order_get(L);
  lua_pop(L, 1);
  if (!lua_isnil(L, key)) {
    place = find_place(L, o, table, key);
    if (place == 0)
      return next_other(L, o, table);
  }
  push_list(L, table);
  if (push_named(L, table, key + 1, place + 1)) {
    lua_replace(L, key + 1);
    lua_replace(L, key);
    return 1;
  }
  lua_settop(L, key - 1);
  lua_pushnil(L);
  return next_other(L, o, table);
}

/* }====== */
