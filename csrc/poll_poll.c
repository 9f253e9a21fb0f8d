#include "poll.h"

#if defined(PT_POLL_POLL)

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

int pt_poll_open(pt_poll *p) {
  *p = (pt_poll){.fd = -1};
  return 0;
}

int pt_poll_set(pt_poll *p, int fd, int wanted) {
  pt_poll_slot *slot = &p->slots[fd];
  int err = wanted != 0 && fcntl(fd, F_GETFD) < 0 ? errno : 0;
  slot->ready = 0;
  slot->wanted = (unsigned char)(err == 0 ? wanted : 0);
  return err;
}

/* The list for poll(2) lies behind the slots. It is made for every wait, from
** a slot further on each time, so that no descriptor has to stand back for ever
** behind a full batch of others. */
static nfds_t list(pt_poll *p, struct pollfd *fds) {
  nfds_t n = 0;
  int i;
  for (i = 0; i < p->limit; i++) {
    int fd = (p->rover + i) % p->limit;
    int wanted = p->slots[fd].wanted;
    if (wanted != 0)
      fds[n++] = (struct pollfd){
          .fd = fd,
          .events = (short)((wanted & PT_POLL_READ ? POLLIN : 0) |
                            (wanted & PT_POLL_WRITE ? POLLOUT : 0))};
  }
  return n;
}

static void found(pt_poll *p, const struct pollfd *fd) {
  pt_poll_slot *slot = &p->slots[fd->fd];
  int ready = 0;
  if (fd->revents & POLLIN)
    ready |= PT_POLL_READ;
  if (fd->revents & POLLOUT)
    ready |= PT_POLL_WRITE;
  if (fd->revents & (POLLERR | POLLHUP))
    ready |= PT_POLL_READ | slot->wanted;
  if (fd->revents & POLLNVAL) /* closed while watched */
    slot->wanted = 0;
  else if (ready != 0)
    pt_poll_found(p, fd->fd, ready);
}

int pt_poll_wait(pt_poll *p, int ms) {
  struct pollfd *fds = (struct pollfd *)(void *)(p->slots + p->limit);
  nfds_t i, n = list(p, fds);
  pt_poll_restart(p);
  if (poll(fds, n, ms) < 0)
    return -errno;
  for (i = 0; i < n; i++)
    found(p, &fds[i]);
  if (p->count > 0)
    p->rover = p->found[p->count - 1] + 1;
  return p->count;
}

#else

typedef int pt_poll_poll_not_used; /* C forbids an empty file */

#endif
