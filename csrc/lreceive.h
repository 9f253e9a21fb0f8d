/*
** Reading: bytes into the buffer, frames out of it, and one message at a time.
** A payload is decoded where it stands, straight out of the buffer, which is
** held in place meanwhile.
**
** Decoding raises when memory is short, and the input is still held in place
** then: such a peer is given up (ldispatch.c).
*/
#ifndef PT_LRECEIVE_H
#define PT_LRECEIVE_H

#include "ljson.h"
#include "lmessage.h"
#include "lpeer.h"

#pragma GCC visibility push(hidden)

/* A function that receives has the peer alone on its stack, and as its first
** upvalues what is pushed here. */
#define PT_RECEIVE_UPVALUES (PT_NAMES_UPVALUES + 1)
void pt_receive_push_upvalues(lua_State *L);

/* One message: 1 if there is one, its parts on the stack; 0 if there is none
** yet; -1 if none will come, and why and the kind of that are on top. */
int pt_receive(lua_State *L, pt_peer *p, pt_message *m);

/* Whether it is worth asking for another message at once. */
int pt_receive_has_more(const pt_peer *p);

/* Waits for input by reading it, where nothing else is to be waited for: 1 if
** something came, or the end; 0 if it cannot be done so; -1 if a signal came.
*/
int pt_receive_wait(lua_State *L, pt_peer *p);

#pragma GCC visibility pop

#endif
