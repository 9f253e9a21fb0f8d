/*
** Starting a program. What the child shall be is data, a plan; nothing in here
** allocates, and the cost does not depend on the size of the caller.
*/
#ifndef PT_SPAWN_H
#define PT_SPAWN_H

#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* What one of the child's 0, 1 and 2 is if it is not a descriptor of ours. */
enum {
  PT_SPAWN_NULL = -1,    /* /dev/null */
  PT_SPAWN_INHERIT = -2, /* the same as ours; /dev/null if ours is closed */
  PT_SPAWN_PIPE = -3     /* one end of a new pipe, the other end is ours */
};

typedef enum pt_spawn_group {
  PT_SPAWN_OURS,   /* stays in our process group */
  PT_SPAWN_OWN,    /* leads a group of its own */
  PT_SPAWN_SESSION /* leads a session, and so a group, of its own */
} pt_spawn_group;

typedef struct pt_spawn_limit {
  const char *name; /* for the caller's messages */
  int resource;     /* RLIMIT_... */
  rlim_t soft;
  rlim_t hard;
} pt_spawn_limit;

#define PT_SPAWN_LIMITS 5

/* All pointers are the caller's and are only read. */
typedef struct pt_spawn_plan {
  const char *path; /* the file to execute, relative to cwd if relative */
  char *const *argv;
  char *const *envp;
  const char *cwd; /* NULL to stay */
  int stdio[3];    /* descriptors or PT_SPAWN_...; borrowed, never closed */
  pt_spawn_group group;
  int death_signal; /* sent to the child when our thread ends; 0 for none */
  pt_spawn_limit limits[PT_SPAWN_LIMITS];
  int nlimits;
} pt_spawn_plan;

typedef struct pt_spawn_child {
  pid_t pid;
  int watch;   /* readable when the child has ended; -1 if there is no such */
  int ends[3]; /* our ends of its pipes, non-blocking; -1 where there is none */
} pt_spawn_child;

typedef enum pt_spawn_stage {
  PT_SPAWN_AT_START, /* no descriptor, no memory or no process to be had */
  PT_SPAWN_AT_GROUP,
  PT_SPAWN_AT_DEATH_SIGNAL,
  PT_SPAWN_AT_STDIO, /* `which` is 0, 1 or 2 */
  PT_SPAWN_AT_CWD,
  PT_SPAWN_AT_LIMIT, /* `which` is an index into the plan's limits */
  PT_SPAWN_AT_EXEC
} pt_spawn_stage;

/* Where it failed and why, as it also travels from the child to us. */
typedef struct pt_spawn_failure {
  pt_spawn_stage stage;
  int which;
  int err;
} pt_spawn_failure;

/* 0 and `child` is filled in, and everything in it is the caller's; or -1 and
** `failure` is, and nothing is left behind, no descriptor and no process. */
int pt_spawn(const pt_spawn_plan *plan, pt_spawn_child *child,
             pt_spawn_failure *failure);

/* Finds the program `name` in the directories of `path`, as execvp would; NULL
** stands for the system's default. A name with a slash is only looked at. The
** result in `file` is absolute if it was searched for. 0, or an error number.
 */
int pt_spawn_find(const char *name, const char *path, char *file, size_t size);

/* A descriptor that becomes readable when the process ends, whosever child it
** is: a pidfd, or a kqueue with nothing else in it. -1 with errno set, which is
** ENOSYS where the system has neither. */
int pt_process_watch(pid_t pid);

/* Waits until `deadline`, as the clock has it, and reaps. 1 with the status as
** waitpid gives it; 0 if the child still runs at that time or when a signal
** came; -1 if it is not ours to wait for, since somebody else has reaped it.
** Without a `watch` it looks again every 1 to 16 ms. */
int pt_process_wait(pid_t pid, int watch, double deadline, int *status);

/* Sends a signal to a child that was not reaped yet, or to the group it leads;
** 0, or an error number. ECHILD: somebody else has reaped it, or the caller is
** a fork of the one whose child it is, and nobody was sent anything. */
int pt_process_kill(pid_t pid, int sig, int group);

/* "KILL" and the like, without SIG, both ways; 0 or NULL if there is none. */
int pt_signal_number(const char *name);
const char *pt_signal_name(int sig);

#pragma GCC visibility pop

#endif
