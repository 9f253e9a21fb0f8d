/*
** What the metatable keeps under a key of its own is a table from place to name
** and from name to place. So the place of the member last written need not be
** remembered: its name tells it.
**
** Of a large object that was decoded it keeps no more than a list of the names
** as they came, until the order is used: few of them ever are.
*/
#include "lorder.h"

#include <stdint.h>
#include <string.h>

#include "lapi.h"

/* Their addresses are keys in the metatable. Where there is a list, false is
** what is under the first. */
static const char order_key = 0;
static const char list_key = 0;

/* {====== pairs ====== */

/* step(table, key) -> key, value | nil */
static int order_step(lua_State *L) {
  int is_order;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  is_order = lua_getmetatable(L, 1) ? pt_order_test(L) : 0;
  luaL_argcheck(L, is_order != 0, 1, "has no order");
  if (is_order < 0)
    return luaL_error(L, "not enough memory");
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

/* {====== json.order ====== */

/* Pushes a metatable that has the table on top under the key; that is taken
** away. */
static void push_metatable(lua_State *L, const void *key) {
  lua_createtable(L, 0, 4);
  lua_pushliteral(L, "pintle.order");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, order_pairs);
  lua_setfield(L, -2, "__pairs");
  lua_insert(L, -2);
  lua_rawsetp(L, -2, key);
}

/* Takes the name on top to its place in the table at `order`; 0 if it is there
** already. */
static int add_name(lua_State *L, int order, lua_Integer place) {
  lua_pushvalue(L, -1);
  if (lua_rawget(L, order) != LUA_TNIL) {
    lua_pop(L, 2);
    return 0;
  }
  lua_pop(L, 1);
  lua_pushvalue(L, -1);
  lua_rawseti(L, order, place);
  lua_pushinteger(L, place);
  lua_rawset(L, order);
  return 1;
}

static void add_distinct(lua_State *L, int order, lua_Integer place) {
  if (lua_type(L, -1) != LUA_TSTRING)
    luaL_argerror(L, 1, "a list of names is made of strings");
  lua_pushvalue(L, -1);
  if (!add_name(L, order, place))
    luaL_argerror(L, 1,
                  lua_pushfstring(L, "'%s' comes twice", lua_tostring(L, -1)));
  lua_pop(L, 1);
}

static lua_Integer count(lua_State *L, int table) {
  lua_Integer n = 0;
  lua_pushnil(L);
  for (; lua_next(L, table); n++)
    lua_pop(L, 1);
  return n;
}

/* Pushes the table that holds the names at 1 and their places. */
static void push_names(lua_State *L) {
  lua_Integer place = 1;
  int order;
  lua_newtable(L);
  order = lua_gettop(L);
  for (; lua_rawgeti(L, 1, place) != LUA_TNIL; place++)
    add_distinct(L, order, place);
  lua_pop(L, 1);
  luaL_argcheck(L, count(L, 1) == place - 1, 1, "is not a list of names");
}

int pt_order_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  push_names(L);
  push_metatable(L, &order_key);
  return 1;
}

/* }====== */

/* {====== Lists that become orders ====== */

static void push_list_of(lua_State *L, int table, int members) {
  if (!lua_getmetatable(L, table)) {
    lua_createtable(L, members * 2, 0);
    push_metatable(L, &list_key);
    lua_pushboolean(L, 0);
    lua_rawsetp(L, -2, &order_key);
    lua_pushvalue(L, -1);
    lua_setmetatable(L, table);
  }
  lua_rawgetp(L, -1, &list_key);
  lua_replace(L, -2);
}

void pt_order_append(lua_State *L, int table, lua_Integer noted, int members) {
  push_list_of(L, table, members);
  for (int i = 1; i <= members; i++) {
    lua_pushvalue(L, table - 1 + i * 2);
    lua_rawseti(L, -2, noted + i);
  }
  lua_pop(L, 1);
}

/* (metatable). A name that comes again keeps its first place. */
static int make_order(lua_State *L) {
  lua_Integer size, place = 1;
  lua_rawgetp(L, 1, &list_key);
  size = (lua_Integer)lua_rawlen(L, 2);
  lua_createtable(L, (int)size, (int)size);
  for (lua_Integer i = 1; i <= size; i++) {
    lua_rawgeti(L, 2, i);
    place += add_name(L, 3, place);
  }
  lua_rawsetp(L, 1, &order_key);
  lua_pushnil(L);
  lua_rawsetp(L, 1, &list_key);
  return 0;
}

/* With the collector stopped: whoever encodes must not meet finalizers. */
static int make_order_of(lua_State *L) {
  int was_running = lua_gc(L, LUA_GCISRUNNING), status;
  lua_gc(L, LUA_GCSTOP);
  lua_pushcfunction(L, make_order);
  lua_pushvalue(L, -2);
  status = lua_pcall(L, 1, 0, 0);
  if (was_running)
    lua_gc(L, LUA_GCRESTART);
  if (status == LUA_OK)
    return 1;
  lua_pop(L, 1);
  return -1;
}

int pt_order_test(lua_State *L) {
  int type = lua_rawgetp(L, -1, &order_key);
  lua_pop(L, 1);
  return type == LUA_TBOOLEAN ? make_order_of(L) : type == LUA_TTABLE;
}

/* }====== */

/* {====== Sharing ====== */

/* Objects of a list mostly have the same names. Their orders are kept in a
** cache: here the names as pointers, the metatables in the table of strings,
** behind those. A metatable holds its names, so that the pointers stay theirs.
*/

#define SLOTS 128 /* a power of two */
#define LONGEST 64

typedef struct pt_orders {
  unsigned char sizes[SLOTS]; /* the number of names and 1; 0 for none yet */
  const void *names[SLOTS][LONGEST];
} pt_orders;

#define METATABLES PT_NAMES_ORDERS
#define CACHE (METATABLES + SLOTS)

static pt_orders *get_orders(lua_State *L, const pt_vocabulary *v) {
  pt_orders *orders = v->names->orders;
  if (orders != NULL)
    return orders;
  for (int place = METATABLES; place < CACHE; place++) {
    lua_pushboolean(L, 0);
    lua_rawseti(L, v->strings, place);
  }
  orders = lua_newuserdatauv(L, sizeof *orders, 0);
  memset(orders->sizes, 0, sizeof orders->sizes);
  lua_rawseti(L, v->strings, CACHE);
  return v->names->orders = orders;
}

/* Notes the names behind the table, and returns the first slot for them. */
static unsigned read_names(lua_State *L, int table, int members,
                           const void **names) {
  uint64_t mixed = (uint64_t)members;
  for (int i = 0; i < members; i++) {
    names[i] = lua_topointer(L, table + 1 + i * 2);
    mixed = (mixed ^ (uintptr_t)names[i]) * UINT64_C(0x9E3779B97F4A7C15);
  }
  return (unsigned)(mixed >> 32) & (SLOTS - 1);
}

static int is_at(const pt_orders *orders, unsigned slot, const void **names,
                 int members) {
  return orders->sizes[slot] == members + 1 &&
         memcmp(orders->names[slot], names, sizeof *names * (size_t)members) ==
             0;
}

/* Nothing is allocated between what is kept here and there: a finalizer may
** decode, too. */
static void keep(lua_State *L, const pt_vocabulary *v, int table, unsigned slot,
                 const void **names, int members) {
  pt_orders *orders = v->names->orders;
  lua_getmetatable(L, table);
  lua_rawseti(L, v->strings, METATABLES + (int)slot);
  orders->sizes[slot] = (unsigned char)(members + 1);
  memcpy(orders->names[slot], names, sizeof *names * (size_t)members);
}

static void set_new(lua_State *L, int table, int members) {
  int name = table + 1, end = name + members * 2, order = lua_gettop(L) + 1;
  lua_Integer place = 1;
  lua_createtable(L, members, members);
  for (; name < end; name += 2) {
    lua_pushvalue(L, name);
    place += add_name(L, order, place);
  }
  push_metatable(L, &order_key);
  lua_setmetatable(L, table);
}

void pt_order_share(lua_State *L, const pt_vocabulary *v, int table,
                    int members) {
  const void *names[LONGEST];
  pt_orders *orders;
  unsigned slot;
  if (members > LONGEST) {
    set_new(L, table, members);
    return;
  }
  orders = get_orders(L, v);
  slot = read_names(L, table, members, names);
  if (orders->sizes[slot] != 0 && !is_at(orders, slot, names, members))
    slot ^= 1;
  if (is_at(orders, slot, names, members)) {
    lua_rawgeti(L, v->strings, METATABLES + (int)slot);
    lua_setmetatable(L, table);
    return;
  }
  set_new(L, table, members);
  keep(L, v, table, slot, names, members);
}

/* }====== */

/* {====== Walking ====== */

/* Each pushes the key and value of a member, or nothing, and says which. */

static int push_named(lua_State *L, int table, int order, lua_Integer place) {
  for (; lua_rawgeti(L, order, place) != LUA_TNIL; place++) {
    lua_pushvalue(L, -1);
    if (lua_rawget(L, table) != LUA_TNIL)
      return 1;
    lua_pop(L, 2);
  }
  lua_pop(L, 1);
  return 0;
}

/* The key after which to look is on top, and taken away. A key that is no name
** is not passed over, but left to be refused. */
static int push_other(lua_State *L, int table, int order) {
  while (lua_next(L, table)) {
    int is_named;
    if (lua_type(L, -2) != LUA_TSTRING)
      return 1;
    lua_pushvalue(L, -2);
    is_named = lua_rawget(L, order) != LUA_TNIL;
    lua_pop(L, 1);
    if (!is_named)
      return 1;
    lua_pop(L, 1);
  }
  return 0;
}

static int push_next(lua_State *L, int table, int key, int order) {
  lua_Integer place = 0;
  if (!lua_isnil(L, key)) {
    lua_pushvalue(L, key);
    lua_rawget(L, order);
    place = lua_tointeger(L, -1);
    lua_pop(L, 1);
    if (place == 0) {
      lua_pushvalue(L, key);
      return push_other(L, table, order);
    }
  }
  if (push_named(L, table, order, place + 1))
    return 1;
  lua_pushnil(L);
  return push_other(L, table, order);
}

int pt_order_next(lua_State *L, int table) {
  int key = lua_gettop(L), order = key + 1;
  lua_getmetatable(L, table);
  lua_rawgetp(L, -1, &order_key);
  lua_replace(L, order);
  if (push_next(L, table, key, order)) {
    lua_replace(L, order);
    lua_replace(L, key);
    return 1;
  }
  lua_pop(L, 2);
  return 0;
}

/* }====== */
