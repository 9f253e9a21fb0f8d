#define _GNU_SOURCE

#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PIPE_DEFAULT (64 * 1024)
#define PIPE_LARGE (1024 * 1024)

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SIGPIPE is ignored anyway */
#endif
#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 0 /* pt_fd_make_private sets close-on-exec later */
#endif
#if defined(__APPLE__)
#define pipe2(ends, flags) pipe(ends)
#endif

double pt_clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ====== Opening and closing ====== */

void pt_fd_close(int *fd) {
  int saved = errno;
  if (*fd != -1)
    close(*fd);
  *fd = -1;
  errno = saved;
}

/* Returns a copy with a number above 2, closed on exec; -1 with errno set. */
static int copy_fd_above_stdio(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }

int pt_fd_make_private(int fd) {
  int moved = fd;
  if (fd > 2) {
#if !defined(__linux__) /* Linux has a close-on-exec flag in all calls */
    fcntl(fd, F_SETFD, FD_CLOEXEC);
#endif
  } else if (fd != -1) {
    moved = copy_fd_above_stdio(fd);
    pt_fd_close(&fd);
  }
  return moved;
}

/* Makes both ends private, or closes both. Returns 0 or an error number. */
static int make_fds_private(int ends[2]) {
  int err = 0;
  for (int i = 0; i < 2; i++) {
    ends[i] = pt_fd_make_private(ends[i]);
    err = ends[i] == -1 ? errno : err;
  }
  for (int i = 0; i < 2 && err != 0; i++)
    pt_fd_close(&ends[i]);
  return err;
}

int pt_fd_pipe(int ends[2]) {
  return pipe2(ends, O_CLOEXEC) == -1 ? errno : make_fds_private(ends);
}

int pt_fd_socketpair(int ends[2]) {
  int type = SOCK_STREAM | SOCK_CLOEXEC;
  return socketpair(AF_UNIX, type, 0, ends) == -1 ? errno
                                                  : make_fds_private(ends);
}

/* Returns 0 or an error number. */
static int set_fd_blocking(int fd, int blocking) {
  int flags = fcntl(fd, F_GETFL);
  if (flags == -1)
    return errno;
  flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  return fcntl(fd, F_SETFL, flags) == -1 ? errno : 0;
}

int pt_fd_set_nonblocking(int fd) { return set_fd_blocking(fd, 0); }

/* O_NONBLOCK belongs to the open file description, not to the descriptor. On a
** terminal it would affect the shell that has started this program. */
static void set_pipe_nonblocking(int fd) {
  struct stat st;
  if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
    pt_fd_set_nonblocking(fd);
}

/* Without `output`, stdout stays. dup2 of `null` cannot fail, because `null`, 0
** and 1 are open. */
static void replace_stdio_fd(int null, int output) {
  dup2(null, 0);
  if (output && dup2(2, 1) == -1)
    dup2(null, 1);
}

int pt_fd_claim(int *input, int *output) {
  int in = copy_fd_above_stdio(0);
  int out = in == -1 || output == NULL ? -1 : copy_fd_above_stdio(1);
  int is_copied = in != -1 && (out != -1 || output == NULL);
  int null = is_copied ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
  if (null == -1) {
    pt_fd_close(&in);
    pt_fd_close(&out);
    return errno;
  }
  replace_stdio_fd(null, output != NULL);
  pt_fd_close(&null);
  set_pipe_nonblocking(in);
  *input = in;
  if (output == NULL)
    return 0;
  set_pipe_nonblocking(out);
  *output = out;
  return 0;
}

/* ====== Reading and writing ====== */

int pt_io_init(pt_io *io, int fd) {
  struct stat st;
  int flags = fcntl(fd, F_GETFL);
  io->fd = -1;
  if (flags == -1 || fstat(fd, &st) == -1)
    return errno;
  io->fd = fd;
  io->is_socket = S_ISSOCK(st.st_mode);
  io->may_block = !io->is_socket && !(flags & O_NONBLOCK);
  io->is_pipe = S_ISFIFO(st.st_mode);
  io->is_enlarged = !io->is_pipe;
  io->is_blocking = 0;
  return 0;
}

/* Returns 0, or -1 with EAGAIN if the operation would wait. */
static int check_fd_ready(const pt_io *io, short events) {
  struct pollfd p = {.fd = io->fd, .events = events};
  if (poll(&p, 1, 0) != 0)
    return 0;
  errno = EAGAIN;
  return -1;
}

/* Some kernels know the flag but do not support it for pipes; then the pipe
** becomes non-blocking again. */
static ssize_t read_fd_without_waiting(pt_io *io, char *buffer, size_t len) {
#ifdef RWF_NOWAIT
  struct iovec piece = {.iov_base = buffer, .iov_len = len};
  ssize_t n = preadv2(io->fd, &piece, 1, -1, RWF_NOWAIT);
  if (n != -1 || (errno != EOPNOTSUPP && errno != ENOSYS))
    return n;
#endif
  set_fd_blocking(io->fd, 0);
  io->is_blocking = io->is_pipe = 0;
  return read(io->fd, buffer, len);
}

int pt_io_can_block(const pt_io *io) {
#ifdef RWF_NOWAIT
  return io->is_pipe;
#else
  return io->is_blocking; /* always 0 */
#endif
}

static ssize_t read_fd_once(pt_io *io, char *buffer, size_t len) {
  if (io->is_blocking)
    return read_fd_without_waiting(io, buffer, len);
  if (io->is_socket)
    return recv(io->fd, buffer, len, MSG_DONTWAIT);
  if (io->may_block && check_fd_ready(io, POLLIN) == -1)
    return -1;
  return read(io->fd, buffer, len);
}

/* If poll reports a blocking pipe as writable, it has room for PIPE_BUF bytes.
*/
static ssize_t write_fd_once(const pt_io *io, const char *bytes, size_t len) {
  if (io->is_socket)
    return send(io->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (io->may_block) {
    if (check_fd_ready(io, POLLOUT) == -1)
      return -1;
    if (len > PIPE_BUF)
      len = PIPE_BUF;
  }
  return write(io->fd, bytes, len);
}

ssize_t pt_io_read(pt_io *io, char *buffer, size_t len) {
  ssize_t n;
  do
    n = read_fd_once(io, buffer, len);
  while (n == -1 && errno == EINTR);
  return n;
}

ssize_t pt_io_write(const pt_io *io, const char *bytes, size_t len) {
  ssize_t n;
  do
    n = write_fd_once(io, bytes, len);
  while (n == -1 && errno == EINTR);
  return n;
}

ssize_t pt_io_read_blocking(pt_io *io, char *buffer, size_t len) {
  ssize_t n;
  if (!io->is_blocking)
    io->is_blocking = pt_io_can_block(io) && set_fd_blocking(io->fd, 1) == 0;
  if (!io->is_blocking) {
    errno = ENOTSUP;
    return -1;
  }
  n = read(io->fd, buffer, len);
  if (n == -1 && errno == EAGAIN) { /* another process has changed the mode */
    io->is_blocking = set_fd_blocking(io->fd, 0) != 0;
    errno = EAGAIN;
  }
  return n;
}

void pt_io_enlarge(pt_io *io, size_t len) {
  if (io->is_enlarged || len <= PIPE_DEFAULT)
    return;
  io->is_enlarged = 1;
#ifdef F_SETPIPE_SZ
  fcntl(io->fd, F_SETPIPE_SZ, PIPE_LARGE);
#endif
}

void pt_ignore_sigpipe(void) {
  struct sigaction act;
  if (sigaction(SIGPIPE, NULL, &act) == -1 || act.sa_handler != SIG_DFL)
    return;
  memset(&act, 0, sizeof act);
  act.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &act, NULL);
}
