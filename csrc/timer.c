#include "timer.h"

#include <math.h>
#include <stddef.h>

/* Makes one heap of two that are not empty; its link is not set. */
static pt_timer *merge(pt_timer *a, pt_timer *b) {
  pt_timer *first = a->at <= b->at ? a : b, *second = first == a ? b : a;
  second->sibling = first->child;
  second->link = &first->child;
  if (first->child != NULL)
    first->child->link = &second->sibling;
  first->child = second;
  first->sibling = NULL;
  return first;
}

/* Makes one heap of a list of siblings: each pair of them, and then the pairs
** from the last to the first, which keeps heaps flat. NULL for an empty
** list. */
static pt_timer *merge_list(pt_timer *list) {
  pt_timer *pairs = NULL, *all = NULL;
  while (list != NULL) {
    pt_timer *a = list, *b = a->sibling;
    list = b != NULL ? b->sibling : NULL;
    if (b != NULL)
      a = merge(a, b);
    a->sibling = pairs;
    pairs = a;
  }
  while (pairs != NULL) {
    pt_timer *next = pairs->sibling;
    pairs->sibling = NULL;
    all = all != NULL ? merge(all, pairs) : pairs;
    pairs = next;
  }
  return all;
}

static void add_heap(pt_timers *h, pt_timer *t) {
  h->root = h->root != NULL ? merge(h->root, t) : t;
  h->root->link = &h->root;
}

double pt_timers_due(const pt_timers *h) {
  return h->root != NULL ? h->root->at : HUGE_VAL;
}

void pt_timers_add(pt_timers *h, pt_timer *t, double at) {
  t->at = at;
  t->is_set = 1;
  t->child = t->sibling = NULL;
  add_heap(h, t);
}

void pt_timers_remove(pt_timers *h, pt_timer *t) {
  pt_timer *later;
  if (!t->is_set)
    return;
  t->is_set = 0;
  *t->link = t->sibling;
  if (t->sibling != NULL)
    t->sibling->link = t->link;
  later = merge_list(t->child);
  if (later != NULL)
    add_heap(h, later);
}

pt_timer *pt_timers_take(pt_timers *h, double now) {
  pt_timer *t = h->root;
  if (t == NULL || t->at > now)
    return NULL;
  pt_timers_remove(h, t);
  return t;
}
