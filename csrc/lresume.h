/*
** Running threads that can be reached while they compute, see lresume.c; and
** telling a tick from a signal that wants to stop the program.
*/
#ifndef PT_LRESUME_H
#define PT_LRESUME_H

#include <lua.h>

#pragma GCC visibility push(hidden)

/* Pushes the state's watch, which the next function has to be given. */
void pt_watch_push(lua_State *L);

/* On top are "result", id, a thread that waits for it, and the result. Resumes
** the thread with that. 0 if it only waits again, and then the four are gone;
** else what is on top instead is "resumed", the thread, whether it went well,
** and what it yielded, returned or raised. */
int pt_resume_waiter(lua_State *L, int watch);

/* For a wait that a signal has cut short: whether the program is to stop. Then
** the signal's handler has set a hook in place of `before`, the one there was
** when the wait began, and it runs only when we return: so lua.c does on
** Ctrl-C. The hook of a tick is no such one: it can wait. */
int pt_is_stopped(lua_State *L, lua_Hook before);

#pragma GCC visibility pop

#endif
