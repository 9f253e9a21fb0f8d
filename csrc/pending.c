#include "pending.h"

#include <math.h>
#include <string.h>

static size_t slot_of(const pt_pending *p, int64_t id) {
  return (size_t)id & (p->slots - 1);
}

int pt_pending_is_full(const pt_pending *p) { return p->count >= p->slots / 2; }

int64_t pt_pending_next(pt_pending *p) {
  int64_t id = p->last;
  do
    id = id == INT64_MAX ? 1 : id + 1;
  while (p->calls[slot_of(p, id)].id != 0);
  return id;
}

void pt_pending_take(pt_pending *p, int64_t id, double due, void *waiter) {
  size_t slot = slot_of(p, id);
  p->calls[slot].waiter = waiter;
  p->calls[slot].id = p->last = id;
  p->calls[slot].due = due;
  p->count++;
}

size_t pt_pending_find(const pt_pending *p, int64_t id) {
  size_t slot;
  if (p->slots == 0 || id <= 0)
    return PT_PENDING_NONE;
  slot = slot_of(p, id);
  return p->calls[slot].id == id ? slot : PT_PENDING_NONE;
}

void pt_pending_remove(pt_pending *p, size_t slot) {
  p->calls[slot].id = 0;
  p->count--;
}

size_t pt_pending_overdue(pt_pending *p, double now, double *next) {
  double earliest = p->swept > 0 ? p->earliest : HUGE_VAL;
  size_t slot;
  for (slot = p->swept; slot < p->slots; slot++) {
    const pt_pending_call *call = &p->calls[slot];
    if (call->id == 0)
      continue;
    if (call->due <= now)
      break;
    if (call->due < earliest)
      earliest = call->due;
  }
  p->swept = slot < p->slots ? slot : 0;
  p->earliest = *next = earliest;
  return slot < p->slots ? slot : PT_PENDING_NONE;
}

void pt_pending_move(pt_pending *p, pt_pending_call *calls, size_t slots) {
  size_t old = p->slots, i;
  pt_pending_call *before = p->calls;
  memset(calls, 0, slots * sizeof *calls);
  p->calls = calls;
  p->slots = slots;
  p->swept = 0;
  for (i = 0; i < old; i++)
    if (before[i].id != 0)
      calls[slot_of(p, before[i].id)] = before[i];
}
