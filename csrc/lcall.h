/*
** Calls to the other side: made by a task, which yields, by code outside of
** tasks, which turns the loop, or for an event. A call is over when it is taken
** out of the ring of pending calls: by its answer, its deadline, or the code
** that gives it up.
*/
#ifndef PT_LCALL_H
#define PT_LCALL_H

#include "lpeer.h"

#pragma GCC visibility push(hidden)

/* Prepares a new peer. */
void pt_call_init(pt_peer *p);

/* Gives the two values on top to what waited for an answer; they are taken off.
** A task is resumed now, or in the next turn if `soon`. */
void pt_call_complete(lua_State *L, void *waiter, int soon);

/* Adds call and notify, the methods of a Lua peer, and the value that stands
** for a missed deadline to the module's table, which is on top. */
void pt_call_add(lua_State *L);

/* Methods of its userdata: ask, complete_call and fail_calls. */
int pt_call_ask(lua_State *L);
int pt_call_complete_id(lua_State *L);
int pt_call_fail_all(lua_State *L);

#pragma GCC visibility pop

#endif
