/*
** Descriptors that never block, and the clock. Every descriptor opened here is
** closed on exec and has a number above 2. So it never takes the place of a
** stdin, stdout or stderr that the program has closed.
*/
#ifndef PT_IO_H
#define PT_IO_H

#include <stddef.h>
#include <sys/types.h>

/* The clock of all deadlines, in seconds. It never goes backwards. */
double pt_clock_now(void);

/* ====== Reading and writing ======
** These functions never wait, whatever the descriptor is: a non-blocking one, a
** socket (each call has a flag), or one that is shared with other programs and
** must stay blocking (it is polled before each call). */

typedef struct pt_io {
  int fd; /* -1 when closed */
  int is_socket;
  int may_block;
  int is_enlarged; /* was enlarged already, or is not a pipe */
  int is_pipe;
  /* made blocking by pt_io_read_blocking; other reads pass a flag that prevents
  ** waiting */
  int is_blocking;
} pt_io;

/* Sets all fields for `fd`. Returns 0, or an error number if `fd` is not open.
*/
int pt_io_init(pt_io *io, int fd);

/* As read and write, but they return -1 with EAGAIN instead of waiting. They
** never fail with EINTR. */
ssize_t pt_io_read(pt_io *io, char *buffer, size_t len);
ssize_t pt_io_write(const pt_io *io, const char *bytes, size_t len);

/* Whether pt_io_read_blocking may be tried. */
int pt_io_can_block(const pt_io *io);

/* As read, and waits until there is input: one system call instead of a wait
** and a read. Only for a pipe that is not shared with other programs, because
** its open file description becomes blocking. Returns -1 with ENOTSUP where the
** system does not support this, with EINTR if a signal arrived, and with EAGAIN
** if the open file description was made non-blocking meanwhile. */
ssize_t pt_io_read_blocking(pt_io *io, char *buffer, size_t len);

/* Enlarges a pipe, where the system supports that, the first time that `len` is
** more than a pipe holds by default. */
void pt_io_enlarge(pt_io *io, size_t len);

/* Makes a write to a closed pipe fail with EPIPE instead of killing the
** process. Does nothing if the program has changed the action of SIGPIPE. */
void pt_ignore_sigpipe(void);

/* ====== Opening and closing ====== */

/* Opens a pipe: [0] is the read end, [1] the write end. Returns 0 or an error
** number. */
int pt_fd_pipe(int ends[2]);

/* Opens a pair of Unix stream sockets. Returns 0 or an error number. */
int pt_fd_socketpair(int ends[2]);

/* Takes the result of a system call that opens a descriptor (-1 if it failed),
** with the close-on-exec flag where the call has one. Returns a descriptor that
** is closed on exec and numbered above 2. On failure closes the descriptor and
** returns -1 with errno set. */
int pt_fd_make_private(int fd);

/* Makes the open file description of `fd` non-blocking. Returns 0 or an error
** number. */
int pt_fd_set_nonblocking(int fd);

/* Closes *fd unless it is -1, and sets it to -1. Preserves errno. */
void pt_fd_close(int *fd);

/* Moves stdin and stdout to private descriptors. They are non-blocking if they
** are pipes or sockets; a terminal or a file is shared with other programs and
** stays blocking. Descriptor 0 becomes /dev/null. Descriptor 1 becomes stderr,
** or /dev/null if there is no stderr. If `output` is NULL, stdout stays as it
** is. Returns 0, or an error number, and then nothing has changed. */
int pt_fd_claim(int *input, int *output);

#endif
