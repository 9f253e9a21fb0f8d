#include "pending.h"

#include <string.h>

static size_t slot_of(const pt_pending *p, int64_t id) {
  return (size_t)id & (p->slots - 1);
}

int pt_pending_is_full(const pt_pending *p) { return p->count >= p->slots / 2; }

int64_t pt_pending_next(pt_pending *p) {
  int64_t id = p->last;
  do
    id = id == INT64_MAX ? 1 : id + 1;
  while (p->ids[slot_of(p, id)] != 0);
  return id;
}

size_t pt_pending_take(pt_pending *p, int64_t id) {
  size_t slot = slot_of(p, id);
  p->ids[slot] = p->last = id;
  p->count++;
  return slot;
}

size_t pt_pending_find(const pt_pending *p, int64_t id) {
  size_t slot;
  if (p->slots == 0 || id <= 0)
    return PT_PENDING_NONE;
  slot = slot_of(p, id);
  return p->ids[slot] == id ? slot : PT_PENDING_NONE;
}

void pt_pending_remove(pt_pending *p, size_t slot) {
  p->ids[slot] = 0;
  p->count--;
}

void pt_pending_move(pt_pending *p, int64_t *ids, size_t slots) {
  size_t old = p->slots, i;
  int64_t *before = p->ids;
  memset(ids, 0, slots * sizeof *ids);
  p->ids = ids;
  p->slots = slots;
  for (i = 0; i < old; i++)
    if (before[i] != 0)
      ids[slot_of(p, before[i])] = before[i];
}
