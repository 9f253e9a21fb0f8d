/*
** A decoder without recursion. Members wait on the Lua stack until their
** container closes, so that its table is made once and in the right size; only
** a container with more members than a chunk gets its table earlier.
**
** An open container takes one slot below its waiting members: its table, or nil
** until there is one. The level around it is kept in C for the first ones; a
** deeper one takes another slot, below, with the level around it packed into an
** integer.
**
** The state is kept in locals that no function gets the address of, so that it
** stays in registers; what is not inlined takes and returns plain values.
*/
#include "ljson.h"

#include "lapi.h"
#include "lorder.h"
#include "number.h"

#define CHUNK PT_ORDER_SHARED /* members that wait at the most */
#define QUICK 16             /* levels that are kept in C */

typedef struct level {
  int object;
  int marked;    /* a name that is watched was in it, at any depth */
  int table;     /* stack index of the table's slot; 0 outside of all */
  int waiting;   /* members on the stack, less than a chunk */
  lua_Integer n; /* members that are in the table already */
  uint64_t seen; /* bits of the names that wait; all set if some may be equal */
} level;

#define MAYBE_EQUAL UINT64_MAX

#define TABLE_BITS 24 /* more than the Lua stack has slots */
#define WAITING_BITS 7

static inline lua_Integer pack(level l) {
  return ((l.n << WAITING_BITS | l.waiting) << TABLE_BITS | l.table) << 2 |
         l.marked << 1 | l.object;
}

static inline level unpack(lua_Integer packed) {
  level l;
  l.object = (int)(packed & 1);
  l.marked = (int)(packed >> 1 & 1);
  l.table = (int)(packed >> 2 & ((1 << TABLE_BITS) - 1));
  l.waiting = (int)(packed >> (TABLE_BITS + 2) & ((1 << WAITING_BITS) - 1));
  l.n = packed >> (WAITING_BITS + TABLE_BITS + 2);
  l.seen = MAYBE_EQUAL;
  return l;
}

/* {====== Names ====== */

/* Their addresses are keys in the registry. */
static const char cache_key = 0;
static const char array_key = 0;

void pt_array_metatable(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &array_key) != LUA_TNIL)
    return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "pintle.array");
  lua_setfield(L, -2, "__name");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &array_key);
}

static void push_new(lua_State *L) {
  pt_names *names = lua_newuserdatauv(L, sizeof *names, 1);
  memset(names, 0, sizeof *names);
  lua_createtable(L, PT_NAMES_ORDERS + PT_ORDERS_KEPT * 2, 0);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &cache_key);
}

void pt_names_push(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &cache_key) == LUA_TNIL) {
    lua_pop(L, 1);
    push_new(L);
  }
  lua_getiuservalue(L, -1, 1);
  pt_array_metatable(L);
}

pt_vocabulary pt_names_get(lua_State *L, int first) {
  pt_vocabulary v;
  v.names = lua_touserdata(L, lua_upvalueindex(first));
  v.strings = lua_upvalueindex(first + 1);
  v.array_meta = lua_upvalueindex(first + 2);
  return v;
}

static int find_watched(const pt_names *names, const char *text, size_t len) {
  for (int i = 0; i < names->watched_count; i++) {
    const pt_name *name = &names->watched[i];
    if (name->len == len && memcmp(name->text, text, len) == 0)
      return 1;
  }
  return 0;
}

#define NO_SLOT (-1)

/* The slot for the name, or NO_SLOT if it is none to keep. */
static inline int slot_of(const char *text, size_t len) {
  uint32_t mixed;
  if (len == 0 || len > PT_NAMES_LONGEST)
    return NO_SLOT;
  mixed = (uint32_t)len | (uint32_t)(unsigned char)text[0] << 8 |
          (uint32_t)(unsigned char)text[len / 2] << 16 |
          (uint32_t)(unsigned char)text[len - 1] << 24;
  return (int)(mixed * UINT32_C(2654435769) >> 16 & (PT_NAMES_SLOTS - 1));
}

/* `end` is how far behind the text may be read. */
static inline int is_kept(const pt_name *kept, const char *text, size_t len,
                          const char *end) {
  if (kept->len != len)
    return 0;
#ifdef __SSE2__
  if (len <= 16 && end - text >= 16)
    return (pt_plain_differ16(kept->text, text) & ((1U << len) - 1)) == 0;
#endif
  (void)end;
  return memcmp(kept->text, text, len) == 0;
}

/* As push_kept, for a name that is not kept yet. */
static void push_new_name(lua_State *L, const pt_vocabulary *v,
                          const char *text, size_t len, int slot) {
  pt_name *kept;
  lua_pushlstring(L, text, len);
  if (slot == NO_SLOT)
    return;
  lua_pushvalue(L, -1);
  lua_rawseti(L, v->strings, slot + 1);
  kept = &v->names->slots[slot];
  kept->len = (unsigned char)len;
  kept->is_watched = (unsigned char)find_watched(v->names, text, len);
  memcpy(kept->text, text, len);
}

/* Pushes the name as a Lua string, and returns its slot: equal names have equal
** slots. */
static inline int push_kept(lua_State *L, const pt_vocabulary *v,
                            const char *text, size_t len, const char *end) {
  int slot = slot_of(text, len);
  if (slot >= 0 && is_kept(&v->names->slots[slot], text, len, end))
    lua_rawgeti(L, v->strings, slot + 1);
  else
    push_new_name(L, v, text, len, slot);
  return slot;
}

void pt_names_push_name(lua_State *L, const pt_vocabulary *v, const char *text,
                        size_t len, const char *end) {
  push_kept(L, v, text, len, end);
}

#define WATCH_FROM 4096 /* shorter texts are not worth watching */

static int is_watched(lua_State *L, const pt_names *names) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  return find_watched(names, text, len);
}

static void note(lua_State *L, const pt_vocabulary *v, int is_on_trail) {
  lua_rawgeti(L, v->strings, PT_NAMES_TRAIL);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, is_on_trail);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* Names kept before may be watched from now on: all are forgotten. */
static void add_watched(lua_State *L, pt_names *names) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  pt_name *name;
  if (find_watched(names, text, len))
    return;
  luaL_argcheck(L, names->watched_count < PT_NAMES_MOST_WATCHED, 1,
                "too many names are watched");
  name = &names->watched[names->watched_count++];
  name->len = (unsigned char)len;
  memcpy(name->text, text, len);
  memset(names->slots, 0, sizeof names->slots);
}

static void push_trail(lua_State *L, const pt_vocabulary *v) {
  if (lua_rawgeti(L, v->strings, PT_NAMES_TRAIL) == LUA_TTABLE)
    return;
  lua_pop(L, 1);
  lua_newtable(L);
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "k");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawseti(L, v->strings, PT_NAMES_TRAIL);
}

int pt_names_watch(lua_State *L) {
  pt_vocabulary v = pt_names_get(L, 1);
  luaL_checktype(L, 1, LUA_TTABLE);
  push_trail(L, &v);
  for (int i = 1; lua_rawgeti(L, 1, i) != LUA_TNIL; i++) {
    size_t len = lua_type(L, -1) == LUA_TSTRING ? lua_rawlen(L, -1) : 0;
    luaL_argcheck(L, len > 0 && len <= PT_NAMES_LONGEST, 1,
                  "a watched name is a string of 1 to 22 bytes");
    add_watched(L, v.names);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return 1;
}

/* }====== */

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

/* A number that has more digits than most, a fraction or an exponent. */
static const char *push_any_number(lua_State *L, const char *p, pt_decoder *d) {
  pt_number number;
  const char *next = pt_number_read(p, d->end, &number);
  if (d->big_integers && number.big_end != NULL) {
    pt_bigint_push(L, p, (size_t)(number.big_end - p));
    return number.big_end;
  }
  if (next == NULL)
    return pt_json_fail(&d->fault, pt_number_fault(&number), p);
  if (number.is_integer)
    lua_pushinteger(L, number.integer);
  else
    lua_pushnumber(L, number.real);
  return next;
}

static const char *push_number(lua_State *L, const char *p, const char *end,
                               pt_decoder *d) {
  int64_t value;
  const char *next = pt_number_short(p, end, &value);
  if (next == NULL)
    return push_any_number(L, p, d);
  lua_pushinteger(L, value);
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
                                      const char *end, pt_decoder *d) {
  if (*p == '"')
    return push_string(L, p, end, &d->fault);
  if (*p == '-' || (*p >= '0' && *p <= '9'))
    return push_number(L, p, end, d);
  return push_literal(L, p, end, &d->fault);
}

/* Takes note of a name in this slot. */
static inline uint64_t see(uint64_t seen, int slot) {
  uint64_t bit = UINT64_C(1) << (slot & 63);
  return slot == NO_SLOT || (seen & bit) != 0 ? MAYBE_EQUAL : seen | bit;
}

/* `p` stands on the quote of a member's name, which is pushed; the level takes
** note of it. Returned is the byte behind it. */
static inline const char *push_name(lua_State *L, const char *p, pt_decoder *d,
                                    level *l) {
  const char *end = d->end, *close = pt_plain_end(++p, end);
  int slot;
  if (close == end || *close != '"') {
    l->seen = MAYBE_EQUAL;
    p = push_any_string(L, p, end, &d->fault);
    if (p != NULL)
      l->marked |= is_watched(L, d->words.names);
    return p;
  }
  slot = push_kept(L, &d->words, p, (size_t)(close - p), end);
  l->seen = see(l->seen, slot);
  if (slot != NO_SLOT)
    l->marked |= d->words.names->slots[slot].is_watched;
  return close + 1;
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
static void store_in_order(lua_State *L, int table, int waiting) {
  int i, end = table + 1 + waiting * 2;
  for (i = table + 1; i < end; i += 2) {
    lua_pushvalue(L, i);
    lua_pushvalue(L, i + 1);
    lua_rawset(L, table);
  }
  lua_settop(L, table);
}

static void store_members(lua_State *L, int table, int waiting, uint64_t seen) {
  if (seen == MAYBE_EQUAL) {
    store_in_order(L, table, waiting);
    return;
  }
  for (; waiting > 0; waiting--)
    lua_rawset(L, table);
}

static void store_items(lua_State *L, int table, lua_Integer n, int waiting) {
  for (; waiting > 0; waiting--)
    lua_rawseti(L, table, n + waiting);
}

/* Moves what waits into the table, which is made here if there is none yet;
** `spare` more places are then put into it. The table is on top afterwards. */
static inline void store(lua_State *L, level l, int spare,
                         const pt_vocabulary *words, int ordered) {
  if (l.object) {
    if (l.n == 0)
      new_object(L, l.table, l.waiting + spare);
    if (ordered && l.n + spare == 0)
      pt_order_share(L, words, l.table, l.waiting);
    else if (ordered)
      pt_order_append(L, l.table, l.n, l.waiting, spare == 0);
    store_members(L, l.table, l.waiting, l.seen);
  } else {
    if (l.n == 0)
      new_array(L, l.table, l.waiting + spare, words->array_meta);
    store_items(L, l.table, l.n, l.waiting);
  }
}

static level store_chunk(lua_State *L, level l, const pt_vocabulary *words,
                         int ordered) {
  store(L, l, CHUNK, words, ordered);
  l.n += l.waiting;
  l.waiting = 0;
  l.seen = 0;
  return l;
}

static inline level new_level(int object, int table) {
  level l;
  l.object = object;
  l.marked = 0;
  l.table = table;
  l.waiting = 0;
  l.n = 0;
  l.seen = 0;
  return l;
}

/* The level around one that is not kept in C, whose table is on top and takes
** the place of that. */
static level leave_deep(lua_State *L) {
  level outer = unpack(lua_tointeger(L, -2));
  lua_replace(L, -2);
  return outer;
}

static inline int closes(level l, char c) {
  return c == (l.object ? '}' : ']');
}

/* The index of the topmost slot before a value is pushed. */
static inline int top_of(level l) {
  return l.table + (l.object ? l.waiting * 2 + 1 : l.waiting);
}

/* }====== */

/* What a level may take of the stack. */
#define ROOM (CHUNK * 2 + 10)

/* Makes room on the stack for one level more, or for a few; returns how many
** slots that is, 0 if there is no room. */
static int make_room(lua_State *L) {
  if (lua_checkstack(L, ROOM * 3))
    return ROOM * 3;
  if (lua_checkstack(L, ROOM))
    return ROOM;
  if (pt_stack_is_small(L))
    luaL_error(L, "not enough memory");
  return 0;
}

static int fail_at(pt_decoder *d, const char *what, const char *where) {
  pt_json_fail(&d->fault, what, where);
  return 0;
}

int pt_decode_value(lua_State *L, pt_decoder *d) {
  const char *p = d->p, *end = d->end;
  const pt_vocabulary *words = &d->words;
  int ordered = d->ordered, marked;
  int watching = words->names->watched_count > 0 && end - p >= WATCH_FROM;
  int base = lua_gettop(L), last = base; /* slots there is room for */
  int depth = 0;
  size_t values = d->values;
  level l = new_level(0, base), around[QUICK];
  for (;;) { /* p stands before a member */
    p = pt_json_space(p, end);
    if (l.object) {
      if (p >= end || *p != '"')
        return fail_at(d, "expected a member name", p);
      p = push_name(L, p, d, &l);
      if (p == NULL)
        return 0;
      if (p == end || *p != ':')
        p = pt_json_space(p, end);
      if (p == end || *p != ':')
        return fail_at(d, "expected ':'", p);
      p = pt_json_space(p + 1, end);
    }
    if (p >= end)
      return fail_at(d, "unfinished value", p);
    if (values-- == 0)
      return fail_at(d, "too many values", p);
    if (*p == '{' || *p == '[') {
      int top = top_of(l);
      if (depth >= d->depth)
        return fail_at(d, "nested too deeply", p);
      if (top + ROOM > last) {
        last = top + make_room(L);
        if (last == top)
          return fail_at(d, "nested too deeply", p);
      }
      if (depth < QUICK) {
        around[depth] = l;
      } else {
        lua_pushinteger(L, pack(l));
        top++;
      }
      depth++;
      lua_pushnil(L);
      l = new_level(*p == '{', top + 1);
      p = pt_json_space(p + 1, end);
      if (p == end || !closes(l, *p))
        continue;
    } else {
      p = push_scalar(L, p, end, d);
      if (p == NULL)
        return 0;
      l.waiting++;
    }
    for (;;) { /* p stands behind a value, or on what closes an empty level */
      if (depth == 0) {
        if (watching && !l.marked && lua_istable(L, -1))
          note(L, words, 0);
        d->p = p;
        d->values = values;
        return 1;
      }
      p = pt_json_space(p, end);
      if (p == end)
        return fail_at(d, "unfinished value", p);
      if (*p == ',') {
        if (l.waiting == CHUNK)
          l = store_chunk(L, l, words, ordered);
        p++;
        break;
      }
      if (!closes(l, *p))
        return fail_at(
            d, l.object ? "expected ',' or '}'" : "expected ',' or ']'", p);
      store(L, l, 0, words, ordered);
      marked = l.marked && watching;
      if (marked)
        note(L, words, 1);
      depth--;
      l = depth < QUICK ? around[depth] : leave_deep(L);
      l.marked |= marked;
      l.waiting++;
      p++;
    }
  }
}
