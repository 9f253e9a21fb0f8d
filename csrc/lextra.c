#include "lextra.h"

#define SHOWN 40 /* bytes of a string */

static void push_quoted(lua_State *L, int at) {
  size_t len, shown;
  const char *text = lua_tolstring(L, at, &len);
  shown = len;
  if (len > SHOWN)
    for (shown = SHOWN; ((unsigned char)text[shown] & 0xC0) == 0x80;)
      shown--;
  lua_pushliteral(L, "\"");
  lua_pushlstring(L, text, shown);
  lua_pushstring(L, shown < len ? "…\"" : "\"");
  lua_concat(L, 3);
}

static void push_shown(lua_State *L, int at) {
  switch (lua_type(L, at)) {
  case LUA_TSTRING:
    push_quoted(L, at);
    break;
  case LUA_TNUMBER:
    lua_pushvalue(L, at);
    lua_tostring(L, -1);
    break;
  case LUA_TBOOLEAN:
    lua_pushstring(L, lua_toboolean(L, at) ? "true" : "false");
    break;
  case LUA_TTABLE:
    lua_pushliteral(L, "an array or object");
    break;
  default:
    lua_pushliteral(L, "null");
  }
}

/* The name is at `name` and the value it should have at name + 1; the value
** that it has is at `got`, if it is there. */
static const char *push_complaint(lua_State *L, int name, int got) {
  push_shown(L, name + 1);
  if (got == 0)
    return lua_pushfstring(L, "%s is missing: %s expected",
                           lua_tostring(L, name), lua_tostring(L, -1));
  push_shown(L, got);
  return lua_pushfstring(L, "%s: %s expected, got %s", lua_tostring(L, name),
                         lua_tostring(L, -2), lua_tostring(L, -1));
}

/* Pushes the name of one of the extra members in `wrong`, and its value. */
static void push_member(lua_State *L, unsigned wrong) {
  int bits = lua_gettop(L) + 1;
  pt_stream_push_kept(L, 1, PT_KEPT_EXTRA_BIT);
  lua_pushnil(L);
  while (lua_next(L, bits) && ((unsigned)lua_tointeger(L, -1) & wrong) == 0)
    lua_pop(L, 1);
  lua_settop(L, bits + 1);
  pt_stream_push_kept(L, 1, PT_KEPT_EXTRA);
  lua_pushvalue(L, bits + 1);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  lua_remove(L, bits);
}

const char *pt_extra_wrong(lua_State *L, const pt_stream *s, unsigned right,
                           unsigned odd, int odd_at) {
  unsigned wrong = s->extras & ~right;
  int is_odd = odd_at != 0 && (wrong & odd) != 0;
  int name = lua_gettop(L) + 1;
  push_member(L, is_odd ? odd : wrong);
  return push_complaint(L, name, is_odd ? odd_at : 0);
}

int pt_extra_check_others(lua_State *L) {
  int others = lua_gettop(L) + 1, name = others + 2;
  if (lua_getiuservalue(L, 1, PT_STREAM_OTHERS) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  pt_stream_push_kept(L, 1, PT_KEPT_EXTRA);
  lua_pushnil(L);
  while (lua_next(L, others + 1)) {
    lua_pushvalue(L, name);
    if (lua_rawget(L, others) == LUA_TNIL) {
      push_complaint(L, name, 0);
      return 0;
    }
    if (!lua_rawequal(L, name + 1, name + 2)) {
      push_complaint(L, name, name + 2);
      return 0;
    }
    lua_settop(L, name);
  }
  return 1;
}
