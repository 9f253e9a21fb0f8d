/*
** core.poller: readiness as Lua sees it. Tokens live in a table by descriptor
** (by process id negated for the end of a process), the first uservalue; the
** watches live in a plain userdata, the second. No event makes a new object.
*/
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>

#include "clock.h"
#include "core.h"
#include "lfd.h"
#include "lwatchdog.h"
#include "poll.h"

#define CLASS "pintle.poller"
#define FIRST_LIMIT 64

enum { TOKENS = 1, WATCHES, VALUES = WATCHES };

typedef struct poller {
  const void *mark; /* see pt_check_self */
  pt_poll poll;
  int open;
} poller;

static const char poller_mark = 0; /* its address is in every poller */

static poller *check_poller_at(lua_State *L, int arg) {
  poller *p = pt_check_marked(L, arg, sizeof *p, &poller_mark, CLASS);
  if (!p->open)
    luaL_error(L, "attempt to use a closed poller");
  return p;
}

static poller *check_poller(lua_State *L) { return check_poller_at(L, 1); }

static const char *kind_of(int err) {
  if (err == EBADF || err == ESRCH)
    return "closed";
  return err == ENOMEM || err == ENOSPC ? "full" : "invalid";
}

/* The poller is the first argument in all that follows. */
static void set_value(lua_State *L, int table, int key, int value) {
  lua_getiuservalue(L, 1, table);
  lua_pushvalue(L, value);
  lua_rawseti(L, -2, key);
  lua_pop(L, 1);
}

static void clear_value(lua_State *L, int table, int key) {
  lua_getiuservalue(L, 1, table);
  lua_pushnil(L);
  lua_rawseti(L, -2, key);
  lua_pop(L, 1);
}

static int push_value(lua_State *L, int table, int key) {
  lua_getiuservalue(L, 1, table);
  lua_rawgeti(L, -1, key);
  lua_remove(L, -2);
  return !lua_isnil(L, -1);
}

static void set_token(lua_State *L, int key, int token) {
  set_value(L, TOKENS, key, token);
}

static void clear_token(lua_State *L, int key) { clear_value(L, TOKENS, key); }

static void check_token(lua_State *L, int arg) {
  luaL_argcheck(L, !lua_isnoneornil(L, arg), arg, "token expected");
}

/* To allocate may run finalizers, which may use this very poller or close it,
** so what it looks like is asked afterwards. */
static void grow(lua_State *L, int limit) {
  void *memory = lua_newuserdatauv(L, pt_poll_size(limit), 0);
  poller *p = check_poller(L);
  if (limit > p->poll.limit) {
    pt_poll_move(&p->poll, memory, limit);
    lua_setiuservalue(L, 1, WATCHES);
  }
}

/* Makes a slot for `fd`; a number that is not open would claim memory for
** nothing, so it is an error first. */
static int reserve(lua_State *L, const pt_poll *p, int fd) {
  int limit = p->limit;
  if (fd < limit)
    return 0;
  if (fcntl(fd, F_GETFD) < 0)
    return errno;
  while (limit <= fd)
    limit = limit > INT_MAX / 2 ? INT_MAX : limit * 2;
  grow(L, limit);
  return 0;
}

static int watch(lua_State *L, pt_poll *p, int fd, int wanted) {
  int err = reserve(L, p, fd);
  if (err != 0)
    return err;
  set_token(L, fd, 4);
  err = pt_poll_set(p, fd, wanted);
  if (err != 0) {
    clear_token(L, fd);
  }
  return err;
}

static void unwatch(lua_State *L, pt_poll *p, int fd) {
  if (fd >= p->limit)
    return;
  pt_poll_set(p, fd, 0);
  clear_token(L, fd);
}

/* poller:set(fd, events, token) -> true | nil, msg, kind, errno */
static int poller_set(lua_State *L) {
  static const char *const events[] = {"", "r", "w", "rw", NULL};
  poller *p = check_poller(L);
  int fd = pt_fd_check(L, 2);
  int wanted = luaL_checkoption(L, 3, "", events); /* "r" 1, "w" 2, "rw" 3 */
  int err = 0;
  if (wanted == 0) {
    unwatch(L, &p->poll, fd);
  } else {
    check_token(L, 4);
    err = watch(L, &p->poll, fd, wanted);
  }
  if (err != 0)
    return pt_fail_errno(L, err, kind_of(err), "cannot watch descriptor %d",
                         fd);
  lua_pushboolean(L, 1);
  return 1;
}

/* poller:set_exit(pid, token) -> true | nil, msg, kind, errno */
static int poller_set_exit(lua_State *L) {
  poller *p = check_poller(L);
  lua_Integer n = luaL_checkinteger(L, 2);
  int wanted = !lua_isnoneornil(L, 3);
  int pid = (int)n;
  int err;
  luaL_argcheck(L, n > 0 && n <= INT_MAX, 2, "process id expected");
  lua_settop(L, 3);
  set_token(L, -pid, 3);
  err = pt_poll_set_exit(&p->poll, pid, wanted);
  if (err != 0)
    clear_token(L, -pid);
  if (err == ENOTSUP)
    return pt_fail(L, "unsupported", "this system has no watch on process ids");
  if (err != 0)
    return pt_fail_errno(L, err, kind_of(err), "cannot watch process %d", pid);
  lua_pushboolean(L, 1);
  return 1;
}

/* Rounded up, for a timer that is not quite due must not be asked for again and
** again; and a time that is too long for the system ends early. */
static int milliseconds(double seconds) {
  double ms = seconds * 1000;
  if (ms <= 0)
    return 0;
  return ms < INT_MAX - 1 ? (int)ms + ((int)ms < ms) : INT_MAX;
}

/* A signal does not cut the time short, unless it wants to stop the program. */
static int wait_until(lua_State *L, pt_poll *p, double deadline, int ms) {
  lua_Hook hook = lua_gethook(L);
  int n = pt_poll_wait(p, ms);
  while (n == -EINTR && !pt_is_stopped(L, hook))
    n = pt_poll_wait(p, ms <= 0 ? ms : milliseconds(deadline - pt_clock_now()));
  return n == -EINTR ? 0 : n;
}

/* poller:wait(timeout) -> n | nil, msg, kind, errno */
static int poller_wait(lua_State *L) {
  poller *p = check_poller(L);
  double timeout = luaL_optnumber(L, 2, -1);
  int n;
  luaL_argcheck(L, !isnan(timeout), 2, "a time is not NaN");
  if (timeout < 0)
    n = wait_until(L, &p->poll, 0, -1);
  else if (timeout > 0)
    n = wait_until(L, &p->poll, pt_clock_now() + timeout,
                   milliseconds(timeout));
  else
    n = wait_until(L, &p->poll, 0, 0);
  if (n < 0)
    return pt_fail_errno(L, -n, kind_of(-n), "cannot wait for descriptors");
  lua_pushinteger(L, n);
  return 1;
}

static int push_ready(lua_State *L, int key, int ready) {
  push_value(L, TOKENS, key);
  if (key < 0)
    clear_token(L, key);
  lua_pushboolean(L, ready & PT_POLL_READ);
  lua_pushboolean(L, ready & PT_POLL_WRITE);
  return 3;
}

/* poller:next() -> token, readable, writable | nil */
static int poller_next(lua_State *L) {
  poller *p = check_poller(L);
  int key;
  int ready = pt_poll_next(&p->poll, &key);
  if (ready != 0)
    return push_ready(L, key, ready);
  lua_pushnil(L);
  return 1;
}

/* poller:fileno() -> integer | nil */
static int poller_fileno(lua_State *L) {
  poller *p = check_poller(L);
  if (p->poll.fd < 0)
    lua_pushnil(L);
  else
    lua_pushinteger(L, p->poll.fd);
  return 1;
}

static void release(lua_State *L, int uservalue) {
  lua_pushnil(L);
  lua_setiuservalue(L, 1, uservalue);
}

/* poller:close() */
static int poller_close(lua_State *L) {
  poller *p = luaL_checkudata(L, 1, CLASS);
  if (p->open) {
    p->open = 0;
    pt_poll_close(&p->poll);
    release(L, TOKENS);
    release(L, WATCHES);
  }
  return 0;
}

/* core.poller() -> poller | nil, msg, kind, errno */
static int core_poller(lua_State *L) {
  poller *p;
  int err;
  lua_settop(L, 0);
  p = lua_newuserdatauv(L, sizeof *p, VALUES);
  p->mark = &poller_mark;
  p->open = 0;
  luaL_setmetatable(L, CLASS);
  lua_newtable(L);
  lua_setiuservalue(L, 1, TOKENS);
  err = pt_poll_open(&p->poll);
  if (err != 0)
    return pt_fail_errno(L, err, "full", "cannot make a poller");
  p->open = 1;
  grow(L, FIRST_LIMIT);
  return 1;
}

static const luaL_Reg methods[] = {{"set", poller_set},
                                   {"set_exit", poller_set_exit},
                                   {"wait", poller_wait},
                                   {"next", poller_next},
                                   {"fileno", poller_fileno},
                                   {"close", poller_close},
                                   {NULL, NULL}};

static const luaL_Reg meta[] = {
    {"__gc", poller_close}, {"__close", poller_close}, {NULL, NULL}};

static const luaL_Reg functions[] = {{"poller", core_poller}, {NULL, NULL}};

void pt_open_poller(lua_State *L) {
  pt_new_class(L, CLASS, methods, meta);
  luaL_setfuncs(L, functions, 0);
}
