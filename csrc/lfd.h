/*
** A descriptor as a Lua object that closes itself. Every function of the core
** that takes a descriptor accepts an integer, which stays the caller's, or such
** an object. It takes ownership of an object's descriptor where
** lua/pintle/_meta/core.lua says so: the object is then closed, and the core
** owns the number.
*/
#ifndef PT_LFD_H
#define PT_LFD_H

#include <poll.h>

#include "core.h"
#include "io.h"

typedef struct pt_fd {
  int fd; /* -1 when closed or when its ownership was transferred */
} pt_fd;

/* Pushes a new, closed object. The caller then sets its `fd`. */
pt_fd *pt_fd_push(lua_State *L);

/* Returns the number of an integer or an open object. Raises for any other
** value. */
int pt_fd_check(lua_State *L, int arg);

/* Returns the object at `arg`, open or closed; NULL if it is not one. */
pt_fd *pt_fd_test(lua_State *L, int arg);

/* Waits until a descriptor is ready or the time is over; a negative time means
** no limit. Returns 0 or an error number: EINTR if a signal handler asks the
** program to stop. Other signals do not end the wait. */
int pt_fd_wait(lua_State *L, struct pollfd *fds, int n, double seconds);

#endif
