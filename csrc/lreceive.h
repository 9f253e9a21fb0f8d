/*
** Reading one message, for the functions that hand it over.
*/
#ifndef PT_LRECEIVE_H
#define PT_LRECEIVE_H

#include "lapi.h"
#include "lclassify.h"
#include "lstream.h"

#pragma GCC visibility push(hidden)

/* A function that receives has the stream alone on its stack, and as its first
** upvalues what is pushed here. */
#define PT_RECEIVE_UPVALUES (PT_CLASSIFY_UPVALUES + 1)
void pt_stream_push_receive_upvalues(lua_State *L);

/* Pushes the results of stream:receive, and returns how many they are: five if
** there is a message, whose kind is then in the stream's field `kind`. */
int pt_stream_receive(lua_State *L, pt_stream *s, double spin);

/* Whether it is worth asking for another message at once. */
int pt_stream_has_more(const pt_stream *s);

/* The argument `spin`, which is taken off the stack. */
double pt_stream_check_spin(lua_State *L);

#pragma GCC visibility pop

#endif
