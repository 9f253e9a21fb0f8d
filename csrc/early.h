/*
** When to send while there is more to be read. Sending early lets both sides
** work at the same time, each on a core of its own. Where they share one, it
** only has the other side take the place of this one in the middle of its work:
** that shows in how often this one is interrupted, and then more is gathered.
*/
#ifndef PT_EARLY_H
#define PT_EARLY_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

/* All zero is how it begins. */
typedef struct pt_early {
  int is_patient;  /* more is gathered */
  int count;       /* times sent early, or not sent, since it was decided */
  long interrupts; /* how often this one was interrupted until then */
} pt_early;

#define PT_EARLY_LEAST (2 * 1024) /* bytes that are worth sending */

/* For the next, where more is gathered. */
int pt_early_is_time_at_last(pt_early *e, size_t queued);

/* Whether `queued` bytes are to be sent while `left` are left to be read. */
static inline int pt_early_is_time(pt_early *e, size_t queued, size_t left) {
  return queued >= PT_EARLY_LEAST && queued >= left &&
         (!e->is_patient || pt_early_is_time_at_last(e, queued));
}

/* They were sent, and this one has been interrupted so often by now; NULL is
** the system's own count. */
void pt_early_sent(pt_early *e, const long *interrupts);

#pragma GCC visibility pop

#endif
