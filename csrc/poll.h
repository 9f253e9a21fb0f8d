/*
** Readiness: which of many descriptors can be read or written now. One of
** three backends waits: epoll, kqueue or poll. The caller owns the struct, the
** memory for the slots and the watched descriptors, and stops watching a
** descriptor before it closes it. The struct owns its own descriptor from
** pt_poll_open to pt_poll_close.
*/
#ifndef PT_POLL_H
#define PT_POLL_H

#include <stddef.h>
#include <stdint.h>

/* Exactly one backend; defining its name beforehand forces it. */
#if defined(PT_POLL_EPOLL) || defined(PT_POLL_KQUEUE) || defined(PT_POLL_POLL)
#elif defined(__linux__)
#define PT_POLL_EPOLL
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) ||     \
    defined(__OpenBSD__) || defined(__DragonFly__)
#define PT_POLL_KQUEUE
#else
#define PT_POLL_POLL
#endif

#pragma GCC visibility push(hidden)

#define PT_POLL_READ 1
#define PT_POLL_WRITE 2

/* Most events that one wait returns; more come with the next wait. */
#define PT_POLL_BATCH 64

typedef struct pt_poll_slot {
  uint32_t serial;      /* of the watch; an earlier one had another */
  unsigned char wanted; /* the events that are watched; 0: not watched */
  unsigned char always; /* the system cannot wait for it: always ready */
} pt_poll_slot;

typedef struct pt_poll_found {
  int fd;
  uint32_t serial; /* of the watch that it was found for */
  int ready;
} pt_poll_found;

typedef struct pt_poll {
  int fd;              /* of epoll or kqueue; -1 if there is none */
  int limit;           /* descriptors below this one have a slot */
  pt_poll_slot *slots; /* in the caller's memory, by descriptor */
  int always;          /* number of slots that are always ready */
  int rover;           /* where the next walk over the slots begins */
  uint32_t serial;     /* of the latest watch */
  int count;           /* descriptors found by the last wait ... */
  int taken;           /* ... and how many of them were taken */
  pt_poll_found found[PT_POLL_BATCH];
} pt_poll;

/* 0 or an error number. Only pt_poll_grow and pt_poll_close may come next. */
int pt_poll_open(pt_poll *p);
void pt_poll_close(pt_poll *p);

/* Bytes of memory in which every descriptor below `limit` can be watched. */
size_t pt_poll_size(int limit);

/* Gives it more memory, reallocated from the memory before. The caller keeps
** it until the next call or the end; `limit` only grows. */
void pt_poll_grow(pt_poll *p, void *memory, int limit);

/* Watches `fd`, which is below p->limit, for `wanted` and nothing else; 0
** stops watching, which cannot fail. Events that the last wait found for it
** are dropped. 0 or an error number; after an error it is not watched. */
int pt_poll_set(pt_poll *p, int fd, int wanted);

/* Waits up to `ms` milliseconds (-1: no limit). Returns how many descriptors
** are ready, 0 at the end of the time, or a negated error number, such as
** EINTR. Events of the wait before that were not taken are found again if they
** still hold. */
int pt_poll_wait(pt_poll *p, int ms);

/* Takes the next ready descriptor; the result is what it is ready for, 0 if
** there is no more. */
int pt_poll_next(pt_poll *p, int *fd);

/* {====== Timers ======
** Deadlines in a pairing heap: setting one, removing any of them and finding
** the first cost little, and none needs memory. A timer is a member of the
** caller's struct. */

typedef struct pt_timer {
  double at; /* when it is due, on the clock of pt_clock_now */
  int is_set;
  struct pt_timer *child;   /* the first of those that are due later */
  struct pt_timer *sibling; /* the next child of the same parent */
  struct pt_timer **link;   /* the pointer to this timer */
} pt_timer;

/* The first timer. Zeroed means empty. */
typedef struct pt_timers {
  pt_timer *root;
} pt_timers;

/* When the first timer is due; HUGE_VAL if none is set. */
double pt_timers_due(const pt_timers *h);

/* Sets a timer that is not set. */
void pt_timers_add(pt_timers *h, pt_timer *t, double at);

/* Does nothing if the timer is not set. */
void pt_timers_remove(pt_timers *h, pt_timer *t);

/* Removes and returns a timer that is due at `now`; NULL if none is. */
pt_timer *pt_timers_take(pt_timers *h, double now);

/* }====== */

#pragma GCC visibility pop

#endif
