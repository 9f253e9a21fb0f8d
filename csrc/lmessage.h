/*
** Parses messages: takes the text of one frame apart. The members of the
** envelope are read in one pass, in any order, and the payloads are decoded
** during that pass. The parts of the message are left on the stack.
*/
#ifndef PT_LMESSAGE_H
#define PT_LMESSAGE_H

#include "lpeer.h"

typedef enum pt_kind {
  PT_REQUEST,
  PT_NOTIFICATION,
  PT_RESULT,
  PT_ERROR,
  PT_STRAY, /* an answer to a call that is not pending */
  PT_INVALID,
  PT_NOISE
} pt_kind;

/* Integers other than `kind` and `call` are stack indexes; 0 stands for nil. */
typedef struct pt_message {
  pt_kind kind;
  int id; /* id of a request, or of an invalid message if it is known */
  int method;
  int payload;  /* params, result, error, or the report about an error */
  void *waiter; /* waiter of the call that a result or error has completed */
  /* id of the pending call that an invalid message would have answered, or 0;
  ** the call is still pending */
  int64_t call;
} pt_message;

/* The next three functions expect the peer alone on the stack. The text is in
** the fields text and text_len of the peer's input. It must not move meanwhile,
** although finalizers may run. They raise only if there is not enough memory.
*/

/* Reads a message, or the next member of a batch. `env` comes from the
** running function. */
void pt_message_read(lua_State *L, pt_peer *p, const pt_decode_env *env,
                     pt_message *m);

/* Reports bytes outside of any message. */
void pt_message_noise(lua_State *L, pt_peer *p, pt_message *m);

/* Reports a frame that the scanner has refused. */
void pt_message_refused(lua_State *L, pt_peer *p, const pt_frame_found *found,
                        pt_message *m);

#endif
