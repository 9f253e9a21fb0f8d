/*
** What the loop waits for: descriptors and timers.
**
** Readiness: which of many descriptors can be read or written now. One of two
** backends waits: epoll or kqueue. The caller owns the struct, the memory
** for the slots and the watched descriptors. It must stop watching a descriptor
** before it closes it. The struct owns its own descriptor from pt_poll_open to
** pt_poll_close.
*/
#ifndef PT_POLL_H
#define PT_POLL_H

#include <stddef.h>
#include <stdint.h>

/* Exactly one backend is defined. */
#if defined(__linux__)
#define PT_POLL_EPOLL
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) ||     \
    defined(__OpenBSD__) || defined(__DragonFly__)
#define PT_POLL_KQUEUE
#else
#error "pintle needs epoll or kqueue"
#endif

#define PT_POLL_READ 1
#define PT_POLL_WRITE 2

/* Maximum number of events that one wait returns; the next wait returns more.
*/
#define PT_POLL_BATCH 64

typedef struct pt_poll_slot {
  uint32_t serial;      /* number of the watch; tells it from earlier ones */
  unsigned char wanted; /* watched events; 0: not watched */
  /* the system cannot wait for it: it counts as always ready */
  unsigned char always;
} pt_poll_slot;

typedef struct pt_poll_found {
  int fd;
  uint32_t serial; /* number of the watch that the event belongs to */
  int ready;
} pt_poll_found;

typedef struct pt_poll {
  int fd;              /* descriptor of epoll or kqueue */
  int limit;           /* descriptors below this number have a slot */
  pt_poll_slot *slots; /* by descriptor, in the caller's memory */
  int always;          /* number of slots that are always ready */
  int rover;           /* where the next scan of the slots begins */
  uint32_t serial;     /* number of the latest watch */
  int count;           /* descriptors found by the last wait ... */
  int taken;           /* ... and how many of them pt_poll_next has returned */
  pt_poll_found found[PT_POLL_BATCH];
} pt_poll;

/* Returns 0 or an error number. Only pt_poll_grow and pt_poll_close may be
** called next. */
int pt_poll_open(pt_poll *p);
void pt_poll_close(pt_poll *p);

/* Returns the bytes of memory needed to watch all descriptors below `limit`. */
size_t pt_poll_size(int limit);

/* Sets the memory, which the caller has reallocated from the memory before. It
** stays the caller's and must stay valid until the next call or pt_poll_close.
** `limit` never decreases. */
void pt_poll_grow(pt_poll *p, void *memory, int limit);

/* Watches `fd`, which is below p->limit, for exactly the events `wanted`; 0
** stops watching, which cannot fail. Events that the last wait found for `fd`
** are dropped. Returns 0 or an error number; after an error `fd` is not
** watched. */
int pt_poll_set(pt_poll *p, int fd, int wanted);

/* Waits up to `ms` milliseconds (-1: no limit). Returns the number of ready
** descriptors, 0 after the time is over, or a negated error number, such as
** EINTR. Events of the last wait that pt_poll_next has not returned are found
** again if they still hold. */
int pt_poll_wait(pt_poll *p, int ms);

/* Sets *fd to the next ready descriptor. Returns its events, 0 if there are no
** more descriptors. */
int pt_poll_next(pt_poll *p, int *fd);

/* ====== Timers ======
** Deadlines in a pairing heap. Setting a timer, removing any timer and finding
** the first one are cheap, and none of them allocates. A timer is a member of
** the caller's struct. */

typedef struct pt_timer {
  double at; /* when it is due, by pt_clock_now */
  int is_set;
  /* the first child; no child is due before its parent */
  struct pt_timer *child;
  struct pt_timer *sibling; /* the next child of the same parent */
  struct pt_timer **link;   /* the pointer to this timer */
} pt_timer;

/* A heap of timers. All zero is an empty heap. */
typedef struct pt_timers {
  pt_timer *root;
} pt_timers;

/* Returns when the first timer is due; HUGE_VAL if none is set. */
double pt_timers_due(const pt_timers *h);

/* Sets a timer, which must not be set already. */
void pt_timers_add(pt_timers *h, pt_timer *t, double at);

/* Does nothing if the timer is not set. */
void pt_timers_remove(pt_timers *h, pt_timer *t);

/* Removes and returns a timer that is due at `now`; NULL if there is none. */
pt_timer *pt_timers_take(pt_timers *h, double now);

#endif
