#include "lnames.h"

#include "lapi.h"
#include "ljson.h"

static const char cache_key = 0; /* its address is the key in the registry */

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
  memcpy(kept->text, text, len);
}
