/*
** core.getpid, core.alive, core.observe: processes that are nobody's children
** here, such as the one that a plugin serves.
*/
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>

#include "core.h"
#include "lfd.h"
#include "process.h"

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
  f->fd = pt_process_watch(pid);
  if (f->fd != -1)
    f->fd = pt_fd_above_stdio(f->fd);
  if (f->fd == -1) {
    int err = errno;
    return pt_fail_errno(L, err, kind_of(err), "cannot observe process %d",
                         (int)pid);
  }
  return 1;
}

static const luaL_Reg functions[] = {{"alive", core_alive},
                                     {"getpid", core_getpid},
                                     {"observe", core_observe},
                                     {NULL, NULL}};

void pt_open_observe(lua_State *L) { luaL_setfuncs(L, functions, 0); }
