/*
** What is wrong with the members that every message has beside jsonrpc: told
** with the member's name, what was expected and what came. The stream is at 1.
*/
#ifndef PT_LEXTRA_H
#define PT_LEXTRA_H

#include "lapi.h"
#include "lstream.h"

#pragma GCC visibility push(hidden)

/* Pushes what is wrong with those of a message, and returns it: `right` has the
** bits of those that are as they should be. If `odd_at` is not 0, it is where a
** wrong value of the one with the bit `odd` is. */
const char *pt_extra_wrong(lua_State *L, const pt_stream *s, unsigned right,
                           unsigned odd, int odd_at);

/* Looks for them among the other members that were kept of the last message: 1
** if they are as they should be, else what is wrong is pushed. */
int pt_extra_check_others(lua_State *L);

#pragma GCC visibility pop

#endif
