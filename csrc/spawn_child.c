/*
** What runs between vfork and exec. It runs in the parent's memory while the
** parent stands still, so: only calls that are safe in a signal handler, no
** allocation, and no writes to anything but this file's own locals and errno.
*/
#define _DEFAULT_SOURCE

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#elif defined(__FreeBSD__)
#include <sys/procctl.h>
#endif

/* The pipe to the parent ends up here, with everything behind it closed. */
#define REPORT 3

static _Noreturn void give_up(int report, pt_spawn_stage stage, int which) {
  pt_spawn_failure failure;
  ssize_t n;
  memset(&failure, 0, sizeof failure);
  failure.stage = stage;
  failure.which = which;
  failure.err = errno;
  do {
    n = write(report, &failure, sizeof failure);
  } while (n == -1 && errno == EINTR);
  _exit(127);
}

/* Exec would reset handlers but keep what is ignored. Done while all signals
** are blocked: a handler must never run here. */
static void reset_handlers(void) {
  struct sigaction act;
  int sig;
  memset(&act, 0, sizeof act);
  act.sa_handler = SIG_DFL;
  for (sig = 1; sig < NSIG; sig++)
    sigaction(sig, &act, NULL); /* fails for those that cannot be changed */
}

static void unblock_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static int join_group(pt_spawn_group group) {
  switch (group) {
  case PT_SPAWN_OWN:
    return setpgid(0, 0);
  case PT_SPAWN_SESSION:
    return setsid() == -1 ? -1 : 0;
  default:
    return 0;
  }
}

#if defined(__linux__)

static int request_signal(int sig) { return prctl(PR_SET_PDEATHSIG, sig); }

#elif defined(__FreeBSD__)

static int request_signal(int sig) {
  return procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &sig);
}

#else

static int request_signal(int sig) {
  (void)sig;
  return 0;
}

#endif

/* A parent that died before the request was made will not be reported. Its pid
** reads as 0 if it lives outside of our pid namespace. */
static int arm_death_signal(int sig, pid_t parent) {
  pid_t now;
  if (sig == 0)
    return 0;
  if (request_signal(sig) == -1)
    return -1;
  now = getppid();
  if (now != parent && now != 0)
    _exit(127);
  return 0;
}

/* Moves sources out of 0..2 that are wanted in another place there, so that no
** step of `place` overwrites the source of a later one. */
static int clear_way(int source, int target) {
  if (source < 0 || source > 2 || source == target)
    return source;
  return fcntl(source, F_DUPFD_CLOEXEC, 3);
}

static int place(int source, int target) {
  if (source == PT_SPAWN_NULL)
    source = open("/dev/null", O_RDWR);
  if (source == -1)
    return -1;
  if (source == target)
    return fcntl(target, F_SETFD, 0);
  return dup2(source, target);
}

static void arrange_stdio(const int sources[3], int report) {
  int moved[3];
  int i;
  for (i = 0; i < 3; i++) {
    moved[i] = clear_way(sources[i], i);
    if (moved[i] == -1 && sources[i] != PT_SPAWN_NULL)
      give_up(report, PT_SPAWN_AT_STDIO, i);
  }
  for (i = 0; i < 3; i++)
    if (place(moved[i], i) == -1)
      give_up(report, PT_SPAWN_AT_STDIO, i);
}

static void move_report(int report) {
  if (report != REPORT && dup2(report, REPORT) == -1)
    give_up(report, PT_SPAWN_AT_START, 0);
  fcntl(REPORT, F_SETFD, FD_CLOEXEC);
}

/* The slow way: every number there may be. */
static inline void close_each(int first) {
  struct rlimit limit;
  int fd, end = 65536;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)end)
    end = (int)limit.rlim_cur;
  for (fd = first; fd < end; fd++)
    close(fd);
}

#if defined(__linux__)

/* As the kernel writes it for getdents64; readdir would allocate. */
typedef struct entry {
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[];
} entry;

static int number(const char *digits) {
  int n = 0;
  for (; *digits >= '0' && *digits <= '9'; digits++)
    n = n * 10 + (*digits - '0');
  return n;
}

static void close_listed(int dir, int first) {
  _Alignas(entry) char list[1024];
  long len, at;
  while ((len = syscall(SYS_getdents64, dir, list, sizeof list)) > 0)
    for (at = 0; at < len;) {
      const entry *e = (const entry *)(const void *)(list + at);
      int fd = number(e->name); /* "." and ".." count as 0 */
      if (fd >= first && fd != dir)
        close(fd);
      at += e->size;
    }
  close(dir);
}

static void close_from(int first) {
  int dir;
#if defined(SYS_close_range)
  if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0)
    return;
#endif
  dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
  if (dir >= 0)
    close_listed(dir, first);
  else
    close_each(first);
}

#elif defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)

static void close_from(int first) { closefrom(first); }

#else

static void close_from(int first) { close_each(first); }

#endif

/* After the descriptors are in place, or a small limit on them would have us
** fail where the program itself would not. */
static void set_limits(const pt_spawn_plan *plan) {
  int i;
  for (i = 0; i < plan->nlimits; i++) {
    struct rlimit limit;
    limit.rlim_cur = plan->limits[i].soft;
    limit.rlim_max = plan->limits[i].hard;
    if (setrlimit(plan->limits[i].resource, &limit) == -1)
      give_up(REPORT, PT_SPAWN_AT_LIMIT, i);
  }
}

_Noreturn void pt_spawn_become(const pt_spawn_plan *plan, const int sources[3],
                               int report, pid_t parent) {
  reset_handlers();
  if (join_group(plan->group) == -1)
    give_up(report, PT_SPAWN_AT_GROUP, 0);
  if (arm_death_signal(plan->death_signal, parent) == -1)
    give_up(report, PT_SPAWN_AT_DEATH_SIGNAL, 0);
  arrange_stdio(sources, report);
  if (plan->cwd != NULL && chdir(plan->cwd) == -1)
    give_up(report, PT_SPAWN_AT_CWD, 0);
  move_report(report);
  close_from(REPORT + 1);
  set_limits(plan);
  unblock_signals();
  execve(plan->path, plan->argv, plan->envp);
  give_up(REPORT, PT_SPAWN_AT_EXEC, 0);
}
