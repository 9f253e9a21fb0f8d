/*
** Explains why the encoder cannot write a value: the reason and the path to
** that value.
*/
#include "lencode.h"

#include <stdio.h>
#include <string.h>

/* {====== The message ====== */

/* A string with a zero byte is not an identifier, but is still shown readably.
*/
static int is_identifier(const char *s) {
  if (*s == '\0' || (*s >= '0' && *s <= '9'))
    return 0;
  return s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

/* Adds a key to the message, with escapes for unprintable bytes. */
static void add_key(luaL_Buffer *b, const char *p, const char *end) {
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

static void add_step(lua_State *L, luaL_Buffer *b, int key) {
  size_t len;
  const char *text;
  if (lua_type(L, key) == LUA_TSTRING) {
    text = lua_tolstring(L, key, &len);
    luaL_addstring(b, is_identifier(text) ? "." : "[\"");
    add_key(b, text, text + len);
    luaL_addstring(b, is_identifier(text) ? "" : "\"]");
    return;
  }
  if (lua_isinteger(L, key))
    lua_pushfstring(L, "[%I]", (LUAI_UACINT)lua_tointeger(L, key));
  else
    lua_pushfstring(L, "[%s]", luaL_typename(L, key));
  luaL_addvalue(b);
}

/* The key of an item is set here if the item is not a table. */
static void set_key_of_item(pt_encoder *e) {
  if (e->walk == PT_WALK_LIST) {
    lua_pushinteger(e->L, e->n);
    lua_replace(e->L, e->key);
  }
}

pt_encoded pt_encode_error(pt_encoder *e, const char *what) {
  lua_State *L = e->L;
  luaL_Buffer b;
  pt_buf_cut(e->out, e->mark);
  if (!lua_checkstack(L, LUA_MINSTACK))
    return PT_ENCODE_MEMORY;
  set_key_of_item(e);
  luaL_buffinit(L, &b);
  luaL_addstring(&b, e->root);
  for (int i = 0; i < e->depth; i++)
    add_step(L, &b, e->base + i * PT_ENCODER_SLOTS + 2);
  luaL_addstring(&b, ": ");
  luaL_addstring(&b, what);
  luaL_pushresult(&b);
  return PT_ENCODE_MISUSE;
}

pt_encoded pt_encode_type_error(pt_encoder *e) {
  char what[64];
  snprintf(what, sizeof what, "a %s has no JSON form", luaL_typename(e->L, -1));
  return pt_encode_error(e, what);
}

/* }====== */

static const void *table_at(pt_encoder *e, int depth) {
  return lua_topointer(e->L, e->base + depth * PT_ENCODER_SLOTS);
}

/* Whether the table at this depth is also one of the tables around it. */
static int is_repeated(pt_encoder *e, int depth) {
  const void *table = table_at(e, depth);
  for (int i = 0; i < depth; i++)
    if (table_at(e, i) == table)
      return 1;
  return 0;
}

int pt_encode_is_cycle(pt_encoder *e, int may_open) {
  int is_found = is_repeated(e, e->depth);
  if (may_open && !is_found)
    return 0;
  for (int depth = 1; depth < PT_ENCODER_LEVELS && depth < e->depth; depth++)
    if (is_repeated(e, depth)) {
      e->depth = depth;
      return 1;
    }
  return is_found;
}

/* Puts the first missing index into the key's slot. */
static const char *find_hole(lua_State *L, int table) {
  lua_Integer i = 1;
  while (lua_rawgeti(L, table, i) != LUA_TNIL) {
    lua_pop(L, 1);
    i++;
  }
  lua_pop(L, 1);
  lua_pushinteger(L, i);
  return "a list with a hole has no JSON form";
}

const char *pt_encode_list_error(pt_encoder *e) {
  lua_State *L = e->L;
  int table = e->key - 2;
  lua_Integer count = 0, most = 0;
  e->walk = PT_WALK_OBJECT; /* it has a key now */
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
    return find_hole(L, table);
  lua_pushinteger(L, most);
  return NULL;
}
