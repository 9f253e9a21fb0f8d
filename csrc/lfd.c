#define _GNU_SOURCE

#include "lfd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "core.h"
#include "lwatchdog.h"

#define CLASS "pintle.fd"

#define READ_MAX (64 * 1024)
#define POLL_MAX 16

pt_fd *pt_fd_test(lua_State *L, int arg) {
  return luaL_testudata(L, arg, CLASS);
}

static pt_fd *check_fd_object(lua_State *L) {
  return luaL_checkudata(L, 1, CLASS);
}

static int check_fd_open(lua_State *L, int arg, const pt_fd *f) {
  luaL_argcheck(L, f->fd != -1, arg, "the descriptor is closed");
  return f->fd;
}

int pt_fd_check(lua_State *L, int arg) {
  const pt_fd *f = pt_fd_test(L, arg);
  lua_Integer n;
  if (f != NULL)
    return check_fd_open(L, arg, f);
  if (!lua_isinteger(L, arg))
    luaL_typeerror(L, arg, "integer or " CLASS);
  n = lua_tointeger(L, arg);
  luaL_argcheck(L, n >= 0 && n <= INT_MAX, arg,
                "no descriptor has this number");
  return (int)n;
}

/* fd:fileno() -> integer */
static int fd_fileno(lua_State *L) {
  lua_pushinteger(L, check_fd_open(L, 1, check_fd_object(L)));
  return 1;
}

/* Returns false if the call would have to wait; otherwise the failure. */
static int fail_fd_unless_again(lua_State *L, int err, const char *what) {
  if (err == EAGAIN || err == EWOULDBLOCK) {
    lua_pushboolean(L, 0);
    return 1;
  }
  return pt_fail_errno(L, err, "closed", "cannot %s", what);
}

/* fd:read(max) -> string | false | nil, msg, kind, errno */
static int fd_read(lua_State *L) {
  char data[READ_MAX];
  int fd = check_fd_open(L, 1, check_fd_object(L));
  lua_Integer max = luaL_optinteger(L, 2, READ_MAX);
  ssize_t n;
  luaL_argcheck(L, max > 0, 2, "must be positive");
  do {
    n = read(fd, data, max < READ_MAX ? (size_t)max : READ_MAX);
  } while (n == -1 && errno == EINTR);
  if (n == -1)
    return fail_fd_unless_again(L, errno, "read");
  lua_pushlstring(L, data, (size_t)n);
  return 1;
}

/* fd:write(data) -> integer | false | nil, msg, kind, errno */
static int fd_write(lua_State *L) {
  int fd = check_fd_open(L, 1, check_fd_object(L));
  size_t len;
  const char *data = luaL_checklstring(L, 2, &len);
  ssize_t n;
  do {
    n = write(fd, data, len);
  } while (n == -1 && errno == EINTR);
  if (n == -1)
    return fail_fd_unless_again(L, errno, "write");
  lua_pushinteger(L, n);
  return 1;
}

/* fd:close() */
static int fd_close(lua_State *L) {
  pt_fd_close(&check_fd_object(L)->fd);
  return 0;
}

/* fd:closed() -> boolean */
static int fd_closed(lua_State *L) {
  lua_pushboolean(L, check_fd_object(L)->fd == -1);
  return 1;
}

static int fd_tostring(lua_State *L) {
  const pt_fd *f = check_fd_object(L);
  if (f->fd == -1)
    lua_pushliteral(L, CLASS " (closed)");
  else
    lua_pushfstring(L, CLASS " (%d)", f->fd);
  return 1;
}

/* Pushes an object for each end. The objects are created before the ends are
** opened, so that nothing leaks if there is not enough memory. */
static int push_fd_pair(lua_State *L, int (*open)(int ends[2]),
                        const char *what) {
  pt_fd *one = pt_fd_push(L);
  pt_fd *other = pt_fd_push(L);
  int ends[2];
  int err = open(ends);
  if (err != 0)
    return pt_fail_errno(L, err, "full", "cannot make a %s", what);
  one->fd = ends[0];
  other->fd = ends[1];
  pt_fd_set_nonblocking(one->fd);
  pt_fd_set_nonblocking(other->fd);
  pt_ignore_sigpipe();
  return 2;
}

/* core.pipe() -> read_end, write_end | nil, msg, kind, errno */
static int core_pipe(lua_State *L) {
  return push_fd_pair(L, pt_fd_pipe, "pipe");
}

/* core.socketpair() -> one, other | nil, msg, kind, errno */
static int core_socketpair(lua_State *L) {
  return push_fd_pair(L, pt_fd_socketpair, "socket pair");
}

/* Global because descriptors 0 and 1 belong to all Lua states of a process. */
static atomic_flag claimed = ATOMIC_FLAG_INIT;

static int fail_claim(lua_State *L, int err) {
  if (err == 0)
    return pt_fail(L, "closed", "stdin and stdout are claimed already");
  atomic_flag_clear(&claimed);
  return pt_fail_errno(L, err, "closed", "cannot claim stdin and stdout");
}

/* core.claim_stdio() -> input, output | nil, msg, kind, errno */
static int core_claim_stdio(lua_State *L) {
  pt_fd *input = pt_fd_push(L);
  pt_fd *output = pt_fd_push(L);
  int err = 0;
  if (atomic_flag_test_and_set(&claimed) ||
      (err = pt_fd_claim(&input->fd, &output->fd)) != 0)
    return fail_claim(L, err);
  pt_ignore_sigpipe();
  return 2;
}

/* core.claim_stdin() -> input | nil, msg, kind, errno */
static int core_claim_stdin(lua_State *L) {
  pt_fd *input = pt_fd_push(L);
  int err = 0;
  if (atomic_flag_test_and_set(&claimed) ||
      (err = pt_fd_claim(&input->fd, NULL)) != 0)
    return fail_claim(L, err);
  pt_ignore_sigpipe();
  return 1;
}

/* core.now() -> number */
static int core_now(lua_State *L) {
  lua_pushnumber(L, pt_clock_now());
  return 1;
}

/* core.isatty(descriptor) -> boolean */
static int core_isatty(lua_State *L) {
  lua_pushboolean(L, isatty(pt_fd_check(L, 1)));
  return 1;
}

/* core.columns(descriptor) -> integer | nil */
static int core_columns(lua_State *L) {
  struct winsize size;
  if (ioctl(pt_fd_check(L, 1), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    lua_pushinteger(L, size.ws_col);
  else
    lua_pushnil(L);
  return 1;
}

/* ====== Waiting without the loop ====== */

/* Rounds up. A time that is too long for the system is shortened. */
static int round_up_to_ms(double seconds) {
  double ms = ceil(seconds * 1000);
  if (ms <= 0)
    return 0;
  return ms < INT_MAX ? (int)ms : INT_MAX;
}

int pt_fd_wait(lua_State *L, struct pollfd *fds, int n, double seconds) {
  lua_Hook hook = lua_gethook(L);
  double deadline = pt_clock_now() + seconds;
  int ms = round_up_to_ms(seconds);
  while (poll(fds, (nfds_t)n, seconds < 0 ? -1 : ms) == -1) {
    if (errno != EINTR || pt_is_stopped(L, hook))
      return errno;
    ms = round_up_to_ms(deadline - pt_clock_now());
  }
  return 0;
}

static void check_fd_argument(lua_State *L, int arg, struct pollfd *p) {
  static const char *const names[] = {"r", "w", "rw", NULL};
  static const short events[] = {POLLIN, POLLOUT, POLLIN | POLLOUT};
  p->fd = pt_fd_check(L, arg);
  p->events = events[luaL_checkoption(L, arg + 1, NULL, names)];
  p->revents = 0;
}

/* A descriptor that has hung up or failed counts as readable, and as writable
** if that was asked for. A descriptor that the system cannot poll is ready for
** everything that was asked for. */
static void push_ready_fd(lua_State *L, const struct pollfd *p) {
  short ready = p->revents;
  if (ready & POLLNVAL)
    ready = p->events;
  else if (ready & (POLLERR | POLLHUP))
    ready |= (short)(POLLIN | p->events);
  ready &= POLLIN | POLLOUT;
  if (ready == 0)
    lua_pushboolean(L, 0);
  else
    lua_pushstring(L, ready == POLLIN ? "r" : ready == POLLOUT ? "w" : "rw");
}

/* core.poll(seconds, fd, events, …) -> ready … | nil, msg, kind, errno */
static int core_poll(lua_State *L) {
  struct pollfd fds[POLL_MAX];
  double seconds = luaL_optnumber(L, 1, -1);
  int i, err, n = lua_gettop(L) / 2;
  luaL_argcheck(L, !isnan(seconds), 1, "the time is NaN");
  luaL_argcheck(L, n <= POLL_MAX, 2 * POLL_MAX + 2, "too many descriptors");
  for (i = 0; i < n; i++)
    check_fd_argument(L, 2 * i + 2, &fds[i]);
  err = pt_fd_wait(L, fds, n, seconds);
  for (i = 0; i < n && err == 0; i++)
    if (fds[i].revents & POLLNVAL && fcntl(fds[i].fd, F_GETFD) == -1)
      err = errno;
  if (err != 0 && err != EINTR)
    return pt_fail_errno(L, err, err == EBADF ? "closed" : "full",
                         "cannot wait for descriptors");
  luaL_checkstack(L, n, NULL);
  for (i = 0; i < n; i++)
    push_ready_fd(L, &fds[i]);
  return n;
}

/* ====== What Lua sees ====== */

static const luaL_Reg methods[] = {
    {"fileno", fd_fileno}, {"read", fd_read},     {"write", fd_write},
    {"close", fd_close},   {"closed", fd_closed}, {NULL, NULL},
};

static const luaL_Reg metamethods[] = {
    {"__gc", fd_close},
    {"__close", fd_close},
    {"__tostring", fd_tostring},
    {NULL, NULL},
};

pt_fd *pt_fd_push(lua_State *L) {
  pt_fd *f = lua_newuserdatauv(L, sizeof *f, 0);
  f->fd = -1;
  pt_set_class(L, CLASS, methods, metamethods);
  return f;
}

static const luaL_Reg functions[] = {
    {"pipe", core_pipe},
    {"poll", core_poll},
    {"socketpair", core_socketpair},
    {"claim_stdin", core_claim_stdin},
    {"claim_stdio", core_claim_stdio},
    {"now", core_now},
    {"isatty", core_isatty},
    {"columns", core_columns},
    {NULL, NULL},
};

void pt_open_fd(lua_State *L) { luaL_setfuncs(L, functions, 0); }
