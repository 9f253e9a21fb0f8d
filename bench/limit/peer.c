#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "limit.h"

static void unblock(int fd) {
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
    die("fcntl");
}

void peer_open(peer *p, int read_fd, int write_fd) {
  p->read_fd = read_fd;
  p->write_fd = write_fd;
  p->in_start = p->in_end = p->out_start = p->out_end = 0;
  unblock(read_fd);
  unblock(write_fd);
}

static void move_to_front(char *bytes, size_t *start, size_t *end) {
  memmove(bytes, bytes + *start, *end - *start);
  *end -= *start;
  *start = 0;
}

char *peer_put(peer *p) {
  if (PEER_ROOM - p->out_end < SMALL)
    move_to_front(p->out, &p->out_start, &p->out_end);
  if (PEER_ROOM - p->out_end < SMALL)
    die("output full");
  return p->out + p->out_end;
}

int peer_take(peer *p, scanned *message) {
  const char *bytes = p->in + p->in_start;
  size_t header, body;
  if (!get_frame(bytes, p->in_end - p->in_start, &header, &body))
    return 0;
  if (!scan(bytes + header, body, message))
    die("not a message");
  p->in_start += header + body;
  return 1;
}

static void send_some(peer *p) {
  ssize_t n;
  if (p->out_start == p->out_end)
    return;
  n = write(p->write_fd, p->out + p->out_start, p->out_end - p->out_start);
  if (n < 0 && errno != EAGAIN)
    die("write");
  p->out_start += n > 0 ? (size_t)n : 0;
  if (p->out_start == p->out_end)
    p->out_start = p->out_end = 0;
}

/* Only what was cut off is moved: the whole messages were taken. */
static int receive(peer *p) {
  move_to_front(p->in, &p->in_start, &p->in_end);
  size_t n = read_some(p->read_fd, p->in + p->in_end, PEER_ROOM - p->in_end);
  p->in_end += n;
  return n > 0;
}

int peer_turn(peer *p) {
  struct pollfd fds[2] = {{.fd = p->read_fd, .events = POLLIN},
                          {.fd = p->write_fd, .events = POLLOUT}};
  for (;;) {
    send_some(p);
    if (poll(fds, p->out_start < p->out_end ? 2 : 1, -1) < 0)
      die("poll");
    if (fds[0].revents != 0)
      return receive(p);
  }
}
