/*
** Writing messages. A message is written straight behind what is queued: frame
** header, envelope, payload. Nothing of it stays if it cannot be finished.
**
** The functions return 0 if the message is queued; else they have pushed nil,
** message and kind, and return how many these are.
*/
#ifndef PT_LSEND_H
#define PT_LSEND_H

#include "lpeer.h"

#pragma GCC visibility push(hidden)

/* A request or notification: where its parts are on the stack, and for a
** request what waits for the answer. The method is a string. */
typedef struct pt_ask {
  int peer, method, params;
  void *waiter;
  double due;
  int64_t id; /* that it was sent with */
} pt_ask;

int pt_send_request(lua_State *L, pt_peer *p, pt_ask *a);
int pt_send_notification(lua_State *L, pt_peer *p, const pt_ask *a);

/* Answers the id at one index with the result at another. */
int pt_send_result(lua_State *L, pt_peer *p, int peer, int id, int result);

/* Method: fail. */
int pt_send_fail(lua_State *L);

/* {====== Batches ====== */

/* Answers to a batch are gathered into one array and sent when the last one is
** there. An answer finds its batch through the ticket that stands for the id of
** its request. A ticket also stands for an id whose text a Lua value would not
** give back. */

/* Starts one for the peer at index 1. */
void pt_batch_begin(lua_State *L);

/* Pushes a ticket for the id `text`, in the batch of the peer at index 1 if
** `in_batch`. */
void pt_ticket_push(lua_State *L, const char *text, size_t len, int in_batch);

/* Makes sure that a batch of which all is answered can be sent once its last
** member was handed out, for that cannot be undone; 0 when memory is short. */
int pt_batch_reserve(lua_State *L, pt_peer *p);

/* All members were handed out; sends the batch if nothing is open. 0 when
** memory is short. */
int pt_batch_complete(lua_State *L, pt_peer *p);

/* }====== */

#pragma GCC visibility pop

#endif
