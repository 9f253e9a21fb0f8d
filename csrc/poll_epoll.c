#include "poll.h"

#if defined(PT_POLL_EPOLL)

#include <errno.h>
#include <sys/epoll.h>

#include "io.h"

int pt_poll_open(pt_poll *p) {
  *p = (pt_poll){.fd = pt_fd_settle(epoll_create1(EPOLL_CLOEXEC))};
  return p->fd >= 0 ? 0 : errno;
}

/* The serial goes with the descriptor: epoll goes on telling of a file that was
** closed here but is open in a child, under a number that may be in use
** again. */
static int control(pt_poll *p, int op, int fd, int wanted) {
  struct epoll_event event = {0};
  if (wanted & PT_POLL_READ)
    event.events |= EPOLLIN;
  if (wanted & PT_POLL_WRITE)
    event.events |= EPOLLOUT;
  event.data.u64 = (uint64_t)p->slots[fd].serial << 32 | (uint32_t)fd;
  return epoll_ctl(p->fd, op, fd, &event) == 0 ? 0 : errno;
}

/* `known` is what we believe; the number may have been closed and opened again
** since, and then epoll knows better. */
static int watch(pt_poll *p, int fd, int wanted, int known) {
  int err = control(p, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, wanted);
  if (err == ENOENT)
    err = control(p, EPOLL_CTL_ADD, fd, wanted);
  else if (err == EEXIST)
    err = control(p, EPOLL_CTL_MOD, fd, wanted);
  return err;
}

int pt_poll_set(pt_poll *p, int fd, int wanted) {
  pt_poll_slot *slot = &p->slots[fd];
  int known = slot->wanted != 0 && !slot->always;
  int err = 0;
  slot->serial = ++p->serial;
  slot->ready = 0;
  if (wanted != 0)
    err = watch(p, fd, wanted, known);
  else if (known)
    control(p, EPOLL_CTL_DEL, fd, 0);
  pt_poll_set_always(p, fd, err == EPERM);
  if (err == EPERM) /* a regular file, a directory, /dev/null */
    err = 0;
  slot->wanted = (unsigned char)(err == 0 ? wanted : 0);
  return err;
}

static void found(pt_poll *p, const struct epoll_event *event) {
  int fd = (int)(uint32_t)event->data.u64;
  pt_poll_slot *slot = &p->slots[fd];
  int ready = 0;
  if (slot->wanted == 0 || slot->serial != (uint32_t)(event->data.u64 >> 32))
    return;
  if (event->events & EPOLLIN)
    ready |= PT_POLL_READ;
  if (event->events & EPOLLOUT)
    ready |= PT_POLL_WRITE;
  if (event->events & (EPOLLERR | EPOLLHUP))
    ready |= PT_POLL_READ | slot->wanted;
  pt_poll_found(p, fd, ready);
}

int pt_poll_wait(pt_poll *p, int ms) {
  struct epoll_event events[PT_POLL_BATCH];
  int most = p->always > 0 ? PT_POLL_BATCH / 2 : PT_POLL_BATCH;
  int i, n;
  pt_poll_restart(p);
  n = epoll_wait(p->fd, events, most, p->always > 0 ? 0 : ms);
  if (n < 0)
    return -errno;
  for (i = 0; i < n; i++)
    found(p, &events[i]);
  pt_poll_found_always(p);
  return p->count;
}

#else

typedef int pt_poll_epoll_not_used; /* C forbids an empty file */

#endif
