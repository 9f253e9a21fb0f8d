/*
** Running threads that can be reached while they compute, see lwatchdog.c; and
** telling a tick from a signal that wants to stop the program.
*/
#ifndef PT_LWATCHDOG_H
#define PT_LWATCHDOG_H

#include "lapi.h"

#pragma GCC visibility push(hidden)

typedef struct pt_watch pt_watch;

/* The watch of this state; made if there is none yet. */
pt_watch *pt_watch_get(lua_State *L);

/* Resumes the thread with the `n` values that are on its stack. The status that
** it is left in; the `results` are on its own stack, to be taken off. */
int pt_watch_resume(pt_watch *w, lua_State *L, lua_State *thread, int n,
                    int *results);

/* Nobody computes from here on, until it goes on. */
typedef struct pt_activation pt_activation;
pt_activation *pt_watch_pause(pt_watch *w);
void pt_watch_go_on(pt_watch *w, pt_activation *paused);

/* For a wait that a signal has cut short: whether the program is to stop. Then
** the signal's handler has set a hook in place of `before`, the one there was
** when the wait began, and it runs only when we return: so lua.c does on
** Ctrl-C. The hook of a tick is no such one: it can wait. */
int pt_is_stopped(lua_State *L, lua_Hook before);

#pragma GCC visibility pop

#endif
