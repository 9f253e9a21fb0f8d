/*
** core.connect, core.listen, core.accept, core.connected and core.address:
** stream sockets, Unix sockets by path and TCP sockets by host and port. All
** are non-blocking, closed on exec and numbered above 2. TCP sockets send
** without delay.
**
** A function here that creates a socket returns it, or a negated error number.
*/
#define _GNU_SOURCE

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core.h"
#include "lfd.h"

/* Defaults of a listener. */
#define HOST "127.0.0.1"
#define BACKLOG 128

#if !defined(SOCK_CLOEXEC)
#define SOCK_CLOEXEC 0 /* pt_fd_make_private sets it, if not at once */
#define accept4(listener, name, len, flags) accept(listener, name, len)
#endif

/* Where to connect or listen. */
typedef struct place {
  const char *path; /* NULL if it is a host and port */
  const char *host;
  int port;
  const char *reason; /* why the name of the host was not found, or NULL */
} place;

/* ====== Making one ====== */

static int close_failed_socket(int fd) {
  int err = errno;
  pt_fd_close(&fd);
  return -err;
}

/* Prepares the socket that a system call has returned. */
static int prepare_socket(int fd) {
  int on = 1;
  fd = pt_fd_make_private(fd);
  if (fd == -1 || pt_fd_set_nonblocking(fd) != 0)
    return close_failed_socket(fd);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* if it is TCP */
  return fd;
}

static int make_socket(int family) {
  return prepare_socket(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/* Returns 0 if the socket is connected, EINPROGRESS before that, or the reason
** why connecting failed. The system reports a failure only once. */
static int socket_connect_status(int fd) {
  struct sockaddr_storage peer;
  socklen_t len = sizeof peer, size = sizeof(int);
  int err = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) == -1)
    return errno;
  if (err == 0 && getpeername(fd, (struct sockaddr *)&peer, &len) == -1)
    return errno == ENOTCONN ? EINPROGRESS : errno;
  return err;
}

/* Connecting on the same machine completes at once, even if connect reports
** EINPROGRESS. So the status is read again, and a refusal leads to the next
** address. After a signal the system continues to connect. */
static int begin_connecting_socket(int fd, const struct sockaddr *name,
                                   socklen_t len) {
  if (connect(fd, name, len) == 0)
    return 0;
  return errno == EINPROGRESS || errno == EINTR ? socket_connect_status(fd)
                                                : errno;
}

/* Starts to connect. If `pending` is set, the socket becomes writable when it
** is connected or has failed, and socket_connect_status returns the result. */
static int connect_socket_to_address(const struct sockaddr *name, socklen_t len,
                                     int *pending) {
  int err, fd = make_socket(name->sa_family);
  if (fd < 0)
    return fd;
  err = begin_connecting_socket(fd, name, len);
  *pending = err == EINPROGRESS;
  if (err != 0 && !*pending)
    pt_fd_close(&fd);
  return fd >= 0 ? fd : -err;
}

/* A port can be used again as soon as its listener has ended. */
static int bind_socket_to_address(const struct sockaddr *name, socklen_t len) {
  int on = 1, fd = make_socket(name->sa_family);
  if (fd < 0)
    return fd;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return bind(fd, name, len) == -1 ? close_failed_socket(fd) : fd;
}

static int listen_socket_on_address(const struct sockaddr *name, socklen_t len,
                                    int *backlog) {
  int fd = bind_socket_to_address(name, len);
  return fd >= 0 && listen(fd, *backlog) == -1 ? close_failed_socket(fd) : fd;
}

/* ====== By path ====== */

/* 0, or an error number. */
static int name_unix_socket(struct sockaddr_un *name, const char *path) {
  memset(name, 0, sizeof *name);
  name->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof name->sun_path)
    return ENAMETOOLONG;
  strcpy(name->sun_path, path);
  return 0;
}

static int connect_unix_socket(const char *path, int *pending) {
  struct sockaddr_un name;
  int err = name_unix_socket(&name, path);
  if (err != 0)
    return -err;
  return connect_socket_to_address((struct sockaddr *)&name, sizeof name,
                                   pending);
}

/* Removes the file of a socket on which no process listens. Returns 0 or an
** error number: EADDRINUSE if a process listens, EEXIST if the file is not a
** socket. */
static int remove_stale_socket(const char *path) {
  struct stat st;
  int pending, fd;
  if (lstat(path, &st) == -1)
    return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(st.st_mode))
    return EEXIST;
  fd = connect_unix_socket(path, &pending);
  if (fd != -ECONNREFUSED) {
    pt_fd_close(&fd);
    return EADDRINUSE;
  }
  return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

static int bind_unix_socket(const char *path) {
  struct sockaddr_un name;
  int err = name_unix_socket(&name, path), fd;
  if (err != 0)
    return -err;
  fd = bind_socket_to_address((struct sockaddr *)&name, sizeof name);
  if (fd != -EADDRINUSE)
    return fd;
  err = remove_stale_socket(path);
  return err == 0
             ? bind_socket_to_address((struct sockaddr *)&name, sizeof name)
             : -err;
}

/* The socket's file has `mode`, or the permissions that the umask leaves if
** that is negative. Nobody can connect before `listen`, so the mode is set in
** time. */
static int listen_unix_socket(const char *path, int mode, int backlog) {
  int fd = bind_unix_socket(path);
  if (fd < 0)
    return fd;
  if ((mode < 0 || chmod(path, (mode_t)mode) == 0) && listen(fd, backlog) == 0)
    return fd;
  fd = close_failed_socket(fd);
  unlink(path);
  return fd;
}

/* ====== By host and port ====== */

/* Returns 0 and a list that the caller frees, or an error of getaddrinfo. A
** numeric address is used as it is. A name is resolved only to address families
** that this machine has. */
static int resolve_socket_host(const place *p, struct addrinfo **list) {
  struct addrinfo hints;
  char service[16];
  int err;
  snprintf(service, sizeof service, "%d", p->port);
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  err = getaddrinfo(p->host, service, &hints, list);
  if (err != EAI_NONAME)
    return err;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  return getaddrinfo(p->host, service, &hints, list);
}

typedef int opener(const struct sockaddr *name, socklen_t len, int *argument);

/* Opens the first address that does not fail; otherwise returns the last error.
*/
static int open_tcp_socket(place *p, opener *open, int *argument) {
  struct addrinfo *list, *a;
  int fd = -EADDRNOTAVAIL, err = resolve_socket_host(p, &list);
  if (err == EAI_SYSTEM)
    return -errno;
  p->reason = err != 0 ? gai_strerror(err) : NULL;
  if (err != 0)
    return fd;
  for (a = list; a != NULL && fd < 0; a = a->ai_next)
    fd = open(a->ai_addr, a->ai_addrlen, argument);
  freeaddrinfo(list);
  return fd;
}

/* ====== Options and failures ====== */

/* These leave the option on the stack. */
static const char *get_socket_text(lua_State *L, const char *name) {
  const char *text;
  if (pt_push_option(L, name) == LUA_TNIL)
    return NULL;
  text = pt_check_option(L, -1, name);
  if (text[0] == '\0')
    pt_refuse_option(L, name, "the string is empty");
  return text;
}

static int get_socket_integer(lua_State *L, const char *name, int usual,
                              int least, int most) {
  lua_Integer n;
  int is_integer;
  if (pt_push_option(L, name) == LUA_TNIL)
    return usual;
  n = lua_tointegerx(L, -1, &is_integer);
  if (!is_integer || n < least || n > most)
    pt_refuse_option(L, name, "integer from %d to %d expected", least, most);
  return (int)n;
}

static place get_socket_place(lua_State *L, int least_port) {
  place p = {.reason = NULL};
  p.path = get_socket_text(L, "path");
  p.host = get_socket_text(L, "host");
  p.port = get_socket_integer(L, "port", -1, least_port, 65535);
  if (p.path != NULL && (p.host != NULL || p.port != -1))
    luaL_error(L, "path excludes host and port");
  return p;
}

static int fail_at_socket_place(lua_State *L, const place *p, const char *what,
                                int err, const char *kind) {
  kind = pt_kind_of(err, kind);
  if (p->path != NULL)
    return pt_fail_errno(L, err, kind, "cannot %s \"%s\"", what, p->path);
  if (p->reason != NULL)
    return pt_fail(L, "invalid", "cannot find the host \"%s\": %s", p->host,
                   p->reason);
  return pt_fail_errno(L, err, kind, "cannot %s %s port %d", what, p->host,
                       p->port);
}

/* ====== What Lua sees ====== */

/* core.connect(options) -> fd, pending | nil, msg, kind, errno */
static int core_connect(lua_State *L) {
  int fd, pending;
  pt_fd *f;
  place p;
  luaL_checktype(L, 1, LUA_TTABLE);
  p = get_socket_place(L, 1);
  if (p.path == NULL && (p.host == NULL || p.port == -1))
    luaL_error(L, "a path, or a host and port expected");
  f = pt_fd_push(L);
  fd = p.path != NULL
           ? connect_unix_socket(p.path, &pending)
           : open_tcp_socket(&p, connect_socket_to_address, &pending);
  if (fd < 0) /* EAGAIN: the queue of the listener is full */
    return fail_at_socket_place(L, &p, "connect to", -fd,
                                fd == -EAGAIN ? "busy" : "closed");
  f->fd = fd;
  pt_ignore_sigpipe();
  lua_pushboolean(L, pending);
  return 2;
}

/* core.connected(fd) -> true | false | nil, msg, kind, errno */
static int core_connected(lua_State *L) {
  int err = socket_connect_status(pt_fd_check(L, 1));
  if (err != 0 && err != EINPROGRESS)
    return pt_fail_errno(L, err, "closed", "cannot connect");
  lua_pushboolean(L, err == 0);
  return 1;
}

/* core.listen(options) -> fd | nil, msg, kind, errno */
static int core_listen(lua_State *L) {
  int fd, mode, backlog;
  pt_fd *f;
  place p;
  luaL_checktype(L, 1, LUA_TTABLE);
  p = get_socket_place(L, 0);
  p.host = p.host != NULL ? p.host : HOST;
  p.port = p.port != -1 ? p.port : 0;
  mode = get_socket_integer(L, "mode", -1, 0, 0777);
  backlog = get_socket_integer(L, "backlog", BACKLOG, 1, 65535);
  f = pt_fd_push(L);
  fd = p.path != NULL ? listen_unix_socket(p.path, mode, backlog)
                      : open_tcp_socket(&p, listen_socket_on_address, &backlog);
  if (fd < 0)
    return fail_at_socket_place(L, &p, "listen on", -fd, "invalid");
  f->fd = fd;
  return 1;
}

/* core.accept(fd) -> fd | false | nil, msg, kind, errno */
static int core_accept(lua_State *L) {
  int listener = pt_fd_check(L, 1), fd;
  pt_fd *f = pt_fd_push(L);
  do /* skips connections that were closed meanwhile */
    fd = prepare_socket(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
  while (fd == -EINTR || fd == -ECONNABORTED);
  if (fd == -EAGAIN || fd == -EWOULDBLOCK) {
    lua_pushboolean(L, 0);
    return 1;
  }
  if (fd < 0)
    return pt_fail_errno(L, -fd, pt_kind_of(-fd, "invalid"), "cannot accept");
  f->fd = fd;
  pt_ignore_sigpipe();
  return 1;
}

/* Sets "path" in the table on top; "" for a socket without a name. */
static void set_socket_path_field(lua_State *L, const struct sockaddr_un *name,
                                  socklen_t len) {
  size_t used = offsetof(struct sockaddr_un, sun_path);
  size_t size = len > used ? len - used : 0;
  lua_pushlstring(L, name->sun_path, strnlen(name->sun_path, size));
  lua_setfield(L, -2, "path");
}

/* core.address(fd) -> { path } | { host, port } | nil, msg, kind, errno */
static int core_address(lua_State *L) {
  struct sockaddr_storage own;
  struct sockaddr *name = (struct sockaddr *)&own;
  socklen_t len = sizeof own;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  int digits = NI_NUMERICHOST | NI_NUMERICSERV, err = 0;
  if (getsockname(pt_fd_check(L, 1), name, &len) == -1)
    err = errno;
  else if (own.ss_family != AF_UNIX &&
           getnameinfo(name, len, host, sizeof host, port, sizeof port, digits))
    err = EAFNOSUPPORT;
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "the descriptor has no address");
  lua_createtable(L, 0, 2);
  if (own.ss_family == AF_UNIX) {
    set_socket_path_field(L, (struct sockaddr_un *)&own, len);
    return 1;
  }
  lua_pushstring(L, host);
  lua_setfield(L, -2, "host");
  lua_pushinteger(L, atoi(port));
  lua_setfield(L, -2, "port");
  return 1;
}

static const luaL_Reg functions[] = {
    {"accept", core_accept},   {"address", core_address},
    {"connect", core_connect}, {"connected", core_connected},
    {"listen", core_listen},   {NULL, NULL}};

void pt_open_socket(lua_State *L) { luaL_setfuncs(L, functions, 0); }
