#define _POSIX_C_SOURCE 200809L

#include "limit.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

void die(const char *what) {
  perror(what);
  exit(1);
}

double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void make_pipe(int fds[2]) {
  if (pipe(fds) != 0 || fcntl(fds[0], F_SETFD, FD_CLOEXEC) != 0 ||
      fcntl(fds[1], F_SETFD, FD_CLOEXEC) != 0)
    die("pipe");
}

child start(char **argv) {
  posix_spawn_file_actions_t actions;
  child c;
  int in[2], out[2];
  make_pipe(in);
  make_pipe(out);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  errno = posix_spawnp(&c.pid, argv[0], &actions, NULL, argv, environ);
  if (errno != 0)
    die(argv[0]);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  c.in = in[1];
  c.out = out[0];
  return c;
}

void stop(child c) {
  close(c.in);
  close(c.out);
  waitpid(c.pid, NULL, 0);
}

void write_all(int fd, const char *bytes, size_t n) {
  while (n > 0) {
    ssize_t done = write(fd, bytes, n);
    if (done < 0)
      die("write");
    bytes += done;
    n -= (size_t)done;
  }
}

size_t read_some(int fd, char *bytes, size_t room) {
  ssize_t n = read(fd, bytes, room);
  if (n < 0)
    die("read");
  return (size_t)n;
}

void read_all(int fd, char *bytes, size_t n) {
  while (n > 0) {
    size_t done = read_some(fd, bytes, n);
    if (done == 0)
      die("end of input");
    bytes += done;
    n -= done;
  }
}

static size_t put_frame(char *to, const char *body, int n) {
  int header = snprintf(to, SMALL, "Content-Length: %d\r\n\r\n", n);
  memcpy(to + header, body, (size_t)n);
  return (size_t)(header + n);
}

size_t put_request(char *to, unsigned long id) {
  char body[SMALL];
  int n = snprintf(body, sizeof body,
                   "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"method\":\"echo\","
                   "\"params\":" PARAMS "}",
                   id);
  return put_frame(to, body, n);
}

size_t put_response(char *to, const char *id, size_t id_len, const char *result,
                    size_t result_len) {
  char body[SMALL];
  int n = snprintf(body, sizeof body,
                   "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%.*s}",
                   (int)id_len, id, (int)result_len, result);
  return put_frame(to, body, n);
}

int get_frame(const char *bytes, size_t n, size_t *header, size_t *body) {
  static const char name[] = "Content-Length: ";
  const char *end = memchr(bytes, '\n', n);
  size_t i;
  if (end == NULL || memcmp(bytes, name, sizeof name - 1) != 0)
    return 0;
  *body = 0;
  for (i = sizeof name - 1; bytes[i] >= '0' && bytes[i] <= '9'; i++)
    *body = *body * 10 + (size_t)(bytes[i] - '0');
  *header = (size_t)(end - bytes) + 3;
  return n >= *header && n - *header >= *body;
}
