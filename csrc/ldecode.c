/*
** A decoder without recursion. Members wait on the Lua stack until their
** container closes, so that its table is made once and in the right size; only
** a container with more members than a chunk gets its table earlier.
**
** An open container takes two slots below its waiting members: its table, or
** nil until there is one, and the level around it, packed into an integer.
*/
#include "ljson.h"

#include <lauxlib.h>

#include "number.h"
#include "plain.h"

#define CHUNK 64 /* members that wait at the most */
#define SLOTS 2

typedef struct level {
  int object;
  int table;     /* stack index of the table's slot; 0 outside of all */
  lua_Integer n; /* array members that are in the table already */
} level;

#define TABLE_BITS 24 /* more than the Lua stack has slots */

static lua_Integer pack(const level *l) {
  return (l->n << TABLE_BITS | l->table) << 1 | l->object;
}

static void unpack(level *l, lua_Integer packed) {
  l->object = (int)(packed & 1);
  l->table = (int)(packed >> 1 & ((1 << TABLE_BITS) - 1));
  l->n = packed >> (TABLE_BITS + 1);
}

static int fail(pt_decoder *d, const char *what, const char *where) {
  d->fault.what = what;
  d->fault.where = where;
  return 0;
}

/* {====== Scalars ====== */

static void push_unescaped(lua_State *L, const char *text, size_t len) {
  luaL_Buffer b;
  char *out = luaL_buffinitsize(L, &b, len);
  luaL_pushresultsize(&b, pt_json_unescape(text, text + len, out));
}

static int decode_escaped(lua_State *L, pt_decoder *d, const char *text) {
  int escaped;
  const char *close = pt_json_string(text, d->end, &escaped, &d->fault);
  if (close == NULL)
    return 0;
  if (escaped)
    push_unescaped(L, text, (size_t)(close - text));
  else
    lua_pushlstring(L, text, (size_t)(close - text));
  d->p = close + 1;
  return 1;
}

/* d->p stands on the opening quote. */
static int decode_string(lua_State *L, pt_decoder *d) {
  const char *text = d->p + 1;
  const char *close = pt_plain_end(text, d->end);
  if (close == d->end || *close != '"')
    return decode_escaped(L, d, text);
  lua_pushlstring(L, text, (size_t)(close - text));
  d->p = close + 1;
  return 1;
}

static int decode_number(lua_State *L, pt_decoder *d) {
  pt_number number;
  const char *next = pt_number_read(d->p, d->end, &number);
  if (next == NULL)
    return fail(d, "invalid number", d->p);
  if (number.is_integer)
    lua_pushinteger(L, number.integer);
  else
    lua_pushnumber(L, number.real);
  d->p = next;
  return 1;
}

static int decode_literal(lua_State *L, pt_decoder *d) {
  const char *next = pt_json_literal(d->p, d->end, &d->fault);
  if (next == NULL)
    return 0;
  if (*d->p == 'n')
    lua_pushlightuserdata(L, NULL);
  else
    lua_pushboolean(L, *d->p == 't');
  d->p = next;
  return 1;
}

static int decode_scalar(lua_State *L, pt_decoder *d) {
  if (*d->p == '"')
    return decode_string(L, d);
  if (*d->p == '-' || (*d->p >= '0' && *d->p <= '9'))
    return decode_number(L, d);
  return decode_literal(L, d);
}

/* }====== */

/* {====== Containers ====== */

/* A member's name is pushed; d->p then stands on its value. */
static int decode_name(lua_State *L, pt_decoder *d) {
  if (d->p >= d->end || *d->p != '"')
    return fail(d, "expected a member name", d->p);
  if (!decode_string(L, d))
    return 0;
  d->p = pt_json_space(d->p, d->end);
  if (d->p >= d->end || *d->p != ':')
    return fail(d, "expected ':'", d->p);
  d->p++;
  return 1;
}

static void new_table(lua_State *L, pt_decoder *d, level *l, int waiting) {
  if (l->object) {
    lua_createtable(L, 0, waiting);
  } else {
    lua_createtable(L, waiting, 0);
    lua_pushvalue(L, d->array_meta);
    lua_setmetatable(L, -2);
  }
  lua_replace(L, l->table);
}

/* In the order in which they came, so that the last of equal names wins. */
static void store_members(lua_State *L, int table, int top) {
  int i;
  for (i = table + SLOTS; i < top; i += 2) {
    lua_pushvalue(L, i);
    lua_pushvalue(L, i + 1);
    lua_rawset(L, table);
  }
}

static void store_items(lua_State *L, level *l, int waiting) {
  int i;
  for (i = waiting; i > 0; i--)
    lua_rawseti(L, l->table, l->n + i);
  l->n += waiting;
}

/* Moves what waits into the table, which may have been made with room. */
static void store(lua_State *L, level *l, int waiting) {
  if (l->object)
    store_members(L, l->table, l->table + SLOTS + waiting);
  else
    store_items(L, l, waiting);
}

/* A chunk is full: the table is made now, with room for as many again. */
static void store_chunk(lua_State *L, pt_decoder *d, level *l, int waiting) {
  if (lua_type(L, l->table) == LUA_TNIL)
    new_table(L, d, l, waiting * 2);
  store(L, l, waiting);
  lua_settop(L, l->table + SLOTS - 1);
}

static int open_container(lua_State *L, pt_decoder *d, level *l) {
  if (d->depth <= 0)
    return fail(d, "nested too deeply", d->p);
  if (!lua_checkstack(L, CHUNK * 2 + SLOTS + 8))
    return fail(d, "nested too deeply for the Lua stack", d->p);
  d->depth--;
  lua_pushnil(L);
  lua_pushinteger(L, pack(l));
  l->object = *d->p == '{';
  l->table = lua_gettop(L) - 1;
  l->n = 0;
  d->p++;
  return 1;
}

/* The table is left on top, a member of the level around. */
static void close_container(lua_State *L, pt_decoder *d, level *l) {
  int table = l->table, waiting = lua_gettop(L) - table - (SLOTS - 1);
  if (lua_type(L, table) == LUA_TNIL)
    new_table(L, d, l, l->object ? waiting / 2 : waiting);
  store(L, l, waiting);
  unpack(l, lua_tointeger(L, table + 1));
  lua_settop(L, table);
  d->depth++;
  d->p++;
}

static int closes(const level *l, char c) {
  return c == (l->object ? '}' : ']');
}

/* Behind a value: closes what ends here; d->p then stands before the next value
** or, with the outermost closed, behind it all. */
static int decode_after(lua_State *L, pt_decoder *d, level *l) {
  int waiting;
  while (l->table != 0) {
    d->p = pt_json_space(d->p, d->end);
    if (d->p >= d->end)
      return fail(d, "unfinished value", d->p);
    if (*d->p == ',') {
      d->p = pt_json_space(d->p + 1, d->end);
      waiting = lua_gettop(L) - l->table - (SLOTS - 1);
      if (waiting >= CHUNK * (l->object + 1))
        store_chunk(L, d, l, waiting);
      return !l->object || decode_name(L, d);
    }
    if (!closes(l, *d->p))
      return fail(d, l->object ? "expected ',' or '}'" : "expected ',' or ']'",
                  d->p);
    close_container(L, d, l);
  }
  return 1;
}

static int decode_open(lua_State *L, pt_decoder *d, level *l) {
  if (!open_container(L, d, l))
    return 0;
  d->p = pt_json_space(d->p, d->end);
  if (d->p < d->end && closes(l, *d->p)) {
    close_container(L, d, l);
    return decode_after(L, d, l);
  }
  return !l->object || decode_name(L, d);
}

/* }====== */

int pt_decode_value(lua_State *L, pt_decoder *d) {
  level l = {0, 0, 0};
  int ok;
  do {
    d->p = pt_json_space(d->p, d->end);
    if (d->p >= d->end)
      return fail(d, "unfinished value", d->p);
    if (*d->p == '{' || *d->p == '[')
      ok = decode_open(L, d, &l);
    else
      ok = decode_scalar(L, d) && decode_after(L, d, &l);
  } while (ok && l.table != 0);
  return ok;
}
