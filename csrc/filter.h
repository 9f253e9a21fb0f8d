/*
** The system calls of a sandboxed child: a seccomp filter, as a program of the
** kernel's classic BPF. Building it allocates nothing and calls nothing, so it
** may be done between vfork and exec.
*/
#ifndef PT_FILTER_H
#define PT_FILTER_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* What only some children may do: make sockets of these kinds (without any, a
** child may still make pairs of connected sockets), and watch files. */
enum {
  PT_FILTER_TCP = 1,
  PT_FILTER_UDP = 2,
  PT_FILTER_UNIX = 4,
  PT_FILTER_INTERNET = 8, /* every socket of IPv4 and IPv6, also raw ones */
  PT_FILTER_LISTEN = 16,  /* its sockets of TCP may listen */
  PT_FILTER_WATCH = 32    /* learn of every use of any file and directory */
};

/* As struct sock_filter of the kernel. */
typedef struct pt_filter_op {
  uint16_t code;
  uint8_t if_true;
  uint8_t if_false;
  uint32_t k;
} pt_filter_op;

#define PT_FILTER_SIZE 512

/* Writes a program to `ops`, which has room for PT_FILTER_SIZE, and returns its
** length; 0 if this architecture is not supported.
**
** The program refuses (EPERM) calls that reach out of the sandbox: those that
** look into or change other processes, mount, load code into the kernel, change
** owners, permissions, times and attributes of files or watch them (which
** Landlock does not restrict), leave the session, ask for another death signal
** than SIGKILL, make namespaces, make other sockets than `allowed` says, and
** most requests of ioctl. Calls that are newer than this file are unknown
** (ENOSYS). A program of another architecture, such as a 32-bit one, is killed.
*/
size_t pt_filter_build(pt_filter_op *ops, unsigned allowed);

#pragma GCC visibility pop

#endif
