#define _GNU_SOURCE

#include "socket.h"

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

#include "io.h"

/* {====== Making one ====== */

static int give_up(int fd) {
  int err = errno;
  pt_fd_drop(&fd);
  return -err;
}

/* What socket or accept has returned, non-blocking; or an error negated. */
static int prepare(int fd) {
  int on = 1;
  fd = pt_fd_settle(fd);
  if (fd == -1 || pt_fd_nonblock(fd) != 0)
    return give_up(fd);
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* if it is TCP */
  return fd;
}

static int make(int family) {
#if defined(SOCK_CLOEXEC)
  return prepare(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
#else
  return prepare(socket(family, SOCK_STREAM, 0));
#endif
}

static int take(int listener) {
#if defined(SOCK_CLOEXEC)
  return prepare(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
#else
  return prepare(accept(listener, NULL, NULL));
#endif
}

int pt_socket_result(int fd) {
  struct sockaddr_storage peer;
  socklen_t len = sizeof peer, size = sizeof(int);
  int err = 0;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &size) == -1)
    return errno;
  if (err == 0 && getpeername(fd, (struct sockaddr *)&peer, &len) == -1)
    return errno == ENOTCONN ? EINPROGRESS : errno;
  return err;
}

/* To this machine the answer is there at once, even if connect says that it
** takes longer; so a refusal leads on to the next address. After a signal it
** goes on by itself. */
static int begin(int fd, const struct sockaddr *name, socklen_t len) {
  if (connect(fd, name, len) == 0)
    return 0;
  return errno == EINPROGRESS || errno == EINTR ? pt_socket_result(fd) : errno;
}

static int connect_to(const struct sockaddr *name, socklen_t len,
                      int *pending) {
  int err, fd = make(name->sa_family);
  if (fd < 0)
    return fd;
  err = begin(fd, name, len);
  *pending = err == EINPROGRESS;
  if (err != 0 && !*pending)
    pt_fd_drop(&fd);
  return fd >= 0 ? fd : -err;
}

/* A port can be had again at once after its listener has ended. */
static int bind_to(const struct sockaddr *name, socklen_t len) {
  int on = 1, fd = make(name->sa_family);
  if (fd < 0)
    return fd;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return bind(fd, name, len) == -1 ? give_up(fd) : fd;
}

/* }====== */

/* {====== In the file system ====== */

static int name_unix(struct sockaddr_un *name, const char *path) {
  memset(name, 0, sizeof *name);
  name->sun_family = AF_UNIX;
  if (strlen(path) >= sizeof name->sun_path)
    return ENAMETOOLONG;
  strcpy(name->sun_path, path);
  return 0;
}

int pt_socket_connect_unix(const char *path, int *pending) {
  struct sockaddr_un name;
  int err = name_unix(&name, path);
  if (err != 0)
    return -err;
  return connect_to((struct sockaddr *)&name, sizeof name, pending);
}

/* Removes a socket that nobody listens on: 0, or an error number. */
static int remove_stale(const char *path) {
  struct stat st;
  int pending, fd;
  if (lstat(path, &st) == -1)
    return errno == ENOENT ? 0 : errno;
  if (!S_ISSOCK(st.st_mode))
    return EEXIST;
  fd = pt_socket_connect_unix(path, &pending);
  if (fd != -ECONNREFUSED) {
    pt_fd_drop(&fd);
    return EADDRINUSE;
  }
  return unlink(path) == 0 || errno == ENOENT ? 0 : errno;
}

static int bind_unix(const char *path) {
  struct sockaddr_un name;
  int err = name_unix(&name, path), fd;
  if (err != 0)
    return -err;
  fd = bind_to((struct sockaddr *)&name, sizeof name);
  if (fd != -EADDRINUSE)
    return fd;
  err = remove_stale(path);
  return err == 0 ? bind_to((struct sockaddr *)&name, sizeof name) : -err;
}

/* Nobody can connect before it listens, so its mode is in time. */
int pt_socket_listen_unix(const char *path, int mode, int backlog) {
  int fd = bind_unix(path);
  if (fd < 0)
    return fd;
  if ((mode < 0 || chmod(path, (mode_t)mode) == 0) && listen(fd, backlog) == 0)
    return fd;
  fd = give_up(fd);
  unlink(path);
  return fd;
}

/* }====== */

/* {====== By host and port ====== */

/* 0 and a list to be freed, or an error of getaddrinfo. Digits are taken as
** they are; a name gives only addresses of kinds that this machine has. */
static int resolve(const char *host, int port, struct addrinfo **list) {
  struct addrinfo hints;
  char service[16];
  int err;
  snprintf(service, sizeof service, "%d", port);
  memset(&hints, 0, sizeof hints);
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  err = getaddrinfo(host, service, &hints, list);
  if (err != EAI_NONAME)
    return err;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  return getaddrinfo(host, service, &hints, list);
}

/* One way of making a socket for an address. */
typedef int opener(const struct sockaddr *name, socklen_t len, int *argument);

/* What the first address gives for which `open` does not fail, or the last. */
static int open_first(const char *host, int port, opener *open, int *argument,
                      const char **reason) {
  struct addrinfo *list, *a;
  int fd = -EADDRNOTAVAIL, err = resolve(host, port, &list);
  *reason = err == 0 || err == EAI_SYSTEM ? NULL : gai_strerror(err);
  if (err != 0)
    return err == EAI_SYSTEM ? -errno : fd;
  for (a = list; a != NULL && fd < 0; a = a->ai_next)
    fd = open(a->ai_addr, a->ai_addrlen, argument);
  freeaddrinfo(list);
  return fd;
}

int pt_socket_connect_tcp(const char *host, int port, int *pending,
                          const char **reason) {
  return open_first(host, port, connect_to, pending, reason);
}

static int listen_to(const struct sockaddr *name, socklen_t len, int *backlog) {
  int fd = bind_to(name, len);
  return fd >= 0 && listen(fd, *backlog) == -1 ? give_up(fd) : fd;
}

int pt_socket_listen_tcp(const char *host, int port, int backlog,
                         const char **reason) {
  return open_first(host, port, listen_to, &backlog, reason);
}

/* }====== */

/* One who has given up meanwhile is passed over. */
int pt_socket_accept(int listener) {
  int fd;
  do
    fd = take(listener);
  while (fd == -EINTR || fd == -ECONNABORTED);
  return fd == -EWOULDBLOCK ? -EAGAIN : fd;
}

static void name_of_unix(const struct sockaddr_un *un, socklen_t len,
                         pt_socket_name *name) {
  size_t used = offsetof(struct sockaddr_un, sun_path);
  size_t size = len > used ? len - used : 0;
  memcpy(name->text, un->sun_path, size);
  name->text[size] = '\0';
}

int pt_socket_name_of(int fd, pt_socket_name *name) {
  struct sockaddr_storage own;
  socklen_t len = sizeof own;
  char port[16];
  if (getsockname(fd, (struct sockaddr *)&own, &len) == -1)
    return errno;
  memset(name, 0, sizeof *name);
  name->is_unix = own.ss_family == AF_UNIX;
  if (name->is_unix) {
    name_of_unix((struct sockaddr_un *)&own, len, name);
    return 0;
  }
  if (getnameinfo((struct sockaddr *)&own, len, name->text, sizeof name->text,
                  port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return EAFNOSUPPORT;
  name->port = atoi(port);
  return 0;
}
