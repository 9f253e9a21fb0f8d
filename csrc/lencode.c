/*
** The encoder. It walks nested tables without recursion. The work for every
** member is inline in two loops, because function calls would take longer than
** the work.
*/
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ljson.h"
#include "number.h"

/* An open table takes three slots on the Lua stack: the table, the state of the
** enclosing table (an integer), and the key of the member being written. */
#define SLOTS 3
#define LEVELS 16 /* levels that are not checked for cycles */

/* Levels that fit into PT_ENCODE_STACK, besides the value and the eight slots
** that are used while a member is processed. */
#define FREE_LEVELS ((PT_ENCODE_STACK - 1 - 8) / SLOTS)

/* How the members of a table are visited. */
typedef enum table_walk {
  WALK_OBJECT, /* by lua_next */
  /* by index; the key's slot is set only for an item that is a table */
  WALK_LIST,
  WALK_ORDERED /* by pt_order_next */
} table_walk;
#define WALKS 4 /* greater than any table_walk; packs one with a count */

typedef struct encoder {
  lua_State *L;
  pt_buf *out;
  int depth;       /* open tables */
  int most;        /* maximum nesting */
  int levels;      /* levels for which the Lua stack has room */
  int base;        /* stack index of the outermost table */
  int key;         /* stack index of the innermost table's key */
  table_walk walk; /* of the innermost table */
  lua_Integer n;   /* members of that table written so far */
  size_t mark;     /* a failure truncates the buffer to this length */
  const char *root;
  const void *array_meta; /* the metatable that marks arrays */
} encoder;

/* ====== Why a value cannot be written, and the path to it ====== */

/* A string with a zero byte is not an identifier, but is still shown readably.
*/
static int is_path_identifier(const char *s) {
  if (*s == '\0' || (*s >= '0' && *s <= '9'))
    return 0;
  return s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

/* Adds a key to the message, with escapes for unprintable bytes. */
static void add_path_key(luaL_Buffer *b, const char *p, const char *end) {
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

static void add_path_step(lua_State *L, luaL_Buffer *b, int key) {
  size_t len;
  const char *text;
  if (lua_type(L, key) == LUA_TSTRING) {
    text = lua_tolstring(L, key, &len);
    luaL_addstring(b, is_path_identifier(text) ? "." : "[\"");
    add_path_key(b, text, text + len);
    luaL_addstring(b, is_path_identifier(text) ? "" : "\"]");
    return;
  }
  if (lua_isinteger(L, key))
    lua_pushfstring(L, "[%I]", (LUAI_UACINT)lua_tointeger(L, key));
  else
    lua_pushfstring(L, "[%s]", luaL_typename(L, key));
  luaL_addvalue(b);
}

/* The key of an item is set here if the item is not a table. */
static void set_encoder_item_key(encoder *e) {
  if (e->walk == WALK_LIST) {
    lua_pushinteger(e->L, e->n);
    lua_replace(e->L, e->key);
  }
}

/* Pushes a message: the path to the value being written and the reason.
** Truncates the buffer first: creating the message may run the garbage
** collector and finalizers that use the buffer. */
static pt_encoded encode_error(encoder *e, const char *what) {
  lua_State *L = e->L;
  luaL_Buffer b;
  pt_buf_cut(e->out, e->mark);
  if (!lua_checkstack(L, LUA_MINSTACK))
    return PT_ENCODE_MEMORY;
  set_encoder_item_key(e);
  luaL_buffinit(L, &b);
  luaL_addstring(&b, e->root);
  for (int i = 0; i < e->depth; i++)
    add_path_step(L, &b, e->base + i * SLOTS + 2);
  luaL_addstring(&b, ": ");
  luaL_addstring(&b, what);
  luaL_pushresult(&b);
  return PT_ENCODE_MISUSE;
}

/* The same for the value on top, whose type has no JSON form. */
static pt_encoded encode_type_error(encoder *e) {
  char what[64];
  snprintf(what, sizeof what, "a %s has no JSON form", luaL_typename(e->L, -1));
  return encode_error(e, what);
}

static const void *encoder_table_at(encoder *e, int depth) {
  return lua_topointer(e->L, e->base + depth * SLOTS);
}

/* Whether the table at this depth is also one of the tables around it. */
static int is_encoder_table_open(encoder *e, int depth) {
  const void *table = encoder_table_at(e, depth);
  for (int i = 0; i < depth; i++)
    if (encoder_table_at(e, i) == table)
      return 1;
  return 0;
}

/* Whether the table on top, or a table around it, contains itself. If so, the
** path is cut to the first such table. From LEVELS on this is called for every
** table, so the tables around it are known not to form a cycle. If the one on
** top may not be opened, the first levels are checked too. */
static int is_encoder_cycle(encoder *e, int may_open) {
  int depth = 1;
  if (may_open && !is_encoder_table_open(e, e->depth))
    return 0;
  while (depth < e->depth &&
         (depth >= LEVELS || !is_encoder_table_open(e, depth)))
    depth++;
  if (!is_encoder_table_open(e, depth))
    return 0;
  e->depth = depth;
  return 1;
}

/* Puts the first missing index into the key's slot. */
static const char *find_list_hole(lua_State *L, int table) {
  lua_Integer i = 1;
  while (lua_rawgeti(L, table, i) != LUA_TNIL) {
    lua_pop(L, 1);
    i++;
  }
  lua_pop(L, 1);
  lua_pushinteger(L, i);
  return "a list with a hole has no JSON form";
}

/* Returns NULL if the innermost table, a list, has the keys 1..n and no others.
** Otherwise returns the reason. Puts the offending key, or n, into the key's
** slot. */
static const char *encode_list_error(encoder *e) {
  lua_State *L = e->L;
  int table = e->key - 2;
  lua_Integer count = 0, most = 0;
  e->walk = WALK_OBJECT; /* it has a key now */
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
    return find_list_hole(L, table);
  lua_pushinteger(L, most);
  return NULL;
}

/* ====== Scalars ====== */

static inline pt_encoded encoded_or_no_memory(int ok) {
  return ok ? PT_ENCODED : PT_ENCODE_MEMORY;
}

#define SPARE 64

/* Writes the rest of a string from `p` on, and the closing quote. */
static int encode_rest_of_text(lua_State *L, pt_buf *out, const char *p,
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
  return encode_rest_of_text(L, out, text, text + len);
}

static void replace_encoded_bytes(char *text, size_t len, char c) {
  char *end = text + len;
  while ((text = memchr(text, c, (size_t)(end - text))) != NULL)
    *text++ = ' ';
}

/* Writes JSON text that was made elsewhere, on one line: line ends are white
** space in JSON. */
static pt_encoded encode_ready_text(lua_State *L, pt_buf *out, const char *text,
                                    size_t len) {
  if (!pt_buf_add(L, out, text, len))
    return PT_ENCODE_MEMORY;
  replace_encoded_bytes(out->data + out->end - len, len, '\n');
  replace_encoded_bytes(out->data + out->end - len, len, '\r');
  return PT_ENCODED;
}

/* The following functions write the value on top. The buffer has at least this
** much room. */
#define VALUE_ROOM PT_NUMBER_MAX

static inline void encode_integer(pt_buf *out, lua_Integer value) {
  char *p = out->data + out->end;
  if (value >= 0 && value < 10) {
    *p = (char)('0' + value);
    out->end++;
  } else {
    out->end += pt_number_write_integer(p, value);
  }
}

static pt_encoded encode_real(encoder *e) {
  double value = lua_tonumber(e->L, -1);
  if (!isfinite(value))
    return encode_error(e, isnan(value) ? "NaN has no JSON form"
                                        : "an infinity has no JSON form");
  e->out->end += pt_number_write_real(e->out->data + e->out->end, value);
  return PT_ENCODED;
}

static inline pt_encoded encode_number(encoder *e) {
  if (!lua_isinteger(e->L, -1))
    return encode_real(e);
  encode_integer(e->out, lua_tointeger(e->L, -1));
  return PT_ENCODED;
}

static pt_encoded encode_long_text(encoder *e, const char *text, size_t len) {
  int status = pt_encode_string(e->L, e->out, text, len);
  return status < 0 ? encode_error(e, "invalid UTF-8")
                    : encoded_or_no_memory(status);
}

static inline pt_encoded encode_text(encoder *e) {
  pt_buf *out = e->out;
  size_t len;
  const char *text = lua_tolstring(e->L, -1, &len);
  if (pt_buf_room(out) < len + 2 ||
      !pt_plain_quote(out->data + out->end, text, len))
    return encode_long_text(e, text, len);
  out->end += len + 2;
  return PT_ENCODED;
}

static pt_encoded encode_literal(encoder *e, const char *text) {
  size_t len = strlen(text);
  memcpy(e->out->data + e->out->end, text, len);
  e->out->end += len;
  return PT_ENCODED;
}

static pt_encoded encode_userdata(encoder *e) {
  size_t len;
  const char *text = pt_raw_test(e->L, -1, &len);
  return text != NULL ? encode_ready_text(e->L, e->out, text, len)
                      : encode_type_error(e);
}

static pt_encoded encode_other(encoder *e, int type) {
  switch (type) {
  case LUA_TBOOLEAN:
    return encode_literal(e, lua_toboolean(e->L, -1) ? "true" : "false");
  case LUA_TNIL:
    return encode_literal(e, "null");
  case LUA_TLIGHTUSERDATA:
    return lua_touserdata(e->L, -1) == NULL ? encode_literal(e, "null")
                                            : encode_type_error(e);
  case LUA_TUSERDATA:
    return encode_userdata(e);
  default:
    return encode_type_error(e);
  }
}

static inline pt_encoded encode_scalar(encoder *e, int type) {
  if (type == LUA_TSTRING)
    return encode_text(e);
  if (type == LUA_TNUMBER)
    return encode_number(e);
  return encode_other(e, type);
}

/* ====== Opening and closing tables ====== */

/* Pushes the next item of a list. If there is none, pops the key's slot as
** lua_next does. */
static inline int next_encoder_item(encoder *e) {
  if (lua_rawgeti(e->L, e->key - 2, e->n + 1) != LUA_TNIL)
    return 1;
  lua_pop(e->L, 2);
  return 0;
}

/* As lua_next: replaces the key on top by the next key and its value. */
static inline int next_encoder_member(encoder *e) {
  if (e->walk == WALK_OBJECT)
    return lua_next(e->L, -3);
  if (e->walk == WALK_LIST)
    return next_encoder_item(e);
  return pt_order_next(e->L, e->key - 2);
}

/* Checks whether one more table may be opened, when the fast test does not
** suffice. A cycle is detected when it is deep enough to get here. */
static pt_encoded check_encoder_depth(encoder *e) {
  lua_State *L = e->L;
  int may_open = e->depth < e->most;
  int levels = e->depth < LEVELS ? LEVELS - e->depth : 1;
  if ((e->depth >= LEVELS || !may_open) && is_encoder_cycle(e, may_open))
    return encode_error(e, "a table that contains itself has no JSON form");
  if (may_open && lua_checkstack(L, levels * SLOTS + LUA_MINSTACK)) {
    e->levels = e->depth + levels;
    return PT_ENCODED;
  }
  return may_open && pt_stack_is_small(L)
             ? PT_ENCODE_MEMORY
             : encode_error(e, "nested too deeply");
}

/* Pushes the slots of the table on top. */
static inline void push_encoder_level(encoder *e, table_walk walk) {
  lua_pushinteger(e->L, e->n * WALKS + (lua_Integer)e->walk);
  lua_pushnil(e->L);
  e->depth++;
  e->key += SLOTS;
  e->n = 0;
  e->walk = walk;
}

/* Returns to the enclosing table. The key was popped before. */
static inline void pop_encoder_level(encoder *e) {
  lua_Integer outer = lua_tointeger(e->L, -1);
  e->n = outer / WALKS;
  e->walk = (table_walk)(outer % WALKS);
  e->depth--;
  e->key -= SLOTS;
  lua_pop(e->L, SLOTS - 1);
}

/* The first key of a table without a mark, which is at -2, is not a name: the
** table is a list. Returns whether it has a first item. */
static int begin_encoding_list(encoder *e) {
  e->walk = WALK_LIST;
  if (lua_isinteger(e->L, -2) && lua_tointeger(e->L, -2) == 1)
    return 1;
  lua_pop(e->L, 1);
  return next_encoder_item(e);
}

/* Goes to the first member of the table just opened. Sets *more to 0 if it has
** none. */
static inline pt_encoded begin_encoding_table(encoder *e, int *more) {
  *more = next_encoder_member(e);
  if (e->walk == WALK_OBJECT && *more && lua_type(e->L, -2) != LUA_TSTRING)
    *more = begin_encoding_list(e);
  e->out->data[e->out->end++] = e->walk == WALK_LIST ? '[' : '{';
  return PT_ENCODED;
}

/* Writes an integer of more than 64 bits, whose table and metatable are on top,
** and goes on in the enclosing table. */
static pt_encoded encode_bigint(encoder *e, const char *text, size_t len,
                                int *more) {
  pt_encoded status = encode_ready_text(e->L, e->out, text, len);
  lua_pop(e->L, 2);
  *more = status == PT_ENCODED && e->depth > 0 && next_encoder_member(e);
  return status;
}

/* Opens a table whose metatable is on top. */
static inline pt_encoded encode_marked_table(encoder *e, int *more) {
  table_walk walk = WALK_LIST;
  if (lua_topointer(e->L, -1) != e->array_meta) {
    int is_ordered = pt_has_order(e->L);
    size_t len;
    const char *bigint = is_ordered ? NULL : pt_bigint_test(e->L, &len);
    if (bigint != NULL)
      return encode_bigint(e, bigint, len, more);
    walk = is_ordered ? WALK_ORDERED : WALK_OBJECT;
  }
  lua_pop(e->L, 1);
  push_encoder_level(e, walk);
  return begin_encoding_table(e, more);
}

/* Opens the table on top, and goes to its first member. */
static inline pt_encoded open_encoded_table(encoder *e, int *more) {
  if (e->depth >= e->levels || e->depth >= e->most) {
    pt_encoded status = check_encoder_depth(e);
    if (status != PT_ENCODED)
      return status;
  }
  if (lua_getmetatable(e->L, -1))
    return encode_marked_table(e, more);
  push_encoder_level(e, WALK_OBJECT);
  return begin_encoding_table(e, more);
}

/* Checks that the list has no keys besides the indexes of its items. */
static pt_encoded check_end_of_encoded_list(encoder *e) {
  const char *what;
  if (e->n > 0)
    lua_pushinteger(e->L, e->n);
  else
    lua_pushnil(e->L);
  if (!lua_next(e->L, e->key - 2))
    return PT_ENCODED;
  what = encode_list_error(e);
  lua_pop(e->L, what == NULL);
  return what == NULL ? PT_ENCODED : encode_error(e, what);
}

static inline pt_encoded close_encoded_table(encoder *e) {
  char bracket = '}';
  if (e->walk == WALK_LIST) {
    pt_encoded status = check_end_of_encoded_list(e);
    if (status != PT_ENCODED)
      return status;
    bracket = ']';
  }
  pop_encoder_level(e);
  if (!pt_buf_reserve(e->L, e->out, 1))
    return PT_ENCODE_MEMORY;
  e->out->data[e->out->end++] = bracket;
  return PT_ENCODED;
}

/* ====== The text before the member on top, and room for the member ====== */

static pt_encoded refuse_encoded_key(encoder *e) {
  return encode_error(
      e, e->walk != WALK_OBJECT
             ? "an ordered object with items has no JSON form"
             : "a table with both items and names has no JSON form");
}

static pt_encoded encode_long_name(encoder *e, const char *name, size_t len) {
  pt_encoded status = encode_long_text(e, name, len);
  if (status != PT_ENCODED)
    return status;
  if (!pt_buf_reserve(e->L, e->out, 1 + VALUE_ROOM))
    return PT_ENCODE_MEMORY;
  e->out->data[e->out->end++] = ':';
  return PT_ENCODED;
}

static inline pt_encoded encode_member_name(encoder *e) {
  pt_buf *out = e->out;
  const char *name;
  size_t len;
  char *p;
  if (lua_type(e->L, -2) != LUA_TSTRING)
    return refuse_encoded_key(e);
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

/* ====== The members of the innermost table, from the one on top on ====== */

/* A loop over members returns PT_ENCODED at the end of the table. */
#define TABLE_NEXT ((pt_encoded)(PT_ENCODE_MISUSE + 1)) /* a table is on top */

static inline pt_encoded encode_items(encoder *e) {
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

static inline pt_encoded encode_members(encoder *e) {
  lua_State *L = e->L;
  do {
    pt_encoded status = encode_member_name(e);
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
  } while (next_encoder_member(e));
  return PT_ENCODED;
}

/* ====== Whole values ====== */

/* Writes the table on top and everything in it. */
static pt_encoded encode_table(encoder *e) {
  for (;;) {
    int more;
    pt_encoded status = open_encoded_table(e, &more);
    if (status != PT_ENCODED || e->depth == 0)
      return status;
    for (;;) {
      if (more)
        status = e->walk == WALK_LIST ? encode_items(e) : encode_members(e);
      if (status == TABLE_NEXT)
        break;
      if (status == PT_ENCODED)
        status = close_encoded_table(e);
      if (status != PT_ENCODED || e->depth == 0)
        return status;
      more = next_encoder_member(e);
    }
  }
}

/* Writes the value on top and pops it. */
static pt_encoded encode_all(encoder *e) {
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
  encoder e;
  int top = lua_gettop(L);
  pt_encoded status;
  e.L = L;
  e.out = out;
  e.depth = 0;
  e.most = style->depth;
  e.levels = FREE_LEVELS;
  e.base = top + 1;
  e.key = top;
  e.walk = WALK_OBJECT;
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
