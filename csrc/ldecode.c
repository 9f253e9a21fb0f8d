/*
** The decoder. It reads nested containers without recursion. Members wait on
** the Lua stack until their container closes, so that its table is created once
** and with the right size. Only a container with more members than a chunk gets
** its table earlier.
**
** An open container takes one stack slot below its waiting members: its table,
** or nil until there is one. The states of the enclosing levels are stored in
** segments. The first segment is in C. Below each level that needs another one
** is a slot for it, a userdata.
*/
#include "ljson.h"

#include "number.h"

#define CHUNK PT_ORDER_SHARED /* maximum number of waiting members */
#define LEVELS 16             /* levels in a segment */

typedef struct level {
  lua_Integer n; /* members that were moved to the table already */
  int table;     /* stack index of the table's slot */
  int waiting;   /* members on the stack */
  int close;     /* '}' or ']' */
  int is_marked; /* contains a watched name, at any depth */
} level;

/* The states of enclosing levels. */
typedef struct segment {
  struct segment *outer;
  level levels[LEVELS];
} segment;

static inline int is_container_object(const level *l) {
  return l->close == '}';
}

/* ====== Names ====== */

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

static void push_new_name_cache(lua_State *L) {
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
    push_new_name_cache(L);
  }
  lua_getiuservalue(L, -1, 1);
  pt_array_metatable(L);
}

pt_decode_env pt_names_get(lua_State *L, int first) {
  pt_decode_env v;
  v.names = lua_touserdata(L, lua_upvalueindex(first));
  v.strings = lua_upvalueindex(first + 1);
  v.array_meta = lua_upvalueindex(first + 2);
  return v;
}

/* Returns a name of up to seven bytes as a number, with its length in the
** highest byte. Bytes after the name may be read, up to `end`. */
static inline uint64_t load_short_name(const char *text, size_t len,
                                       const char *end) {
  uint64_t word = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (end - text >= 8)
    word = pt_load8(text) & ((UINT64_C(1) << len * 8) - 1);
  else
#endif
    memcpy(&word, text, len);
  (void)end;
  return word ^ (uint64_t)len << 56;
}

/* Returns the name as numbers that identify it. Its length is 1 to
** PT_NAMES_LONGEST. */
static inline pt_name pack_short_name(const char *text, size_t len,
                                      const char *end) {
  pt_name name = {0, 0, 0, (unsigned char)len, 0};
  if (len < 8) {
    name.first = load_short_name(text, len, end);
  } else {
    name.first = pt_load8(text);
    name.last = pt_load8(text + len - 8);
    if (len > 16)
      name.middle = pt_load8(text + 8);
  }
  return name;
}

static inline int is_cached_name(const pt_name *a, const pt_name *b) {
  return a->first == b->first && a->len == b->len &&
         (b->len < 8 || (a->last == b->last && a->middle == b->middle));
}

/* Returns the slot of a name. With this multiplier nearly all names of
** JSON-RPC, MCP and JSON Schema have different slots. */
static inline int cached_name_slot(const pt_name *name) {
  uint64_t mixed =
      (name->first + name->last * 3) * UINT64_C(0x900c404b9d5093b5);
  return (int)(mixed >> (64 - PT_NAMES_SLOT_BITS));
}

static int is_watched_name(const pt_names *names, const char *text,
                           size_t len) {
  pt_name name;
  if (len == 0 || len > PT_NAMES_LONGEST)
    return 0;
  name = pack_short_name(text, len, text + len);
  for (int i = 0; i < names->watched_count; i++)
    if (is_cached_name(&names->watched[i], &name))
      return 1;
  return 0;
}

/* Pushes a name that is not in the cache, and adds it to the cache. */
static void push_new_name(lua_State *L, const pt_decode_env *v,
                          const char *text, const pt_name *name) {
  pt_name *kept = &v->names->slots[cached_name_slot(name)];
  lua_pushlstring(L, text, name->len);
  lua_pushvalue(L, -1);
  lua_rawseti(L, v->strings, cached_name_slot(name) + 1);
  *kept = *name;
  kept->is_watched = (unsigned char)is_watched_name(v->names, text, name->len);
}

/* Pushes a name of 1 to PT_NAMES_LONGEST bytes as a Lua string, and returns its
** slot. Equal names have equal slots. */
static inline PT_ALWAYS_INLINE int
push_cached_name(lua_State *L, const pt_decode_env *v, const char *text,
                 size_t len, const char *end) {
  pt_name name = pack_short_name(text, len, end);
  int slot = cached_name_slot(&name);
  if (is_cached_name(&v->names->slots[slot], &name))
    lua_rawgeti(L, v->strings, slot + 1);
  else
    push_new_name(L, v, text, &name);
  return slot;
}

void pt_names_push_name(lua_State *L, const pt_decode_env *v, const char *text,
                        size_t len, const char *end) {
  if (len > 0 && len <= PT_NAMES_LONGEST)
    push_cached_name(L, v, text, len, end);
  else
    lua_pushlstring(L, text, len);
}

/* ====== Watched names ====== */

#define WATCH_FROM 4096 /* shorter texts are fast to search anyway */

/* Records in the trail whether the table on top contains a watched name. */
static void note_watched_name(lua_State *L, const pt_decode_env *v,
                              int is_marked) {
  lua_rawgeti(L, v->strings, PT_NAMES_TRAIL);
  lua_pushvalue(L, -2);
  lua_pushboolean(L, is_marked);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* Adds a watched name. Empties the cache, because it may already contain this
** name as one that is not watched. */
static void add_watched_name(lua_State *L, pt_names *names) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  if (is_watched_name(names, text, len))
    return;
  luaL_argcheck(L, names->watched_count < PT_NAMES_MOST_WATCHED, 1,
                "too many names are watched");
  names->watched[names->watched_count++] =
      pack_short_name(text, len, text + len);
  memset(names->slots, 0, sizeof names->slots);
}

static void push_watched_trail(lua_State *L, const pt_decode_env *v) {
  if (lua_rawgeti(L, v->strings, PT_NAMES_TRAIL) == LUA_TTABLE)
    return;
  lua_pop(L, 1);
  pt_push_weak_table(L, "k");
  lua_pushvalue(L, -1);
  lua_rawseti(L, v->strings, PT_NAMES_TRAIL);
}

int pt_names_watch(lua_State *L) {
  pt_decode_env v = pt_names_get(L, 1);
  luaL_checktype(L, 1, LUA_TTABLE);
  push_watched_trail(L, &v);
  for (int i = 1; lua_rawgeti(L, 1, i) != LUA_TNIL; i++) {
    size_t len = lua_type(L, -1) == LUA_TSTRING ? lua_rawlen(L, -1) : 0;
    luaL_argcheck(L, len > 0 && len <= PT_NAMES_LONGEST, 1,
                  "a watched name is a string of 1 to 22 bytes");
    add_watched_name(L, v.names);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  return 1;
}

/* ====== Reading: each function returns the byte after, or NULL ====== */

/* Advances *p to the next byte that is not white space, and returns that byte;
** 0 at the end. */
static inline int peek_decoder_byte(const char **p, const char *end) {
  if (*p < end && (unsigned char)**p > ' ')
    return (unsigned char)**p;
  *p = pt_json_space(*p, end);
  return *p < end ? (unsigned char)**p : 0;
}

/* Whether that byte is `expected`. Tests first for the usual case without white
** space. */
static inline int next_decoder_byte_is(const char **p, const char *end,
                                       char expected) {
  if (*p < end && **p == expected)
    return 1;
  *p = pt_json_space(*p, end);
  return *p < end && **p == expected;
}

static void decode_escaped_string(lua_State *L, const char *text, size_t len) {
  luaL_Buffer b;
  char *out = luaL_buffinitsize(L, &b, len);
  luaL_pushresultsize(&b, pt_json_unescape(text, text + len, out));
}

/* `text` is the byte after the opening quote. */
static const char *decode_any_string(lua_State *L, const char *text,
                                     pt_decoder *d) {
  int escaped;
  const char *close = pt_json_string(text, d->end, &escaped, &d->fault);
  if (close == NULL)
    return NULL;
  if (escaped)
    decode_escaped_string(L, text, (size_t)(close - text));
  else
    lua_pushlstring(L, text, (size_t)(close - text));
  return close + 1;
}

static inline const char *decode_string(lua_State *L, const char *text,
                                        pt_decoder *d) {
  const char *close = pt_plain_end(text, d->end);
  if (close == d->end || *close != '"')
    return decode_any_string(L, text, d);
  lua_pushlstring(L, text, (size_t)(close - text));
  return close + 1;
}

/* Pushes a number that is negative or large, or has a fraction or an exponent.
*/
static const char *decode_any_number(lua_State *L, const char *p,
                                     pt_decoder *d) {
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

static const char *decode_other_scalar(lua_State *L, const char *p,
                                       pt_decoder *d) {
  const char *next;
  if (*p == '-' || (*p >= '0' && *p <= '9'))
    return decode_any_number(L, p, d);
  next = pt_json_literal(p, d->end, &d->fault);
  if (next != NULL && *p == 'n')
    lua_pushlightuserdata(L, NULL);
  else if (next != NULL)
    lua_pushboolean(L, *p == 't');
  return next;
}

static inline const char *decode_scalar(lua_State *L, const char *p,
                                        pt_decoder *d) {
  int64_t value;
  const char *next;
  if (*p == '"')
    return decode_string(L, p + 1, d);
  next = pt_number_short(p, d->end, &value);
  if (next == NULL)
    return decode_other_scalar(L, p, d);
  lua_pushinteger(L, value);
  return next;
}

/* Pushes a name that is not cached because it is long, not ASCII, or has
** escapes. `text` is the byte after its quote. */
static const char *decode_any_name(lua_State *L, const char *text,
                                   pt_decoder *d, level *l) {
  size_t len;
  text = decode_any_string(L, text, d);
  if (text == NULL)
    return NULL;
  lua_tolstring(L, -1, &len);
  if (is_watched_name(d->env.names, lua_tostring(L, -1), len))
    l->is_marked = 1;
  return text;
}

/* Pushes the name of a member. `text` is the byte after its quote. */
static inline const char *decode_name(lua_State *L, const char *text,
                                      pt_decoder *d, level *l) {
  const char *close = pt_plain_end(text, d->end);
  size_t len = (size_t)(close - text);
  int slot;
  if (len - 1 >= PT_NAMES_LONGEST || close == d->end || *close != '"')
    return decode_any_name(L, text, d, l);
  slot = push_cached_name(L, &d->env, text, len, d->end);
  l->is_marked |= d->env.names->slots[slot].is_watched;
  return close + 1;
}

/* Pushes a member's name, and returns the first byte of its value. */
static inline const char *decode_key(lua_State *L, const char *p, pt_decoder *d,
                                     level *l) {
  if (!next_decoder_byte_is(&p, d->end, '"'))
    return pt_json_fail(&d->fault, "expected a member name", p);
  p = decode_name(L, p + 1, d, l);
  if (p == NULL)
    return NULL;
  if (!next_decoder_byte_is(&p, d->end, ':'))
    return pt_json_fail(&d->fault, "expected ':'", p);
  return p + 1;
}

/* ====== Containers ====== */

/* Stores the members in the order of the text, so that the last of equal names
** wins. */
static void store_decoded_in_order(lua_State *L, int table, int waiting) {
  int end = table + 1 + waiting * 2;
  for (int i = table + 1; i < end; i += 2) {
    lua_pushvalue(L, i);
    lua_pushvalue(L, i + 1);
    lua_rawset(L, table);
  }
  lua_settop(L, table);
}

/* `spare` is the expected number of further members; at least one follows if it
** is not 0. */
static void store_decoded_members(lua_State *L, const level *l, int spare,
                                  const pt_decoder *d) {
  if (l->n == 0) {
    lua_createtable(L, 0, l->waiting + spare);
    lua_replace(L, l->table);
  }
  if (d->ordered && l->n + spare == 0)
    pt_order_share(L, &d->env, l->table, l->waiting);
  else if (d->ordered)
    pt_order_append(L, l->table, l->waiting);
  store_decoded_in_order(L, l->table, l->waiting);
}

static void store_decoded_items(lua_State *L, const level *l, int spare,
                                const pt_decoder *d) {
  if (l->n == 0) {
    lua_createtable(L, l->waiting + spare, 0);
    lua_pushvalue(L, d->env.array_meta);
    lua_setmetatable(L, -2);
    lua_replace(L, l->table);
  }
  for (int i = l->waiting; i > 0; i--)
    lua_rawseti(L, l->table, l->n + i);
}

/* Moves the waiting members into the table, which is created if necessary.
** Leaves the table on top. */
static inline void store_decoded_values(lua_State *L, const level *l, int spare,
                                        const pt_decoder *d) {
  if (is_container_object(l))
    store_decoded_members(L, l, spare, d);
  else
    store_decoded_items(L, l, spare, d);
}

static void store_decoded_chunk(lua_State *L, level *l, const pt_decoder *d) {
  store_decoded_values(L, l, CHUNK, d);
  l->n += l->waiting;
  l->waiting = 0;
}

static segment *push_decoded_segment(lua_State *L, segment *outer) {
  segment *s = lua_newuserdatauv(L, sizeof *s, 0);
  s->outer = outer;
  return s;
}

/* Returns the stack index of the topmost slot before a value is pushed. */
static inline int decoder_level_top(const level *l) {
  return l->table + (is_container_object(l) ? l->waiting * 2 + 1 : l->waiting);
}

/* Stack slots that a level may need. */
#define ROOM (CHUNK * 2 + 10)

/* Reserves stack slots for one more level, or for several. Returns the number
** of slots, 0 if there is no room. */
static int make_decoder_room(lua_State *L) {
  if (lua_checkstack(L, ROOM * 3))
    return ROOM * 3;
  if (lua_checkstack(L, ROOM))
    return ROOM;
  if (pt_stack_is_small(L))
    luaL_error(L, "not enough memory");
  return 0;
}

static int fail_decoding(pt_decoder *d, const char *what, const char *where) {
  pt_json_fail(&d->fault, what, where);
  return 0;
}

static int fail_behind_value(pt_decoder *d, const level *l, const char *p) {
  if (p == d->end)
    return fail_decoding(d, "unfinished value", p);
  return fail_decoding(
      d, is_container_object(l) ? "expected ',' or '}'" : "expected ',' or ']'",
      p);
}

/* ====== A member that repeats ====== */

/* Whether the object at p is a repeated one: the name is on top. If it is not,
** but has the name, it is kept when it ends. */
static int is_repeated_member(lua_State *L, pt_decoder *d, const char *p,
                              size_t values) {
  pt_repeat *r = d->repeat;
  if (lua_tostring(L, -1) != r->name)
    return 0;
  if (r->len > 0 && r->len <= (size_t)(d->end - p) && r->values <= values &&
      memcmp(p, r->text, r->len) == 0)
    return 1;
  r->from = p;
  r->values_before = values;
  return 0;
}

/* Keeps the table on top, whose text ends at p. One with a watched name has to
** be decoded each time. */
static void keep_repeated_member(lua_State *L, pt_repeat *r, const char *p,
                                 size_t values, int is_marked) {
  size_t len = (size_t)(p - r->from);
  r->len = 0;
  if (!is_marked && len <= PT_REPEAT_LONGEST) {
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, r->value_at);
    r->text = lua_pushlstring(L, r->from, len);
    lua_setiuservalue(L, 1, r->text_at);
    r->len = len;
    r->values = r->values_before - values;
  }
  r->from = NULL;
}

/* ====== Values ====== */

static int decode_container(lua_State *L, pt_decoder *d) {
  const char *p = d->p, *end = d->end;
  int is_watching = d->env.names->watched_count > 0 && end - p >= WATCH_FROM;
  int last = 0; /* stack slots up to this index are reserved */
  int depth = 0;
  size_t values = d->values;
  level l = {0, lua_gettop(L), 0, ']', 0};
  segment first, *around = &first;
  for (;;) { /* p is at the beginning of a member */
    int c;
    if (is_container_object(&l)) {
      p = decode_key(L, p, d, &l);
      if (p == NULL)
        return 0;
    }
    c = peek_decoder_byte(&p, end);
    if (p == end)
      return fail_decoding(d, "unfinished value", p);
    if (values-- == 0)
      return fail_decoding(d, "too many values", p);
    if (c == '{' && depth == 1 && d->repeat != NULL &&
        is_container_object(&l) && is_repeated_member(L, d, p, values)) {
      lua_getiuservalue(L, 1, d->repeat->value_at);
      p += d->repeat->len;
      values -= d->repeat->values;
      l.waiting++;
    } else if (c == '{' || c == '[') {
      int top = decoder_level_top(&l);
      if (depth >= d->depth)
        return fail_decoding(d, "nested too deeply", p);
      if (top + ROOM > last) {
        last = top + make_decoder_room(L);
        if (last == top)
          return fail_decoding(d, "nested too deeply", p);
      }
      if (depth > 0 && depth % LEVELS == 0) {
        around = push_decoded_segment(L, around);
        top++;
      }
      around->levels[depth++ % LEVELS] = l;
      lua_pushnil(L);
      l = (level){0, top + 1, 0, c + 2, 0};
      p++;
      if (peek_decoder_byte(&p, end) != l.close)
        continue;
    } else {
      p = decode_scalar(L, p, d);
      if (p == NULL)
        return 0;
      l.waiting++;
    }
    for (;;) { /* p is after a value, or at the end of an empty container */
      int is_marked = l.is_marked;
      if (next_decoder_byte_is(&p, end, ',')) {
        if (l.waiting == CHUNK)
          store_decoded_chunk(L, &l, d);
        p++;
        break;
      }
      if (p == end || *p != l.close)
        return fail_behind_value(d, &l, p);
      store_decoded_values(L, &l, 0, d);
      depth--;
      p++;
      if (is_watching && (is_marked || depth == 0))
        note_watched_name(L, &d->env, is_marked);
      if (depth == 1 && d->repeat != NULL && d->repeat->from != NULL)
        keep_repeated_member(L, d->repeat, p, values, is_marked);
      if (depth == 0) {
        d->p = p;
        d->values = values;
        return 1;
      }
      l = around->levels[depth % LEVELS];
      if (depth % LEVELS == 0) {
        around = around->outer;
        lua_replace(L, -2);
      }
      l.is_marked |= is_marked;
      l.waiting++;
    }
  }
}

int pt_decode_value(lua_State *L, pt_decoder *d) {
  int c = peek_decoder_byte(&d->p, d->end);
  if (c == '{' || c == '[')
    return decode_container(L, d);
  if (d->p == d->end)
    return fail_decoding(d, "unfinished value", d->p);
  if (d->values-- == 0)
    return fail_decoding(d, "too many values", d->p);
  d->p = decode_scalar(L, d->p, d);
  return d->p != NULL;
}
