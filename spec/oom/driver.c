/*
** Runs each scenario of a Lua file again and again, and has the n-th request
** for memory fail, for n = 1, 2, 3 ... until a run needs no n-th one. Once
** alone, so that what was tried can be tried again, and once with all that
** follow, as when memory is really gone.
**
**   driver scenarios.lua [scenario]
**
** After every run: it either passed or ended with "not enough memory"; the
** same scenario passes in the same state; and once the state is closed, all
** its memory, descriptors and children are gone. The sanitizers watch over
** it.
*/
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <sanitizer/allocator_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

LUAMOD_API int luaopen_pintle_core(lua_State *L);

/* lua-cjson loses buffers of its own when memory is short. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "leak:cjson.so\n"; }

#define MEMORY_ERROR "not enough memory"
#define MOST_DESCRIPTORS 512

typedef enum kind { ONE_FAILS, ALL_FAIL_FROM_THERE, KINDS } kind;

static const char *const kind_names[] = {"request %ld fails",
                                         "requests from %ld on fail"};

/* {====== The allocator ====== */

typedef struct memory {
  size_t bytes; /* in use */
  int is_armed; /* requests count and fail */
  kind kind;
  long fail_at;
  long requests;
  long failures;
  void *block; /* of the request that failed */
  size_t size;
} memory;

/* Lua collects its garbage and asks once more, which has to fail as well. */
static int is_repeated(const memory *m, const void *block, size_t size) {
  return m->failures == 1 && m->requests == m->fail_at + 1 &&
         m->block == block && m->size == size;
}

static int refuses(memory *m, void *block, size_t size) {
  int refused;
  m->requests++;
  if (m->kind == ALL_FAIL_FROM_THERE)
    refused = m->requests >= m->fail_at;
  else
    refused = m->requests == m->fail_at || is_repeated(m, block, size);
  m->failures += refused;
  if (refused && m->failures == 1) {
    m->block = block;
    m->size = size;
  }
  return refused;
}

static void wrong(const char *what) {
  fprintf(stderr, "driver: %s\n", what);
  abort();
}

/* A block that grows always moves, so that an old pointer is a stale one. */
static void *allocate(void *ud, void *block, size_t old, size_t size) {
  memory *m = ud;
  void *other = NULL;
  if (block == NULL)
    old = 0;
  else if (__sanitizer_get_allocated_size(block) != old)
    wrong("a block is said to have another size than it has");
  if (size > old && m->is_armed && refuses(m, block, size))
    return NULL;
  if (size > 0) {
    other = malloc(size);
    if (other == NULL)
      wrong("there is really no memory");
    if (block != NULL)
      memcpy(other, block, old < size ? old : size);
  }
  free(block);
  m->bytes = m->bytes - old + size;
  return other;
}

/* }====== */

/* {====== A run ====== */

typedef struct run {
  const char *script;
  const char *scenario;
  memory memory;
} run;

static int fail(const run *r, const char *what) {
  fprintf(stderr, "%s, ", r->scenario);
  fprintf(stderr, kind_names[r->memory.kind], r->memory.fail_at);
  fprintf(stderr, ": %s\n", what);
  return 0;
}

/* The table of scenarios is left on the stack, made with the core as the
** argument of the script. */
static void load_scenarios(lua_State *L, const char *script) {
  luaL_openlibs(L);
  lua_register(L, "luaopen_pintle_core", luaopen_pintle_core);
  if (luaL_loadfile(L, script) != LUA_OK)
    lua_error(L);
  luaL_requiref(L, "pintle.core", luaopen_pintle_core, 0);
  lua_call(L, 1, 1);
}

static int open_run(lua_State *L) {
  const run *r = lua_touserdata(L, 1);
  load_scenarios(L, r->script);
  lua_getfield(L, -1, r->scenario);
  return 1;
}

/* Whether the scenario, the value on top, passed or memory was short. */
static int call_armed(lua_State *L, run *r) {
  int status;
  const char *message;
  lua_pushvalue(L, -1);
  r->memory.is_armed = 1;
  status = lua_pcall(L, 0, 0, 0);
  r->memory.is_armed = 0;
  if (!lua_gc(L, LUA_GCISRUNNING))
    return fail(r, "the collector is left stopped");
  if (status == LUA_OK)
    return 1;
  message = luaL_tolstring(L, -1, NULL);
  if (r->memory.failures == 0 || strstr(message, MEMORY_ERROR) == NULL)
    return fail(r, message);
  lua_pop(L, 2);
  return 1;
}

static int call_again(lua_State *L, const run *r) {
  if (lua_pcall(L, 0, 0, 0) == LUA_OK)
    return 1;
  fail(r, "afterwards, in the same state:");
  return fail(r, luaL_tolstring(L, -1, NULL));
}

static int run_in_state(lua_State *L, run *r) {
  lua_pushcfunction(L, open_run);
  lua_pushlightuserdata(L, r);
  if (lua_pcall(L, 1, 1, 0) != LUA_OK)
    return fail(r, lua_tostring(L, -1));
  return call_armed(L, r) && call_again(L, r);
}

static int count_descriptors(void) {
  int fd, n = 0;
  for (fd = 0; fd < MOST_DESCRIPTORS; fd++)
    n += fcntl(fd, F_GETFD) != -1;
  return n;
}

/* One run; 0 if anything was wrong. */
static int run_once(run *r) {
  int before = count_descriptors();
  lua_State *L = lua_newstate(allocate, &r->memory);
  int ok = run_in_state(L, r);
  lua_close(L);
  if (r->memory.bytes != 0)
    ok = fail(r, "memory is left");
  if (count_descriptors() != before)
    ok = fail(r, "there are more or fewer descriptors than before");
  if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
    ok = fail(r, "a child is left");
  return ok;
}

/* }====== */

/* Until nothing is left that could fail; 0 if anything was wrong. */
static int run_scenario(const char *script, const char *scenario, FILE *out) {
  long most[KINDS];
  int which;
  for (which = 0; which < KINDS; which++) {
    run r = {.script = script, .scenario = scenario};
    do {
      long n = r.memory.fail_at + 1;
      r.memory = (memory){.kind = (kind)which, .fail_at = n};
      if (!run_once(&r))
        return 0;
    } while (r.memory.failures > 0);
    most[which] = r.memory.fail_at - 1;
  }
  fprintf(out, "%s: %ld and %ld runs\n", scenario, most[0], most[1]);
  return 1;
}

/* Copies the names of all scenarios to a state of ours, sorted. */
static lua_State *list_scenarios(const char *script) {
  lua_State *L = luaL_newstate();
  static const char code[] =
      "local names = {} for name in pairs((...)) do names[#names + 1] = name "
      "end table.sort(names) return names";
  load_scenarios(L, script);
  if (luaL_loadstring(L, code) != LUA_OK)
    wrong(lua_tostring(L, -1));
  lua_insert(L, -2);
  lua_call(L, 1, 1);
  return L;
}

int main(int argc, char **argv) {
  FILE *out = fdopen(dup(1), "w"); /* a scenario takes descriptor 1 */
  lua_State *names;
  lua_Integer i;
  int ok = 1;
  if (argc < 2 || out == NULL)
    wrong("usage: driver scenarios.lua [scenario]");
  if (argc > 2)
    return !run_scenario(argv[1], argv[2], out);
  names = list_scenarios(argv[1]);
  for (i = 1; lua_rawgeti(names, -1, i) == LUA_TSTRING; i++) {
    ok = run_scenario(argv[1], lua_tostring(names, -1), out) && ok;
    lua_pop(names, 1);
  }
  lua_close(names);
  fclose(out);
  return !ok;
}
