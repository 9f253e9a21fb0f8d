/*
** Timers first, then what the two backends share, then epoll and kqueue.
**
** A descriptor number may be closed and opened again between a wait and
** pt_poll_next. So every watch has a number (serial), and an event counts only
** if its watch is still the current one.
*/
#define _NETBSD_SOURCE

#include "poll.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "io.h"

#if defined(PT_POLL_EPOLL)
#include <sys/epoll.h>
#elif defined(PT_POLL_KQUEUE)
#include <sys/types.h> /* needed by sys/event.h */

#include <sys/event.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#endif

/* ====== Timers ====== */

/* Merges two heaps that are not empty. The link of the result is not set. */
static pt_timer *merge_timer_heaps(pt_timer *a, pt_timer *b) {
  pt_timer *first = a->at <= b->at ? a : b, *second = first == a ? b : a;
  second->sibling = first->child;
  second->link = &first->child;
  if (first->child != NULL)
    first->child->link = &second->sibling;
  first->child = second;
  first->sibling = NULL;
  return first;
}

/* Merges a list of siblings into one heap: first each pair, then the pairs from
** the last to the first, which keeps the heap flat. Returns NULL for an empty
** list. */
static pt_timer *merge_timer_list(pt_timer *list) {
  pt_timer *pairs = NULL, *all = NULL;
  while (list != NULL) {
    pt_timer *a = list, *b = a->sibling;
    list = b != NULL ? b->sibling : NULL;
    if (b != NULL)
      a = merge_timer_heaps(a, b);
    a->sibling = pairs;
    pairs = a;
  }
  while (pairs != NULL) {
    pt_timer *next = pairs->sibling;
    pairs->sibling = NULL;
    all = all != NULL ? merge_timer_heaps(all, pairs) : pairs;
    pairs = next;
  }
  return all;
}

static void add_timer_heap(pt_timers *h, pt_timer *t) {
  h->root = h->root != NULL ? merge_timer_heaps(h->root, t) : t;
  h->root->link = &h->root;
}

double pt_timers_due(const pt_timers *h) {
  return h->root != NULL ? h->root->at : HUGE_VAL;
}

void pt_timers_add(pt_timers *h, pt_timer *t, double at) {
  t->at = at;
  t->is_set = 1;
  t->child = t->sibling = NULL;
  add_timer_heap(h, t);
}

void pt_timers_remove(pt_timers *h, pt_timer *t) {
  pt_timer *later;
  if (!t->is_set)
    return;
  t->is_set = 0;
  *t->link = t->sibling;
  if (t->sibling != NULL)
    t->sibling->link = t->link;
  later = merge_timer_list(t->child);
  if (later != NULL)
    add_timer_heap(h, later);
}

pt_timer *pt_timers_take(pt_timers *h, double now) {
  pt_timer *t = h->root;
  if (t == NULL || t->at > now)
    return NULL;
  pt_timers_remove(h, t);
  return t;
}

/* ====== Slots of descriptors ====== */

size_t pt_poll_size(int limit) { return (size_t)limit * sizeof(pt_poll_slot); }

void pt_poll_close(pt_poll *p) { pt_fd_close(&p->fd); }

void pt_poll_grow(pt_poll *p, void *memory, int limit) {
  size_t used = (size_t)p->limit * sizeof(pt_poll_slot);
  memset((char *)memory + used, 0, pt_poll_size(limit) - used);
  p->slots = memory;
  p->limit = limit;
}

static void add_ready_descriptor(pt_poll *p, int fd, uint32_t serial,
                                 int ready) {
  if (p->count < PT_POLL_BATCH)
    p->found[p->count++] = (pt_poll_found){fd, serial, ready};
}

int pt_poll_next(pt_poll *p, int *fd) {
  while (p->taken < p->count) {
    const pt_poll_found *found = &p->found[p->taken++];
    const pt_poll_slot *slot = &p->slots[found->fd];
    *fd = found->fd;
    if (slot->wanted != 0 && slot->serial == found->serial)
      return found->ready;
  }
  return 0;
}

/* Records the watched events, and returns `err`. */
static int set_poll_slot(pt_poll *p, int fd, int wanted, int always, int err) {
  pt_poll_slot *slot = &p->slots[fd];
  p->always += always - slot->always;
  slot->always = (unsigned char)always;
  slot->wanted = (unsigned char)(err == 0 ? wanted : 0);
  return err;
}

static int init_poller(pt_poll *p, int fd) {
  *p = (pt_poll){.fd = pt_fd_make_private(fd)};
  return p->fd >= 0 ? 0 : errno;
}

static int wait_for_poll_batch(pt_poll *p, int most, int ms);

/* Continues after the descriptor that was found last, so that a full batch does
** not always contain the same ones. */
static void add_always_ready_descriptor(pt_poll *p) {
  int left = p->always;
  while (left > 0 && p->count < PT_POLL_BATCH) {
    pt_poll_slot *slot;
    p->rover = (p->rover + 1) % p->limit;
    slot = &p->slots[p->rover];
    if (slot->always) {
      add_ready_descriptor(p, p->rover, slot->serial, slot->wanted);
      left--;
    }
  }
}

/* If some descriptors are always ready, half of the batch is reserved for them.
*/
int pt_poll_wait(pt_poll *p, int ms) {
  int has_always = p->always > 0, err;
  p->count = p->taken = 0;
  err = wait_for_poll_batch(p, has_always ? PT_POLL_BATCH / 2 : PT_POLL_BATCH,
                            has_always ? 0 : ms);
  if (err != 0)
    return -err;
  add_always_ready_descriptor(p);
  return p->count;
}

#if defined(PT_POLL_EPOLL)

int pt_poll_open(pt_poll *p) {
  return init_poller(p, epoll_create1(EPOLL_CLOEXEC));
}

/* The event carries the number of the watch: epoll still reports a file that
** was closed here but is open in a child, and its descriptor number may be in
** use again. */
static int control_epoll(pt_poll *p, int op, int fd, int wanted) {
  struct epoll_event event = {0};
  if (wanted & PT_POLL_READ)
    event.events |= EPOLLIN;
  if (wanted & PT_POLL_WRITE)
    event.events |= EPOLLOUT;
  event.data.u64 = (uint64_t)p->slots[fd].serial << 32 | (uint32_t)fd;
  return epoll_ctl(p->fd, op, fd, &event) == 0 ? 0 : errno;
}

/* `known` is the state that we have recorded. The number may have been closed
** and opened again since; then epoll reports ENOENT or EEXIST. */
static int set_poll_interest(pt_poll *p, int fd, int wanted, int known) {
  int err = control_epoll(p, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, wanted);
  if (err == ENOENT)
    err = control_epoll(p, EPOLL_CTL_ADD, fd, wanted);
  else if (err == EEXIST)
    err = control_epoll(p, EPOLL_CTL_MOD, fd, wanted);
  return err;
}

/* EPERM means that epoll cannot wait for the file: a regular file, a directory,
** /dev/null. */
int pt_poll_set(pt_poll *p, int fd, int wanted) {
  pt_poll_slot *slot = &p->slots[fd];
  int known = slot->wanted != 0 && !slot->always;
  int err = 0;
  slot->serial = ++p->serial;
  if (wanted != 0)
    err = set_poll_interest(p, fd, wanted, known);
  else if (known)
    control_epoll(p, EPOLL_CTL_DEL, fd, 0);
  return set_poll_slot(p, fd, wanted, err == EPERM, err == EPERM ? 0 : err);
}

static void add_poll_event(pt_poll *p, const struct epoll_event *event) {
  int fd = (int)(uint32_t)event->data.u64, ready = 0;
  if (event->events & EPOLLIN)
    ready |= PT_POLL_READ;
  if (event->events & EPOLLOUT)
    ready |= PT_POLL_WRITE;
  if (event->events & (EPOLLERR | EPOLLHUP))
    ready |= PT_POLL_READ | p->slots[fd].wanted;
  add_ready_descriptor(p, fd, (uint32_t)(event->data.u64 >> 32), ready);
}

static int wait_for_poll_batch(pt_poll *p, int most, int ms) {
  struct epoll_event events[PT_POLL_BATCH];
  int i, n = epoll_wait(p->fd, events, most, ms);
  for (i = 0; i < n; i++)
    add_poll_event(p, &events[i]);
  return n < 0 ? errno : 0;
}

#elif defined(PT_POLL_KQUEUE)

int pt_poll_open(pt_poll *p) { return init_poller(p, kqueue()); }

/* Returns 0 or an error number. Deleting a filter that does not exist is not an
** error: a closed descriptor has lost its filters. */
static int change_kqueue_filter(pt_poll *p, int fd, short filter,
                                unsigned short flags) {
  struct kevent event;
  EV_SET(&event, (uintptr_t)fd, filter, flags, 0, 0, 0);
  if (kevent(p->fd, &event, 1, NULL, 0, NULL) >= 0)
    return 0;
  return flags & EV_DELETE ? 0 : errno;
}

/* `known` is the recorded state of the filter: a filter that is neither set nor
** wanted needs no system call. */
static int set_kqueue_filter(pt_poll *p, int fd, short filter, int wanted,
                             int known) {
  if (wanted)
    return change_kqueue_filter(p, fd, filter, EV_ADD);
  return known ? change_kqueue_filter(p, fd, filter, EV_DELETE) : 0;
}

static int set_kqueue_filters(pt_poll *p, int fd, int wanted, int known) {
  int err = set_kqueue_filter(p, fd, EVFILT_READ, wanted & PT_POLL_READ,
                              known & PT_POLL_READ);
  if (err != 0)
    return err;
  return set_kqueue_filter(p, fd, EVFILT_WRITE, wanted & PT_POLL_WRITE,
                           known & PT_POLL_WRITE);
}

/* Whether it is a regular file. kqueue reports one as readable only before its
** end, where other systems always do. */
static int is_regular_descriptor(int fd) {
  struct stat st;
  return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

/* Whether the error means that kqueue does not support this kind of file. */
static int is_unsupported_descriptor(int err) {
  return err == EINVAL || err == ENODEV || err == EPERM || err == ENOTSUP;
}

int pt_poll_set(pt_poll *p, int fd, int wanted) {
  pt_poll_slot *slot = &p->slots[fd];
  int known = slot->always ? 0 : slot->wanted;
  int always = wanted != 0 && is_regular_descriptor(fd);
  int err = set_kqueue_filters(p, fd, always ? 0 : wanted, known);
  slot->serial = ++p->serial;
  if (err != 0)
    set_kqueue_filters(p, fd, 0, PT_POLL_READ | PT_POLL_WRITE);
  if (is_unsupported_descriptor(err)) {
    always = 1;
    err = 0;
  }
  return set_poll_slot(p, fd, wanted, always, err);
}

static void add_poll_event(pt_poll *p, const struct kevent *event) {
  int fd = (int)event->ident;
  int ready = PT_POLL_READ;
  if (event->filter == EVFILT_WRITE)
    ready = PT_POLL_WRITE | (event->flags & EV_EOF ? PT_POLL_READ : 0);
  add_ready_descriptor(p, fd, p->slots[fd].serial, ready);
}

static int wait_for_poll_batch(pt_poll *p, int most, int ms) {
  struct kevent events[PT_POLL_BATCH];
  struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
  int i, n = kevent(p->fd, NULL, 0, events, most, ms < 0 ? NULL : &time);
  for (i = 0; i < n; i++)
    add_poll_event(p, &events[i]);
  return n < 0 ? errno : 0;
}

#endif
