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
  int is_pipe;
  int is_patient; /* blocks, but is asked not to read by read */
} pt_io;

/* Looks at what kind `fd` is; 0, or an error number if it is not open. */
int pt_io_init(pt_io *io, int fd);

/* As read and write, but -1 with EAGAIN rather than waiting; EINTR never. */
ssize_t pt_io_read(pt_io *io, char *buffer, size_t len);
ssize_t pt_io_write(const pt_io *io, const char *bytes, size_t len);

/* Whether it is worth trying to read patiently. */
int pt_io_can_be_patient(const pt_io *io);

/* As read, and waits for as long as it takes: one system call where asking
** whether there is something takes two. Only for a pipe that is not shared with
** others, because its open file is made blocking; -1 with ENOTSUP where that
** cannot be done, with EINTR if a signal came, and with EAGAIN if its open
** file was made non-blocking meanwhile. */
ssize_t pt_io_read_patiently(pt_io *io, char *buffer, size_t len);

/* Makes a pipe hold more at once, where that can be had, the first time that
** `len` bytes are more than a pipe usually holds. */
void pt_io_widen(pt_io *io, size_t len);

#pragma GCC visibility pop

#endif
