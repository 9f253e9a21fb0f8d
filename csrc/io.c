#define _GNU_SOURCE

#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIPE_USUAL (64 * 1024)
#define PIPE_WIDE (1024 * 1024)

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0 /* SIGPIPE is ignored where there is no such flag */
#endif

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
  io->is_wide = !io->is_pipe;
  io->is_patient = 0;
  return 0;
}

/* 0, or -1 with EAGAIN if it would have to wait. */
static int ask_first(const pt_io *io, short events) {
  struct pollfd p;
  p.fd = io->fd;
  p.events = events;
  p.revents = 0;
  if (poll(&p, 1, 0) != 0)
    return 0;
  errno = EAGAIN;
  return -1;
}

static int set_blocking(int fd, int blocking) {
  int flags = fcntl(fd, F_GETFL);
  flags = blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK;
  return fcntl(fd, F_SETFL, flags);
}

#ifdef RWF_NOWAIT

/* Systems that have the flag do not all have it for pipes. */
static ssize_t read_without_waiting(pt_io *io, char *buffer, size_t len) {
  struct iovec piece;
  ssize_t n;
  piece.iov_base = buffer;
  piece.iov_len = len;
  n = preadv2(io->fd, &piece, 1, -1, RWF_NOWAIT);
  if (n != -1 || (errno != EOPNOTSUPP && errno != ENOSYS))
    return n;
  set_blocking(io->fd, 0);
  io->is_patient = io->is_pipe = 0;
  return read(io->fd, buffer, len);
}

int pt_io_can_be_patient(const pt_io *io) { return io->is_pipe; }

static int make_patient(pt_io *io) {
  io->is_patient = io->is_pipe && set_blocking(io->fd, 1) == 0;
  return io->is_patient;
}

#else

static ssize_t read_without_waiting(pt_io *io, char *buffer, size_t len) {
  return read(io->fd, buffer, len);
}

int pt_io_can_be_patient(const pt_io *io) {
  (void)io;
  return 0;
}

static int make_patient(pt_io *io) {
  (void)io;
  return 0;
}

#endif

static ssize_t read_once(pt_io *io, char *buffer, size_t len) {
  if (io->is_patient)
    return read_without_waiting(io, buffer, len);
  if (io->is_socket)
    return recv(io->fd, buffer, len, MSG_DONTWAIT);
  if (io->may_block && ask_first(io, POLLIN) == -1)
    return -1;
  return read(io->fd, buffer, len);
}

/* A blocking pipe that says it has room has it for PIPE_BUF bytes. */
static ssize_t write_once(const pt_io *io, const char *bytes, size_t len) {
  if (io->is_socket)
    return send(io->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (io->may_block) {
    if (ask_first(io, POLLOUT) == -1)
      return -1;
    if (len > PIPE_BUF)
      len = PIPE_BUF;
  }
  return write(io->fd, bytes, len);
}

ssize_t pt_io_read(pt_io *io, char *buffer, size_t len) {
  ssize_t n;
  do
    n = read_once(io, buffer, len);
  while (n == -1 && errno == EINTR);
  return n;
}

ssize_t pt_io_write(const pt_io *io, const char *bytes, size_t len) {
  ssize_t n;
  do
    n = write_once(io, bytes, len);
  while (n == -1 && errno == EINTR);
  return n;
}

ssize_t pt_io_read_patiently(pt_io *io, char *buffer, size_t len) {
  ssize_t n;
  if (!io->is_patient && !make_patient(io)) {
    errno = ENOTSUP;
    return -1;
  }
  n = read(io->fd, buffer, len);
  if (n == -1 && errno == EAGAIN)
    io->is_patient = 0;
  return n;
}

void pt_io_widen(pt_io *io, size_t len) {
  if (io->is_wide || len <= PIPE_USUAL)
    return;
  io->is_wide = 1;
#ifdef F_SETPIPE_SZ
  fcntl(io->fd, F_SETPIPE_SZ, PIPE_WIDE);
#endif
}
