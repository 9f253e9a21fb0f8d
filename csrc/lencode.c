/*
** An encoder without recursion. An open table takes three slots on the Lua
** stack: the table, what is to be known of the one around it (an integer, nil
** for the first levels, which are kept in C), and the key of the member being
** written.
*/
#include "ljson.h"

#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "plain.h"

#define SLOTS 3
#define QUICK 16 /* levels whose tables are also kept in C */

/* How the members of the open table are walked. */
enum walk { OBJECT, ARRAY, ARRAY_BY_INDEX };

/* An open table, and how far the one around it has been written. */
typedef struct level {
  const void *table;
  lua_Integer outer_n;
  enum walk outer_walk;
} level;

typedef struct encoder {
  lua_State *L;
  pt_buf *out;
  int depth;      /* open tables */
  int most;       /* nesting allowed */
  int base;       /* stack index of the outermost table */
  enum walk walk; /* of the innermost table */
  lua_Integer n;  /* members of it written so far */
  size_t mark;    /* length to which a failure cuts the buffer back */
  const char *root;
  const void *array_meta; /* the metatable that marks arrays */
  level open[QUICK];
} encoder;

/* {====== What is wrong, and where ====== */

/* A string with a NUL in it is none either, but is shown well enough. */
static int is_name(const char *s) {
  if (*s == '\0' || (*s >= '0' && *s <= '9'))
    return 0;
  return s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

/* A key as a message shows it: what would not be text itself, escaped. */
static void add_key(luaL_Buffer *b, const char *p, const char *end) {
  char escape[8];
  while (p < end) {
    const char *next = pt_json_utf8(p, end);
    if (next != NULL && (unsigned char)*p >= 0x20 && *p != '"') {
      luaL_addlstring(b, p, (size_t)(next - p));
      p = next;
    } else {
      snprintf(escape, sizeof escape, "\\x%02x", (unsigned char)*p++);
      luaL_addstring(b, escape);
    }
  }
}

static void add_step(lua_State *L, luaL_Buffer *b, int key) {
  size_t len;
  const char *text;
  if (lua_type(L, key) == LUA_TSTRING) {
    text = lua_tolstring(L, key, &len);
    luaL_addstring(b, is_name(text) ? "." : "[\"");
    add_key(b, text, text + len);
    luaL_addstring(b, is_name(text) ? "" : "\"]");
    return;
  }
  if (lua_isinteger(L, key))
    lua_pushfstring(L, "[%I]", (LUAI_UACINT)lua_tointeger(L, key));
  else
    lua_pushfstring(L, "[%s]", luaL_typename(L, key));
  luaL_addvalue(b);
}

/* Pushes the message. Making it may run the collector and so finalizers that
** use the buffer, hence it is put in order first. */
static pt_encoded misuse(encoder *e, const char *what) {
  lua_State *L = e->L;
  luaL_Buffer b;
  int i;
  pt_buf_cut(e->out, e->mark);
  if (!lua_checkstack(L, LUA_MINSTACK))
    return PT_ENCODE_MEMORY;
  luaL_buffinit(L, &b);
  luaL_addstring(&b, e->root);
  for (i = 0; i < e->depth; i++)
    add_step(L, &b, e->base + i * SLOTS + 2);
  luaL_addstring(&b, ": ");
  luaL_addstring(&b, what);
  luaL_pushresult(&b);
  return PT_ENCODE_MISUSE;
}

static pt_encoded misuse_type(encoder *e) {
  char what[64] = "a ";
  strncat(what, luaL_typename(e->L, -1), sizeof what - 32);
  strcat(what, " has no JSON form");
  return misuse(e, what);
}

static pt_encoded done(int ok) { return ok ? PT_ENCODED : PT_ENCODE_MEMORY; }

/* }====== */

static void put_integer(pt_buf *out, lua_Integer value) {
  char *p = out->data + out->end;
  if (value >= 0 && value < 10) {
    *p = (char)('0' + value);
    out->end++;
  } else {
    out->end += pt_number_write_integer(p, value);
  }
}

static pt_encoded encode_number(encoder *e) {
  lua_State *L = e->L;
  double value;
  if (!pt_buf_reserve(L, e->out, PT_NUMBER_MAX))
    return PT_ENCODE_MEMORY;
  if (lua_isinteger(L, -1)) {
    put_integer(e->out, lua_tointeger(L, -1));
    return PT_ENCODED;
  }
  value = lua_tonumber(L, -1);
  if (!isfinite(value))
    return misuse(e, isnan(value) ? "NaN has no JSON form"
                                  : "an infinity has no JSON form");
  e->out->end += pt_number_write_real(e->out->data + e->out->end, value);
  return PT_ENCODED;
}

static pt_encoded encode_text(encoder *e) {
  pt_buf *out = e->out;
  size_t len;
  const char *text = lua_tolstring(e->L, -1, &len);
  int status;
  if (pt_buf_room(out) >= len + 2 &&
      pt_plain_quote(out->data + out->end, text, len)) {
    out->end += len + 2;
    return PT_ENCODED;
  }
  status = pt_encode_string(e->L, out, text, len);
  return status < 0 ? misuse(e, "invalid UTF-8") : done(status);
}

static pt_encoded encode_userdata(encoder *e) {
  size_t len;
  const char *text = pt_raw_test(e->L, -1, &len);
  if (text == NULL)
    return misuse_type(e);
  return done(pt_encode_text(e->L, e->out, text, len));
}

static pt_encoded encode_scalar(encoder *e, int type) {
  lua_State *L = e->L;
  switch (type) {
  case LUA_TSTRING:
    return encode_text(e);
  case LUA_TNUMBER:
    return encode_number(e);
  case LUA_TBOOLEAN:
    if (lua_toboolean(L, -1))
      return done(pt_buf_add(L, e->out, "true", 4));
    return done(pt_buf_add(L, e->out, "false", 5));
  case LUA_TNIL:
    return done(pt_buf_add(L, e->out, "null", 4));
  case LUA_TLIGHTUSERDATA:
    if (lua_touserdata(L, -1) == NULL)
      return done(pt_buf_add(L, e->out, "null", 4));
    return misuse_type(e);
  case LUA_TUSERDATA:
    return encode_userdata(e);
  default:
    return misuse_type(e);
  }
}

/* {====== Tables ====== */

static int innermost(const encoder *e) {
  return e->base + (e->depth - 1) * SLOTS;
}

static int is_open(encoder *e, const void *table) {
  int i;
  for (i = 0; i < e->depth; i++) {
    const void *other =
        i < QUICK ? e->open[i].table : lua_topointer(e->L, e->base + i * SLOTS);
    if (other == table)
      return 1;
  }
  return 0;
}

/* Whether the table on top is marked as an array. */
static int is_marked(encoder *e) {
  const void *meta;
  if (!lua_getmetatable(e->L, -1))
    return 0;
  meta = lua_topointer(e->L, -1);
  lua_pop(e->L, 1);
  return meta == e->array_meta;
}

static void push_level(encoder *e, const void *table) {
  if (e->depth < QUICK) {
    level *l = &e->open[e->depth];
    l->table = table;
    l->outer_n = e->n;
    l->outer_walk = e->walk;
    lua_pushnil(e->L);
  } else {
    lua_pushinteger(e->L, e->n * 4 + (lua_Integer)e->walk);
  }
  e->depth++;
}

/* The integer of a level that is not kept in C is on top. */
static void pop_level(encoder *e) {
  e->depth--;
  if (e->depth < QUICK) {
    e->n = e->open[e->depth].outer_n;
    e->walk = e->open[e->depth].outer_walk;
  } else {
    lua_Integer outer = lua_tointeger(e->L, -1);
    e->n = outer / 4;
    e->walk = (enum walk)(outer % 4);
  }
  lua_pop(e->L, SLOTS - 1);
}

/* Opens the table on top of the stack, and steps to its first member: *more is
** 0 if it has none. */
static pt_encoded open_table(encoder *e, int *more) {
  lua_State *L = e->L;
  const void *table = lua_topointer(L, -1);
  int marked;
  if (is_open(e, table))
    return misuse(e, "a table that holds itself has no JSON form");
  if (e->depth >= e->most)
    return misuse(e, "nested too deeply");
  if (e->depth >= QUICK && !lua_checkstack(L, SLOTS + LUA_MINSTACK))
    return pt_stack_is_small(L) ? PT_ENCODE_MEMORY
                                : misuse(e, "nested too deeply");
  marked = is_marked(e);
  push_level(e, table);
  lua_pushnil(L);
  e->n = 0;
  *more = lua_next(L, -3);
  e->walk =
      marked || (*more && lua_type(L, -2) != LUA_TSTRING) ? ARRAY : OBJECT;
  return done(pt_buf_add(L, e->out, e->walk == ARRAY ? "[" : "{", 1));
}

/* lua_next has taken the key away. */
static pt_encoded close_table(encoder *e) {
  const char *bracket = e->walk == OBJECT ? "}" : "]";
  pop_level(e);
  return done(pt_buf_add(e->L, e->out, bracket, 1));
}

/* The first index without an item, as the key in the innermost table's slot. */
static const char *find_hole(encoder *e, int table) {
  lua_Integer i = 1;
  while (lua_rawgeti(e->L, table, i) != LUA_TNIL) {
    lua_pop(e->L, 1);
    i++;
  }
  lua_pop(e->L, 1);
  lua_pushinteger(e->L, i);
  return "a list with a hole has no JSON form";
}

/* NULL if the innermost table has the keys 1..n and no others. If not, why, and
** the key that spoils it is in the key's slot. */
static const char *not_a_sequence(encoder *e) {
  lua_State *L = e->L;
  int table = innermost(e);
  lua_Integer count = 0, most = 0;
  lua_settop(L, table + 1);
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING)
      return "a table with both items and names has no JSON form";
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 1)
      return "a key that is neither a name nor an index has no JSON form";
    if (lua_tointeger(L, -1) > most)
      most = lua_tointeger(L, -1);
    count++;
  }
  if (count != most)
    return find_hole(e, table);
  lua_pushinteger(L, most);
  return NULL;
}

/* A list whose items do not come in order is partly in the table's hash: from
** here on it is walked by index. */
static pt_encoded walk_by_index(encoder *e) {
  const char *what = not_a_sequence(e);
  if (what != NULL)
    return misuse(e, what);
  e->walk = ARRAY_BY_INDEX;
  lua_pop(e->L, 1);
  lua_pushinteger(e->L, e->n + 1);
  lua_rawgeti(e->L, innermost(e), e->n + 1);
  return PT_ENCODED;
}

/* Replaces the key on top by the next key and its member; as lua_next. */
static int next_member(encoder *e) {
  lua_State *L = e->L;
  if (e->walk != ARRAY_BY_INDEX)
    return lua_next(L, -3);
  lua_pop(L, 1);
  lua_pushinteger(L, e->n + 1);
  if (lua_rawgeti(L, innermost(e), e->n + 1) != LUA_TNIL)
    return 1;
  lua_pop(L, 2);
  return 0;
}

static int is_in_order(encoder *e) {
  return lua_isinteger(e->L, -2) && lua_tointeger(e->L, -2) == e->n + 1;
}

static pt_encoded encode_long_name(encoder *e, const char *name, size_t len) {
  int status = pt_encode_string(e->L, e->out, name, len);
  if (status < 0)
    return misuse(e, "invalid UTF-8");
  return done(status && pt_buf_add(e->L, e->out, ":", 1));
}

/* The separator and the name of the member on top. */
static pt_encoded encode_name(encoder *e) {
  pt_buf *out = e->out;
  const char *name;
  size_t len;
  char *p;
  if (lua_type(e->L, -2) != LUA_TSTRING)
    return misuse(e, "a table with both items and names has no JSON form");
  name = lua_tolstring(e->L, -2, &len);
  if (!pt_buf_reserve(e->L, out, len + 4))
    return PT_ENCODE_MEMORY;
  p = out->data + out->end;
  *p = ',';
  p += e->n++ > 0;
  if (!pt_plain_quote(p, name, len)) {
    out->end = (size_t)(p - out->data);
    return encode_long_name(e, name, len);
  }
  p[len + 2] = ':';
  out->end = (size_t)(p - out->data) + len + 3;
  return PT_ENCODED;
}

/* What stands before the member on top. */
static pt_encoded encode_before(encoder *e) {
  if (e->walk == OBJECT)
    return encode_name(e);
  if (e->walk == ARRAY && !is_in_order(e)) {
    pt_encoded status = walk_by_index(e);
    if (status != PT_ENCODED)
      return status;
  }
  return done(e->n++ == 0 || pt_buf_add(e->L, e->out, ",", 1));
}

/* Writes the value on top. A table opens and *more says whether it has a
** member, which is then on top; anything else is popped, and the next member of
** the table around it takes its place, if there is one. */
static pt_encoded encode_top(encoder *e, int *more) {
  int type = lua_type(e->L, -1);
  pt_encoded status;
  if (type == LUA_TTABLE)
    return open_table(e, more);
  status = encode_scalar(e, type);
  if (status != PT_ENCODED)
    return status;
  lua_pop(e->L, 1);
  *more = e->depth > 0 && next_member(e);
  return PT_ENCODED;
}

/* Closes tables until one has another member, which is then on top. */
static pt_encoded close_finished(encoder *e, int *more) {
  pt_encoded status = PT_ENCODED;
  while (!*more && e->depth > 0 && status == PT_ENCODED) {
    status = close_table(e);
    *more = e->depth > 0 && next_member(e);
  }
  return status;
}

static pt_encoded encode_all(encoder *e) {
  int more;
  pt_encoded status = encode_top(e, &more);
  while (status == PT_ENCODED) {
    status = close_finished(e, &more);
    if (!more || status != PT_ENCODED)
      break;
    status = encode_before(e);
    if (status == PT_ENCODED)
      status = encode_top(e, &more);
  }
  return status;
}

/* }====== */

pt_encoded pt_encode_value(lua_State *L, int index, pt_buf *out, size_t mark,
                           const pt_encode_style *style, const char *root) {
  encoder e;
  int top = lua_gettop(L);
  pt_encoded status;
  e.L = L;
  e.out = out;
  e.depth = 0;
  e.most = style->depth;
  e.base = top + 1;
  e.walk = OBJECT;
  e.n = 0;
  e.mark = mark;
  e.root = root;
  e.array_meta = style->array_meta;
  if (!lua_checkstack(L, QUICK * SLOTS + LUA_MINSTACK)) {
    pt_buf_cut(out, mark);
    return PT_ENCODE_MEMORY;
  }
  lua_pushvalue(L, index);
  status = encode_all(&e);
  if (status == PT_ENCODED)
    return status;
  pt_buf_cut(out, status == PT_ENCODE_MEMORY ? mark : pt_buf_len(out));
  if (status == PT_ENCODE_MISUSE)
    lua_replace(L, top + 1);
  lua_settop(L, status == PT_ENCODE_MISUSE ? top + 1 : top);
  return status;
}
