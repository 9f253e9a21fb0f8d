#include "lnames.h"

#include <lauxlib.h>
#include <string.h>

#include "ljson.h"

#define SLOTS 64 /* a power of two */
#define LONGEST 23

typedef struct name {
  unsigned char len;
  char text[LONGEST];
} name;

struct pt_names {
  name slots[SLOTS];
  int owed;
};

static const char cache_key = 0; /* its address is the key in the registry */

static void push_new(lua_State *L) {
  pt_names *names = lua_newuserdatauv(L, sizeof *names, 1);
  memset(names, 0, sizeof *names);
  lua_createtable(L, SLOTS, 0);
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

int *pt_names_owed(const pt_vocabulary *v) { return &v->names->owed; }

static size_t slot_of(const char *text, size_t len) {
  unsigned char first = (unsigned char)text[0];
  unsigned char middle = (unsigned char)text[len / 2];
  unsigned char last = (unsigned char)text[len - 1];
  return (len + first * 7U + middle * 31U + last * 3U) & (SLOTS - 1);
}

void pt_names_push_name(lua_State *L, const pt_vocabulary *v, const char *text,
                        size_t len) {
  name *kept;
  size_t slot;
  if (len == 0 || len > LONGEST) {
    lua_pushlstring(L, text, len);
    return;
  }
  slot = slot_of(text, len);
  kept = &v->names->slots[slot];
  if (kept->len == len && memcmp(kept->text, text, len) == 0) {
    lua_rawgeti(L, v->strings, (lua_Integer)slot + 1);
    return;
  }
  lua_pushlstring(L, text, len);
  lua_pushvalue(L, -1);
  lua_rawseti(L, v->strings, (lua_Integer)slot + 1);
  kept->len = (unsigned char)len;
  memcpy(kept->text, text, len);
}
