/*
** Descriptors that never block, and the clock. A descriptor that is opened here
** is closed on exec and numbered above 2, so that a program that has closed its
** stdin does not find a pipe in its place.
*/
#ifndef PT_IO_H
#define PT_IO_H

#include <stddef.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* The clock of all deadlines: seconds, and it never goes back. */
double pt_clock_now(void);

/* {====== Reading and writing ======
** It never waits, whatever kind of descriptor it is: one that is non-blocking
** already, a socket (asked not to wait call by call), or one that is shared
** with others and must be left blocking (asked first). */

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

/* Has writes to a reader that is gone fail with EPIPE instead of killing the
** process. Does nothing if the program has decided about SIGPIPE itself. */
void pt_ignore_sigpipe(void);

/* }====== */

/* {====== Opening and closing ====== */

/* A new pipe, [0] to read and [1] to write; 0, or an error number. */
int pt_fd_pipe(int ends[2]);

/* A new Unix stream socket pair; 0, or an error number. */
int pt_fd_socketpair(int ends[2]);

/* What a system call has just returned, -1 included, as a descriptor that is
** closed on exec and numbered above 2; -1 with errno set, and it is closed. */
int pt_fd_settle(int fd);

/* Makes the open file behind `fd` non-blocking; 0, or an error number. */
int pt_fd_nonblock(int fd);

/* Closes unless it is -1, and makes it -1. Keeps errno. */
void pt_fd_drop(int *fd);

/* Moves stdin and stdout to private descriptors, non-blocking if they are pipes
** or sockets; a terminal or a file is shared with others and is left as it is.
** Descriptor 0 becomes /dev/null, and 1 becomes stderr, or /dev/null if there
** is none. 0, or an error number, and then nothing has changed. */
int pt_fd_claim(int *input, int *output);

/* }====== */

#pragma GCC visibility pop

#endif
