/*
** Signals as something to wait for: what the program has left alone is noted in
** a pipe when it comes, once; the second time it does what it always does. So a
** program that looks can end in order, and one that hangs is ended all the
** same.
**
** Signals are the whole process', and so is the little that their handler needs
** to know: there can be only one of these at a time.
*/
#ifndef PT_SIGNALS_H
#define PT_SIGNALS_H

#include <signal.h>

#pragma GCC visibility push(hidden)

#define PT_SIGNALS_MOST 32

/* The caller's; zeroed means closed. */
typedef struct pt_signals {
  int is_open;
  int input; /* readable when one has come */
  int count;
  int taken[PT_SIGNALS_MOST];
  struct sigaction before[PT_SIGNALS_MOST]; /* of those, in their order */
} pt_signals;

/* Takes those of `wanted` that have their default disposition, and with
** `handled` those that the program handles as well, but none that it ignores;
** PT_SIGNALS_MOST at most. 0, or an error number; EBUSY if there is one
** already. */
int pt_signals_open(pt_signals *s, const int *wanted, int count, int handled);

/* One that has come, told once; 0 if there is none. */
int pt_signals_next(const pt_signals *s);

/* Gives back those that were taken and have not come. Twice is fine. */
void pt_signals_close(pt_signals *s);

/* Does to this process what the signal does by default; 0 if that was nothing,
** or an error number. */
int pt_signal_raise(int sig);

#pragma GCC visibility pop

#endif
