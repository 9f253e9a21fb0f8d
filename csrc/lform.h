/*
** The form of messages: that of own ids, the members that every message has
** beside jsonrpc, and what stands before a length. It is set when a peer is
** opened, and again once the protocol is known.
*/
#ifndef PT_LFORM_H
#define PT_LFORM_H

#include "lpeer.h"

#pragma GCC visibility push(hidden)

/* Raises; the value that is not as expected is on top. */
void pt_form_bad_option(lua_State *L, const char *name, const char *expected);

/* Messages have from now on the form that the table at `options` asks for, and
** as before where it asks for nothing. Either all of it changes, or it raises
** and nothing has. */
void pt_form_set(lua_State *L, pt_peer *p, int peer, int options);

/* Methods: speak and others. */
int pt_form_speak(lua_State *L);
int pt_form_others(lua_State *L);

#pragma GCC visibility pop

#endif
