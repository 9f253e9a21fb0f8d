#define _GNU_SOURCE

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <paths.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fd.h"
#include "process.h"

/* Everything that is open while a child is being started. */
typedef struct links {
  int sources[3]; /* what becomes the child's 0, 1, 2; or PT_SPAWN_NULL */
  int theirs[3];  /* the child's ends of pipes, which we close after all */
  int ours[3];    /* our ends of the same */
  int report[2];  /* on which the child says why it could not become it */
} links;

static int fail(pt_spawn_failure *failure, pt_spawn_stage stage, int which,
                int err) {
  failure->stage = stage;
  failure->which = which;
  failure->err = err;
  return -1;
}

static void close_theirs(links *l) {
  int i;
  for (i = 0; i < 3; i++)
    pt_fd_drop(&l->theirs[i]);
  pt_fd_drop(&l->report[1]);
}

static void close_all(links *l) {
  int i;
  close_theirs(l);
  for (i = 0; i < 3; i++)
    pt_fd_drop(&l->ours[i]);
  pt_fd_drop(&l->report[0]);
}

static int is_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

/* Before anything is opened: a number that is free now might be taken by one
** of our own pipes in a moment. */
static int find_sources(const pt_spawn_plan *plan, links *l,
                        pt_spawn_failure *failure) {
  int i;
  for (i = 0; i < 3; i++) {
    int source = plan->stdio[i];
    if (source == PT_SPAWN_INHERIT)
      source = is_open(i) ? i : PT_SPAWN_NULL;
    if (source >= 0 && !is_open(source))
      return fail(failure, PT_SPAWN_AT_STDIO, i, EBADF);
    l->sources[i] = source;
    l->theirs[i] = l->ours[i] = -1;
  }
  l->report[0] = l->report[1] = -1;
  return 0;
}

static int open_pipe(links *l, int i) {
  int ends[2];
  int theirs = i == 0 ? 0 : 1; /* it reads from 0 and writes to the others */
  int err = pt_fd_pipe(ends);
  if (err != 0)
    return err;
  l->sources[i] = l->theirs[i] = ends[theirs];
  l->ours[i] = ends[1 - theirs];
  return pt_fd_nonblock(l->ours[i]);
}

static int open_pipes(const pt_spawn_plan *plan, links *l) {
  int i;
  int err = pt_fd_pipe(l->report);
  for (i = 0; i < 3 && err == 0; i++)
    if (plan->stdio[i] == PT_SPAWN_PIPE)
      err = open_pipe(l, i);
  return err;
}

#if defined(__APPLE__)
#define vfork fork /* its own is deprecated, and so are its semantics */
#endif

/* A function of its own, with nothing in it that vfork could clobber. */
static pid_t start(const pt_spawn_plan *plan, const links *l, pid_t parent) {
  pid_t pid = vfork();
  if (pid == 0)
    pt_spawn_become(plan, l->sources, l->report[1], parent);
  return pid;
}

static pid_t start_undisturbed(const pt_spawn_plan *plan, const links *l) {
  sigset_t all, before;
  pid_t pid;
  int err;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid = start(plan, l, getpid());
  err = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = err;
  return pid;
}

/* 1 if the child has become the program, 0 if `failure` says why not. */
static int await_exec(int report, pt_spawn_failure *failure) {
  ssize_t n;
  do {
    n = read(report, failure, sizeof *failure);
  } while (n == -1 && errno == EINTR);
  return n != (ssize_t)sizeof *failure;
}

static void reap(pid_t pid) {
  while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
    continue;
}

static void hand_over(links *l, pid_t pid, pt_spawn_child *child) {
  child->pid = pid;
  child->watch = pt_process_watch(pid);
  memcpy(child->ends, l->ours, sizeof child->ends);
  pt_fd_drop(&l->report[0]);
}

int pt_spawn(const pt_spawn_plan *plan, pt_spawn_child *child,
             pt_spawn_failure *failure) {
  links l;
  pid_t pid;
  int err;
  if (find_sources(plan, &l, failure) == -1)
    return -1;
  err = open_pipes(plan, &l);
  pid = err == 0 ? start_undisturbed(plan, &l) : -1;
  if (pid == -1) {
    fail(failure, PT_SPAWN_AT_START, 0, err != 0 ? err : errno);
    close_all(&l);
    return -1;
  }
  close_theirs(&l);
  if (!await_exec(l.report[0], failure)) {
    reap(pid);
    close_all(&l);
    return -1;
  }
  hand_over(&l, pid, child);
  return 0;
}

/* 0 if it can be executed, else the reason. */
static int look_at(const char *file) {
  struct stat st;
  if (stat(file, &st) == -1)
    return errno;
  if (!S_ISREG(st.st_mode))
    return EACCES;
  return faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == -1 ? errno : 0;
}

/* An entry that is relative to our directory must not be taken relative to the
** child's. */
static int compose(const char *dir, size_t len, const char *name, char *file,
                   size_t size) {
  char here[PATH_MAX] = "";
  int n;
  if (len == 0 || dir[0] != '/') {
    if (getcwd(here, sizeof here) == NULL)
      return errno;
    n = snprintf(file, size, "%s/%.*s%s%s", here, (int)len, dir,
                 len == 0 ? "" : "/", name);
  } else
    n = snprintf(file, size, "%.*s/%s", (int)len, dir, name);
  return n < 0 || (size_t)n >= size ? ENAMETOOLONG : 0;
}

/* A directory that does not have it is passed over; that one of them had it
** but did not let us execute it is worth more to know. */
static int search(const char *name, const char *path, char *file, size_t size) {
  int result = ENOENT;
  for (;;) {
    size_t len = strcspn(path, ":");
    int err = compose(path, len, name, file, size);
    if (err == 0)
      err = look_at(file);
    if (err == 0)
      return 0;
    if (err != ENOENT && err != ENOTDIR)
      result = err;
    path += len;
    if (*path++ == '\0')
      return result;
  }
}

int pt_spawn_find(const char *name, const char *path, char *file, size_t size) {
  if (name[0] == '\0')
    return ENOENT;
  if (strchr(name, '/') == NULL)
    return search(name, path != NULL ? path : _PATH_DEFPATH, file, size);
  if (strlen(name) >= size)
    return ENAMETOOLONG;
  strcpy(file, name);
  return look_at(file);
}
