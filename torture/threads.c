/*
** Runs a Lua file in several threads, each with a Lua state of its own, under
** ThreadSanitizer: threads FILE ROUNDS. States share nothing but the process:
** what the core keeps for the whole process must be safe.
*/
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

LUAMOD_API int luaopen_pintle_core(lua_State *L);

#define THREADS 4

static const char *file;
static long rounds;

/* Returns NULL, or the file if it has failed. */
static void *run(void *unused) {
  const char *failed = NULL;
  long i;
  (void)unused;
  for (i = 0; i < rounds && failed == NULL; i++) {
    lua_State *L = luaL_newstate();
    luaL_openlibs(L);
    luaL_requiref(L, "pintle.core", luaopen_pintle_core, 0);
    lua_pop(L, 1);
    if (luaL_dofile(L, file) != LUA_OK) {
      fprintf(stderr, "%s\n", lua_tostring(L, -1));
      failed = file;
    }
    lua_close(L);
  }
  return (void *)failed;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  int i, status = 0;
  void *failed;
  if (argc != 3)
    return 64;
  file = argv[1];
  rounds = strtol(argv[2], NULL, 10);
  for (i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, run, NULL);
  for (i = 0; i < THREADS; i++) {
    pthread_join(threads[i], &failed);
    status |= failed != NULL;
  }
  return status;
}
