/*
** A poller as another wait sees it: one more descriptor to wait for.
*/
#ifndef PT_LPOLL_H
#define PT_LPOLL_H

#include "lapi.h"

#pragma GCC visibility push(hidden)

/* What is readable when the poller at `arg` has something ready; -1 where the
** system has only poll(2). Some things are ready without the system knowing:
** then `is_ready` is set, and there is nothing to wait for. Raises if it is no
** open poller. */
int pt_poller_fileno(lua_State *L, int arg, int *is_ready);

#pragma GCC visibility pop

#endif
