#include "timer.h"

#include <math.h>

static void put(pt_timers *h, pt_timer *t, size_t place) {
  h->heap[place - 1] = t;
  t->place = place;
}

static void rise(pt_timers *h, pt_timer *t, size_t place) {
  while (place > 1 && h->heap[place / 2 - 1]->at > t->at) {
    put(h, h->heap[place / 2 - 1], place);
    place /= 2;
  }
  put(h, t, place);
}

static void sink(pt_timers *h, pt_timer *t, size_t place) {
  while (place * 2 <= h->count) {
    size_t child = place * 2;
    if (child < h->count && h->heap[child]->at < h->heap[child - 1]->at)
      child++;
    if (t->at <= h->heap[child - 1]->at)
      break;
    put(h, h->heap[child - 1], place);
    place = child;
  }
  put(h, t, place);
}

double pt_timers_due(const pt_timers *h) {
  return h->count > 0 ? h->heap[0]->at : HUGE_VAL;
}

void pt_timers_add(pt_timers *h, pt_timer *t, double at) {
  t->at = at;
  h->count++;
  rise(h, t, h->count);
}

void pt_timers_remove(pt_timers *h, pt_timer *t) {
  size_t place = t->place;
  pt_timer *last;
  if (place == 0)
    return;
  t->place = 0;
  last = h->heap[--h->count];
  if (last == t)
    return;
  if (place > 1 && last->at < h->heap[place / 2 - 1]->at)
    rise(h, last, place);
  else
    sink(h, last, place);
}

pt_timer *pt_timers_take(pt_timers *h, double now) {
  pt_timer *t;
  if (h->count == 0 || h->heap[0]->at > now)
    return NULL;
  t = h->heap[0];
  pt_timers_remove(h, t);
  return t;
}
