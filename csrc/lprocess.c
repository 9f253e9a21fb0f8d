#define _GNU_SOURCE

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "core.h"
#include "lfd.h"
#include "lplan.h"
#include "lwatchdog.h"
#include "process.h"
#include "spawn.h"

#define CLASS "pintle.process"

/* How long a killed child may take to be gone when its object is closed. */
#define LAST_WAIT 2.0

typedef enum state {
  UNBORN,  /* nothing is owned yet */
  RUNNING, /* not reaped, so the pid is ours */
  ENDED,   /* reaped, the status is known */
  LOST     /* reaped by somebody else, or not to be had in time */
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

static const char *const ends[] = {"stdin", "stdout", "stderr"};

static process *check_process(lua_State *L) {
  return luaL_checkudata(L, 1, CLASS);
}

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

static int fail_to_start(lua_State *L, const pt_spawn_plan *plan,
                         const pt_spawn_failure *f) {
  const char *what;
  switch (f->stage) {
  case PT_SPAWN_AT_GROUP:
    what = "cannot make a process group";
    break;
  case PT_SPAWN_AT_DEATH_SIGNAL:
    what = "cannot ask for a death signal";
    break;
  case PT_SPAWN_AT_STDIO:
    what = lua_pushfstring(L, "cannot connect %s", ends[f->which]);
    break;
  case PT_SPAWN_AT_CWD:
    what = lua_pushfstring(L, "cannot enter \"%s\"", plan->cwd);
    break;
  case PT_SPAWN_AT_LIMIT:
    what = lua_pushfstring(L, "cannot set the %s limit",
                           plan->limits[f->which].name);
    break;
  case PT_SPAWN_AT_EXEC:
    what = lua_pushfstring(L, "cannot run \"%s\"", plan->argv[0]);
    break;
  default:
    what = lua_pushfstring(L, "cannot start \"%s\"", plan->argv[0]);
    break;
  }
  return pt_fail_errno(L, f->err, "spawn", "%s", what);
}

/* A name with a slash may be relative to a cwd that only the child enters, so
** that exec is the one to tell. */
static int find_program(const char *name, char *file, size_t size) {
  if (strchr(name, '/') == NULL)
    return pt_spawn_find(name, getenv("PATH"), file, size);
  if (strlen(name) >= size)
    return ENAMETOOLONG;
  strcpy(file, name);
  return 0;
}

/* core.spawn(options) -> process | nil, msg, kind, errno */
static int core_spawn(lua_State *L) {
  pt_spawn_plan plan;
  pt_spawn_failure failure;
  char file[PATH_MAX];
  pt_fd *to[3];
  process *p;
  int i;
  pt_plan_check(L, 1, &plan);
  memset(&failure, 0, sizeof failure);
  failure.stage = PT_SPAWN_AT_EXEC;
  failure.err = find_program(plan.argv[0], file, sizeof file);
  if (failure.err != 0)
    return fail_to_start(L, &plan, &failure);
  plan.path = file;
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

static const char *check_text(lua_State *L, int arg) {
  size_t len;
  const char *s = luaL_checklstring(L, arg, &len);
  luaL_argcheck(L, strlen(s) == len, arg, "a zero byte in the string");
  return s;
}

/* core.which(name, path) -> file | nil, msg, kind, errno */
static int core_which(lua_State *L) {
  const char *name = check_text(L, 1);
  const char *path = lua_isnoneornil(L, 2) ? getenv("PATH") : check_text(L, 2);
  char file[PATH_MAX];
  int err = pt_spawn_find(name, path, file, sizeof file);
  if (err != 0)
    return pt_fail_errno(L, err, "spawn", "cannot run \"%s\"", name);
  lua_pushstring(L, file);
  return 1;
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

/* A signal does not cut the wait short, unless it wants to stop the program. */
static int wait_until(lua_State *L, process *p, double deadline) {
  lua_Hook hook = lua_gethook(L);
  int result;
  do {
    result =
        pt_process_wait(p->child.pid, p->child.watch, deadline, &p->status);
  } while (result == 0 && pt_clock_now() < deadline && !pt_is_stopped(L, hook));
  return result;
}

/* Waits and remembers; 0 if the child still runs. */
static int settle(lua_State *L, process *p, double timeout) {
  int result;
  if (p->state != RUNNING)
    return 1;
  result = wait_until(L, p, timeout > 0 ? pt_clock_now() + timeout : 0);
  if (result != 0)
    p->state = result > 0 ? ENDED : LOST;
  return result;
}

static void push_signal(lua_State *L, int sig) {
  const char *name = pt_signal_name(sig);
  if (name != NULL)
    lua_pushstring(L, name);
  else
    lua_pushfstring(L, "%d", sig);
}

static int push_status(lua_State *L, int status) {
  if (WIFEXITED(status)) {
    lua_pushinteger(L, WEXITSTATUS(status));
    lua_pushnil(L);
  } else {
    lua_pushnil(L);
    push_signal(L, WTERMSIG(status));
  }
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
  process *p = check_process(L);
  int sig = check_signal(L, 2);
  int group = lua_toboolean(L, 3);
  int err;
  luaL_argcheck(L, !group || p->leads, 3, "the process leads no group");
  err = p->state != RUNNING || p->parent != getpid()
            ? ECHILD
            : pt_process_kill(p->child.pid, p->child.watch, sig, group);
  if (err == ECHILD || err == ESRCH)
    return pt_fail(L, "closed", "process %d has already ended",
                   (int)p->child.pid);
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "cannot signal process %d",
                         (int)p->child.pid);
  lua_pushboolean(L, 1);
  return 1;
}

static void close_ends(lua_State *L) {
  int i;
  for (i = 1; i <= 3; i++) {
    lua_getiuservalue(L, 1, i);
    if (!lua_isnil(L, -1))
      pt_fd_drop(&pt_fd_test(L, -1)->fd);
    lua_pop(L, 1);
  }
}

/* The group goes even if its leader has ended on its own meanwhile: as long as
** that was not waited for, its number is still the group's. */
static void end_process(lua_State *L, process *p) {
  double deadline = pt_clock_now() + LAST_WAIT;
  if (p->state != RUNNING || p->parent != getpid())
    return;
  pt_process_kill(p->child.pid, p->child.watch, pt_signal_number("KILL"),
                  p->leads);
  while (!settle(L, p, deadline - pt_clock_now()))
    if (pt_clock_now() >= deadline)
      p->state = LOST;
}

/* process:close() */
static int process_close(lua_State *L) {
  process *p = check_process(L);
  end_process(L, p);
  pt_fd_drop(&p->child.watch);
  close_ends(L);
  return 0;
}

/* process.stdin, process.stdout, process.stderr; else a method, which are in
** the upvalue. */
static int process_index(lua_State *L) {
  const char *key = lua_tostring(L, 2);
  int i;
  check_process(L);
  for (i = 0; key != NULL && i < 3; i++)
    if (strcmp(key, ends[i]) == 0) {
      lua_getiuservalue(L, 1, i + 1);
      return 1;
    }
  lua_pushvalue(L, 2);
  lua_rawget(L, lua_upvalueindex(1));
  return 1;
}

static int process_tostring(lua_State *L) {
  const process *p = check_process(L);
  lua_pushfstring(L, CLASS " (%d%s)", (int)p->child.pid,
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

static const luaL_Reg functions[] = {
    {"spawn", core_spawn},
    {"which", core_which},
    {NULL, NULL},
};

/* Has process_index look into the methods, if it does not yet. */
static void set_index(lua_State *L) {
  luaL_getmetatable(L, CLASS);
  if (lua_getfield(L, -1, "__index") == LUA_TTABLE) {
    lua_pushcclosure(L, process_index, 1);
    lua_setfield(L, -2, "__index");
  } else {
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void pt_open_process(lua_State *L) {
  pt_new_class(L, CLASS, methods, metamethods);
  set_index(L);
  luaL_setfuncs(L, functions, 0);
}
