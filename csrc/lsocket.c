/*
** core.connect, core.listen and what goes with them: sockets as descriptors,
** for streams to take over.
*/
#include <errno.h>
#include <string.h>

#include "core.h"
#include "lapi.h"
#include "lfd.h"
#include "socket.h"

/* Defaults of a listener. */
#define HOST "127.0.0.1"
#define BACKLOG 128

/* Where to connect or listen: a path, or a host and port. */
typedef struct place {
  const char *path; /* NULL if it is a host */
  const char *host;
  int port;
} place;

/* {====== Options ====== */

/* Both read from the table at 1, and leave what they read on the stack. */
static const char *check_text(lua_State *L, const char *name) {
  size_t len;
  const char *text;
  if (lua_getfield(L, 1, name) == LUA_TNIL)
    return NULL;
  if (lua_type(L, -1) != LUA_TSTRING)
    luaL_error(L, "option '%s': string expected, got %s", name,
               luaL_typename(L, -1));
  text = lua_tolstring(L, -1, &len);
  if (len == 0 || strlen(text) != len)
    luaL_error(L, "option '%s': empty, or a zero byte in it", name);
  return text;
}

static int check_number(lua_State *L, const char *name, int usual, int least,
                        int most) {
  lua_Integer n;
  int is_integer;
  if (lua_getfield(L, 1, name) == LUA_TNIL)
    return usual;
  n = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || n < least || n > most)
    luaL_error(L, "option '%s': integer from %d to %d expected", name, least,
               most);
  return (int)n;
}

static void check_place(lua_State *L, place *p, int least_port) {
  p->path = check_text(L, "path");
  p->host = check_text(L, "host");
  p->port = check_number(L, "port", -1, least_port, 65535);
  if (p->path != NULL && (p->host != NULL || p->port != -1))
    luaL_error(L, "a path has neither host nor port");
}

/* }====== */

static const char *kind_of(int err, const char *usual) {
  static const int full[] = {EMFILE, ENFILE, ENOMEM, ENOBUFS, EADDRINUSE};
  size_t i;
  for (i = 0; i < sizeof full / sizeof full[0]; i++)
    if (err == full[i])
      return "full";
  return usual;
}

/* `reason` is why the name of the host is not known, if that is so. */
static int fail(lua_State *L, const place *p, const char *what, int err,
                const char *kind, const char *reason) {
  kind = kind_of(err, kind);
  if (p->path != NULL)
    return pt_fail_errno(L, err, kind, "cannot %s \"%s\"", what, p->path);
  if (reason != NULL)
    return pt_fail(L, "invalid", "cannot find the host \"%s\": %s", p->host,
                   reason);
  return pt_fail_errno(L, err, kind, "cannot %s %s port %d", what, p->host,
                       p->port);
}

/* core.connect(options) -> fd, pending | nil, msg, kind, errno */
static int core_connect(lua_State *L) {
  static const char *const names[] = {"path", "host", "port", NULL};
  const char *reason = NULL;
  int fd, pending;
  pt_fd *f;
  place p;
  luaL_checktype(L, 1, LUA_TTABLE);
  pt_check_names(L, 1, names, "connect options");
  check_place(L, &p, 1);
  if (p.path == NULL && (p.host == NULL || p.port == -1))
    luaL_error(L, "a path, or a host and port expected");
  f = pt_fd_push(L);
  fd = p.path != NULL
           ? pt_socket_connect_unix(p.path, &pending)
           : pt_socket_connect_tcp(p.host, p.port, &pending, &reason);
  if (fd < 0) /* EAGAIN: so many wait to be accepted that there is no place */
    return fail(L, &p, "connect to", -fd, fd == -EAGAIN ? "busy" : "closed",
                reason);
  f->fd = fd;
  pt_ignore_sigpipe();
  lua_pushboolean(L, pending);
  return 2;
}

/* core.connected(fd) -> true | false | nil, msg, kind, errno */
static int core_connected(lua_State *L) {
  int err = pt_socket_result(pt_fd_check(L, 1));
  if (err != 0 && err != EINPROGRESS)
    return pt_fail_errno(L, err, "closed", "cannot connect");
  lua_pushboolean(L, err == 0);
  return 1;
}

/* core.listen(options) -> fd | nil, msg, kind, errno */
static int core_listen(lua_State *L) {
  static const char *const names[] = {"path", "mode",    "host",
                                      "port", "backlog", NULL};
  const char *reason = NULL;
  int fd, mode, backlog;
  pt_fd *f;
  place p;
  luaL_checktype(L, 1, LUA_TTABLE);
  pt_check_names(L, 1, names, "listen options");
  check_place(L, &p, 0);
  p.host = p.host != NULL ? p.host : HOST;
  p.port = p.port != -1 ? p.port : 0;
  mode = check_number(L, "mode", -1, 0, 0777);
  backlog = check_number(L, "backlog", BACKLOG, 1, 65535);
  f = pt_fd_push(L);
  fd = p.path != NULL ? pt_socket_listen_unix(p.path, mode, backlog)
                      : pt_socket_listen_tcp(p.host, p.port, backlog, &reason);
  if (fd < 0)
    return fail(L, &p, "listen on", -fd, "invalid", reason);
  f->fd = fd;
  return 1;
}

/* core.accept(fd) -> fd | false | nil, msg, kind, errno */
static int core_accept(lua_State *L) {
  int listener = pt_fd_check(L, 1), fd;
  pt_fd *f = pt_fd_push(L);
  fd = pt_socket_accept(listener);
  if (fd == -EAGAIN) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (fd < 0)
    return pt_fail_errno(L, -fd, kind_of(-fd, "invalid"), "cannot accept");
  f->fd = fd;
  pt_ignore_sigpipe();
  return 1;
}

/* core.address(fd) -> { path } | { host, port } | nil, msg, kind, errno */
static int core_address(lua_State *L) {
  pt_socket_name name;
  int err = pt_socket_name_of(pt_fd_check(L, 1), &name);
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "the descriptor has no address");
  lua_createtable(L, 0, 2);
  lua_pushstring(L, name.text);
  lua_setfield(L, -2, name.is_unix ? "path" : "host");
  if (!name.is_unix) {
    lua_pushinteger(L, name.port);
    lua_setfield(L, -2, "port");
  }
  return 1;
}

static const luaL_Reg functions[] = {
    {"accept", core_accept},   {"address", core_address},
    {"connect", core_connect}, {"connected", core_connected},
    {"listen", core_listen},   {NULL, NULL}};

void pt_open_socket(lua_State *L) { luaL_setfuncs(L, functions, 0); }
