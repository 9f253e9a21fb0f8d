/*
** A guard over a read that waits, so that it does not wait for long. It is a
** tick that makes the open file non-blocking: a read that waits then comes back
** with EAGAIN, because the system begins it anew behind the signal's handler,
** and so does one that was just about to begin. There is no moment in between.
**
** For a host that has asked and is answered in a moment, such a read is all
** there is to waiting, where asking first which of several descriptors is ready
** takes another system call, and a costly one.
*/
#ifndef PT_GUARD_H
#define PT_GUARD_H

#include <signal.h>

#include "io.h"
#include "tick.h"

#pragma GCC visibility push(hidden)

#define PT_GUARD_INTERVAL 0.05 /* seconds from beat to beat */

/* The owner sets all of it to 0 first. */
typedef struct pt_guard {
  pt_tick *tick; /* NULL before it is needed */
  int is_off;    /* there is no tick to be had, or not any more */
  int fd;        /* what is being read */
  volatile sig_atomic_t is_reading;
  volatile sig_atomic_t is_needed; /* since the last beat */
  volatile sig_atomic_t is_beating;
} pt_guard;

/* Whether it can be relied upon for one read. After a rest it only starts to
** beat; it rests when nobody has asked for a while. */
int pt_guard_holds(pt_guard *g);

/* To be called now and then, where there is time: gives it up if somebody else
** has taken the signal, or the program has forked and nobody was told. */
void pt_guard_inspect(pt_guard *g);

/* As pt_io_read_patiently, but after two intervals at the latest it is -1 with
** EAGAIN, and at once if it has come to rest since it was asked. */
ssize_t pt_guard_read(pt_guard *g, pt_io *io, char *buffer, size_t len);

void pt_guard_close(pt_guard *g);

#pragma GCC visibility pop

#endif
