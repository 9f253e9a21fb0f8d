/*
** core.sha256: telling whether a file is the one that was meant.
*/
#include <string.h>

#include "core.h"
#include "lapi.h"
#include "sha256.h"

static void push_hex(lua_State *L, const unsigned char *bytes, int count) {
  char text[2 * PT_SHA256_SIZE];
  int i;
  for (i = 0; i < count; i++) {
    text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
    text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
  }
  lua_pushlstring(L, text, (size_t)(2 * count));
}

/* core.sha256(path) -> hex | nil, msg, kind, errno */
static int core_sha256(lua_State *L) {
  unsigned char digest[PT_SHA256_SIZE];
  size_t len;
  const char *path = luaL_checklstring(L, 1, &len);
  int err;
  luaL_argcheck(L, strlen(path) == len, 1, "a zero byte in the string");
  err = pt_sha256_file(path, digest);
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "cannot read \"%s\"", path);
  push_hex(L, digest, PT_SHA256_SIZE);
  return 1;
}

static const luaL_Reg functions[] = {{"sha256", core_sha256}, {NULL, NULL}};

void pt_open_sha256(lua_State *L) { luaL_setfuncs(L, functions, 0); }
