/*
** Decoding. What the decoder accepts is what the checker accepts, or it
** refuses with the same words for the same place; nothing is read behind the
** text, and no memory is lost or touched late while the collector works hard.
**
** Input: nesting allowed, how the collector works and whether order is kept,
** the text.
*/
#include "../csrc/ljson.h"
#include "state.h"

/* What decode has to say about the text; "" if nothing. */
static const char *expected(lua_State *L, const char *text, const char *end,
                            int depth) {
  pt_json_fault fault = {"unexpected text after the value", NULL};
  const char *after = pt_json_value(text, end, depth, &fault);
  size_t line, column;
  if (after != NULL) {
    fault.where = pt_json_space(after, end);
    if (fault.where == end)
      return "";
  }
  fuzz_check(fault.where >= text && fault.where <= end);
  pt_json_place(text, fault.where, &line, &column);
  return lua_pushfstring(L, "%s at line %I, column %I", fault.what,
                         (LUAI_UACINT)line, (LUAI_UACINT)column);
}

/* As a pintle.raw the text has nothing readable behind it. */
static int decode(lua_State *L) {
  const fuzz_input *in = lua_touserdata(L, 1);
  int depth = (int)lua_tointeger(L, 2), ordered = lua_toboolean(L, 3);
  int big_integers = lua_toboolean(L, 4);
  static const char too_large[] = "number too large";
  const char *text, *message;
  size_t len;
  pt_raw_push(L, (const char *)in->data, in->size);
  text = pt_raw_test(L, -1, &len);
  message = expected(L, text, text + len, depth);
  lua_getglobal(L, "core");
  lua_getfield(L, -1, "json");
  lua_getfield(L, -1, "decode");
  lua_pushvalue(L, 5);
  lua_pushinteger(L, depth);
  lua_pushboolean(L, ordered);
  lua_pushboolean(L, big_integers);
  lua_call(L, 4, 2);
  if (big_integers && strncmp(message, too_large, sizeof too_large - 1) == 0)
    return 0; /* an integer of that size is taken */
  if (*message == '\0') {
    fuzz_check(!lua_isnil(L, -2) && lua_isnil(L, -1));
  } else {
    fuzz_check(lua_isnil(L, -2));
    fuzz_check(strcmp(lua_tostring(L, -1), message) == 0);
  }
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  lua_State *L = fuzz_state(NULL);
  uint8_t nesting = fuzz_byte(&in), stress = fuzz_byte(&in);
  fuzz_stress(L, stress & 1);
  lua_pushcfunction(L, decode);
  lua_pushlightuserdata(L, &in);
  lua_pushinteger(L, nesting < 32 ? nesting : PT_JSON_DEPTH);
  lua_pushboolean(L, stress & 4);
  lua_pushboolean(L, stress & 8);
  fuzz_call(L, 4, 0);
  if (stress & 2)
    lua_gc(L, LUA_GCCOLLECT);
  return 0;
}
