/*
** Starts programs. A plan describes the child. No function here allocates, and
** the time that a start takes does not depend on the memory size of the caller.
*/
#ifndef PT_SPAWN_H
#define PT_SPAWN_H

#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "sandbox.h"

#pragma GCC visibility push(hidden)

/* Values of the plan's `stdio` that are not descriptors of ours. */
enum {
  PT_SPAWN_NULL = -1,    /* /dev/null */
  PT_SPAWN_INHERIT = -2, /* the same as ours; /dev/null if ours is closed */
  PT_SPAWN_PIPE = -3     /* one end of a new pipe; we keep the other end */
};

typedef enum pt_spawn_group {
  PT_SPAWN_OURS,   /* stays in our process group */
  PT_SPAWN_OWN,    /* leads a group of its own */
  PT_SPAWN_SESSION /* leads a session, and therefore a group, of its own */
} pt_spawn_group;

typedef struct pt_spawn_limit {
  const char *name; /* for the caller's messages */
  int resource;     /* RLIMIT_... */
  rlim_t soft;
  rlim_t hard;
} pt_spawn_limit;

#define PT_SPAWN_LIMITS 6

/* All pointers belong to the caller and are only read. */
typedef struct pt_spawn_plan {
  /* the file to execute; a relative path is relative to cwd */
  const char *path;
  int program; /* executed instead of `path`; -1 for none, borrowed */
  char *const *argv;
  char *const *envp;
  const char *cwd; /* NULL: the current directory */
  int stdio[3];    /* descriptors or PT_SPAWN_...; borrowed, never closed */
  pt_spawn_group group;
  int death_signal; /* sent to the child when our thread ends; 0 for none */
  pt_spawn_limit limits[PT_SPAWN_LIMITS];
  int nlimits;
  pt_sandbox *sandbox; /* NULL for none */
} pt_spawn_plan;

/* "stdin", "stdout" and "stderr". */
extern const char *const pt_spawn_stdio[3];

typedef struct pt_spawn_child {
  pid_t pid;
  int watch; /* readable when the child has ended; -1 if unsupported */
  /* our ends of its pipes, non-blocking; -1 where there is no pipe */
  int ends[3];
} pt_spawn_child;

/* The step that failed, and its error. The child is a copy of this process, so
** the pointers that it sends are valid here too. */
typedef struct pt_spawn_failure {
  const char *step; /* such as "cannot enter \"%s\"", with at most one %s */
  const char *name; /* for the %s; static or the plan's */
  int err;
} pt_spawn_failure;

/* Returns 0, and then the caller owns everything in `child`. On failure returns
** -1 with `failure` set, and leaves no descriptor and no process behind. */
int pt_spawn(const pt_spawn_plan *plan, pt_spawn_child *child,
             pt_spawn_failure *failure);

/* Finds the program `name` in the directories of `path`, as execvp does; NULL
** means the system's default path. A name with a slash is not searched for,
** only checked. The result in `file` is absolute if it was searched for.
** Returns 0 or an error number. */
int pt_spawn_find(const char *name, const char *path, char *file, size_t size);

/* Returns a descriptor that becomes readable when the process ends. It may be
** any process, not only a child. The descriptor is a pidfd, or a kqueue that
** contains nothing else. On failure returns -1 with errno set: ENOSYS where the
** system has neither. */
int pt_process_watch(pid_t pid);

/* Whether the child has ended, which leaves it to be reaped; -1 if other code
** has reaped it. */
int pt_process_has_ended(pid_t pid);

/* Sends a signal to a child that was not reaped yet, or to the group that it
** leads. Returns 0 or an error number. ECHILD means that nothing was sent:
** other code has reaped the child, or the caller is a fork of the child's
** parent. */
int pt_process_kill(pid_t pid, int sig, int group);

/* Sends SIGKILL to every process of the session `sid`, whatever its group, and
** does so again until none is left or `timeout` seconds have passed. `proc` is
** an open descriptor of /proc. The leader may be a zombie, which keeps the
** number from being reused, but must not be reaped. */
void pt_session_kill(pid_t sid, int proc, double timeout);

/* Names have no SIG prefix, as in "KILL". Return 0 or NULL if there is no such
** signal. */
int pt_signal_number(const char *name);
const char *pt_signal_name(int sig);

#pragma GCC visibility pop

#endif
