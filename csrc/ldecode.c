/*
** A decoder without recursion. Members wait on the Lua stack until their
** container closes, so that its table is made once and in the right size; only
** a container with more members than a chunk gets its table earlier.
**
** An open container takes two slots below its waiting members: its table, or
** nil until there is one, and the level around it, packed into an integer.
**
** The state is kept in locals that no function gets the address of, so that it
** stays in registers; what is not inlined takes and returns plain values.
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
  int waiting;   /* members on the stack, less than a chunk */
  lua_Integer n; /* members that are in the table already */
} level;

#define TABLE_BITS 24 /* more than the Lua stack has slots */
#define WAITING_BITS 7

static inline lua_Integer pack(level l) {
  return ((l.n << WAITING_BITS | l.waiting) << TABLE_BITS | l.table) << 1 |
         l.object;
}

static inline level unpack(lua_Integer packed) {
  level l;
  l.object = (int)(packed & 1);
  l.table = (int)(packed >> 1 & ((1 << TABLE_BITS) - 1));
  l.waiting = (int)(packed >> (TABLE_BITS + 1) & ((1 << WAITING_BITS) - 1));
  l.n = packed >> (WAITING_BITS + TABLE_BITS + 1);
  return l;
}

static const char *fail(pt_json_fault *fault, const char *what,
                        const char *where) {
  fault->what = what;
  fault->where = where;
  return NULL;
}

/* {====== Scalars: pushed; returned is the byte behind, or NULL ====== */

static void push_unescaped(lua_State *L, const char *text, size_t len) {
  luaL_Buffer b;
  char *out = luaL_buffinitsize(L, &b, len);
  luaL_pushresultsize(&b, pt_json_unescape(text, text + len, out));
}

static const char *push_any_string(lua_State *L, const char *text,
                                   const char *end, pt_json_fault *fault) {
  int escaped;
  const char *close = pt_json_string(text, end, &escaped, fault);
  if (close == NULL)
    return NULL;
  if (escaped)
    push_unescaped(L, text, (size_t)(close - text));
  else
    lua_pushlstring(L, text, (size_t)(close - text));
  return close + 1;
}

/* `p` stands on the opening quote. */
static const char *push_string(lua_State *L, const char *p, const char *end,
                               pt_json_fault *fault) {
  const char *close = pt_plain_end(++p, end);
  if (close == end || *close != '"')
    return push_any_string(L, p, end, fault);
  lua_pushlstring(L, p, (size_t)(close - p));
  return close + 1;
}

static const char *push_number(lua_State *L, const char *p, const char *end,
                               pt_json_fault *fault) {
  pt_number number;
  int64_t value;
  const char *next = pt_number_short(p, end, &value);
  if (next != NULL) {
    lua_pushinteger(L, value);
    return next;
  }
  next = pt_number_read(p, end, &number);
  if (next == NULL)
    return fail(fault, pt_number_fault(&number), p);
  if (number.is_integer)
    lua_pushinteger(L, number.integer);
  else
    lua_pushnumber(L, number.real);
  return next;
}

static const char *push_literal(lua_State *L, const char *p, const char *end,
                                pt_json_fault *fault) {
  const char *next = pt_json_literal(p, end, fault);
  if (next != NULL && *p == 'n')
    lua_pushlightuserdata(L, NULL);
  else if (next != NULL)
    lua_pushboolean(L, *p == 't');
  return next;
}

static inline const char *push_scalar(lua_State *L, const char *p,
                                      const char *end, pt_json_fault *fault) {
  if (*p == '"')
    return push_string(L, p, end, fault);
  if (*p == '-' || (*p >= '0' && *p <= '9'))
    return push_number(L, p, end, fault);
  return push_literal(L, p, end, fault);
}

/* A member's name is pushed; returned is the byte behind its colon. */
static const char *push_name(lua_State *L, const char *p, const char *end,
                             pt_decoder *d) {
  pt_json_fault *fault = &d->fault;
  const char *close;
  if (p >= end || *p != '"')
    return fail(fault, "expected a member name", p);
  close = pt_plain_end(++p, end);
  if (close < end && *close == '"') {
    pt_names_push_name(L, &d->words, p, (size_t)(close - p));
    p = close + 1;
  } else {
    p = push_any_string(L, p, end, fault);
    if (p == NULL)
      return NULL;
  }
  p = pt_json_space(p, end);
  if (p >= end || *p != ':')
    return fail(fault, "expected ':'", p);
  return p + 1;
}

/* }====== */

/* {====== Containers ====== */

static void new_array(lua_State *L, int table, int size, int array_meta) {
  lua_createtable(L, size, 0);
  lua_pushvalue(L, array_meta);
  lua_setmetatable(L, -2);
  lua_replace(L, table);
}

static void new_object(lua_State *L, int table, int size) {
  lua_createtable(L, 0, size);
  lua_replace(L, table);
}

/* In the order in which they came, so that the last of equal names wins. */
static void store_members(lua_State *L, int table, int waiting) {
  int i, end = table + SLOTS + waiting * 2;
  for (i = table + SLOTS; i < end; i += 2) {
    lua_pushvalue(L, i);
    lua_pushvalue(L, i + 1);
    lua_rawset(L, table);
  }
}

static void store_items(lua_State *L, int table, lua_Integer n, int waiting) {
  int i;
  for (i = waiting; i > 0; i--)
    lua_rawseti(L, table, n + i);
}

/* Moves what waits into the table, which is made here if there is none yet;
** `spare` more places are then put into it. */
static inline void store(lua_State *L, level l, int spare, int array_meta) {
  if (l.object) {
    if (l.n == 0)
      new_object(L, l.table, l.waiting + spare);
    store_members(L, l.table, l.waiting);
  } else {
    if (l.n == 0)
      new_array(L, l.table, l.waiting + spare, array_meta);
    store_items(L, l.table, l.n, l.waiting);
  }
}

/* Leaves the table on top, a member of the level around, which is returned. */
static level close_level(lua_State *L, level l, int array_meta) {
  level outer;
  store(L, l, 0, array_meta);
  outer = unpack(lua_tointeger(L, l.table + 1));
  lua_settop(L, l.table);
  return outer;
}

static level store_chunk(lua_State *L, level l, int array_meta) {
  store(L, l, CHUNK, array_meta);
  lua_settop(L, l.table + SLOTS - 1);
  l.n += l.waiting;
  l.waiting = 0;
  return l;
}

static inline level open_level(lua_State *L, level outer, int object) {
  level l;
  lua_pushnil(L);
  lua_pushinteger(L, pack(outer));
  l.object = object;
  l.table = lua_gettop(L) - 1;
  l.waiting = 0;
  l.n = 0;
  return l;
}

static inline int closes(level l, char c) {
  return c == (l.object ? '}' : ']');
}

/* }====== */

/* Whether the stack has room for one more level. */
static int has_room(lua_State *L) {
  if (lua_checkstack(L, CHUNK * 2 + SLOTS + 8))
    return 1;
  if (pt_stack_is_small(L))
    luaL_error(L, "not enough memory");
  return 0;
}

int pt_decode_value(lua_State *L, pt_decoder *d) {
  const char *p = d->p, *end = d->end;
  int depth = d->depth, array_meta = d->words.array_meta;
  level l = {0, 0, 0, 0};
  for (;;) { /* p stands before a value */
    p = pt_json_space(p, end);
    if (p >= end)
      return fail(&d->fault, "unfinished value", p) != NULL;
    if (*p == '{' || *p == '[') {
      if (depth-- <= 0 || !has_room(L))
        return fail(&d->fault, "nested too deeply", p) != NULL;
      l = open_level(L, l, *p == '{');
      p = pt_json_space(p + 1, end);
      if (p == end || !closes(l, *p)) {
        if (l.object && (p = push_name(L, p, end, d)) == NULL)
          return 0;
        continue;
      }
    } else {
      p = push_scalar(L, p, end, &d->fault);
      if (p == NULL)
        return 0;
      l.waiting++;
    }
    for (;;) { /* p stands behind a value, or on what closes an empty level */
      if (l.table == 0) {
        d->p = p;
        return 1;
      }
      p = pt_json_space(p, end);
      if (p < end && *p == ',') {
        if (l.waiting == CHUNK)
          l = store_chunk(L, l, array_meta);
        p = pt_json_space(p + 1, end);
        if (l.object && (p = push_name(L, p, end, d)) == NULL)
          return 0;
        break;
      }
      if (p == end)
        return fail(&d->fault, "unfinished value", p) != NULL;
      if (!closes(l, *p))
        return fail(&d->fault,
                    l.object ? "expected ',' or '}'" : "expected ',' or ']'",
                    p) != NULL;
      l = close_level(L, l, array_meta);
      l.waiting++;
      depth++;
      p++;
    }
  }
}
