/*
** Descriptors: new pairs of them, the process' own three, the terminal behind
** one. Whatever is opened here is closed on exec and numbered above 2, so that
** a program that closed its stdin does not find a pipe in its place.
*/
#ifndef PT_FD_H
#define PT_FD_H

#pragma GCC visibility push(hidden)

/* A new pipe, [0] to read and [1] to write; 0, or an error number. */
int pt_fd_pipe(int ends[2]);

/* A new Unix stream socket pair; 0, or an error number. */
int pt_fd_socketpair(int ends[2]);

/* The same descriptor or, instead of one in 0..2, a copy that is closed on
** exec; -1 with errno set. */
int pt_fd_above_stdio(int fd);

/* Makes the open file behind `fd` non-blocking; 0, or an error number. */
int pt_fd_nonblock(int fd);

/* Closes unless it is -1, and makes it -1. Keeps errno. */
void pt_fd_drop(int *fd);

/* Moves stdin and stdout to private descriptors, non-blocking if they are pipes
** or sockets; a terminal or a file is shared with others and is left as it is.
** Descriptor 0 becomes /dev/null, and 1 becomes stderr, or /dev/null if there
** is none. 0, or an error number, and then nothing has changed. */
int pt_fd_claim(int *input, int *output);

/* Width of the terminal behind `fd`; 0 if it is none or does not say. */
int pt_fd_columns(int fd);

/* Has writes to a reader that is gone fail with EPIPE instead of killing the
** process. Does nothing if the program has decided about SIGPIPE itself. */
void pt_ignore_sigpipe(void);

#pragma GCC visibility pop

#endif
