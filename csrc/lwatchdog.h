/*
** The watchdog: it interrupts tasks that compute without yielding.
**
** A count hook alone would do, but Lua runs at half its speed with one. So
** there is no hook until a timer finds the same thread running that it found
** at its last tick. Then the tick sets a hook for one instruction. There is no
** tick while no task runs, so an idle process is not woken.
**
** Hooks of the program (debuggers, coverage, quotas) do not notice that:
** - The hook of the watchdog passes on the events of the hook that it stands
**   in for, and restores that hook when the one instruction has run.
** - lua_sethook starts a count over, and Lua has no function for the rest of a
**   count. So the watchdog finds the place of that number in a thread: it sets
**   two counts in a new thread and looks where both appear. It takes the
**   number over, counts on while its own hook is set, calls the program's hook
**   when that is due, and writes the number back. In a Lua without such a
**   place a count starts over at an interruption.
** - A task begins with the hook of the main thread. A hook belongs to one
**   thread, so tools wrap `coroutine.create` to reach every thread. Calling it
**   for tasks would not be enough: their threads are used again, and can be
**   older than the tool. A hook that a function sets in its task ends with it.
*/
#ifndef PT_LWATCHDOG_H
#define PT_LWATCHDOG_H

#include "core.h"

typedef struct pt_watch pt_watch;

/* Returns the watchdog of this state, and creates it on the first call. */
pt_watch *pt_watch_get(lua_State *L);

/* Resumes the thread with the `n` values on its stack. Returns the status of
** lua_resume; the results are on the thread's stack, their number in
** `*results`. */
int pt_watch_resume(pt_watch *w, lua_State *L, lua_State *thread, int n,
                    int *results);

/* Gives the thread the hook of the main thread, or none. Raises if there is not
** enough memory, and then nothing has changed. */
void pt_watch_set_hook(const pt_watch *w, lua_State *L, lua_State *thread);

/* Between these two calls no task counts as running. */
typedef struct pt_activation pt_activation;
pt_activation *pt_watch_pause(pt_watch *w);
void pt_watch_unpause(pt_watch *w, pt_activation *paused);

/* Whether the thread has a hook for every call and every instruction. Signal
** handlers that stop the program set such a hook, as lua.c does at Ctrl-C. */
int pt_has_stop_hook(lua_State *L);

/* For a wait that a signal has interrupted: whether the signal handler has
** replaced `before`, the hook at the beginning of the wait. If so, the wait
** must return so that the new hook runs. The hook of the watchdog does not
** count. */
int pt_is_stopped(lua_State *L, lua_Hook before);

#endif
