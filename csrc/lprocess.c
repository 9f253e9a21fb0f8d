/*
** core.spawn and its processes; core.which; core.getpid, core.alive and
** core.observe for processes that need not be children.
*/
#define _GNU_SOURCE

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core.h"
#include "io.h"
#include "lfd.h"
#include "lwatchdog.h"
#include "spawn.h"

#if defined(__APPLE__)
#include <crt_externs.h>
#define environ (*_NSGetEnviron()) /* a shared library has no other */
#elif !defined(__linux__)
extern char **environ;
#endif

#define CLASS "pintle.process"

/* How long a killed child may take to be gone when its object is closed. */
#define LAST_WAIT 2.0

static const char *const ends[] = {"stdin", "stdout", "stderr"};

/* {====== Options ======
** They are in the table at 1, and the value of one is on top of the stack while
** it is looked at. All access is raw: no metamethod runs in between. What the
** plan points to stays on the stack. */

static int refuse(lua_State *L, const char *name, const char *what) {
  return luaL_argerror(L, 1, lua_pushfstring(L, "option '%s': %s", name, what));
}

static int expected(lua_State *L, int index, const char *name,
                    const char *what) {
  const char *got = luaL_typename(L, index);
  return refuse(L, name, lua_pushfstring(L, "%s expected, got %s", what, got));
}

static int push_option(lua_State *L, const char *name) {
  lua_pushstring(L, name);
  return lua_rawget(L, 1);
}

/* Pushes an option that is a table, empty if there is no such option. */
static void push_table(lua_State *L, const char *name) {
  int type = push_option(L, name);
  if (type == LUA_TNIL) {
    lua_newtable(L);
    lua_replace(L, -2);
  } else if (type != LUA_TTABLE)
    expected(L, -1, name, "table");
}

/* No numbers: the string that one is turned into would belong to nobody. */
static const char *check_string(lua_State *L, int index, const char *name) {
  size_t len;
  const char *s;
  if (lua_type(L, index) != LUA_TSTRING)
    expected(L, index, name, "string");
  s = lua_tolstring(L, index, &len);
  if (strlen(s) != len)
    refuse(L, name, "a zero byte in the string");
  return s;
}

/* A new array for `n` strings and the NULL behind them, as a userdata. */
static char **push_array(lua_State *L, size_t n) {
  return lua_newuserdatauv(L, (n + 1) * sizeof(char *), 0);
}

/* Pushes two values to pin: the strings, for a finalizer may change the table
** they come from while there is still something to allocate, and the array. */
static void read_command(lua_State *L, pt_spawn_plan *plan) {
  size_t i, n;
  char **argv;
  if (push_option(L, "command") != LUA_TTABLE)
    expected(L, -1, "command", "table");
  n = lua_rawlen(L, -1);
  if (n == 0 || n > INT_MAX)
    refuse(L, "command", "a program and its arguments expected");
  lua_createtable(L, (int)n, 0);
  argv = push_array(L, n);
  for (i = 0; i < n; i++) {
    lua_rawgeti(L, -3, (lua_Integer)i + 1);
    argv[i] = (char *)check_string(L, -1, "command");
    lua_rawseti(L, -3, (lua_Integer)i + 1);
  }
  argv[n] = NULL;
  if (argv[0][0] == '\0')
    refuse(L, "command", "the name of the program is empty");
  plan->argv = argv;
  lua_remove(L, -3);
}

/* Pushes the set of the host's variables that pass; 1 if all of them do. */
static int push_inherited(lua_State *L) {
  int type = push_option(L, "inherit"), value = lua_gettop(L);
  int all = type == LUA_TNIL || (type == LUA_TBOOLEAN && lua_toboolean(L, -1));
  lua_Integer i;
  if (type != LUA_TNIL && type != LUA_TBOOLEAN && type != LUA_TTABLE)
    expected(L, -1, "inherit", "boolean or list of names");
  lua_newtable(L);
  for (i = 1; type == LUA_TTABLE && lua_rawgeti(L, value, i) != LUA_TNIL; i++) {
    check_string(L, -1, "inherit");
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
  }
  lua_settop(L, value + 1);
  return all;
}

/* Looks at the name and the value on top; 0 if the value is false. */
static int check_variable(lua_State *L) {
  const char *name = check_string(L, -2, "env");
  if (name[0] == '\0' || strchr(name, '=') != NULL)
    refuse(L, "env", lua_pushfstring(L, "'%s' is no name", name));
  if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
    return 0;
  name = lua_pushfstring(L, "env.%s", name);
  check_string(L, -2, name);
  lua_pop(L, 1);
  return 1;
}

/* Pushes "env", a set of names, and the list of what it sets. */
static void push_overlay(lua_State *L) {
  lua_Integer n = 0;
  push_table(L, "env");
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1))
    if (check_variable(L)) {
      lua_pushfstring(L, "%s=%s", lua_tostring(L, -2), lua_tostring(L, -1));
      lua_rawseti(L, -4, ++n);
    }
}

/* Whether the set has the name of the variable `var`. */
static int has(lua_State *L, int set, const char *var) {
  int found;
  lua_pushlstring(L, var, strcspn(var, "="));
  found = lua_rawget(L, set) != LUA_TNIL;
  lua_pop(L, 1);
  return found;
}

/* Pushes the strings of the overlay and the array, to pin, among others. */
static void read_environment(lua_State *L, pt_spawn_plan *plan) {
  size_t set, from, ours = 0, n = 0;
  int all = push_inherited(L), inherited = lua_gettop(L);
  int overlay = inherited + 1, strings = overlay + 1;
  char **envp;
  push_overlay(L);
  set = lua_rawlen(L, strings);
  while (environ != NULL && environ[ours] != NULL)
    ours++;
  envp = push_array(L, set + ours);
  for (from = 0; from < ours; from++)
    if ((all || has(L, inherited, environ[from])) &&
        !has(L, overlay, environ[from]))
      envp[n++] = environ[from];
  for (from = 1; from <= set; from++) {
    lua_rawgeti(L, strings, (lua_Integer)from);
    envp[n++] = (char *)lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  envp[n] = NULL;
  plan->envp = envp;
}

static int named_stdio(lua_State *L, const char *name) {
  const char *s = check_string(L, -1, name);
  if (strcmp(s, "pipe") == 0)
    return PT_SPAWN_PIPE;
  if (strcmp(s, "inherit") == 0)
    return PT_SPAWN_INHERIT;
  if (strcmp(s, "null") == 0)
    return PT_SPAWN_NULL;
  return refuse(L, name, "'pipe', 'inherit', 'null' or a descriptor expected");
}

static int given_stdio(lua_State *L, const char *name) {
  const pt_fd *f = pt_fd_test(L, -1);
  lua_Integer n = f != NULL ? f->fd : lua_tointeger(L, -1);
  if (f == NULL && !lua_isinteger(L, -1))
    return expected(L, -1, name, "string or descriptor");
  if (n < 0 || n > INT_MAX)
    return refuse(L, name,
                  f != NULL ? "the descriptor is closed"
                            : "no descriptor has this number");
  return (int)n;
}

static void read_stdio(lua_State *L, pt_spawn_plan *plan) {
  int i;
  for (i = 0; i < 3; i++) {
    int type = push_option(L, ends[i]);
    if (type == LUA_TNIL)
      plan->stdio[i] = i < 2 ? PT_SPAWN_PIPE : PT_SPAWN_INHERIT;
    else if (type == LUA_TSTRING)
      plan->stdio[i] = named_stdio(L, ends[i]);
    else
      plan->stdio[i] = given_stdio(L, ends[i]);
    lua_pop(L, 1);
  }
}

static void read_group(lua_State *L, pt_spawn_plan *plan) {
  int type = push_option(L, "group");
  plan->group = PT_SPAWN_OWN;
  if (type == LUA_TSTRING && strcmp(lua_tostring(L, -1), "session") == 0)
    plan->group = PT_SPAWN_SESSION;
  else if (type == LUA_TBOOLEAN && !lua_toboolean(L, -1))
    plan->group = PT_SPAWN_OURS;
  else if (type != LUA_TNIL && type != LUA_TBOOLEAN)
    refuse(L, "group", "a boolean or 'session' expected");
  lua_pop(L, 1);
}

static void read_death_signal(lua_State *L, pt_spawn_plan *plan) {
  int type = push_option(L, "death_signal");
  if (type == LUA_TNIL)
    plan->death_signal = SIGKILL;
  else if (type != LUA_TBOOLEAN || lua_toboolean(L, -1)) {
    const char *name = check_string(L, -1, "death_signal");
    plan->death_signal = pt_signal_number(name);
    if (plan->death_signal == 0)
      refuse(L, "death_signal",
             lua_pushfstring(L, "unknown signal '%s'", name));
  }
  lua_pop(L, 1);
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

/* The name of a limit and its value are on top. */
static void read_limit(lua_State *L, pt_spawn_plan *plan) {
  pt_spawn_limit *limit = &plan->limits[plan->nlimits];
  lua_Integer n = lua_tointeger(L, -1);
  const char *name;
  int i = 0;
  if (lua_type(L, -2) != LUA_TSTRING)
    refuse(L, "limits", "the name of a limit is a string");
  name = lua_tostring(L, -2);
  while (i < PT_SPAWN_LIMITS && strcmp(limits[i].name, name) != 0)
    i++;
  if (i == PT_SPAWN_LIMITS)
    refuse(L, "limits", lua_pushfstring(L, "unknown limit '%s'", name));
  if (!lua_isinteger(L, -1) || n < 0)
    refuse(L, "limits", lua_pushfstring(L, "'%s' is no whole number", name));
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

/* Opens nothing and does not look for the program: `path` is left NULL. */
static void read_plan(lua_State *L, pt_spawn_plan *plan) {
  static const char *const known[] = {
      "command", "env",   "inherit",      "cwd",    "stdin", "stdout",
      "stderr",  "group", "death_signal", "limits", NULL};
  luaL_checktype(L, 1, LUA_TTABLE);
  memset(plan, 0, sizeof *plan);
  pt_check_names(L, 1, known, "spawn options");
  if (push_option(L, "cwd") != LUA_TNIL)
    plan->cwd = check_string(L, -1, "cwd");
  read_stdio(L, plan);
  read_group(L, plan);
  read_death_signal(L, plan);
  read_limits(L, plan);
  read_command(L, plan);
  read_environment(L, plan);
}

/* }====== */

/* {====== Starting ====== */

typedef enum state {
  UNBORN,  /* nothing is owned yet */
  RUNNING, /* not reaped, so the pid is ours */
  ENDED,   /* reaped, the status is known */
  LOST     /* reaped by other code, or not gone in time */
} state;

/* Its user values 1, 2 and 3 are the objects for our ends of its pipes, or
** nil; `child.ends` is only read while it is being made. */
typedef struct process {
  pt_spawn_child child;
  state state;
  int leads; /* a group of its own */
  int status;
  pid_t parent; /* whose child it is: a fork of ours has this object, too */
} process;

static process *push_process(lua_State *L) {
  process *p = lua_newuserdatauv(L, sizeof *p, 3);
  memset(p, 0, sizeof *p);
  p->child.watch = -1;
  p->state = UNBORN;
  p->parent = getpid();
  luaL_setmetatable(L, CLASS);
  return p;
}

/* Gives the process on top an object for every pipe there will be. */
static void add_ends(lua_State *L, const pt_spawn_plan *plan, pt_fd *to[3]) {
  int i;
  for (i = 0; i < 3; i++) {
    to[i] = NULL;
    if (plan->stdio[i] == PT_SPAWN_PIPE) {
      to[i] = pt_fd_push(L);
      lua_setiuservalue(L, -2, i + 1);
    }
  }
}

static const char *push_stage(lua_State *L, const pt_spawn_plan *plan,
                              const pt_spawn_failure *f) {
  switch (f->stage) {
  case PT_SPAWN_AT_GROUP:
    return "cannot make a process group";
  case PT_SPAWN_AT_DEATH_SIGNAL:
    return "cannot ask for a death signal";
  case PT_SPAWN_AT_STDIO:
    return lua_pushfstring(L, "cannot connect %s", ends[f->which]);
  case PT_SPAWN_AT_CWD:
    return lua_pushfstring(L, "cannot enter \"%s\"", plan->cwd);
  case PT_SPAWN_AT_LIMIT:
    return lua_pushfstring(L, "cannot set the %s limit",
                           plan->limits[f->which].name);
  case PT_SPAWN_AT_EXEC:
    return lua_pushfstring(L, "cannot run \"%s\"", plan->argv[0]);
  default:
    return lua_pushfstring(L, "cannot start \"%s\"", plan->argv[0]);
  }
}

static int fail_to_start(lua_State *L, const pt_spawn_plan *plan,
                         const pt_spawn_failure *f) {
  return pt_fail_errno(L, f->err, "spawn", "%s", push_stage(L, plan, f));
}

/* A name with a slash may be relative to a cwd that only the child enters, so
** that exec is the one to tell. 0, or an error number. */
static int find_program(pt_spawn_plan *plan, char *file, size_t size) {
  int is_path = strchr(plan->argv[0], '/') != NULL;
  plan->path = is_path ? plan->argv[0] : file;
  return is_path ? 0 : pt_spawn_find(plan->argv[0], getenv("PATH"), file, size);
}

/* core.spawn(options) -> process | nil, msg, kind, errno */
static int core_spawn(lua_State *L) {
  pt_spawn_plan plan;
  pt_spawn_failure failure = {.stage = PT_SPAWN_AT_EXEC};
  char file[PATH_MAX];
  pt_fd *to[3];
  process *p;
  int i;
  read_plan(L, &plan);
  failure.err = find_program(&plan, file, sizeof file);
  if (failure.err != 0)
    return fail_to_start(L, &plan, &failure);
  p = push_process(L);
  add_ends(L, &plan, to);
  pt_ignore_sigpipe();
  if (pt_spawn(&plan, &p->child, &failure) == -1)
    return fail_to_start(L, &plan, &failure);
  p->state = RUNNING;
  p->leads = plan.group != PT_SPAWN_OURS;
  for (i = 0; i < 3; i++)
    if (to[i] != NULL)
      to[i]->fd = p->child.ends[i];
  return 1;
}

/* core.which(name, path) -> file | nil, msg, kind, errno */
static int core_which(lua_State *L) {
  const char *name = pt_check_text(L, 1);
  const char *path =
      lua_isnoneornil(L, 2) ? getenv("PATH") : pt_check_text(L, 2);
  char file[PATH_MAX];
  int err = pt_spawn_find(name, path, file, sizeof file);
  if (err != 0)
    return pt_fail_errno(L, err, "spawn", "cannot run \"%s\"", name);
  lua_pushstring(L, file);
  return 1;
}

/* }====== */

/* {====== A child ====== */

static process *check_process(lua_State *L) {
  return luaL_checkudata(L, 1, CLASS);
}

/* process:pid() -> integer */
static int process_pid(lua_State *L) {
  lua_pushinteger(L, check_process(L)->child.pid);
  return 1;
}

/* process:fd() -> integer | nil */
static int process_fd(lua_State *L) {
  const process *p = check_process(L);
  if (p->child.watch != -1)
    lua_pushinteger(L, p->child.watch);
  else
    lua_pushnil(L);
  return 1;
}

/* Waits and remembers; 0 if the child still runs. A signal does not cut the
** wait short, unless it wants to stop the program. */
static int settle(lua_State *L, process *p, double timeout) {
  lua_Hook hook = lua_gethook(L);
  double deadline = timeout > 0 ? pt_clock_now() + timeout : 0;
  int result;
  if (p->state != RUNNING)
    return 1;
  do {
    result =
        pt_process_wait(p->child.pid, p->child.watch, deadline, &p->status);
  } while (result == 0 && pt_clock_now() < deadline && !pt_is_stopped(L, hook));
  if (result != 0)
    p->state = result > 0 ? ENDED : LOST;
  return result;
}

static int push_status(lua_State *L, int status) {
  const char *name;
  if (WIFEXITED(status)) {
    lua_pushinteger(L, WEXITSTATUS(status));
    lua_pushnil(L);
    return 2;
  }
  lua_pushnil(L);
  name = pt_signal_name(WTERMSIG(status));
  if (name != NULL)
    lua_pushstring(L, name);
  else
    lua_pushfstring(L, "%d", WTERMSIG(status));
  return 2;
}

/* process:wait(timeout) -> code, signal | false | nil, msg, kind */
static int process_wait(lua_State *L) {
  process *p = check_process(L);
  double timeout = luaL_optnumber(L, 2, 0);
  luaL_argcheck(L, timeout >= 0, 2, "must not be negative");
  if (!settle(L, p, timeout)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (p->state == ENDED)
    return push_status(L, p->status);
  return pt_fail(L, "closed", "process %d is not ours to wait for any more",
                 (int)p->child.pid);
}

static int check_signal(lua_State *L, int arg) {
  const char *name = luaL_optstring(L, arg, "TERM");
  int sig = pt_signal_number(name);
  if (sig == 0)
    luaL_argerror(L, arg, lua_pushfstring(L, "unknown signal '%s'", name));
  return sig;
}

/* process:kill(signal, group) -> true | nil, msg, kind, errno */
static int process_kill(lua_State *L) {
  const process *p = check_process(L);
  int sig = check_signal(L, 2), group = lua_toboolean(L, 3), err;
  luaL_argcheck(L, !group || p->leads, 3, "the process leads no group");
  err = p->state != RUNNING || p->parent != getpid()
            ? ECHILD
            : pt_process_kill(p->child.pid, sig, group);
  if (err == ECHILD || err == ESRCH)
    return pt_fail(L, "closed", "process %d has already ended",
                   (int)p->child.pid);
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "cannot signal process %d",
                         (int)p->child.pid);
  lua_pushboolean(L, 1);
  return 1;
}

/* The group goes even if its leader has ended on its own meanwhile: as long as
** that was not waited for, its number is still the group's. */
static void end_process(lua_State *L, process *p) {
  double deadline = pt_clock_now() + LAST_WAIT;
  if (p->state != RUNNING || p->parent != getpid())
    return;
  pt_process_kill(p->child.pid, SIGKILL, p->leads);
  while (!settle(L, p, deadline - pt_clock_now()))
    if (pt_clock_now() >= deadline)
      p->state = LOST;
}

/* process:close(), which neither opens nor allocates */
static int process_close(lua_State *L) {
  process *p = check_process(L);
  int i;
  end_process(L, p);
  pt_fd_drop(&p->child.watch);
  for (i = 1; i <= 3; i++)
    if (lua_getiuservalue(L, 1, i) != LUA_TNIL)
      pt_fd_drop(&pt_fd_test(L, -1)->fd);
  return 0;
}

static int process_tostring(lua_State *L) {
  const process *p = check_process(L);
  lua_pushfstring(L, CLASS " (%d%s)", (int)p->child.pid,
                  p->state == RUNNING ? "" : ", ended");
  return 1;
}

/* }====== */

/* {====== Any process ====== */

static pid_t check_pid(lua_State *L) {
  lua_Integer n = luaL_checkinteger(L, 1);
  luaL_argcheck(L, n > 0 && n <= INT_MAX, 1, "process id expected");
  return (pid_t)n;
}

/* core.getpid() -> integer */
static int core_getpid(lua_State *L) {
  lua_pushinteger(L, getpid());
  return 1;
}

/* core.alive(pid) -> boolean */
static int core_alive(lua_State *L) {
  lua_pushboolean(L, kill(check_pid(L), 0) == 0 || errno == EPERM);
  return 1;
}

/* Whatever else keeps it from being observed, it can still be looked at. */
static const char *kind_of(int err) {
  if (err == ESRCH)
    return "closed";
  return err == EMFILE || err == ENFILE || err == ENOMEM ? "full"
                                                         : "unsupported";
}

/* core.observe(pid) -> fd | nil, msg, kind, errno */
static int core_observe(lua_State *L) {
  pid_t pid = check_pid(L);
  pt_fd *f = pt_fd_push(L);
  int err;
  f->fd = pt_process_watch(pid);
  err = errno;
  if (f->fd == -1)
    return pt_fail_errno(L, err, kind_of(err), "cannot observe process %d",
                         (int)pid);
  return 1;
}

/* }====== */

static const luaL_Reg methods[] = {
    {"pid", process_pid},   {"fd", process_fd},       {"wait", process_wait},
    {"kill", process_kill}, {"close", process_close}, {NULL, NULL},
};

/* process.stdin, process.stdout, process.stderr; else a method. */
static int process_index(lua_State *L) {
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  const luaL_Reg *method = methods;
  int i;
  check_process(L);
  for (i = 0; i < 3; i++)
    if (strcmp(key, ends[i]) == 0) {
      lua_getiuservalue(L, 1, i + 1);
      return 1;
    }
  while (method->name != NULL && strcmp(key, method->name) != 0)
    method++;
  if (method->name == NULL)
    return 0;
  lua_pushcfunction(L, method->func);
  return 1;
}

static const luaL_Reg metamethods[] = {
    {"__index", process_index},
    {"__gc", process_close},
    {"__close", process_close},
    {"__tostring", process_tostring},
    {NULL, NULL},
};

static const luaL_Reg functions[] = {
    {"spawn", core_spawn}, {"which", core_which},     {"getpid", core_getpid},
    {"alive", core_alive}, {"observe", core_observe}, {NULL, NULL},
};

void pt_open_process(lua_State *L) {
  luaL_newmetatable(L, CLASS); /* or finds what is there of it */
  luaL_setfuncs(L, metamethods, 0);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
