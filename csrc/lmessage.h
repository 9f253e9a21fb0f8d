/*
** What a message is: the text of one frame taken apart. The members of the
** envelope are read in one pass, whatever their order, and the payloads are
** decoded on the way. Its parts are left on the stack.
*/
#ifndef PT_LMESSAGE_H
#define PT_LMESSAGE_H

#include "lpeer.h"

#pragma GCC visibility push(hidden)

typedef enum pt_kind {
  PT_REQUEST,
  PT_NOTIFICATION,
  PT_RESULT,
  PT_ERROR,
  PT_STRAY, /* answers no call that waits */
  PT_INVALID,
  PT_NOISE
} pt_kind;

/* The indexes are places on the stack; 0 stands for nil. */
typedef struct pt_message {
  pt_kind kind;
  int id; /* of a request; of an invalid message, if it is known */
  int method;
  int payload;  /* params, result, error, or the report of what is wrong */
  void *waiter; /* of a result or error: the call no longer waits */
  int64_t call; /* the call that an invalid message would have answered; 0 for
                ** none. It still waits */
} pt_message;

/* The next three are called with the peer alone on the stack. The text is in
** the fields text and text_len of the input; all of it must stay put meanwhile,
** and finalizers may run. They raise only when memory is short. */

/* A whole message, or the next member of a batch that was begun. The words are
** those of the running function. */
void pt_message_read(lua_State *L, pt_peer *p, const pt_vocabulary *words,
                     pt_message *m);

/* Bytes outside of any message. */
void pt_message_noise(lua_State *L, pt_peer *p, pt_message *m);

/* A frame that is refused. */
void pt_message_refused(lua_State *L, pt_peer *p, const pt_frame_found *found,
                        pt_message *m);

/* The values of the extra members of a message are on the stack from `first`
** on, nil where one is missing: NULL if all are as they should be, else pushes
** what is wrong and returns it. The peer is at 1. */
const char *pt_message_check_extra(lua_State *L, const pt_peer *p, int first);

#pragma GCC visibility pop

#endif
