#define _GNU_SOURCE

#include "fd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

void pt_fd_drop(int *fd) {
  int saved = errno;
  if (*fd != -1)
    close(*fd);
  *fd = -1;
  errno = saved;
}

int pt_fd_nonblock(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags == -1 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) == -1)
    return errno;
  return 0;
}

/* A private copy above stdio; -1 with errno set. */
static int copy(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 3); }

int pt_fd_above_stdio(int fd) {
  int moved = fd;
  if (fd <= 2) {
    moved = copy(fd);
    pt_fd_drop(&fd);
  }
  return moved;
}

static int settle(int ends[2]) {
  int err = 0;
  int i;
  for (i = 0; i < 2; i++) {
    ends[i] = pt_fd_above_stdio(ends[i]);
    if (ends[i] == -1)
      err = errno;
  }
  if (err != 0) {
    pt_fd_drop(&ends[0]);
    pt_fd_drop(&ends[1]);
  }
  return err;
}

#if defined(__APPLE__)

/* Without pipe2 and SOCK_CLOEXEC another thread's exec may come between. */
static void close_on_exec(const int ends[2]) {
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
}

int pt_fd_pipe(int ends[2]) {
  if (pipe(ends) == -1)
    return errno;
  close_on_exec(ends);
  return settle(ends);
}

int pt_fd_socketpair(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == -1)
    return errno;
  close_on_exec(ends);
  return settle(ends);
}

#else

int pt_fd_pipe(int ends[2]) {
  if (pipe2(ends, O_CLOEXEC) == -1)
    return errno;
  return settle(ends);
}

int pt_fd_socketpair(int ends[2]) {
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == -1)
    return errno;
  return settle(ends);
}

#endif

/* Non-blocking is a property of the open file, not of the descriptor: on a
** terminal it would reach the shell that we were started from. */
static void nonblock_if_pipe(int fd) {
  struct stat st;
  if (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
    pt_fd_nonblock(fd);
}

/* Neither dup2 can fail: both descriptors are open, and so are 0 and 1. */
static void cover_stdio(int null) {
  dup2(null, 0);
  if (dup2(2, 1) == -1)
    dup2(null, 1);
}

int pt_fd_claim(int *input, int *output) {
  int in = copy(0);
  int out = in == -1 ? -1 : copy(1);
  int null = out == -1 ? -1 : open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null == -1) {
    pt_fd_drop(&in);
    pt_fd_drop(&out);
    return errno;
  }
  cover_stdio(null);
  pt_fd_drop(&null);
  nonblock_if_pipe(in);
  nonblock_if_pipe(out);
  *input = in;
  *output = out;
  return 0;
}

int pt_fd_columns(int fd) {
  struct winsize size;
  if (ioctl(fd, TIOCGWINSZ, &size) == -1)
    return 0;
  return size.ws_col;
}

void pt_ignore_sigpipe(void) {
  struct sigaction act;
  if (sigaction(SIGPIPE, NULL, &act) == -1 || act.sa_handler != SIG_DFL)
    return;
  memset(&act, 0, sizeof act);
  act.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &act, NULL);
}
