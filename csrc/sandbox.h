/*
** What a child may do, enforced by Linux: Landlock for files, TCP ports,
** signals and abstract sockets; a seccomp filter for system calls; namespaces
** and control groups. The parent makes the rules of Landlock, which several
** children may use. The child does the rest between vfork and exec: these
** functions allocate nothing, take no lock, and write only to their own stack.
*/
#ifndef PT_SANDBOX_H
#define PT_SANDBOX_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef enum pt_sandbox_access {
  PT_SANDBOX_READ, /* read and execute files, list directories */
  PT_SANDBOX_WRITE /* also write, create, rename and remove */
} pt_sandbox_access;

typedef struct pt_sandbox_path {
  const char *path; /* with all that is below it */
  pt_sandbox_access access;
  int is_optional; /* if it does not exist, that is fine */
  int is_fixed;    /* it leads to the same file as long as this process runs */
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

/* The file that a path led to; all members are 0 if there was none. */
typedef struct pt_sandbox_file {
  uint64_t mount;
  uint64_t device;
  uint64_t inode;
} pt_sandbox_file;

/* Rules of Landlock. While they are open, the kernel keeps the inodes of their
** files, so that no other file gets these numbers. */
typedef struct pt_sandbox_rules {
  int granted; /* descriptors; -1 for none */
  int needed;
  size_t nfiles;
  pt_sandbox_file *files; /* what `paths` and then `needs` led to */
} pt_sandbox_rules;

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
  pt_sandbox_rules *rules; /* made from the other members */
  int has_files;           /* Landlock restricts it to `paths` */
  int has_needs;           /* and to `needs` */
  int limits_connect;      /* Landlock restricts TCP connections to `ports` */
  int limits_listen;       /* and the ports that it may bind */
  int is_scoped;           /* Landlock confines signals and abstract sockets */
  int has_filter;          /* seccomp restricts its system calls */
  int is_partial;   /* rights that this kernel's Landlock lacks are left out */
  unsigned allowed; /* by the filter: PT_FILTER_TCP and so on */
  pt_sandbox_spaces spaces;
} pt_sandbox;

/* The version of Landlock's interface; 0 where there is none. */
int pt_sandbox_landlock(void);

/* Whether seccomp filters work here. */
int pt_sandbox_has_filter(void);

/* The functions below return NULL, or the step that failed with errno set. A
** step may have one %s, for which `name` is set. */

/* Makes rules, which the caller closes, also after a failure. Relative paths
** are relative to the directory `dir`. The caller has set the member `files`,
** with room for all paths. */
const char *pt_sandbox_make_rules(const pt_sandbox *s, int dir,
                                  pt_sandbox_rules *r, const char **name);

/* Whether rules that were made from the same sandbox, but for its paths, also
** fit these paths, because they lead to the same files. Never true before Linux
** 6.8, which cannot tell a mount from a later one. */
int pt_sandbox_rules_fit(const pt_sandbox *s, int dir,
                         const pt_sandbox_rules *r);

void pt_sandbox_close_rules(pt_sandbox_rules *r);

/* In the child. `join` comes first: it needs /proc and the control groups.
** `confine` comes after everything that the sandbox may forbid; from then on
** this process can only do what the sandbox allows. */
const char *pt_sandbox_join(const pt_sandbox *s, const char **name);
const char *pt_sandbox_confine(const pt_sandbox *s, const char **name);

#pragma GCC visibility pop

#endif
