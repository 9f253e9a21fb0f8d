/*
** Reading and writing that never waits, whatever kind of descriptor it is: one
** that is non-blocking already, a socket (asked not to wait call by call), or
** one that is shared with others and must be left blocking (asked first).
*/
#ifndef PT_IO_H
#define PT_IO_H

#include <stddef.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

typedef struct pt_io {
  int fd; /* -1 when closed */
  int is_socket;
  int may_block;
  int is_wide; /* a pipe that was made as large as it may be */
} pt_io;

/* Looks at what kind `fd` is; 0, or an error number if it is not open. */
int pt_io_init(pt_io *io, int fd);

/* As read and write, but -1 with EAGAIN rather than waiting; EINTR never. */
ssize_t pt_io_read(const pt_io *io, char *buffer, size_t len);
ssize_t pt_io_write(const pt_io *io, const char *bytes, size_t len);

/* Makes a pipe hold more at once, where that can be had, the first time that
** `len` bytes are more than a pipe usually holds. */
void pt_io_widen(pt_io *io, size_t len);

#pragma GCC visibility pop

#endif
