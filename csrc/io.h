/*
** Descriptors that never block, and the clock. A descriptor that is opened here
** is closed on exec and numbered above 2, so that it never takes the place of a
** stdin, stdout or stderr that the program has closed.
*/
#ifndef PT_IO_H
#define PT_IO_H

#include <stddef.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* The clock of all deadlines: seconds, and it never goes back. */
double pt_clock_now(void);

/* {====== Reading and writing ======
** It never waits, whatever the descriptor is: a non-blocking one, a socket
** (each call has a flag), or one that is shared with other programs and must
** stay blocking (polled before each call). */

typedef struct pt_io {
  int fd; /* -1 when closed */
  int is_socket;
  int may_block;
  int is_enlarged; /* a pipe that was enlarged, or no pipe */
  int is_pipe;
  int is_blocking; /* blocking; each read has a flag that it must not wait */
} pt_io;

/* Sets all fields for `fd`; 0, or an error number if it is not open. */
int pt_io_init(pt_io *io, int fd);

/* As read and write, but -1 with EAGAIN rather than waiting; EINTR never. */
ssize_t pt_io_read(pt_io *io, char *buffer, size_t len);
ssize_t pt_io_write(const pt_io *io, const char *bytes, size_t len);

/* Whether pt_io_read_blocking may be tried. */
int pt_io_can_block(const pt_io *io);

/* As read, and waits for as long as it takes: one system call instead of a wait
** and a read. Only for a pipe that is not shared with other programs, because
** its open file is made blocking. -1 with ENOTSUP where that cannot be done,
** with EINTR if a signal came, and with EAGAIN if its open file was made
** non-blocking meanwhile. */
ssize_t pt_io_read_blocking(pt_io *io, char *buffer, size_t len);

/* Enlarges a pipe, where the system can, the first time that `len` is more than
** a pipe holds by default. */
void pt_io_enlarge(pt_io *io, size_t len);

/* Makes a write to a closed pipe fail with EPIPE instead of killing the
** process. Does nothing if the program has changed the action of SIGPIPE. */
void pt_ignore_sigpipe(void);

/* }====== */

/* {====== Opening and closing ====== */

/* A new pipe, [0] to read and [1] to write; 0, or an error number. */
int pt_fd_pipe(int ends[2]);

/* A new Unix stream socket pair; 0, or an error number. */
int pt_fd_socketpair(int ends[2]);

/* Takes the result of a system call that opens a descriptor, with a flag to
** close it on exec where there is one, or -1. Returns a descriptor that is
** closed on exec and numbered above 2; or -1 with errno set, and it is closed.
*/
int pt_fd_make_private(int fd);

/* Makes the open file behind `fd` non-blocking; 0, or an error number. */
int pt_fd_set_nonblocking(int fd);

/* Closes unless it is -1, and makes it -1. Keeps errno. */
void pt_fd_close(int *fd);

/* Moves stdin and stdout to private descriptors, non-blocking if they are pipes
** or sockets; a terminal or a file is shared with other programs and stays
** blocking. Descriptor 0 becomes /dev/null, and 1 becomes stderr, or /dev/null
** if there is none. 0, or an error number, and then nothing has changed. */
int pt_fd_claim(int *input, int *output);

/* }====== */

#pragma GCC visibility pop

#endif
