/*
** Deadlines in a pairing heap: setting one, removing any of them and finding
** the first cost little, and none needs memory. A timer is a member of the
** caller's struct.
*/
#ifndef PT_TIMER_H
#define PT_TIMER_H

#pragma GCC visibility push(hidden)

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

#pragma GCC visibility pop

#endif
