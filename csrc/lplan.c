#define _GNU_SOURCE

#include "lplan.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "lapi.h"
#include "lfd.h"
#include "process.h"

#if defined(__APPLE__)
#include <crt_externs.h>
#define environ (*_NSGetEnviron()) /* a shared library has no other */
#elif !defined(__linux__)
extern char **environ;
#endif

/* The value of an option is on top of the stack while it is looked at. All
** access is raw: no metamethod runs in between. */
typedef struct options {
  lua_State *L;
  int arg;
  pt_spawn_plan *plan;
} options;

static int refuse(const options *o, const char *name, const char *what) {
  const char *text = lua_pushfstring(o->L, "option '%s': %s", name, what);
  return luaL_argerror(o->L, o->arg, text);
}

static int expected(const options *o, const char *name, const char *what) {
  const char *got = luaL_typename(o->L, -1);
  return refuse(o, name,
                lua_pushfstring(o->L, "%s expected, got %s", what, got));
}

static int push_option(const options *o, const char *name) {
  lua_pushstring(o->L, name);
  return lua_rawget(o->L, o->arg);
}

/* No numbers: the string that one is turned into would belong to nobody. */
static const char *check_string(const options *o, const char *name) {
  size_t len;
  const char *s;
  if (lua_type(o->L, -1) != LUA_TSTRING)
    expected(o, name, "string");
  s = lua_tolstring(o->L, -1, &len);
  if (strlen(s) != len)
    refuse(o, name, "a zero byte in the string");
  return s;
}

static void check_names(const options *o) {
  static const char *const known[] = {
      "command", "env",   "inherit",      "cwd",    "stdin", "stdout",
      "stderr",  "group", "death_signal", "limits", NULL};
  lua_State *L = o->L;
  for (lua_pushnil(L); lua_next(L, o->arg); lua_pop(L, 1)) {
    const char *name;
    int i = 0;
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_argerror(L, o->arg, "the name of an option is a string");
    name = lua_tostring(L, -2);
    while (known[i] != NULL && strcmp(known[i], name) != 0)
      i++;
    if (known[i] == NULL)
      luaL_argerror(L, o->arg, lua_pushfstring(L, "unknown option '%s'", name));
  }
}

/* A new array for `n` strings and the NULL behind them, as a userdata. */
static char **push_array(lua_State *L, size_t n) {
  char **array = lua_newuserdatauv(L, (n + 1) * sizeof *array, 0);
  array[0] = NULL;
  return array;
}

/* Pushes two values to pin: the strings, for a finalizer may change the table
** they come from while there is still something to allocate, and the array. */
static void read_command(const options *o) {
  lua_State *L = o->L;
  size_t i, n;
  char **argv;
  if (push_option(o, "command") != LUA_TTABLE)
    expected(o, "command", "table");
  n = lua_rawlen(L, -1);
  if (n == 0 || n > INT_MAX)
    refuse(o, "command", "a program and its arguments expected");
  lua_createtable(L, (int)n, 0);
  argv = push_array(L, n);
  for (i = 0; i < n; i++) {
    lua_rawgeti(L, -3, (lua_Integer)i + 1);
    argv[i] = (char *)check_string(o, "command");
    lua_rawseti(L, -3, (lua_Integer)i + 1);
  }
  argv[n] = NULL;
  if (argv[0][0] == '\0')
    refuse(o, "command", "the name of the program is empty");
  o->plan->argv = argv;
  lua_remove(L, -3);
}

/* Pushes nil for all names, or a set of those that pass. */
static void push_inherited(const options *o) {
  lua_State *L = o->L;
  int type = push_option(o, "inherit");
  lua_Integer i;
  if (type == LUA_TNIL || (type == LUA_TBOOLEAN && lua_toboolean(L, -1))) {
    lua_pop(L, 1);
    lua_pushnil(L);
    return;
  }
  if (type != LUA_TTABLE && type != LUA_TBOOLEAN)
    expected(o, "inherit", "boolean or list of names");
  lua_newtable(L);
  for (i = 1; type == LUA_TTABLE && lua_rawgeti(L, -2, i) != LUA_TNIL; i++) {
    check_string(o, "inherit");
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  if (type == LUA_TTABLE)
    lua_pop(L, 1);
  lua_remove(L, -2);
}

/* Looks at the name and the value on top, of which the value may be false. */
static void check_variable(const options *o) {
  lua_State *L = o->L;
  const char *name;
  lua_pushvalue(L, -2);
  name = check_string(o, "env");
  if (name[0] == '\0' || strchr(name, '=') != NULL)
    refuse(o, "env", lua_pushfstring(L, "'%s' is no name", name));
  lua_pop(L, 1);
  if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
    return;
  name = lua_pushfstring(L, "env.%s", name);
  lua_insert(L, -2);
  check_string(o, name);
  lua_remove(L, -2);
}

/* Pushes the overlay, nil or a table, and the list of what it sets. */
static void push_overlay(const options *o) {
  lua_State *L = o->L;
  lua_Integer n = 0;
  int type = push_option(o, "env");
  if (type != LUA_TNIL && type != LUA_TTABLE)
    expected(o, "env", "table");
  lua_newtable(L);
  if (type == LUA_TNIL)
    return;
  for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1)) {
    check_variable(o);
    if (lua_isboolean(L, -1))
      continue;
    lua_pushfstring(L, "%s=%s", lua_tostring(L, -2), lua_tostring(L, -1));
    lua_rawseti(L, -4, ++n);
  }
}

static int has(lua_State *L, int set, const char *name, size_t len) {
  int found;
  lua_pushlstring(L, name, len);
  found = lua_rawget(L, set) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

static int passes(lua_State *L, int inherited, int overlay, const char *var) {
  size_t len = strcspn(var, "=");
  return (lua_isnil(L, inherited) || has(L, inherited, var, len)) &&
         (lua_isnil(L, overlay) || !has(L, overlay, var, len));
}

static size_t count(char *const *list) {
  size_t n = 0;
  while (list != NULL && list[n] != NULL)
    n++;
  return n;
}

/* Pushes two values to pin: the strings of the overlay and the array. */
static void read_environment(const options *o) {
  lua_State *L = o->L;
  int base = lua_gettop(L);
  size_t set, from, inherited = count(environ), n = 0;
  char **envp;
  push_inherited(o); /* base + 1 */
  push_overlay(o);   /* base + 2, base + 3 */
  set = lua_rawlen(L, base + 3);
  envp = push_array(L, set + inherited);
  for (from = 0; from < inherited; from++)
    if (passes(L, base + 1, base + 2, environ[from]))
      envp[n++] = environ[from];
  for (from = 1; from <= set; from++) {
    lua_rawgeti(L, base + 3, (lua_Integer)from);
    envp[n++] = (char *)lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  envp[n] = NULL;
  o->plan->envp = envp;
  lua_remove(L, base + 1);
  lua_remove(L, base + 1);
}

/* Pushes the string to pin. */
static void read_cwd(const options *o) {
  if (push_option(o, "cwd") != LUA_TNIL)
    o->plan->cwd = check_string(o, "cwd");
}

static int named_stdio(const options *o, const char *name) {
  const char *s = check_string(o, name);
  if (strcmp(s, "pipe") == 0)
    return PT_SPAWN_PIPE;
  if (strcmp(s, "inherit") == 0)
    return PT_SPAWN_INHERIT;
  if (strcmp(s, "null") == 0)
    return PT_SPAWN_NULL;
  return refuse(o, name, "'pipe', 'inherit', 'null' or a descriptor expected");
}

static int given_stdio(const options *o, const char *name) {
  const pt_fd *f = pt_fd_test(o->L, -1);
  lua_Integer n = lua_tointeger(o->L, -1);
  if (f != NULL && f->fd == -1)
    return refuse(o, name, "the descriptor is closed");
  if (f != NULL)
    return f->fd;
  if (!lua_isinteger(o->L, -1))
    return expected(o, name, "string or descriptor");
  if (n < 0 || n > INT_MAX)
    return refuse(o, name, "no descriptor has this number");
  return (int)n;
}

static void read_stdio(const options *o) {
  static const char *const names[] = {"stdin", "stdout", "stderr"};
  static const int defaults[] = {PT_SPAWN_PIPE, PT_SPAWN_PIPE,
                                 PT_SPAWN_INHERIT};
  int i;
  for (i = 0; i < 3; i++) {
    int *stdio = &o->plan->stdio[i];
    int type = push_option(o, names[i]);
    if (type == LUA_TNIL)
      *stdio = defaults[i];
    else if (type == LUA_TSTRING)
      *stdio = named_stdio(o, names[i]);
    else
      *stdio = given_stdio(o, names[i]);
    lua_pop(o->L, 1);
  }
}

static void read_group(const options *o) {
  int type = push_option(o, "group");
  o->plan->group = PT_SPAWN_OWN;
  if (type == LUA_TSTRING && strcmp(lua_tostring(o->L, -1), "session") == 0)
    o->plan->group = PT_SPAWN_SESSION;
  else if (type == LUA_TBOOLEAN && !lua_toboolean(o->L, -1))
    o->plan->group = PT_SPAWN_OURS;
  else if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    refuse(o, "group", "a boolean or 'session' expected");
  lua_pop(o->L, 1);
}

static void read_death_signal(const options *o) {
  int type = push_option(o, "death_signal");
  if (type == LUA_TNIL)
    o->plan->death_signal = pt_signal_number("KILL");
  else if (type != LUA_TBOOLEAN || lua_toboolean(o->L, -1)) {
    const char *name = check_string(o, "death_signal");
    o->plan->death_signal = pt_signal_number(name);
    if (o->plan->death_signal == 0)
      refuse(o, "death_signal",
             lua_pushfstring(o->L, "unknown signal '%s'", name));
  }
  lua_pop(o->L, 1);
}

#if !defined(RLIMIT_AS)
#define RLIMIT_AS RLIMIT_DATA
#endif

/* CPU time ends with XCPU, which tells why, and a second later for good. */
static const pt_spawn_limit limits[PT_SPAWN_LIMITS] = {
    {"memory", RLIMIT_AS, 0, 0},    {"cpu", RLIMIT_CPU, 0, 1},
    {"files", RLIMIT_NOFILE, 0, 0}, {"processes", RLIMIT_NPROC, 0, 0},
    {"core", RLIMIT_CORE, 0, 0},
};

static const pt_spawn_limit *find_limit(const options *o) {
  const char *name;
  int i;
  if (lua_type(o->L, -2) != LUA_TSTRING)
    refuse(o, "limits", "the name of a limit is a string");
  name = lua_tostring(o->L, -2);
  for (i = 0; i < PT_SPAWN_LIMITS; i++)
    if (strcmp(limits[i].name, name) == 0)
      return &limits[i];
  refuse(o, "limits", lua_pushfstring(o->L, "unknown limit '%s'", name));
  return NULL;
}

static void read_limit(const options *o) {
  const pt_spawn_limit *known = find_limit(o);
  lua_Integer n = lua_tointeger(o->L, -1);
  pt_spawn_limit *limit = &o->plan->limits[o->plan->nlimits++];
  if (!lua_isinteger(o->L, -1) || n < 0)
    refuse(o, "limits",
           lua_pushfstring(o->L, "'%s' is no whole number", known->name));
  *limit = *known;
  limit->soft += (rlim_t)n;
  limit->hard += (rlim_t)n;
}

static void read_limits(const options *o) {
  lua_State *L = o->L;
  int type = push_option(o, "limits");
  if (type != LUA_TNIL && type != LUA_TTABLE)
    expected(o, "limits", "table");
  if (type == LUA_TTABLE)
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
      read_limit(o);
  lua_pop(L, 1);
}

void pt_plan_check(lua_State *L, int arg, pt_spawn_plan *plan) {
  options o = {L, arg, plan};
  luaL_checktype(L, arg, LUA_TTABLE);
  memset(plan, 0, sizeof *plan);
  check_names(&o);
  read_cwd(&o);
  read_stdio(&o);
  read_group(&o);
  read_death_signal(&o);
  read_limits(&o);
  read_command(&o);
  read_environment(&o);
}
