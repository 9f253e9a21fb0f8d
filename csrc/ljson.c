/*
** core.json: the codec as Lua functions, and the marks that values can carry:
** the array metatable, an order of members (lorder.c), and raw text.
*/
#include "ljson.h"

#include <string.h>

#include "core.h"

#define RAW "pintle.raw"
#define SCRATCH "pintle.scratch"

/* ====== Marks ====== */

int pt_stack_is_small(lua_State *L) {
  return lua_gettop(L) < LUAI_MAXSTACK / 4;
}

const void *pt_array_mark(lua_State *L) {
  const void *mark;
  pt_array_metatable(L);
  mark = lua_topointer(L, -1);
  lua_pop(L, 1);
  return mark;
}

/* json.array(t = {}) -> t, marked */
static int json_array(lua_State *L) {
  if (lua_isnoneornil(L, 1)) {
    lua_settop(L, 0);
    lua_newtable(L);
  }
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  pt_array_metatable(L);
  if (lua_getmetatable(L, 1)) {
    luaL_argcheck(L, lua_rawequal(L, -1, -2), 1,
                  "has another metatable already");
    lua_pop(L, 1);
  }
  lua_setmetatable(L, 1);
  return 1;
}

/* its address is a key in the registry, and in the metatable */
static const char bigint_key = 0;

/* tostring(integer) -> its digits */
static int bigint_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_rawgeti(L, 1, 1);
  return 1;
}

void pt_bigint_metatable(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &bigint_key) != LUA_TNIL)
    return;
  lua_pop(L, 1);
  lua_createtable(L, 0, 3);
  lua_pushliteral(L, "pintle.bigint");
  lua_setfield(L, -2, "__name");
  lua_pushcfunction(L, bigint_tostring);
  lua_setfield(L, -2, "__tostring");
  lua_pushboolean(L, 1);
  lua_rawsetp(L, -2, &bigint_key);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &bigint_key);
}

void pt_bigint_push(lua_State *L, const char *text, size_t len) {
  lua_createtable(L, 1, 0);
  lua_pushlstring(L, text, len);
  lua_rawseti(L, -2, 1);
  pt_bigint_metatable(L);
  lua_setmetatable(L, -2);
}

/* Whether the text is an integer in JSON syntax. */
static int is_integer_text(const char *text, size_t len) {
  const char *end = text + len, *p = text;
  p += p < end && *p == '-';
  if (p == end || (*p == '0' && p + 1 < end))
    return 0;
  while (p < end && *p >= '0' && *p <= '9')
    p++;
  return p == end;
}

const char *pt_bigint_test(lua_State *L, size_t *len) {
  const char *text = NULL;
  int is_bigint = lua_rawgetp(L, -1, &bigint_key) == LUA_TBOOLEAN;
  lua_pop(L, 1);
  if (!is_bigint)
    return NULL;
  if (lua_rawgeti(L, -2, 1) == LUA_TSTRING)
    text = lua_tolstring(L, -1, len);
  lua_pop(L, 1);
  return text != NULL && is_integer_text(text, *len) ? text : NULL;
}

typedef struct raw {
  size_t len;
  char text[];
} raw;

const char *pt_raw_test(lua_State *L, int index, size_t *len) {
  raw *r = luaL_testudata(L, index, RAW);
  if (r == NULL)
    return NULL;
  *len = r->len;
  return r->text;
}

static int raw_tostring(lua_State *L) {
  raw *r = luaL_checkudata(L, 1, RAW);
  lua_pushlstring(L, r->text, r->len);
  return 1;
}

static const luaL_Reg raw_meta[] = {{"__tostring", raw_tostring}, {NULL, NULL}};

void pt_raw_push(lua_State *L, const char *text, size_t len) {
  raw *r = lua_newuserdatauv(L, sizeof *r + len, 0);
  r->len = len;
  memcpy(r->text, text, len);
  pt_set_class(L, RAW, NULL, raw_meta);
}

void pt_json_push_fault(lua_State *L, const char *text,
                        const pt_json_fault *fault) {
  size_t line, column;
  pt_json_place(text, fault->where, &line, &column);
  lua_pushfstring(L, "%s at line %I, column %I", fault->what, (LUAI_UACINT)line,
                  (LUAI_UACINT)column);
}

/* json.raw(text) -> raw; raises if the text is not one JSON value */
static int json_raw(lua_State *L) {
  size_t len;
  const char *text = luaL_checklstring(L, 1, &len), *end;
  pt_json_fault fault;
  end = pt_json_value(text, text + len, PT_JSON_DEPTH, &fault);
  if (end != NULL && pt_json_space(end, text + len) < text + len)
    end = pt_json_fail(&fault, "unexpected text after the value", end);
  if (end == NULL) {
    pt_json_push_fault(L, text, &fault);
    return luaL_argerror(L, 1, lua_tostring(L, -1));
  }
  pt_raw_push(L, text, len);
  return 1;
}

/* ====== Decoding ====== */

static int json_depth_option(lua_State *L, int arg) {
  lua_Integer depth;
  if (lua_isnoneornil(L, arg))
    return PT_JSON_DEPTH;
  depth = luaL_checkinteger(L, arg);
  luaL_argcheck(L, depth >= 0 && depth <= PT_JSON_MAX_DEPTH, arg,
                "nesting out of range");
  return (int)depth;
}

/* Returns the text at index 1, a string or a pintle.raw. */
static const char *check_json_text(lua_State *L, size_t *len) {
  const char *text = NULL;
  if (lua_type(L, 1) == LUA_TUSERDATA)
    text = pt_raw_test(L, 1, len);
  return text != NULL ? text : luaL_checklstring(L, 1, len);
}

/* ====== The garbage collector ====== */

/* Lets the collector work as if `part` kilobytes had been allocated. Memory
** that it frees also reduces the debt. The debt is updated first, because a
** finalizer may call this function. */
static void collect_gc_debt(lua_State *L, pt_gc_debt *a, int part) {
  int before = lua_gc(L, LUA_GCCOUNT), step = part + a->deferred, freed;
  a->owed -= part;
  a->deferred = 0;
  lua_gc(L, LUA_GCSTEP, step);
  freed = before - lua_gc(L, LUA_GCCOUNT);
  if (freed > 0)
    a->owed -= freed;
}

#define PART 16 /* kilobytes: a few milliseconds of incremental collection */

void pt_repay_gc_debt(lua_State *L, pt_gc_debt *a) {
  if (lua_gc(L, LUA_GCISRUNNING))
    collect_gc_debt(L, a, a->owed < PART ? a->owed : PART);
  else
    a->owed = 0;
}

/* Restarts the collector. It would begin at once, while everything that was
** decoded is still in use; a generational collector would even do a full cycle
** and treat all of it as old. A negative step delays it. */
static void restart_collector(lua_State *L, pt_gc_debt *a, int missed) {
  lua_gc(L, LUA_GCRESTART);
  a->owed = missed;
  a->deferred = missed > 0 ? missed : 0;
  if (missed > 0)
    lua_gc(L, LUA_GCSTEP, -missed);
}

int pt_call_gc_paused(lua_State *L, const pt_decode_env *env, int args) {
  pt_gc_debt *a = &env->names->gc_debt;
  int status, before;
  if (!lua_gc(L, LUA_GCISRUNNING))
    return lua_pcall(L, args, LUA_MULTRET, 0);
  if (a->owed > 0)
    collect_gc_debt(L, a, a->owed);
  before = lua_gc(L, LUA_GCCOUNT);
  lua_gc(L, LUA_GCSTOP);
  status = lua_pcall(L, args, LUA_MULTRET, 0);
  restart_collector(L, a, lua_gc(L, LUA_GCCOUNT) - before);
  return status;
}

/* ====== json.decode ====== */

/* Calls json.decode, the last upvalue, again with the garbage collector paused.
*/
static int json_decode_paused(lua_State *L, const pt_decode_env *env) {
  lua_settop(L, 4);
  lua_pushvalue(L, lua_upvalueindex(PT_NAMES_UPVALUES + 1));
  lua_insert(L, 1);
  if (pt_call_gc_paused(L, env, 4) != LUA_OK)
    return lua_error(L);
  return lua_gettop(L);
}

/* json.decode(text, nesting = 1000, ordered = false, big_integers = false)
** -> value | nil, msg */
static int json_decode(lua_State *L) {
  size_t len;
  const char *text = check_json_text(L, &len);
  int top = lua_gettop(L);
  pt_decoder d;
  d.p = text;
  d.end = text + len;
  d.depth = top > 1 ? json_depth_option(L, 2) : PT_JSON_DEPTH;
  d.values = SIZE_MAX;
  d.ordered = top > 2 && lua_toboolean(L, 3);
  d.big_integers = top > 3 && lua_toboolean(L, 4);
  d.repeat = NULL;
  d.env = pt_names_get(L, 1);
  if (len >= PT_DECODE_LARGE && lua_gc(L, LUA_GCISRUNNING) == 1)
    return json_decode_paused(L, &d.env);
  if (pt_decode_value(L, &d)) {
    d.p = pt_json_space(d.p, d.end);
    if (d.p == d.end)
      return 1;
    pt_json_fail(&d.fault, "unexpected text after the value", d.p);
  }
  lua_settop(L, top);
  lua_pushnil(L);
  pt_json_push_fault(L, text, &d.fault);
  return 2;
}

/* ====== Encoding ====== */

static int json_scratch_gc(lua_State *L) {
  pt_buf_free(L, luaL_checkudata(L, 1, SCRATCH));
  return 0;
}

/* json.encode(value, nesting = 1000) -> text; raises if the value has no JSON
** form. A finalizer may call this meanwhile, so each call uses only the part of
** the buffer after its own mark. */
static int json_encode(lua_State *L) {
  pt_buf *out = lua_touserdata(L, lua_upvalueindex(1));
  size_t mark = pt_buf_len(out);
  pt_encode_style style = {PT_JSON_DEPTH, NULL};
  style.array_meta = lua_touserdata(L, lua_upvalueindex(2));
  if (lua_gettop(L) != 1) {
    luaL_checkany(L, 1);
    style.depth = json_depth_option(L, 2);
  }
  switch (pt_encode_value(L, 1, out, mark, &style, "value")) {
  case PT_ENCODED:
    break;
  case PT_ENCODE_MISUSE:
    luaL_where(L, 1);
    lua_insert(L, -2);
    lua_concat(L, 2);
    return lua_error(L);
  default:
    return luaL_error(L, "not enough memory");
  }
  lua_pushlstring(L, pt_buf_front(out) + mark, pt_buf_len(out) - mark);
  if (mark == 0)
    pt_buf_consume(L, out, pt_buf_len(out));
  else
    pt_buf_cut(out, mark);
  return 1;
}

/* ====== Other functions ====== */

/* json.is_utf8(text) -> boolean: whether it can be written as a string */
static int json_is_utf8(lua_State *L) {
  size_t len;
  const char *p = luaL_checklstring(L, 1, &len), *end = p + len;
  while (p != NULL && (p = pt_plain_end(p, end)) < end)
    p = pt_json_utf8(p, end);
  lua_pushboolean(L, p != NULL);
  return 1;
}

/* json.kind(value) -> "object", "array", "null", or the result of `type` */
static int json_kind(lua_State *L) {
  int is_array;
  luaL_checkany(L, 1);
  if (lua_type(L, 1) != LUA_TTABLE) {
    int is_null = lua_islightuserdata(L, 1) && lua_touserdata(L, 1) == NULL;
    lua_pushstring(L, is_null ? "null" : luaL_typename(L, 1));
    return 1;
  }
  is_array = lua_rawgeti(L, 1, 1) != LUA_TNIL;
  if (!is_array && lua_getmetatable(L, 1))
    is_array = lua_topointer(L, -1) == lua_touserdata(L, lua_upvalueindex(1));
  lua_pushstring(L, is_array ? "array" : "object");
  return 1;
}

static void push_json_kind(lua_State *L) {
  lua_pushlightuserdata(L, (void *)pt_array_mark(L));
  lua_pushcclosure(L, json_kind, 1);
}

static const luaL_Reg json_functions[] = {
    {"array", json_array},
    {"is_utf8", json_is_utf8},
    {"order", pt_order_new},
    {"raw", json_raw},
    {NULL, NULL},
};

static const luaL_Reg scratch_meta[] = {{"__gc", json_scratch_gc},
                                        {NULL, NULL}};

static void push_json_encode(lua_State *L) {
  memset(lua_newuserdatauv(L, sizeof(pt_buf), 0), 0, sizeof(pt_buf));
  pt_set_class(L, SCRATCH, NULL, scratch_meta);
  lua_pushlightuserdata(L, (void *)pt_array_mark(L));
  lua_pushcclosure(L, json_encode, 2);
}

static void push_json_watch(lua_State *L) {
  pt_names_push(L);
  lua_pushcclosure(L, pt_names_watch, PT_NAMES_UPVALUES);
}

static void push_json_decode(lua_State *L) {
  pt_names_push(L);
  lua_pushnil(L);
  lua_pushcclosure(L, json_decode, PT_NAMES_UPVALUES + 1);
  lua_pushvalue(L, -1);
  lua_setupvalue(L, -2, PT_NAMES_UPVALUES + 1);
}

void pt_open_json(lua_State *L) {
  luaL_newlib(L, json_functions);
  pt_array_metatable(L);
  lua_setfield(L, -2, "array_mt");
  pt_bigint_metatable(L);
  lua_setfield(L, -2, "bigint_mt");
  push_json_decode(L);
  lua_setfield(L, -2, "decode");
  push_json_encode(L);
  lua_setfield(L, -2, "encode");
  push_json_kind(L);
  lua_setfield(L, -2, "kind");
  push_json_watch(L);
  lua_setfield(L, -2, "watch");
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  lua_setfield(L, -2, "json");
}
