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
#include "lspawn.h"

#define CLASS "pintle.process"
#define CANNOT_RUN "cannot run \"%s\""

/* Seconds that close waits for a killed child to end. */
#define LAST_WAIT 2.0

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
  pt_spawn_read(L, &plan);
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
