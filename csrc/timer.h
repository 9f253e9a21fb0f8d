/*
** Deadlines in a binary heap, so that thousands cost little and any of them can
** be removed. A timer is a member of the caller's struct; the heap holds
** pointers to timers and its memory is the caller's.
*/
#ifndef PT_TIMER_H
#define PT_TIMER_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

typedef struct pt_timer {
  double at;    /* when it is due, on the clock of pt_clock_now */
  size_t place; /* in the heap, counted from 1; 0 while it is not set */
} pt_timer;

typedef struct pt_timers {
  pt_timer **heap;
  size_t count;
  size_t room; /* pointers that fit into `heap` */
} pt_timers;

/* When the first timer is due; HUGE_VAL if none is set. */
double pt_timers_due(const pt_timers *h);

/* Sets a timer that is not set. Needs room for one more pointer. */
void pt_timers_add(pt_timers *h, pt_timer *t, double at);

/* Does nothing if the timer is not set. */
void pt_timers_remove(pt_timers *h, pt_timer *t);

/* Removes and returns a timer that is due at `now`; NULL if none is. */
pt_timer *pt_timers_take(pt_timers *h, double now);

#pragma GCC visibility pop

#endif
