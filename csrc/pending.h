/*
** The calls that wait for an answer: ids given out from 1 upwards, and for each
** its deadline and what waits for it. The slot is the id's
** place in a ring; an id whose place is still taken is passed over, so nothing
** is ever searched but for what is overdue.
**
** The ring's memory is the caller's.
*/
#ifndef PT_PENDING_H
#define PT_PENDING_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct pt_pending_call {
  int64_t id;   /* 0 where the slot is free */
  double due;   /* when to give up on it; HUGE_VAL for never */
  void *waiter; /* the caller's */
} pt_pending_call;

typedef struct pt_pending {
  pt_pending_call *calls; /* by slot */
  size_t slots;           /* a power of two, or 0 at first */
  size_t count;
  int64_t last;    /* id given out last */
  size_t swept;    /* slots already looked at for what is overdue */
  double earliest; /* deadline among those, if swept is not 0 */
} pt_pending;

#define PT_PENDING_NONE SIZE_MAX

/* Whether the ring must grow before another id can be had. */
int pt_pending_is_full(const pt_pending *p);

/* The next id; it is taken only once it was sent. */
int64_t pt_pending_next(pt_pending *p);
void pt_pending_take(pt_pending *p, int64_t id, double due, void *waiter);

/* The slot of `id`, or PT_PENDING_NONE. */
size_t pt_pending_find(const pt_pending *p, int64_t id);

void pt_pending_remove(pt_pending *p, size_t slot);

/* The slot of a call whose deadline is `now` or before, for the caller to
** remove and ask again; or PT_PENDING_NONE when no more is, and the earliest
** deadline of the others in `next`. Calls made while this is asked again and
** again may be missed by `next`. */
size_t pt_pending_overdue(pt_pending *p, double now, double *next);

/* Moves to a ring of `slots` slots, at least twice as many as before, in the
** memory `calls`; the old memory is the caller's again. */
void pt_pending_move(pt_pending *p, pt_pending_call *calls, size_t slots);

#pragma GCC visibility pop

#endif
