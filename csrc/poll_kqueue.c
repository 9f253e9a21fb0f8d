#define _NETBSD_SOURCE

#include "poll.h"

#if defined(PT_POLL_KQUEUE)

#include <errno.h>
#include <sys/types.h> /* before the next, which lacks it */

#include <sys/event.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

#include "io.h"

int pt_poll_open(pt_poll *p) {
  *p = (pt_poll){.fd = pt_fd_settle(kqueue())};
  return p->fd >= 0 ? 0 : errno;
}

/* 0 or an error number; to delete what is not there is no error, because a
** descriptor that was closed has lost its filters by itself. */
static int change(pt_poll *p, int fd, short filter, unsigned short flags) {
  struct kevent event;
  EV_SET(&event, (uintptr_t)fd, filter, flags, 0, 0, 0);
  if (kevent(p->fd, &event, 1, NULL, 0, NULL) >= 0)
    return 0;
  return flags & EV_DELETE ? 0 : errno;
}

/* `known` is what the filter was set to before: a filter that was not set and
** is not wanted costs no call. */
static int set_filter(pt_poll *p, int fd, short filter, int wanted, int known) {
  if (wanted)
    return change(p, fd, filter, EV_ADD);
  return known ? change(p, fd, filter, EV_DELETE) : 0;
}

static int set_filters(pt_poll *p, int fd, int wanted, int known) {
  int err = set_filter(p, fd, EVFILT_READ, wanted & PT_POLL_READ,
                       known & PT_POLL_READ);
  if (err != 0)
    return err;
  return set_filter(p, fd, EVFILT_WRITE, wanted & PT_POLL_WRITE,
                    known & PT_POLL_WRITE);
}

/* kqueue tells of a regular file only until its end, where others say that it
** is ready, and refuses some devices. */
static int is_regular(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int cannot_wait(int err) {
  return err == EINVAL || err == ENODEV || err == EPERM || err == ENOTSUP;
}

int pt_poll_set(pt_poll *p, int fd, int wanted) {
  pt_poll_slot *slot = &p->slots[fd];
  int known = slot->always ? 0 : slot->wanted;
  int always = wanted != 0 && is_regular(fd);
  int err = set_filters(p, fd, always ? 0 : wanted, known);
  if (err != 0)
    set_filters(p, fd, 0, PT_POLL_READ | PT_POLL_WRITE);
  if (cannot_wait(err)) {
    always = 1;
    err = 0;
  }
  slot->ready = 0;
  pt_poll_set_always(p, fd, always);
  slot->wanted = (unsigned char)(err == 0 ? wanted : 0);
  return err;
}

static void found(pt_poll *p, const struct kevent *event) {
  int fd = (int)event->ident;
  int ready = PT_POLL_READ;
  if (event->filter == EVFILT_WRITE)
    ready = PT_POLL_WRITE | (event->flags & EV_EOF ? PT_POLL_READ : 0);
  if (p->slots[fd].wanted != 0)
    pt_poll_found(p, fd, ready);
}

static int receive(pt_poll *p, struct kevent *events, int most, int ms) {
  struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
  return kevent(p->fd, NULL, 0, events, most, ms < 0 ? NULL : &time);
}

int pt_poll_wait(pt_poll *p, int ms) {
  struct kevent events[PT_POLL_BATCH];
  int most = p->always > 0 ? PT_POLL_BATCH / 2 : PT_POLL_BATCH;
  int i, n;
  pt_poll_restart(p);
  n = receive(p, events, most, p->always > 0 ? 0 : ms);
  if (n < 0)
    return -errno;
  for (i = 0; i < n; i++)
    found(p, &events[i]);
  pt_poll_found_always(p);
  return p->count;
}

#else

typedef int pt_poll_kqueue_not_used; /* C forbids an empty file */

#endif
