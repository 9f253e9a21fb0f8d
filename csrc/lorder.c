/*
** An order is a metatable. Under a private key it has a userdata, which code in
** Lua cannot look into. The user value of the userdata is a table: from each
** name to the name that follows it, and from the last name to false. At FIRST
** and LAST are the first and the last name.
*/
#include "ljson.h"

#include <string.h>

enum { FIRST = 1, LAST };

static const char order_key = 0; /* its address is the private key */

/* ====== pairs ====== */

/* step(table, key) -> key, value | nil */
static int order_step(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 2);
  luaL_argcheck(L, lua_getmetatable(L, 1) && pt_has_order(L), 1,
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

/* ====== Making orders ====== */

/* Pushes a metatable with an empty order, and its table of names. */
static pt_order *push_new_order(lua_State *L, int names) {
  pt_order *o;
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "pintle.order");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, order_pairs);
  lua_setfield(L, -2, "__pairs");
  o = lua_newuserdatauv(L, sizeof *o + (size_t)names * sizeof *o->names, 1);
  o->count = -1;
  lua_createtable(L, LAST, names);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, -3, 1);
  lua_insert(L, -2);
  lua_rawsetp(L, -3, &order_key);
  return o;
}

/* Appends the name at `name` to the order whose table is on top. Returns 0 if
** it is in the order already. */
static int append_order_name(lua_State *L, int name) {
  int order = lua_gettop(L);
  lua_pushvalue(L, name);
  if (lua_rawget(L, order) != LUA_TNIL) {
    lua_pop(L, 1);
    return 0;
  }
  lua_pushvalue(L, name);
  lua_pushboolean(L, 0);
  lua_rawset(L, order);
  if (lua_rawgeti(L, order, LAST) == LUA_TNIL)
    lua_pushinteger(L, FIRST);
  lua_pushvalue(L, name);
  lua_rawset(L, order);
  lua_pushvalue(L, name);
  lua_rawseti(L, order, LAST);
  lua_settop(L, order);
  return 1;
}

/* json.order(names) -> metatable */
int pt_order_new(lua_State *L) {
  lua_Integer n, members = 0;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  n = (lua_Integer)lua_rawlen(L, 1);
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1))
    members++;
  luaL_argcheck(L, members == n, 1, "is not a list of names");
  push_new_order(L, 0);
  for (lua_Integer i = 1; i <= n; i++) {
    if (lua_rawgeti(L, 1, i) != LUA_TSTRING)
      return luaL_argerror(L, 1, "a list of names must contain only strings");
    lua_insert(L, -2);
    if (!append_order_name(L, lua_gettop(L) - 1))
      return luaL_argerror(
          L, 1, lua_pushfstring(L, "'%s' occurs twice", lua_tostring(L, -2)));
    lua_remove(L, -2);
  }
  lua_pop(L, 1);
  return 1;
}

/* Appends the names above the table; returns how many were new. */
static int append_order_names(lua_State *L, int table, int members) {
  int added = 0;
  for (int i = 0; i < members; i++)
    added += append_order_name(L, table + 1 + i * 2);
  return added;
}

void pt_order_append(lua_State *L, int table, int members) {
  int top = lua_gettop(L);
  if (lua_getmetatable(L, table)) {
    lua_rawgetp(L, -1, &order_key);
    lua_getiuservalue(L, -1, 1);
  } else {
    push_new_order(L, members * 2);
    lua_pushvalue(L, -2);
    lua_setmetatable(L, table);
  }
  append_order_names(L, table, members);
  lua_settop(L, top);
}

/* ====== Sharing ====== */

/* The objects of a list usually have the same names, so orders are cached. A
** name is known by its pointer: Lua has only one string for equal short texts,
** and objects with longer names share less. The table of strings keeps the
** orders and their metatables alive. */

/* Stores the names above the table in `names`, and returns the first slot of
** the cache for them. */
static unsigned read_order_names(lua_State *L, int table, int members,
                                 const void **names) {
  uint64_t mixed = (uint64_t)members;
  for (int i = 0; i < members; i++) {
    names[i] = lua_topointer(L, table + 1 + i * 2);
    mixed = (mixed ^ (uintptr_t)names[i]) * UINT64_C(0x9E3779B97F4A7C15);
  }
  return (unsigned)(mixed >> 32) & (PT_ORDERS_KEPT - 1);
}

static int order_has_names(const pt_order *o, const void **names, int members) {
  return o != NULL && o->count == members &&
         memcmp(o->names, names, sizeof *names * (size_t)members) == 0;
}

void pt_order_share(lua_State *L, const pt_decode_env *v, int table,
                    int members) {
  const void *names[PT_ORDER_SHARED];
  struct pt_order **kept = v->names->orders, *o;
  unsigned slot = read_order_names(L, table, members, names);
  if (kept[slot] != NULL && !order_has_names(kept[slot], names, members))
    slot ^= 1;
  if (order_has_names(kept[slot], names, members)) {
    lua_rawgeti(L, v->strings, PT_NAMES_ORDERS + (int)slot);
    lua_setmetatable(L, table);
    return;
  }
  o = push_new_order(L, members);
  /* a name that occurs twice may not be kept alive at both places */
  if (append_order_names(L, table, members) == members) {
    memcpy(o->names, names, sizeof *names * (size_t)members);
    o->count = members;
  }
  kept[slot] = NULL;
  lua_pop(L, 1);
  lua_rawgetp(L, -1, &order_key);
  lua_rawseti(L, v->strings, PT_NAMES_ORDERS + PT_ORDERS_KEPT + (int)slot);
  lua_pushvalue(L, -1);
  lua_rawseti(L, v->strings, PT_NAMES_ORDERS + (int)slot);
  lua_setmetatable(L, table);
  kept[slot] = o;
}

/* ====== Walking ====== */

int pt_has_order(lua_State *L) {
  int has = lua_rawgetp(L, -1, &order_key) == LUA_TUSERDATA;
  lua_pop(L, 1);
  return has;
}

/* As lua_next, for the members that the order at `order` does not name. A key
** that is not a string is not skipped: the encoder reports it. */
static int next_unordered_member(lua_State *L, int order, int table) {
  while (lua_next(L, table)) {
    lua_pushvalue(L, -2);
    if (lua_rawget(L, order) == LUA_TNIL || lua_type(L, -3) != LUA_TSTRING) {
      lua_pop(L, 1);
      return 1;
    }
    lua_pop(L, 2);
  }
  return 0;
}

/* Replaces the key on top by the next name whose member the table has, and
** pushes the value. If there is none, goes on with the other members. */
static int next_ordered_member(lua_State *L, int order, int table) {
  int key = lua_gettop(L);
  if (lua_isnil(L, key)) {
    lua_rawgeti(L, order, FIRST);
  } else {
    lua_pushvalue(L, key);
    if (lua_type(L, key) != LUA_TSTRING || lua_rawget(L, order) == LUA_TNIL) {
      lua_settop(L, key);
      return next_unordered_member(L, order, table);
    }
  }
  while (lua_type(L, -1) == LUA_TSTRING) {
    lua_pushvalue(L, -1);
    if (lua_rawget(L, table) != LUA_TNIL) {
      lua_remove(L, key);
      return 1;
    }
    lua_pop(L, 1);
    lua_rawget(L, order);
  }
  lua_settop(L, key - 1);
  lua_pushnil(L);
  return next_unordered_member(L, order, table);
}

int pt_order_next(lua_State *L, int table) {
  int order = lua_gettop(L), found;
  lua_getmetatable(L, table);
  lua_rawgetp(L, -1, &order_key);
  lua_getiuservalue(L, -1, 1);
  lua_insert(L, order);
  lua_pop(L, 2);
  found = next_ordered_member(L, order, table);
  lua_remove(L, order);
  return found;
}
