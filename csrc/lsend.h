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
** request what waits for the answer. */
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

#pragma GCC visibility pop

#endif
