/*
** Decoding and encoding undo each other: whatever text is accepted, its value
** is written as one line of JSON that reads back as an equal value, numbers
** bit for bit and arrays told from objects, and is written as the same text
** again. Objects given an order of members are written as the same value.
**
** Input: how the collector works, the text.
*/
#include "../csrc/ljson.h"
#include "state.h"

static void push_function(lua_State *L, const char *name) {
  lua_getglobal(L, "core");
  lua_getfield(L, -1, "json");
  lua_getfield(L, -1, name);
  lua_replace(L, -3);
  lua_pop(L, 1);
}

/* Replaces the text on top by its value; 0 if it is refused. */
static int decode(lua_State *L) {
  int top = lua_gettop(L);
  push_function(L, "decode");
  lua_insert(L, top);
  fuzz_call(L, 1, 2);
  if (lua_isnil(L, -2))
    return 0;
  fuzz_check(lua_isnil(L, -1));
  lua_pop(L, 1);
  return 1;
}

/* Pushes the text of the value on top. */
static void encode(lua_State *L) {
  push_function(L, "encode");
  lua_pushvalue(L, -2);
  fuzz_call(L, 1, 1);
}

static int count(lua_State *L, int table) {
  int n = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    n++;
  }
  return n;
}

static int is_array(lua_State *L, int table) {
  if (!lua_getmetatable(L, table))
    return 0;
  pt_array_metatable(L);
  fuzz_check(lua_rawequal(L, -1, -2));
  lua_pop(L, 2);
  return 1;
}

/* Gives the objects in the value at `at` the metatable at `order`. */
static void set_order(lua_State *L, int at, int order) {
  luaL_checkstack(L, 20, NULL);
  if (lua_type(L, at) != LUA_TTABLE)
    return;
  lua_pushnil(L);
  while (lua_next(L, at)) {
    set_order(L, lua_gettop(L), order);
    lua_pop(L, 1);
  }
  if (!is_array(L, at)) {
    lua_pushvalue(L, order);
    lua_setmetatable(L, at);
  }
}

/* Pushes an order by the names in the object at `at`, and some more. */
static void push_order(lua_State *L, int at) {
  lua_Integer n = 0;
  push_function(L, "order");
  lua_newtable(L);
  lua_pushliteral(L, "not there\n");
  lua_rawseti(L, -2, ++n);
  if (lua_type(L, at) == LUA_TTABLE && !is_array(L, at)) {
    lua_pushnil(L);
    while (lua_next(L, at)) {
      lua_pop(L, 1);
      lua_pushvalue(L, -1);
      lua_rawseti(L, -3, n + 1);
      n = n < 3 ? n + 1 : n; /* the others come as they come */
    }
  }
  fuzz_call(L, 1, 1);
}

static void check_number(lua_State *L, int a, int b) {
  lua_Number x = lua_tonumber(L, a), y = lua_tonumber(L, b);
  fuzz_check(lua_isinteger(L, a) == lua_isinteger(L, b));
  if (lua_isinteger(L, a))
    fuzz_check(lua_tointeger(L, a) == lua_tointeger(L, b));
  else
    fuzz_check(memcmp(&x, &y, sizeof x) == 0);
}

/* Whether the order of members is bound to be the same. */
static int check_equal(lua_State *L, int a, int b) {
  int ordered = 1;
  luaL_checkstack(L, 20, NULL);
  fuzz_check(lua_type(L, a) == lua_type(L, b));
  if (lua_type(L, a) == LUA_TNUMBER) {
    check_number(L, a, b);
  } else if (lua_type(L, a) == LUA_TTABLE) {
    int n = count(L, a);
    fuzz_check(is_array(L, a) == is_array(L, b));
    fuzz_check(n == count(L, b));
    ordered = n < 2 || is_array(L, a);
    lua_pushnil(L);
    while (lua_next(L, a)) {
      lua_pushvalue(L, -2);
      lua_rawget(L, b);
      ordered &= check_equal(L, lua_gettop(L) - 1, lua_gettop(L));
      lua_pop(L, 2);
    }
  } else {
    fuzz_check(lua_rawequal(L, a, b));
  }
  return ordered;
}

static void check_line(lua_State *L) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  pt_json_fault fault;
  fuzz_check(pt_json_value(text, text + len, PT_JSON_DEPTH, &fault) ==
             text + len);
  fuzz_check(memchr(text, '\n', len) == NULL);
}

/* The value at 3 is equal to the one at 1. */
static void check_order(lua_State *L) {
  lua_settop(L, 3);
  push_order(L, 1); /* 4 */
  set_order(L, 3, 4);
  lua_pushvalue(L, 3);
  encode(L);
  fuzz_check(decode(L)); /* 6 */
  check_equal(L, 1, 6);
}

static int round_trip(lua_State *L) {
  if (!decode(L)) /* the value is at 1 */
    return 0;
  encode(L); /* 2 */
  check_line(L);
  lua_pushvalue(L, 2);
  fuzz_check(decode(L)); /* 3 */
  encode(L);             /* 4 */
  if (check_equal(L, 1, 3))
    fuzz_check(lua_rawequal(L, 2, 4));
  fuzz_check(lua_rawlen(L, 2) == lua_rawlen(L, 4));
  check_order(L);
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  lua_State *L = fuzz_state(NULL);
  fuzz_stress(L, fuzz_byte(&in) & 1);
  lua_pushcfunction(L, round_trip);
  lua_pushlstring(L, (const char *)in.data, in.size);
  fuzz_call(L, 1, 0);
  return 0;
}
