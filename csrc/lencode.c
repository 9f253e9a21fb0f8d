/*
** The encoder. It walks nested tables without recursion. The work for every
** member is inline in two loops, because function calls would take longer than
** the work.
*/
#include "lencode.h"

#include <math.h>
#include <string.h>

#include "number.h"

#define SLOTS PT_ENCODER_SLOTS
#define LEVELS PT_ENCODER_LEVELS

/* Levels that fit into PT_ENCODE_STACK, besides the value and the eight slots
** that are used while a member is processed. */
#define FREE_LEVELS ((PT_ENCODE_STACK - 1 - 8) / SLOTS)

static inline pt_encoded to_status(int ok) {
  return ok ? PT_ENCODED : PT_ENCODE_MEMORY;
}

/* {====== Scalars ====== */

#define SPARE 64

/* Writes the rest of a string from `p` on, and the closing quote. */
static int encode_rest(lua_State *L, pt_buf *out, const char *p,
                       const char *end) {
  while (p < end) {
    char *at;
    if (!pt_buf_reserve(L, out, (size_t)(end - p) + SPARE))
      return 0;
    at = out->data + out->end;
    p = pt_json_escape(&at, p, end, (ptrdiff_t)pt_buf_room(out) - (end - p));
    if (p == NULL)
      return -1;
    out->end = (size_t)(at - out->data);
  }
  return pt_buf_add(L, out, "\"", 1);
}

int pt_encode_string(lua_State *L, pt_buf *out, const char *text, size_t len) {
  char *p;
  if (!pt_buf_reserve(L, out, len + 2))
    return 0;
  p = out->data + out->end;
  if (pt_plain_quote(p, text, len)) {
    out->end += len + 2;
    return 1;
  }
  *p = '"';
  out->end++;
  return encode_rest(L, out, text, text + len);
}

int pt_encode_integer(lua_State *L, pt_buf *out, lua_Integer value) {
  if (!pt_buf_reserve(L, out, PT_NUMBER_MAX))
    return 0;
  out->end += pt_number_write_integer(out->data + out->end, value);
  return 1;
}

static void replace_all(char *text, size_t len, char c) {
  char *end = text + len;
  while ((text = memchr(text, c, (size_t)(end - text))) != NULL)
    *text++ = ' ';
}

/* Writes JSON text that was made elsewhere, on one line: line ends are white
** space in JSON. */
static pt_encoded put_text(lua_State *L, pt_buf *out, const char *text,
                           size_t len) {
  if (!pt_buf_add(L, out, text, len))
    return PT_ENCODE_MEMORY;
  replace_all(out->data + out->end - len, len, '\n');
  replace_all(out->data + out->end - len, len, '\r');
  return PT_ENCODED;
}

/* The following functions write the value on top. The buffer has at least this
** much room. */
#define VALUE_ROOM PT_NUMBER_MAX

static inline void put_integer(pt_buf *out, lua_Integer value) {
  char *p = out->data + out->end;
  if (value >= 0 && value < 10) {
    *p = (char)('0' + value);
    out->end++;
  } else {
    out->end += pt_number_write_integer(p, value);
  }
}

static pt_encoded encode_real(pt_encoder *e) {
  double value = lua_tonumber(e->L, -1);
  if (!isfinite(value))
    return pt_encode_error(e, isnan(value) ? "NaN has no JSON form"
                                           : "an infinity has no JSON form");
  e->out->end += pt_number_write_real(e->out->data + e->out->end, value);
  return PT_ENCODED;
}

static inline pt_encoded encode_number(pt_encoder *e) {
  if (!lua_isinteger(e->L, -1))
    return encode_real(e);
  put_integer(e->out, lua_tointeger(e->L, -1));
  return PT_ENCODED;
}

static pt_encoded encode_long_text(pt_encoder *e, const char *text,
                                   size_t len) {
  int status = pt_encode_string(e->L, e->out, text, len);
  return status < 0 ? pt_encode_error(e, "invalid UTF-8") : to_status(status);
}

static inline pt_encoded encode_text(pt_encoder *e) {
  pt_buf *out = e->out;
  size_t len;
  const char *text = lua_tolstring(e->L, -1, &len);
  if (pt_buf_room(out) < len + 2 ||
      !pt_plain_quote(out->data + out->end, text, len))
    return encode_long_text(e, text, len);
  out->end += len + 2;
  return PT_ENCODED;
}

static pt_encoded put_literal(pt_encoder *e, const char *text) {
  size_t len = strlen(text);
  memcpy(e->out->data + e->out->end, text, len);
  e->out->end += len;
  return PT_ENCODED;
}

static pt_encoded encode_userdata(pt_encoder *e) {
  size_t len;
  const char *text = pt_raw_test(e->L, -1, &len);
  return text != NULL ? put_text(e->L, e->out, text, len)
                      : pt_encode_type_error(e);
}

static pt_encoded encode_other(pt_encoder *e, int type) {
  switch (type) {
  case LUA_TBOOLEAN:
    return put_literal(e, lua_toboolean(e->L, -1) ? "true" : "false");
  case LUA_TNIL:
    return put_literal(e, "null");
  case LUA_TLIGHTUSERDATA:
    return lua_touserdata(e->L, -1) == NULL ? put_literal(e, "null")
                                            : pt_encode_type_error(e);
  case LUA_TUSERDATA:
    return encode_userdata(e);
  default:
    return pt_encode_type_error(e);
  }
}

static inline pt_encoded encode_scalar(pt_encoder *e, int type) {
  if (type == LUA_TSTRING)
    return encode_text(e);
  if (type == LUA_TNUMBER)
    return encode_number(e);
  return encode_other(e, type);
}

/* }====== */

/* {====== Opening and closing tables ====== */

/* Pushes the next item of a list. If there is none, pops the key's slot as
** lua_next does. */
static inline int next_item(pt_encoder *e) {
  if (lua_rawgeti(e->L, e->key - 2, e->n + 1) != LUA_TNIL)
    return 1;
  lua_pop(e->L, 2);
  return 0;
}

/* As lua_next: replaces the key on top by the next key and its value. */
static inline int next_member(pt_encoder *e) {
  if (e->walk == PT_WALK_OBJECT)
    return lua_next(e->L, -3);
  if (e->walk == PT_WALK_LIST)
    return next_item(e);
  return pt_order_next(e->L, e->key - 2);
}

/* Checks whether one more table may be opened, when the fast test does not
** suffice. A cycle is detected when it is deep enough to get here. */
static pt_encoded check_depth(pt_encoder *e) {
  lua_State *L = e->L;
  int may_open = e->depth < e->most;
  int levels = e->depth < LEVELS ? LEVELS - e->depth : 1;
  if ((e->depth >= LEVELS || !may_open) && pt_encode_is_cycle(e, may_open))
    return pt_encode_error(e, "a table that contains itself has no JSON form");
  if (may_open && lua_checkstack(L, levels * SLOTS + LUA_MINSTACK)) {
    e->levels = e->depth + levels;
    return PT_ENCODED;
  }
  return may_open && pt_stack_is_small(L)
             ? PT_ENCODE_MEMORY
             : pt_encode_error(e, "nested too deeply");
}

/* Pushes the slots of the table on top; the second slot may be there already.
*/
static inline void push_level(pt_encoder *e, pt_walk walk, int is_filled) {
  if (e->depth < LEVELS) {
    e->open[e->depth].outer_n = e->n;
    e->open[e->depth].outer_walk = e->walk;
    if (!is_filled)
      lua_pushnil(e->L);
  } else {
    lua_pop(e->L, is_filled);
    lua_pushinteger(e->L, e->n * PT_WALKS + (lua_Integer)e->walk);
  }
  lua_pushnil(e->L);
  e->depth++;
  e->key += SLOTS;
  e->n = 0;
  e->walk = walk;
}

/* Returns to the enclosing level. The key was popped before. */
static inline void pop_level(pt_encoder *e) {
  e->depth--;
  if (e->depth < LEVELS) {
    e->n = e->open[e->depth].outer_n;
    e->walk = e->open[e->depth].outer_walk;
  } else {
    lua_Integer outer = lua_tointeger(e->L, -1);
    e->n = outer / PT_WALKS;
    e->walk = (pt_walk)(outer % PT_WALKS);
  }
  e->key -= SLOTS;
  lua_pop(e->L, SLOTS - 1);
}

/* The first key of a table without a mark, which is at -2, is not a name: the
** table is a list. Returns whether it has a first item. */
static int begin_list(pt_encoder *e) {
  e->walk = PT_WALK_LIST;
  if (lua_isinteger(e->L, -2) && lua_tointeger(e->L, -2) == 1)
    return 1;
  lua_pop(e->L, 1);
  return next_item(e);
}

/* Goes to the first member of the table just opened. Sets *more to 0 if it has
** none. */
static inline pt_encoded begin_table(pt_encoder *e, int *more) {
  *more = next_member(e);
  if (e->walk == PT_WALK_OBJECT && *more && lua_type(e->L, -2) != LUA_TSTRING)
    *more = begin_list(e);
  e->out->data[e->out->end++] = e->walk == PT_WALK_LIST ? '[' : '{';
  return PT_ENCODED;
}

/* Writes an integer of more than 64 bits, whose table and metatable are on top,
** and goes on in the enclosing table. */
static pt_encoded put_bigint(pt_encoder *e, const char *text, size_t len,
                             int *more) {
  pt_encoded status = put_text(e->L, e->out, text, len);
  lua_pop(e->L, 2);
  *more = status == PT_ENCODED && e->depth > 0 && next_member(e);
  return status;
}

/* Opens a table whose metatable is on top. */
static inline pt_encoded open_marked(pt_encoder *e, int *more) {
  pt_walk walk = PT_WALK_LIST;
  if (lua_topointer(e->L, -1) != e->array_meta) {
    const pt_order *order = pt_order_get(e->L);
    size_t len;
    const char *bigint = order == NULL ? pt_bigint_test(e->L, &len) : NULL;
    if (bigint != NULL)
      return put_bigint(e, bigint, len, more);
    walk = order != NULL ? PT_WALK_ORDERED : PT_WALK_OBJECT;
  }
  push_level(e, walk, 1);
  return begin_table(e, more);
}

/* Opens the table on top, and goes to its first member. */
static inline pt_encoded open_table(pt_encoder *e, int *more) {
  if (e->depth >= e->levels || e->depth >= e->most) {
    pt_encoded status = check_depth(e);
    if (status != PT_ENCODED)
      return status;
  }
  if (lua_getmetatable(e->L, -1))
    return open_marked(e, more);
  push_level(e, PT_WALK_OBJECT, 0);
  return begin_table(e, more);
}

/* Checks that the list has no keys besides the indexes of its items. */
static pt_encoded end_list(pt_encoder *e) {
  const char *what;
  if (e->n > 0)
    lua_pushinteger(e->L, e->n);
  else
    lua_pushnil(e->L);
  if (!lua_next(e->L, e->key - 2))
    return PT_ENCODED;
  what = pt_encode_list_error(e);
  lua_pop(e->L, what == NULL);
  return what == NULL ? PT_ENCODED : pt_encode_error(e, what);
}

static inline pt_encoded close_table(pt_encoder *e) {
  char bracket = '}';
  if (e->walk == PT_WALK_LIST) {
    pt_encoded status = end_list(e);
    if (status != PT_ENCODED)
      return status;
    bracket = ']';
  }
  pop_level(e);
  if (!pt_buf_reserve(e->L, e->out, 1))
    return PT_ENCODE_MEMORY;
  e->out->data[e->out->end++] = bracket;
  return PT_ENCODED;
}

/* }====== */

/* {====== The text before the member on top, and room for the member ====== */

static pt_encoded not_a_name(pt_encoder *e) {
  return pt_encode_error(
      e, e->walk != PT_WALK_OBJECT
             ? "an ordered object with items has no JSON form"
             : "a table with both items and names has no JSON form");
}

static pt_encoded encode_long_name(pt_encoder *e, const char *name,
                                   size_t len) {
  pt_encoded status = encode_long_text(e, name, len);
  if (status != PT_ENCODED)
    return status;
  if (!pt_buf_reserve(e->L, e->out, 1 + VALUE_ROOM))
    return PT_ENCODE_MEMORY;
  e->out->data[e->out->end++] = ':';
  return PT_ENCODED;
}

static inline pt_encoded before_member(pt_encoder *e) {
  pt_buf *out = e->out;
  const char *name;
  size_t len;
  char *p;
  if (lua_type(e->L, -2) != LUA_TSTRING)
    return not_a_name(e);
  name = lua_tolstring(e->L, -2, &len);
  if (!pt_buf_reserve(e->L, out, len + 4 + VALUE_ROOM))
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

/* }====== */

/* {====== The members of the innermost table, from the one on top on ====== */

/* A loop over members returns PT_ENCODED at the end of the table. */
#define TABLE_NEXT ((pt_encoded)(PT_ENCODE_MISUSE + 1)) /* a table is on top */

static inline pt_encoded write_items(pt_encoder *e) {
  lua_State *L = e->L;
  pt_buf *out = e->out;
  int table = e->key - 2, type = lua_type(L, -1);
  do {
    pt_encoded status;
    if (!pt_buf_reserve(L, out, 1 + VALUE_ROOM))
      return PT_ENCODE_MEMORY;
    out->data[out->end] = ',';
    out->end += e->n++ > 0;
    if (type == LUA_TTABLE) {
      lua_pushinteger(L, e->n); /* for the path of an error */
      lua_replace(L, e->key);
      return TABLE_NEXT;
    }
    status = encode_scalar(e, type);
    if (status != PT_ENCODED)
      return status;
    lua_pop(L, 1);
    type = lua_rawgeti(L, table, e->n + 1);
  } while (type != LUA_TNIL);
  lua_pop(L, 2);
  return PT_ENCODED;
}

static inline pt_encoded write_members(pt_encoder *e) {
  lua_State *L = e->L;
  do {
    pt_encoded status = before_member(e);
    int type;
    if (status != PT_ENCODED)
      return status;
    type = lua_type(L, -1);
    if (type == LUA_TTABLE)
      return TABLE_NEXT;
    status = encode_scalar(e, type);
    if (status != PT_ENCODED)
      return status;
    lua_pop(L, 1);
  } while (next_member(e));
  return PT_ENCODED;
}

/* }====== */

/* Writes the table on top and everything in it. */
static pt_encoded encode_table(pt_encoder *e) {
  for (;;) {
    int more;
    pt_encoded status = open_table(e, &more);
    if (status != PT_ENCODED || e->depth == 0)
      return status;
    for (;;) {
      if (more)
        status = e->walk == PT_WALK_LIST ? write_items(e) : write_members(e);
      if (status == TABLE_NEXT)
        break;
      if (status == PT_ENCODED)
        status = close_table(e);
      if (status != PT_ENCODED || e->depth == 0)
        return status;
      more = next_member(e);
    }
  }
}

/* Writes the value on top and pops it. */
static pt_encoded encode_all(pt_encoder *e) {
  int type = lua_type(e->L, -1);
  pt_encoded status;
  if (!pt_buf_reserve(e->L, e->out, VALUE_ROOM))
    return PT_ENCODE_MEMORY;
  if (type == LUA_TTABLE)
    return encode_table(e);
  status = encode_scalar(e, type);
  if (status == PT_ENCODED)
    lua_pop(e->L, 1);
  return status;
}

pt_encoded pt_encode_value(lua_State *L, int index, pt_buf *out, size_t mark,
                           const pt_encode_style *style, const char *root) {
  pt_encoder e;
  int top = lua_gettop(L);
  pt_encoded status;
  e.L = L;
  e.out = out;
  e.depth = 0;
  e.most = style->depth;
  e.levels = FREE_LEVELS;
  e.base = top + 1;
  e.key = top;
  e.walk = PT_WALK_OBJECT;
  e.n = 0;
  e.mark = mark;
  e.root = root;
  e.array_meta = style->array_meta;
  lua_pushvalue(L, index);
  status = encode_all(&e);
  if (status == PT_ENCODED)
    return status;
  if (status == PT_ENCODE_MEMORY)
    pt_buf_cut(out, mark);
  else
    lua_replace(L, top + 1);
  lua_settop(L, status == PT_ENCODE_MISUSE ? top + 1 : top);
  return status;
}
