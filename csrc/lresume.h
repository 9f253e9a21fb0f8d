/*
** Running threads that can be reached while they compute, see lresume.c; and
** telling a tick from a signal that wants to stop the program.
*/
#ifndef PT_LRESUME_H
#define PT_LRESUME_H

#include "lapi.h"

#pragma GCC visibility push(hidden)

/* Pushes the state's watch, which the next function has to be given. */
void pt_watch_push(lua_State *L);

/* Whether this thread is the innermost that is resumed by these functions. */
int pt_resume_is_innermost(lua_State *L, int watch);

/* Whether there is none. */
int pt_resume_is_none(lua_State *L, int watch);

/* Resumes the thread with `n` values, which are on top of the stack. The status
** that it is left in; the `results` are on its own stack, to be taken off. */
int pt_resume(lua_State *L, int watch, lua_State *thread, int n, int *results);

/* The innermost thread waits for something by itself from here on, until it
** goes on: nobody computes meanwhile, and no tick is needed. */
typedef struct pt_activation pt_activation;
pt_activation *pt_resume_pause(lua_State *L, int watch);
void pt_resume_go_on(lua_State *L, int watch, pt_activation *paused);

/* Whether it yielded nothing but core.parked, which is then taken off. */
int pt_resume_is_parked(lua_State *thread, int status, int results);
void pt_resume_push_parked(lua_State *L);

/* Puts what else it did in place of the thread, which is on top: "resumed", the
** thread, whether it went well, and what it yielded, returned or raised first.
*/
void pt_resume_tell(lua_State *L, int status, int results);

/* For a wait that a signal has cut short: whether the program is to stop. Then
** the signal's handler has set a hook in place of `before`, the one there was
** when the wait began, and it runs only when we return: so lua.c does on
** Ctrl-C. The hook of a tick is no such one: it can wait. */
int pt_is_stopped(lua_State *L, lua_Hook before);

#pragma GCC visibility pop

#endif
