/*
** core.poller: readiness as Lua sees it. Tokens live in a table by descriptor
** (by process id negated for the end of a process), the first uservalue; the
** watches live in a plain userdata, the second. No event makes a new object.
** Streams that are delivered without a detour are in the third, by descriptor.
*/
#define _POSIX_C_SOURCE 200809L

#include "lpoll.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>

#include "clock.h"
#include "core.h"
#include "lfd.h"
#include "lresume.h"
#include "lstream.h"
#include "poll.h"

#define CLASS "pintle.poller"
#define FIRST_LIMIT 64

enum { TOKENS = 1, WATCHES, STREAMS, VALUES = STREAMS };

typedef struct poller {
  const void *mark; /* see pt_check_self */
  pt_poll poll;
  int open;
  int current; /* the descriptor whose stream is being delivered; -1 if none */
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
  set_value(L, STREAMS, fd, 5);
  err = pt_poll_set(p, fd, wanted);
  if (err != 0) {
    clear_token(L, fd);
    clear_value(L, STREAMS, fd);
  }
  return err;
}

static void unwatch(lua_State *L, pt_poll *p, int fd) {
  if (fd >= p->limit)
    return;
  pt_poll_set(p, fd, 0);
  clear_token(L, fd);
  clear_value(L, STREAMS, fd);
}

/* poller:set(fd, events, token, stream) -> true | nil, msg, kind, errno */
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
    lua_settop(L, 5);
    luaL_argcheck(L, lua_isnil(L, 5) || pt_stream_test(L, 5) != NULL, 5,
                  "stream expected");
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

/* A delivery that has failed, or has come to wait in the middle: what there is
** to be sent from now on is to be marked. */
static void forget_current(lua_State *L, poller *p) {
  if (p->current >= 0 && push_value(L, STREAMS, p->current))
    pt_stream_test(L, -1)->is_marked = 0;
  p->current = -1;
  lua_settop(L, 1);
}

/* poller:wait(timeout) -> n | nil, msg, kind, errno */
static int poller_wait(lua_State *L) {
  poller *p = check_poller(L);
  double timeout = luaL_optnumber(L, 2, -1);
  int n;
  luaL_argcheck(L, !isnan(timeout), 2, "a time is not NaN");
  if (p->current >= 0)
    forget_current(L, p);
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

/* {====== poller:deliver ====== */

/* Whether the results of stream:deliver, which are all that is behind `before`,
** leave nothing to do. */
static int is_all_done(lua_State *L, int before) {
  return lua_isboolean(L, before + 1) && !lua_toboolean(L, before + 5);
}

/* Delivers the stream on top, and sends what comes of that: 0 if that is all,
** else how many results of stream:deliver are pushed. Nobody else need send, so
** it counts as marked meanwhile. */
static int deliver(lua_State *L) {
  int before = lua_gettop(L), was_marked;
  pt_stream *s = pt_stream_test(L, before);
  was_marked = s->is_marked;
  s->is_marked = 1;
  s->is_drained = 0; /* there is something */
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, before);
  lua_call(L, 1, LUA_MULTRET);
  if (!was_marked)
    s->is_marked = 0;
  if (pt_stream_write_out(L, s) == 1 && s->is_open && is_all_done(L, before))
    return 0;
  lua_settop(L, before + 5);
  lua_pushboolean(L, pt_buf_len(&s->out) > 0);
  return 6;
}

/* poller:deliver() -> token, readable, writable | token, nil, nil, then as
** stream:deliver | nil, token of the last that nothing is told of */
static int deliver_all(lua_State *L) {
  lua_settop(L, 1);
  lua_pushnil(L);
  for (;;) {
    poller *p = check_poller(L);
    int key, ready, results;
    lua_settop(L, 2); /* the last token */
    ready = pt_poll_next(&p->poll, &key);
    if (ready == 0) {
      lua_pushnil(L);
      lua_insert(L, 2);
      return 2;
    }
    if (ready != PT_POLL_READ || !push_value(L, STREAMS, key))
      return push_ready(L, key, ready);
    push_value(L, TOKENS, key);
    lua_replace(L, 2);
    p->current = key;
    results = deliver(L);
    p->current = -1;
    if (results == 0)
      continue;
    lua_pushnil(L);
    lua_replace(L, 3); /* the stream */
    lua_pushnil(L);
    lua_insert(L, 4);
    return 3 + results;
  }
}

/* poller:current() -> token | nil */
static int poller_current(lua_State *L) {
  const poller *p = check_poller(L);
  return p->current >= 0 ? push_value(L, TOKENS, p->current) : 0;
}

/* }====== */

/* poller:fileno() -> integer | nil */
static int poller_fileno(lua_State *L) {
  poller *p = check_poller(L);
  if (p->poll.fd < 0)
    lua_pushnil(L);
  else
    lua_pushinteger(L, p->poll.fd);
  return 1;
}

int pt_poller_fileno(lua_State *L, int arg, int *is_ready) {
  const poller *p = check_poller_at(L, arg);
  *is_ready = pt_poll_is_ready(&p->poll);
  return p->poll.fd;
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
    release(L, STREAMS);
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
  p->current = -1;
  luaL_setmetatable(L, CLASS);
  lua_newtable(L);
  lua_setiuservalue(L, 1, TOKENS);
  lua_newtable(L);
  lua_setiuservalue(L, 1, STREAMS);
  err = pt_poll_open(&p->poll);
  if (err != 0)
    return pt_fail_errno(L, err, "full", "cannot make a poller");
  p->open = 1;
  grow(L, FIRST_LIMIT);
  return 1;
}

static const luaL_Reg methods[] = {
    {"set", poller_set},         {"set_exit", poller_set_exit},
    {"wait", poller_wait},       {"next", poller_next},
    {"current", poller_current}, {"fileno", poller_fileno},
    {"close", poller_close},     {NULL, NULL}};

static const luaL_Reg meta[] = {
    {"__gc", poller_close}, {"__close", poller_close}, {NULL, NULL}};

static const luaL_Reg functions[] = {{"poller", core_poller}, {NULL, NULL}};

/* Puts poller:deliver beside the other methods. The module is on top. */
static void add_deliver(lua_State *L) {
  luaL_getmetatable(L, CLASS);
  lua_getfield(L, -1, "__index");
  lua_getfield(L, -3, "stream_methods");
  lua_getfield(L, -1, "deliver");
  lua_pushcclosure(L, deliver_all, 1);
  lua_setfield(L, -3, "deliver");
  lua_pop(L, 3);
}

void pt_open_poller(lua_State *L) {
  pt_new_class(L, CLASS, methods, meta);
  add_deliver(L);
  luaL_setfuncs(L, functions, 0);
}
