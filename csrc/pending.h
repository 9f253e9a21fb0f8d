/*
** The calls that wait for an answer: ids given out from 1 upwards, and for each
** the slot where its waiter is kept. The slot is the id's place in a ring; an
** id whose place is still taken is passed over, so nothing is ever searched.
**
** The ring's memory is the caller's.
*/
#ifndef PT_PENDING_H
#define PT_PENDING_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct pt_pending {
  int64_t *ids; /* by slot; 0 where the slot is free */
  size_t slots; /* a power of two, or 0 at first */
  size_t count;
  int64_t last; /* id given out last */
} pt_pending;

#define PT_PENDING_NONE SIZE_MAX

/* Whether the ring must grow before another id can be had. */
int pt_pending_is_full(const pt_pending *p);

/* The next id; it is taken only once it was sent. Returns the slot it takes. */
int64_t pt_pending_next(pt_pending *p);
size_t pt_pending_take(pt_pending *p, int64_t id);

/* The slot of `id`, or PT_PENDING_NONE. */
size_t pt_pending_find(const pt_pending *p, int64_t id);

void pt_pending_remove(pt_pending *p, size_t slot);

/* Moves to a ring of `slots` slots, at least twice as many as before, in the
** memory `ids`; the old memory is the caller's again. */
void pt_pending_move(pt_pending *p, int64_t *ids, size_t slots);

#pragma GCC visibility pop

#endif
