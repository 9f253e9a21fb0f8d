/*
** Answers to a batch are gathered into one array and sent when the last one is
** there. An answer finds its batch through the ticket that its request's id was
** handed out as; so do ids whose text a Lua value would not give back.
*/
#ifndef PT_LBATCH_H
#define PT_LBATCH_H

#include "lpeer.h"

#pragma GCC visibility push(hidden)

/* An id that cannot be told by a Lua number or string alone: one of another
** form, or one whose answer belongs to a batch. */
typedef struct pt_ticket pt_ticket;

typedef struct pt_batch {
  pt_buf out;      /* the answers so far: "[a,b" */
  size_t open;     /* members that will be answered and are not yet */
  int is_complete; /* every member has been handed out */
} pt_batch;

/* Starts one for the peer at index 1. */
void pt_batch_begin(lua_State *L);

/* Pushes a ticket for the id `text`, in the peer's batch if `in_batch`. */
void pt_ticket_push(lua_State *L, const char *text, size_t len, int in_batch);

/* The ticket at `arg`, or NULL. */
pt_ticket *pt_ticket_test(lua_State *L, int arg);

const char *pt_ticket_text(const pt_ticket *t, size_t *len);

/* Where its answer goes, or NULL for the peer itself; the batch is kept alive
** by being pushed. Raises if it was answered already. */
pt_batch *pt_ticket_batch(lua_State *L, int arg);

/* Counts the answer; sends the batch if that was the last. 0 when memory is
** short, and then it does not count. */
int pt_ticket_answered(lua_State *L, pt_peer *p, int arg, pt_batch *b);

/* Makes sure that a batch of which all is answered can be sent once its last
** member was handed out, for that cannot be undone; 0 when memory is short. */
int pt_batch_reserve(lua_State *L, pt_peer *p);

/* All members were handed out; sends the batch if nothing is open. */
int pt_batch_complete(lua_State *L, pt_peer *p);

#pragma GCC visibility pop

#endif
