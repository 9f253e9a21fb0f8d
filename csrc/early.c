#define _GNU_SOURCE

#include "early.h"

#include <sys/resource.h>

#ifndef RUSAGE_THREAD
#define RUSAGE_THREAD RUSAGE_SELF
#endif

#define MUCH (32 * 1024) /* half of what an ordinary pipe holds */
#define TRIAL 16         /* times sent before it is decided */
#define HELD 4096        /* times not sent before it is tried again */

int pt_early_is_time_at_last(pt_early *e, size_t queued) {
  if (queued >= MUCH)
    return 1;
  if (++e->count < HELD)
    return 0;
  e->is_patient = e->count = 0;
  return 1;
}

static long count_interrupts(void) {
  struct rusage usage;
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

/* The first of a trial only takes down the count. */
void pt_early_sent(pt_early *e, const long *interrupts) {
  long now;
  if (e->is_patient || (e->count++ > 0 && e->count <= TRIAL))
    return;
  now = interrupts != NULL ? *interrupts : count_interrupts();
  if (e->count > TRIAL) {
    e->is_patient = now - e->interrupts >= TRIAL / 2;
    e->count = e->is_patient ? 0 : 1;
  }
  e->interrupts = now;
}
