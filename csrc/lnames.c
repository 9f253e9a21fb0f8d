#include "lnames.h"

#include "lapi.h"

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
  lua_createtable(L, PT_NAMES_SLOTS, 0);
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

void pt_names_push_new(lua_State *L, const pt_vocabulary *v, const char *text,
                       size_t len, int slot) {
  pt_name *kept;
  lua_pushlstring(L, text, len);
  if (slot == PT_NAMES_NO_SLOT)
    return;
  lua_pushvalue(L, -1);
  lua_rawseti(L, v->strings, slot + 1);
  kept = &v->names->slots[slot];
  kept->len = (unsigned char)len;
  kept->is_watched = (unsigned char)find_watched(v->names, text, len);
  memcpy(kept->text, text, len);
}

/* {====== Watching ====== */

int pt_names_is_watched(lua_State *L, const pt_names *names) {
  size_t len;
  const char *text = lua_tolstring(L, -1, &len);
  return find_watched(names, text, len);
}

void pt_names_note(lua_State *L, const pt_vocabulary *v, int is_on_trail) {
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
