#include "poll.h"

#include <string.h>

#include "io.h"

#if defined(PT_POLL_POLL)
#include <poll.h>
#define SLOT_SIZE (sizeof(pt_poll_slot) + sizeof(struct pollfd))
#else
#define SLOT_SIZE sizeof(pt_poll_slot)
#endif

void pt_poll_close(pt_poll *p) { pt_fd_drop(&p->fd); }

size_t pt_poll_size(int limit) { return (size_t)limit * SLOT_SIZE; }

void pt_poll_move(pt_poll *p, void *memory, int limit) {
  size_t used = (size_t)p->limit * sizeof(pt_poll_slot);
  memset(memory, 0, pt_poll_size(limit));
  if (used > 0)
    memcpy(memory, p->slots, used);
  p->slots = memory;
  p->limit = limit;
}

int pt_poll_next(pt_poll *p, int *fd) {
  while (p->taken < p->count) {
    pt_poll_slot *slot;
    int ready;
    *fd = p->found[p->taken++];
    slot = &p->slots[*fd];
    ready = slot->ready;
    slot->ready = 0;
    if (ready != 0)
      return ready;
  }
  return 0;
}

void pt_poll_restart(pt_poll *p) {
  while (p->taken < p->count)
    p->slots[p->found[p->taken++]].ready = 0;
  p->count = p->taken = 0;
}

void pt_poll_found(pt_poll *p, int fd, int ready) {
  pt_poll_slot *slot = &p->slots[fd];
  if (slot->ready == 0) {
    if (p->count == PT_POLL_BATCH)
      return;
    p->found[p->count++] = fd;
  }
  slot->ready |= (unsigned char)ready;
}

void pt_poll_found_always(pt_poll *p) {
  int left = p->always;
  while (left > 0 && p->count < PT_POLL_BATCH) {
    pt_poll_slot *slot;
    p->rover = (p->rover + 1) % p->limit;
    slot = &p->slots[p->rover];
    if (slot->always) {
      pt_poll_found(p, p->rover, slot->wanted);
      left--;
    }
  }
}

void pt_poll_set_always(pt_poll *p, int fd, int always) {
  p->always += always - p->slots[fd].always;
  p->slots[fd].always = (unsigned char)always;
}
