/*
** What comes in: messages are sent on to the calls that wait for them, to
** handlers, or to the policy. A handler runs in a task, and what it returns is
** the answer.
*/
#ifndef PT_LDISPATCH_H
#define PT_LDISPATCH_H

#include "lpeer.h"

#pragma GCC visibility push(hidden)

/* Tells the loop how to read peers. */
void pt_dispatch_set_hooks(lua_State *L, pt_loop *lp);

void pt_dispatch_read_link(lua_State *L, pt_link *to_read); /* for the loop */

/* Whether one more request may be begun. */
int pt_dispatch_has_room(const pt_peer *p);

/* Methods: handle, listen and requests. */
int pt_dispatch_handle(lua_State *L);
int pt_dispatch_receive_only(lua_State *L);
int pt_dispatch_requests(lua_State *L);

#pragma GCC visibility pop

#endif
