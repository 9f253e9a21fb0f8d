/*
** Readiness: which of many descriptors can be read or written now. One of
** three backends does the waiting: epoll, kqueue or poll; the rest is in
** poll.c. The caller owns the struct, the memory in which watches are kept, and
** the watched descriptors, and stops watching one before closing it. The struct
** owns its own descriptor from pt_poll_open to pt_poll_close.
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

/* As many events as one wait can bring; more come with the next. */
#define PT_POLL_BATCH 64

typedef struct pt_poll_slot {
  uint32_t serial;      /* tells this watch from an earlier one of the number */
  unsigned char wanted; /* what is waited for, 0 when not watched */
  unsigned char ready;  /* what the last wait found and was not taken yet */
  unsigned char always; /* the system cannot wait for it: always ready */
} pt_poll_slot;

typedef struct pt_poll {
  int fd;              /* of epoll or kqueue; -1 when there is none */
  int limit;           /* descriptors below this one have a slot */
  pt_poll_slot *slots; /* in the caller's memory, by descriptor */
  int always;          /* number of slots that are always ready */
  int rover;           /* where the next walk over the slots begins */
  uint32_t serial;     /* of the latest watch */
  int count;           /* descriptors found by the last wait ... */
  int taken;           /* ... and how many of them were looked at */
  int found[PT_POLL_BATCH];
} pt_poll;

/* 0 or an error number. Only pt_poll_move and pt_poll_close may come next. */
int pt_poll_open(pt_poll *p);
void pt_poll_close(pt_poll *p);

/* Bytes of memory in which every descriptor below `limit` can be watched. */
size_t pt_poll_size(int limit);

/* Moves everything into such memory, aligned as for malloc. The caller keeps
** it until the next move or the end; `limit` only grows. */
void pt_poll_move(pt_poll *p, void *memory, int limit);

/* Watches `fd`, which is below p->limit, for `wanted` and nothing else; 0 stops
** watching, which cannot fail. What the last wait found for it is forgotten.
** 0 or an error number; after an error it is not watched. */
int pt_poll_set(pt_poll *p, int fd, int wanted);

/* Waits up to `ms` milliseconds (-1: for ever) and returns how many descriptors
** are ready, 0 when the time is over, or an error number negated, among them
** EINTR. What the wait before found and was not taken is found again if it is
** still ready. */
int pt_poll_wait(pt_poll *p, int ms);

/* The next ready descriptor and, as a result, for what it is ready; 0 when
** there is no more. Each comes once. */
int pt_poll_next(pt_poll *p, int *fd);

/*
** For the backends only.
*/

/* Begins a wait: forgets what was not taken. */
void pt_poll_restart(pt_poll *p);

/* Adds a ready descriptor; more of the same is joined to it, and what does not
** fit into the batch is left for the next wait. */
void pt_poll_found(pt_poll *p, int fd, int ready);

/* Adds those that are always ready. */
void pt_poll_found_always(pt_poll *p);

/* Says whether `fd` is always ready from now on. */
void pt_poll_set_always(pt_poll *p, int fd, int always);

#pragma GCC visibility pop

#endif
