#include "guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* In the signal handler. While it is being read, the next beat makes up for one
** that came before the file was made to wait. */
static int beat(void *subject) {
  pt_guard *g = subject;
  if (g->is_reading)
    pt_io_lose_patience(g->fd);
  g->is_beating = g->is_needed || g->is_reading;
  g->is_needed = 0;
  return g->is_beating;
}

static void start(pt_guard *g) {
  if (g->tick == NULL)
    g->tick = pt_tick_open(beat, g);
  g->is_beating = g->is_needed = 1;
  if (g->tick == NULL || pt_tick_start(g->tick, PT_GUARD_INTERVAL) != 0)
    g->is_off = 1;
}

int pt_guard_holds(pt_guard *g) {
  if (g->is_off)
    return 0;
  if (!g->is_beating) {
    start(g);
    return 0;
  }
  if (!pt_tick_is_here(g->tick) || !pt_tick_is_heard(g->tick))
    return 0;
  g->is_needed = 1;
  return 1;
}

void pt_guard_inspect(pt_guard *g) {
  if (g->is_beating && !pt_tick_is_sound(g->tick))
    g->is_off = 1;
}

static ssize_t read_if_beating(pt_guard *g, pt_io *io, char *buffer,
                               size_t len) {
  if (g->is_beating)
    return pt_io_read_patiently(io, buffer, len);
  errno = EAGAIN;
  return -1;
}

/* It does not come to rest any more once it is being read, but it may have
** since it was asked whether it holds. */
ssize_t pt_guard_read(pt_guard *g, pt_io *io, char *buffer, size_t len) {
  ssize_t n;
  g->fd = io->fd;
  atomic_signal_fence(memory_order_release);
  g->is_reading = 1;
  n = read_if_beating(g, io, buffer, len);
  g->is_reading = 0;
  return n;
}

void pt_guard_close(pt_guard *g) {
  if (g->tick != NULL)
    pt_tick_close(g->tick);
  g->tick = NULL;
  g->is_beating = 0;
  g->is_off = 1;
}
