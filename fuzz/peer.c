/*
** Two peers in one loop: see peer.lua, which is called with every input.
*/
#include "state.h"

static void open_harness(lua_State *L) {
  if (luaL_loadfile(L, "fuzz/peer.lua") != LUA_OK) {
    fprintf(stderr, "%s (run it in the project's folder)\n",
            lua_tostring(L, -1));
    exit(1);
  }
  fuzz_call(L, 0, 1);
  lua_setglobal(L, "run");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = fuzz_state(open_harness);
  fuzz_stress(L, size > 0 && data[0] & 64);
  lua_getglobal(L, "run");
  lua_pushlstring(L, (const char *)data, size);
  fuzz_call(L, 1, 0);
  return 0;
}
