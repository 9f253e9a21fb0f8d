#include "guard.h"

#include <stdatomic.h>
#include <stddef.h>

/* In the signal handler. */
static int beat(void *subject) {
  pt_guard *g = subject;
  if (g->is_reading)
    pt_io_lose_patience(g->fd);
  g->is_beating = g->is_needed;
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

ssize_t pt_guard_read(pt_guard *g, pt_io *io, char *buffer, size_t len) {
  ssize_t n;
  g->fd = io->fd;
  atomic_signal_fence(memory_order_release);
  g->is_reading = 1;
  n = pt_io_read_patiently(io, buffer, len);
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
