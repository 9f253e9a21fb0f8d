/*
** How a stream speaks: the form of its own ids, the members that every message
** has beside jsonrpc, and what stands before a length. It is told when the
** stream is opened, and again once it is known whom it speaks with.
*/
#ifndef PT_LSPEAK_H
#define PT_LSPEAK_H

#include "lapi.h"
#include "lstream.h"

#pragma GCC visibility push(hidden)

/* Speaks from now on as the table at `options` says, and as before where it
** says nothing. Either all of it changes, or it raises and nothing has. */
void pt_speech_set(lua_State *L, pt_stream *s, int stream, int options);

#pragma GCC visibility pop

#endif
