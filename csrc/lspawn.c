#define _GNU_SOURCE

#include "lspawn.h"

#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "lfd.h"
#include "lsandbox.h"

#if defined(__APPLE__)
#include <crt_externs.h>
#define environ (*_NSGetEnviron()) /* a shared library has no other */
#elif !defined(__linux__)
extern char **environ;
#endif

/* Pushes an option that is a table; an empty table if it is missing. */
static void push_table(lua_State *L, const char *name) {
  int type = pt_push_option(L, name);
  if (type == LUA_TNIL)
    lua_newtable(L);
  else if (type != LUA_TTABLE)
    pt_refuse_type(L, -1, name, "table");
}

/* Pushes an array of the strings in the list on top, with NULL at its end. */
static char **push_pointers(lua_State *L) {
  size_t i, n = lua_rawlen(L, -1);
  char **array = lua_newuserdatauv(L, (n + 1) * sizeof *array, 0);
  for (i = 0; i < n; i++) {
    lua_rawgeti(L, -2, (lua_Integer)i + 1);
    array[i] = (char *)lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  array[n] = NULL;
  return array;
}

/* The strings are copied to a new list, because a finalizer may change the
** table of the option during a later allocation. */
static void read_command(lua_State *L, pt_spawn_plan *plan) {
  lua_Integer i, n;
  if (pt_push_option(L, "command") != LUA_TTABLE)
    pt_refuse_type(L, -1, "command", "table");
  n = (lua_Integer)lua_rawlen(L, -1);
  if (n == 0)
    pt_refuse_option(L, "command", "a program and its arguments expected");
  lua_newtable(L);
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, -2, i);
    pt_check_option(L, -1, "command");
    lua_rawseti(L, -2, i);
  }
  plan->argv = push_pointers(L);
  if (plan->argv[0][0] == '\0')
    pt_refuse_option(L, "command", "the name of the program is empty");
}

/* Pushes the set of variables that the child inherits. Returns 1 if it inherits
** all. */
static int push_inherited(lua_State *L) {
  int type = pt_push_option(L, "inherit"), value = lua_gettop(L);
  int all = type == LUA_TNIL || (type == LUA_TBOOLEAN && lua_toboolean(L, -1));
  lua_Integer i;
  if (type != LUA_TNIL && type != LUA_TBOOLEAN && type != LUA_TTABLE)
    pt_refuse_type(L, -1, "inherit", "boolean or list of names");
  lua_newtable(L);
  for (i = 1; type == LUA_TTABLE && lua_rawgeti(L, value, i) != LUA_TNIL; i++) {
    pt_check_option(L, -1, "inherit");
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  lua_settop(L, value + 1);
  return all;
}

/* Checks the name and the value on top. Returns 0 if the value is false. */
static int check_variable(lua_State *L) {
  const char *name = pt_check_option(L, -2, "env");
  if (name[0] == '\0' || strchr(name, '=') != NULL)
    pt_refuse_option(L, "env", "'%s' is not a name", name);
  if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
    return 0;
  name = lua_pushfstring(L, "env.%s", name);
  pt_check_option(L, -2, name);
  lua_pop(L, 1);
  return 1;
}

/* Whether the set has the name of the variable `var`. */
static int has_variable(lua_State *L, int set, const char *var) {
  int found;
  lua_pushlstring(L, var, strcspn(var, "="));
  found = lua_rawget(L, set) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

/* Moves the string on top to the end of a list. */
static void append_string(lua_State *L, int list) {
  lua_rawseti(L, list, (lua_Integer)lua_rawlen(L, list) + 1);
}

static void read_environment(lua_State *L, pt_spawn_plan *plan) {
  int all = push_inherited(L), inherited = lua_gettop(L), env, list;
  char **var = environ;
  push_table(L, "env");
  env = lua_gettop(L);
  lua_newtable(L);
  list = env + 1;
  for (; var != NULL && *var != NULL; var++)
    if ((all || has_variable(L, inherited, *var)) &&
        !has_variable(L, env, *var)) {
      lua_pushstring(L, *var);
      append_string(L, list);
    }
  for (lua_pushnil(L); lua_next(L, env); lua_pop(L, 1))
    if (check_variable(L)) {
      lua_pushfstring(L, "%s=%s", lua_tostring(L, -2), lua_tostring(L, -1));
      append_string(L, list);
    }
  plan->envp = push_pointers(L);
}

static int named_stdio(lua_State *L, const char *name) {
  const char *s = pt_check_option(L, -1, name);
  if (strcmp(s, "pipe") == 0)
    return PT_SPAWN_PIPE;
  if (strcmp(s, "inherit") == 0)
    return PT_SPAWN_INHERIT;
  if (strcmp(s, "null") == 0)
    return PT_SPAWN_NULL;
  return pt_refuse_option(L, name,
                          "'pipe', 'inherit', 'null' or a descriptor expected");
}

static int given_stdio(lua_State *L, const char *name) {
  const pt_fd *f = pt_fd_test(L, -1);
  lua_Integer n = f != NULL ? f->fd : lua_tointeger(L, -1);
  if (f == NULL && !lua_isinteger(L, -1))
    return pt_refuse_type(L, -1, name, "string or descriptor");
  if (n < 0 || n > INT_MAX)
    return pt_refuse_option(L, name,
                            f != NULL ? "the descriptor is closed"
                                      : "no descriptor has this number");
  return (int)n;
}

static void read_stdio(lua_State *L, pt_spawn_plan *plan) {
  int i;
  for (i = 0; i < 3; i++) {
    int type = pt_push_option(L, pt_spawn_stdio[i]);
    if (type == LUA_TNIL)
      plan->stdio[i] = i < 2 ? PT_SPAWN_PIPE : PT_SPAWN_INHERIT;
    else if (type == LUA_TSTRING)
      plan->stdio[i] = named_stdio(L, pt_spawn_stdio[i]);
    else
      plan->stdio[i] = given_stdio(L, pt_spawn_stdio[i]);
    lua_pop(L, 1);
  }
}

static void read_group(lua_State *L, pt_spawn_plan *plan) {
  int type = pt_push_option(L, "group");
  plan->group = PT_SPAWN_OWN;
  if (type == LUA_TSTRING && strcmp(lua_tostring(L, -1), "session") == 0)
    plan->group = PT_SPAWN_SESSION;
  else if (type == LUA_TBOOLEAN && !lua_toboolean(L, -1))
    plan->group = PT_SPAWN_OURS;
  else if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    pt_refuse_option(L, "group", "a boolean or 'session' expected");
  lua_pop(L, 1);
}

static void read_death_signal(lua_State *L, pt_spawn_plan *plan) {
  int type = pt_push_option(L, "death_signal");
  if (type == LUA_TNIL)
    plan->death_signal = SIGKILL;
  else if (type != LUA_TBOOLEAN || lua_toboolean(L, -1)) {
    const char *name = pt_check_option(L, -1, "death_signal");
    plan->death_signal = pt_signal_number(name);
    if (plan->death_signal == 0)
      pt_refuse_option(L, "death_signal", "unknown signal '%s'", name);
  }
  lua_pop(L, 1);
}

#if !defined(RLIMIT_AS)
#define RLIMIT_AS RLIMIT_DATA
#endif

/* At its CPU limit the child gets XCPU, which shows the reason, and KILL a
** second later. */
static const pt_spawn_limit limits[PT_SPAWN_LIMITS] = {
    {"memory", RLIMIT_AS, 0, 0},    {"cpu", RLIMIT_CPU, 0, 1},
    {"files", RLIMIT_NOFILE, 0, 0}, {"processes", RLIMIT_NPROC, 0, 0},
    {"core", RLIMIT_CORE, 0, 0},    {"data", RLIMIT_DATA, 0, 0},
};

/* The name of a limit and its value are on top. */
static void read_limit(lua_State *L, pt_spawn_plan *plan) {
  pt_spawn_limit *limit = &plan->limits[plan->nlimits];
  lua_Integer n = lua_tointeger(L, -1);
  const char *name;
  int i = 0;
  if (lua_type(L, -2) != LUA_TSTRING)
    pt_refuse_option(L, "limits", "the name of a limit is a string");
  name = lua_tostring(L, -2);
  while (i < PT_SPAWN_LIMITS && strcmp(limits[i].name, name) != 0)
    i++;
  if (i == PT_SPAWN_LIMITS)
    pt_refuse_option(L, "limits", "unknown limit '%s'", name);
  if (!lua_isinteger(L, -1) || n < 0)
    pt_refuse_option(L, "limits", "'%s' is not a whole number", name);
  *limit = limits[i];
  limit->soft += (rlim_t)n;
  limit->hard += (rlim_t)n;
  plan->nlimits++;
}

static void read_limits(lua_State *L, pt_spawn_plan *plan) {
  push_table(L, "limits");
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
    read_limit(L, plan);
  lua_pop(L, 1);
}

void pt_spawn_read(lua_State *L, pt_spawn_plan *plan) {
  static const char *const known[] = {
      "command", "env",   "inherit",      "cwd",    "stdin",   "stdout",
      "stderr",  "group", "death_signal", "limits", "sandbox", "sha256",
      "program", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  memset(plan, 0, sizeof *plan);
  plan->program = -1;
  pt_check_names(L, 1, known, "spawn options");
  if (pt_push_option(L, "cwd") != LUA_TNIL)
    plan->cwd = pt_check_option(L, -1, "cwd");
  if (pt_push_option(L, "program") != LUA_TNIL)
    plan->path = pt_check_option(L, -1, "program");
  if (pt_push_option(L, "sha256") != LUA_TNIL)
    pt_check_option(L, -1, "sha256");
  read_stdio(L, plan);
  read_group(L, plan);
  read_death_signal(L, plan);
  read_limits(L, plan);
  read_command(L, plan);
  read_environment(L, plan);
  plan->sandbox = pt_sandbox_read(L);
  if (plan->sandbox != NULL)
    plan->group = PT_SPAWN_SESSION;
}
