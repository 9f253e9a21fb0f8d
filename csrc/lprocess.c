/*
** core.spawn and its processes; core.which; core.getpid, core.alive and
** core.pidfd for processes that need not be children.
*/
#define _GNU_SOURCE

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core.h"
#include "io.h"
#include "lfd.h"
#include "lsandbox.h"
#include "lsha256.h"
#include "lwatchdog.h"
#include "spawn.h"

#if defined(__APPLE__)
#include <crt_externs.h>
#define environ (*_NSGetEnviron()) /* a shared library has no other */
#elif !defined(__linux__)
extern char **environ;
#endif

#define CLASS "pintle.process"
#define CANNOT_RUN "cannot run \"%s\""

/* Seconds that close waits for a killed child to end. */
#define LAST_WAIT 2.0

/* {====== Options ======
** The options are in the table at index 1. Everything that the plan points to
** stays on the stack. */

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

/* Opens nothing and does not search for the program. */
static void read_plan(lua_State *L, pt_spawn_plan *plan) {
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

/* }====== */

/* {====== Starting ====== */

typedef enum state {
  RUNNING, /* not reaped, so the pid is ours */
  ENDED,   /* reaped, the status is known */
  LOST     /* not started, reaped by other code, or not gone in time */
} state;

/* The user values 1, 2 and 3 are the objects of `ends`. */
typedef struct process {
  pid_t pid;
  int watch;      /* readable when the child has ended; -1 if there is none */
  pt_fd *ends[3]; /* our ends of its pipes; NULL where there is none */
  state state;
  int leads_group; /* it leads a process group */
  int status;
  pid_t parent; /* differs from getpid() in a fork of the parent */
  int proc; /* an open /proc, to find its session in; -1 if it may leave that */
} process;

/* Pushes a process that is not started, with an object for every pipe of the
** plan. */
static process *push_process(lua_State *L, const pt_spawn_plan *plan) {
  process *p = lua_newuserdatauv(L, sizeof *p, 3);
  int i;
  *p = (process){.watch = -1, .state = LOST, .parent = getpid(), .proc = -1};
  luaL_setmetatable(L, CLASS);
  for (i = 0; i < 3; i++)
    if (plan->stdio[i] == PT_SPAWN_PIPE) {
      p->ends[i] = pt_fd_push(L);
      lua_setiuservalue(L, -2, i + 1);
    }
  return p;
}

static void set_child(process *p, const pt_spawn_child *child, int leads) {
  int i;
  p->pid = child->pid;
  p->watch = child->watch;
  p->leads_group = leads;
  p->state = RUNNING;
  for (i = 0; i < 3; i++)
    if (p->ends[i] != NULL)
      p->ends[i]->fd = child->ends[i];
}

/* A name with a slash may be relative to the child's directory, so only exec
** can find out whether it exists. Returns 0 or an error number. */
static int find_program(pt_spawn_plan *plan, char *file, size_t size) {
  if (plan->path != NULL)
    return 0;
  plan->path = strchr(plan->argv[0], '/') != NULL ? plan->argv[0] : file;
  if (plan->path != file)
    return 0;
  return pt_spawn_find(plan->argv[0], getenv("PATH"), file, size);
}

/* As the child would open it: a relative path is relative to its directory.
** O_NONBLOCK keeps the opening of a pipe from waiting for its writer. */
static int open_program(const pt_spawn_plan *plan) {
  int is_relative = plan->cwd != NULL && plan->path[0] != '/';
  int dir = is_relative ? open(plan->cwd, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                        : AT_FDCWD;
  int fd = -1;
  if (dir != -1)
    fd = openat(dir, plan->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (is_relative)
    pt_fd_close(&dir);
  return pt_fd_make_private(fd);
}

/* The interpreter of a script opens it again, by its path. */
static int is_script(int fd) {
  char start[2];
  return pread(fd, start, 2, 0) == 2 && start[0] == '#' && start[1] == '!';
}

/* Opens the program and computes its checksum. If it is the expected one, the
** descriptor becomes the plan's program, except for a script. Returns 0 or an
** error number. */
static int open_checked(pt_spawn_plan *plan, const char *expected,
                        char actual[PT_SHA256_SIZE]) {
  int fd = open_program(plan);
  int err = fd == -1 ? errno : pt_sha256_file(fd, actual);
  if (err == 0 && strcmp(actual, expected) == 0 && !is_script(fd))
    plan->program = fd;
  else
    pt_fd_close(&fd);
  return err;
}

/* Returns 0, or the number of values pushed that say what failed. */
static int check_program(lua_State *L, pt_spawn_plan *plan) {
  char actual[PT_SHA256_SIZE] = "";
  int err = 0, is_expected = 1;
  if (pt_push_option(L, "sha256") != LUA_TNIL) {
    const char *expected = lua_tostring(L, -1);
    err = open_checked(plan, expected, actual);
    is_expected = strcmp(actual, expected) == 0;
  }
  lua_pop(L, 1);
  if (err != 0)
    return pt_fail_errno(L, err, "spawn", CANNOT_RUN, plan->argv[0]);
  if (is_expected)
    return 0;
  return pt_fail(L, "invalid", "%s is not the expected file: its SHA-256 is %s",
                 plan->argv[0], actual);
}

/* The process is on top. Returns 1, or the number of values pushed that say
** what failed. */
static int start(lua_State *L, pt_spawn_plan *plan, process *p) {
  pt_spawn_child child;
  pt_spawn_failure failure;
  int status, nresults = check_program(L, plan);
  if (nresults != 0)
    return nresults;
  status = pt_spawn(plan, &child, &failure);
  pt_fd_close(&plan->program);
  if (status == -1)
    return pt_fail_errno(L, failure.err, "spawn", failure.step, failure.name);
  set_child(p, &child, plan->group != PT_SPAWN_OURS);
  return 1;
}

/* The child cannot leave its session, so all its processes can be found when it
** ends. /proc is opened before, so that nothing has to be opened then. */
static int start_confined(lua_State *L, pt_spawn_plan *plan, process *p) {
  int top = lua_gettop(L);
  int nresults = pt_sandbox_take_rules(L, plan->sandbox, plan->cwd);
  if (nresults != 0)
    return nresults;
  lua_pushvalue(L, top);
  if (plan->sandbox->has_filter)
    p->proc =
        pt_fd_make_private(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (p->proc == -1 && plan->sandbox->has_filter)
    nresults = pt_fail_errno(L, errno, "spawn", "sandbox: cannot open /proc");
  else
    nresults = start(L, plan, p);
  if (nresults != 1)
    pt_fd_close(&p->proc);
  pt_sandbox_release_rules(plan->sandbox, nresults == 1);
  return nresults;
}

/* core.spawn(options) -> process | nil, msg, kind, errno */
static int core_spawn(lua_State *L) {
  pt_spawn_plan plan;
  char file[PATH_MAX];
  process *p;
  int err;
  read_plan(L, &plan);
  err = find_program(&plan, file, sizeof file);
  if (err != 0)
    return pt_fail_errno(L, err, "spawn", CANNOT_RUN, plan.argv[0]);
  p = push_process(L, &plan);
  pt_ignore_sigpipe();
  return plan.sandbox != NULL ? start_confined(L, &plan, p)
                              : start(L, &plan, p);
}

/* core.which(name, path) -> file | nil, msg, kind, errno */
static int core_which(lua_State *L) {
  const char *name = pt_check_text(L, 1);
  const char *path =
      lua_isnoneornil(L, 2) ? getenv("PATH") : pt_check_text(L, 2);
  char file[PATH_MAX];
  int err = pt_spawn_find(name, path, file, sizeof file);
  if (err != 0)
    return pt_fail_errno(L, err, "spawn", CANNOT_RUN, name);
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
  lua_pushinteger(L, check_process(L)->pid);
  return 1;
}

/* process:fd() -> integer | nil */
static int process_fd(lua_State *L) {
  const process *p = check_process(L);
  if (p->watch != -1)
    lua_pushinteger(L, p->watch);
  else
    lua_pushnil(L);
  return 1;
}

/* Kills what has left the group but could not leave the session. The leader has
** ended, but until it is reaped, the number of the session is not reused. This
** looks at every process of the system, so it is done once. */
static void kill_session(const process *p) {
  if (p->proc != -1 && p->parent == getpid())
    pt_session_kill(p->pid, p->proc, LAST_WAIT);
}

/* As waitpid: 0 if the child still runs. */
static pid_t try_to_reap(process *p) {
  if (p->proc != -1) {
    int has_ended = pt_process_has_ended(p->pid);
    if (has_ended == 0)
      return 0;
    if (has_ended == 1)
      kill_session(p);
  }
  return waitpid(p->pid, &p->status, WNOHANG);
}

/* Waits for the child and reaps it. Returns 0 if it still runs. Without a
** descriptor for its end, checks every 1 to 16 ms. */
static int reap_process(lua_State *L, process *p, double timeout) {
  struct pollfd end = {.fd = p->watch, .events = POLLIN};
  double deadline = timeout > 0 ? pt_clock_now() + timeout : 0;
  double step = p->watch != -1 ? HUGE_VAL : 0.001;
  for (; p->state == RUNNING; step = step < 0.016 ? step * 2 : step) {
    pid_t ended = try_to_reap(p);
    double left = deadline - pt_clock_now();
    if (ended != 0)
      p->state = ended == p->pid ? ENDED : LOST;
    else if (left <= 0 ||
             pt_fd_wait(L, &end, 1, left < step ? left : step) != 0)
      return 0;
  }
  return 1;
}

static int push_status(lua_State *L, int status) {
  const char *name;
  if (WIFEXITED(status)) {
    lua_pushinteger(L, WEXITSTATUS(status));
    return 1;
  }
  lua_pushnil(L);
  name = pt_signal_name(WTERMSIG(status));
  if (name != NULL)
    lua_pushstring(L, name);
  else
    lua_pushfstring(L, "%d", WTERMSIG(status));
  return 2;
}

/* process:wait(timeout) -> code | nil, signal | false | nil, msg, kind */
static int process_wait(lua_State *L) {
  process *p = check_process(L);
  double timeout = luaL_optnumber(L, 2, 0);
  luaL_argcheck(L, timeout >= 0, 2, "must not be negative");
  if (!reap_process(L, p, timeout)) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (p->state == ENDED)
    return push_status(L, p->status);
  return pt_fail(L, "closed", "process %d can no longer be waited for",
                 (int)p->pid);
}

static int check_signal(lua_State *L, int arg) {
  const char *name = luaL_optstring(L, arg, "TERM");
  int sig = pt_signal_number(name);
  if (sig == 0)
    luaL_argerror(L, arg, lua_pushfstring(L, "unknown signal '%s'", name));
  return sig;
}

static int is_ours(const process *p) {
  return p->state == RUNNING && p->parent == getpid();
}

/* process:kill(signal, group) -> true | nil, msg, kind, errno */
static int process_kill(lua_State *L) {
  const process *p = check_process(L);
  int sig = check_signal(L, 2), group = lua_toboolean(L, 3), err;
  luaL_argcheck(L, !group || p->leads_group, 3,
                "the process does not lead a group");
  err = is_ours(p) ? pt_process_kill(p->pid, sig, group) : ECHILD;
  if (err == ECHILD || err == ESRCH)
    return pt_fail(L, "closed", "process %d has already ended", (int)p->pid);
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "cannot signal process %d",
                         (int)p->pid);
  lua_pushboolean(L, 1);
  return 1;
}

/* The group is killed even if its leader has ended: until the leader is reaped,
** its number still belongs to the group. */
static void end_process(lua_State *L, process *p) {
  double deadline = pt_clock_now() + LAST_WAIT;
  if (!is_ours(p))
    return;
  pt_process_kill(p->pid, SIGKILL, p->leads_group);
  while (!reap_process(L, p, deadline - pt_clock_now()))
    if (pt_clock_now() >= deadline)
      p->state = LOST;
}

/* process:close(), which neither opens nor allocates anything */
static int process_close(lua_State *L) {
  process *p = check_process(L);
  int i;
  end_process(L, p);
  pt_fd_close(&p->watch);
  pt_fd_close(&p->proc);
  for (i = 0; i < 3; i++)
    if (p->ends[i] != NULL)
      pt_fd_close(&p->ends[i]->fd);
  return 0;
}

/* __index: process.stdin, process.stdout, process.stderr, or a method. */
static int process_index(lua_State *L) {
  const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
  int i;
  check_process(L);
  for (i = 0; i < 3; i++)
    if (strcmp(key, pt_spawn_stdio[i]) == 0) {
      lua_getiuservalue(L, 1, i + 1);
      return 1;
    }
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  return 1;
}

static int process_tostring(lua_State *L) {
  const process *p = check_process(L);
  lua_pushfstring(L, CLASS " (%d%s)", (int)p->pid,
                  p->state == RUNNING ? "" : ", ended");
  return 1;
}

static const luaL_Reg methods[] = {
    {"pid", process_pid},   {"fd", process_fd},       {"wait", process_wait},
    {"kill", process_kill}, {"close", process_close}, {NULL, NULL},
};

static const luaL_Reg metamethods[] = {
    {"__gc", process_close},
    {"__close", process_close},
    {"__tostring", process_tostring},
    {NULL, NULL},
};

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

/* For "unsupported", the caller can use core.alive instead. */
static const char *kind_of(int err) {
  if (err == ESRCH)
    return "closed";
  return err == EMFILE || err == ENFILE || err == ENOMEM ? "full"
                                                         : "unsupported";
}

/* core.pidfd(pid) -> fd | nil, msg, kind, errno */
static int core_pidfd(lua_State *L) {
  pid_t pid = check_pid(L);
  pt_fd *f = pt_fd_push(L);
  int err;
  f->fd = pt_process_watch(pid);
  err = errno;
  if (f->fd == -1)
    return pt_fail_errno(L, err, kind_of(err), "cannot watch process %d",
                         (int)pid);
  return 1;
}

/* }====== */

static const luaL_Reg functions[] = {
    {"spawn", core_spawn}, {"which", core_which}, {"getpid", core_getpid},
    {"alive", core_alive}, {"pidfd", core_pidfd}, {NULL, NULL},
};

void pt_open_process(lua_State *L) {
  luaL_newmetatable(L, CLASS); /* an earlier call may have failed after this */
  luaL_setfuncs(L, metamethods, 0);
  luaL_newlib(L, methods);
  lua_pushcclosure(L, process_index, 1);
  lua_setfield(L, -2, "__index");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
