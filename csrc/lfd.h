/*
** A descriptor as a Lua object that closes itself. Wherever the core takes a
** descriptor, it takes an integer, which stays the caller's, or such an object,
** which it takes over: the object is closed, and the core owns the number.
*/
#ifndef PT_LFD_H
#define PT_LFD_H

#include <poll.h>

#include "core.h"
#include "io.h"

#pragma GCC visibility push(hidden)

typedef struct pt_fd {
  int fd; /* -1 when closed or taken */
} pt_fd;

/* Pushes a new object, born closed; the caller then sets its `fd`. */
pt_fd *pt_fd_push(lua_State *L);

/* The number behind an integer or an open object; raises for anything else. */
int pt_fd_check(lua_State *L, int arg);

/* The object at `arg` if it is one, open or not; else NULL. */
pt_fd *pt_fd_test(lua_State *L, int arg);

/* Waits until a descriptor is ready or the time is over; negative seconds are
** for ever. 0, or an error number: EINTR if a signal is to stop the program;
** any other signal does not end the wait. */
int pt_fd_wait(lua_State *L, struct pollfd *fds, int n, double seconds);

#pragma GCC visibility pop

#endif
