/*
** The clock that deadlines are told by: seconds, and it never goes back.
*/
#ifndef PT_CLOCK_H
#define PT_CLOCK_H

#include <time.h>

static inline double pt_clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#endif
