/*
** What a child may do, enforced by Linux: Landlock for files, TCP ports,
** signals and abstract sockets; a seccomp filter for system calls; namespaces
** and control groups. Every function here may be called between vfork and exec:
** it allocates nothing, takes no lock, and writes only to its own stack.
*/
#ifndef PT_SANDBOX_H
#define PT_SANDBOX_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

typedef enum pt_sandbox_access {
  PT_SANDBOX_READ, /* read and execute files, list directories */
  PT_SANDBOX_WRITE /* also write, create, rename and remove */
} pt_sandbox_access;

typedef struct pt_sandbox_path {
  const char *path; /* with all that is below it */
  pt_sandbox_access access;
  int is_optional; /* if it does not exist, that is fine */
} pt_sandbox_path;

typedef struct pt_sandbox_port {
  unsigned short number;
  int may_listen; /* otherwise the child may connect to it */
} pt_sandbox_port;

typedef enum pt_sandbox_spaces {
  PT_SANDBOX_SHARED, /* no namespaces of its own */
  PT_SANDBOX_USER,   /* a user namespace, in which its processes are counted */
  PT_SANDBOX_NETWORK /* also namespaces for the network and for System V IPC */
} pt_sandbox_spaces;

/* All pointers belong to the caller and are only read. */
typedef struct pt_sandbox {
  const pt_sandbox_path *paths;
  size_t npaths;
  const pt_sandbox_path *needs; /* a path must be in both lists */
  size_t nneeds;
  const pt_sandbox_port *ports;
  size_t nports;
  const char *const *groups; /* files cgroup.procs */
  size_t ngroups;
  int has_files;      /* Landlock restricts it to `paths` */
  int has_needs;      /* and to `needs` */
  int limits_connect; /* Landlock restricts TCP connections to `ports` */
  int limits_listen;  /* and the ports that it may bind */
  int is_scoped;      /* Landlock confines signals and abstract sockets */
  int has_filter;     /* seccomp restricts its system calls */
  int is_partial; /* rights that this kernel's Landlock lacks are left out */
  unsigned sockets;
  pt_sandbox_spaces spaces;
} pt_sandbox;

/* The version of Landlock's interface; 0 where there is none. */
int pt_sandbox_landlock(void);

/* Whether seccomp filters work here. */
int pt_sandbox_has_filter(void);

/* Both return NULL, or the step that failed with errno set. A step may have one
** %s, for which `name` is set. `join` comes first: it needs /proc and the
** control groups. `confine` comes after the descriptors are in place; from then
** on this process can only do what the sandbox allows. */
const char *pt_sandbox_join(const pt_sandbox *s, const char **name);
const char *pt_sandbox_confine(const pt_sandbox *s, const char **name);

#pragma GCC visibility pop

#endif
