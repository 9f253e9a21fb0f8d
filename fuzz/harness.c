/*
** Calls a Lua function with every input: the file HARNESS, a macro, returns it.
*/
#include "state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  lua_State *L = fuzz_state(HARNESS);
  fuzz_stress_young(L, size > 0 && data[0] & 64);
  lua_getglobal(L, "run");
  lua_pushlstring(L, (const char *)data, size);
  fuzz_call(L, 1, 0);
  return 0;
}
