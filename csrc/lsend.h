/*
** Writes messages. A message is appended to the queued output: frame header,
** envelope, payload. If it cannot be completed, the queue is truncated to its
** former length.
**
** The functions return 0 if the message is queued. Otherwise they have pushed
** nil, message and kind, and return the number of these values.
*/
#ifndef PT_LSEND_H
#define PT_LSEND_H

#include "lpeer.h"

/* A request or notification: the stack indexes of its parts and, for a request,
** its waiter and deadline. The method is a string. */
typedef struct pt_ask {
  int peer, method, params;
  void *waiter;
  double due;
  int64_t id; /* set by pt_send_request */
} pt_ask;

int pt_send_request(lua_State *L, pt_peer *p, pt_ask *a);
int pt_send_notification(lua_State *L, pt_peer *p, const pt_ask *a);

/* Answers the request with the id at index `id` with the value at index
** `result`. */
int pt_send_result(lua_State *L, pt_peer *p, int peer, int id, int result);

/* Method: fail. */
int pt_send_fail(lua_State *L);

/* ====== Batches ====== */

/* The answers to a batch are collected in one array, which is sent with the
** last answer. An answer finds its batch through a ticket, which represents the
** id of its request. A ticket also represents an id whose exact text a Lua
** value cannot reproduce. */

/* Starts a batch for the peer at index 1. */
void pt_batch_begin(lua_State *L);

/* Pushes a ticket for the id `text`. It belongs to the batch of the peer at
** index 1 if `in_batch`. */
void pt_ticket_push(lua_State *L, const char *text, size_t len, int in_batch);

/* Reserves memory to send the batch, if all members so far are answered. Called
** before its last member is handed out, because that cannot be undone. Returns
** 0 if there is not enough memory. */
int pt_batch_reserve(lua_State *L, pt_peer *p);

/* Called after all members were handed out: sends the batch if all of them are
** answered. Returns 0 if there is not enough memory. */
int pt_batch_complete(lua_State *L, pt_peer *p);

#endif
