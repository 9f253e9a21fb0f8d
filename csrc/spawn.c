#define _DEFAULT_SOURCE

#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <paths.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#include <sys/syscall.h>
#elif defined(__FreeBSD__)
#include <sys/procctl.h>
#endif

#include "io.h"
#include "poll.h"

#if defined(PT_POLL_KQUEUE)
#include <sys/event.h>
#endif

#if !defined(AT_EMPTY_PATH)
#define AT_EMPTY_PATH 0x1000
#endif

#define CANNOT_START "cannot start \"%s\""
#define CANNOT_CONNECT "cannot connect %s"

const char *const pt_spawn_stdio[3] = {"stdin", "stdout", "stderr"};

/* {====== In the child ======
** Between vfork and exec the child runs in the parent's memory, and the parent
** waits. So the child makes only calls that are safe in a signal handler, does
** not allocate, and writes to nothing but its own locals and errno. */

/* The child's descriptor of the pipe to the parent; all descriptors above
** these two are closed. */
#define REPORT 3

/* Its descriptor of the program, if the plan has one. */
#define PROGRAM 4

static _Noreturn void give_up_child(int report, const char *step,
                                    const char *name) {
  pt_spawn_failure failure = {step, name, errno};
  ssize_t n;
  do {
    n = write(report, &failure, sizeof failure);
  } while (n == -1 && errno == EINTR);
  _exit(127);
}

/* Exec would reset handlers, but keep ignored signals. This is done while all
** signals are blocked: a handler must never run in the child. */
static void reset_child_signals(void) {
  struct sigaction act;
  int sig;
  memset(&act, 0, sizeof act);
  act.sa_handler = SIG_DFL;
  for (sig = 1; sig < NSIG; sig++)
    sigaction(sig, &act, NULL); /* fails for signals that cannot be changed */
}

static void unblock_child_signals(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static int join_child_group(pt_spawn_group group) {
  switch (group) {
  case PT_SPAWN_OWN:
    return setpgid(0, 0);
  case PT_SPAWN_SESSION:
    return setsid() == -1 ? -1 : 0;
  default:
    return 0;
  }
}

static int request_child_death_signal(int sig) {
#if defined(__linux__)
  return prctl(PR_SET_PDEATHSIG, sig);
#elif defined(__FreeBSD__)
  return procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &sig);
#else
  (void)sig;
  return 0;
#endif
}

/* If the parent has died before the request, no signal comes, so that is
** checked. The parent's pid is 0 if the parent is outside of our pid namespace.
*/
static int arm_death_signal(int sig, pid_t parent) {
  pid_t now;
  if (sig == 0)
    return 0;
  if (request_child_death_signal(sig) == -1)
    return -1;
  now = getppid();
  if (now != parent && now != 0)
    _exit(127);
  return 0;
}

/* Opens /dev/null. Moves a source that is below 3 but not in its place, so that
** no step of `place_descriptor` overwrites the source of a later step. */
static int prepare_descriptor_source(int source, int target) {
  if (source == PT_SPAWN_NULL)
    source = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (source < 0 || source > 2 || source == target)
    return source;
  return fcntl(source, F_DUPFD_CLOEXEC, 3);
}

static int place_descriptor(int source, int target) {
  return source == target ? fcntl(target, F_SETFD, 0) : dup2(source, target);
}

static void arrange_child_stdio(const int sources[3], int report) {
  int i, prepared[3];
  for (i = 0; i < 3; i++) {
    prepared[i] = prepare_descriptor_source(sources[i], i);
    if (prepared[i] == -1)
      give_up_child(report, CANNOT_CONNECT, pt_spawn_stdio[i]);
  }
  for (i = 0; i < 3; i++)
    if (place_descriptor(prepared[i], i) == -1)
      give_up_child(report, CANNOT_CONNECT, pt_spawn_stdio[i]);
}

static void move_to(int fd, int place, int report, const char *program) {
  if (fd != place && dup2(fd, place) == -1)
    give_up_child(report, CANNOT_START, program);
  fcntl(place, F_SETFD, FD_CLOEXEC);
}

/* The program's descriptor may have the place of the report, or the other way
** around. Both are closed by exec. */
static void move_descriptors(const pt_spawn_plan *plan, int report) {
  int program = plan->program;
  if (program != -1)
    program = fcntl(program, F_DUPFD_CLOEXEC, PROGRAM + 1);
  if (program == -1 && plan->program != -1)
    give_up_child(report, CANNOT_START, plan->argv[0]);
  move_to(report, REPORT, report, plan->argv[0]);
  if (program != -1)
    move_to(program, PROGRAM, REPORT, plan->argv[0]);
}

static inline void close_child_descriptors(int first) {
  struct rlimit limit;
  int fd, end = 65536;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < (rlim_t)end)
    end = (int)limit.rlim_cur;
  for (fd = first; fd < end; fd++)
    close(fd);
}

static void close_descriptors_from(int first) {
#if defined(__FreeBSD__) || defined(__NetBSD__) || defined(__OpenBSD__)
  closefrom(first);
#else
#if defined(SYS_close_range)
  if (syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0)
    return;
#endif
  close_child_descriptors(first); /* Linux before 5.9, macOS */
#endif
}

/* Called after the descriptors are in place: with a small limit on descriptors
** those steps would fail. */
static void set_child_limits(const pt_spawn_plan *plan) {
  int i;
  for (i = 0; i < plan->nlimits; i++) {
    struct rlimit limit;
    limit.rlim_cur = plan->limits[i].soft;
    limit.rlim_max = plan->limits[i].hard;
    if (setrlimit(plan->limits[i].resource, &limit) == -1)
      give_up_child(REPORT, "cannot set the %s limit", plan->limits[i].name);
  }
}

typedef const char *sandbox_step(const pt_sandbox *s, const char **name);

static void take_sandbox_step(const pt_spawn_plan *plan, sandbox_step *take,
                              int report) {
  const char *step, *name = NULL;
  if (plan->sandbox == NULL)
    return;
  step = take(plan->sandbox, &name);
  if (step != NULL)
    give_up_child(report, step, name);
}

static void execute_descriptor(char *const *argv, char *const *envp) {
#if defined(SYS_execveat)
  syscall(SYS_execveat, PROGRAM, "", argv, envp, AT_EMPTY_PATH);
#elif defined(__APPLE__)
  (void)argv;
  (void)envp;
  errno = ENOSYS;
#else
  fexecve(PROGRAM, argv, envp);
#endif
}

/* Runs in the child and becomes the program. `sources` are three descriptors or
** PT_SPAWN_NULL. `report` is above 2; a failure is written to it. `parent` is
** the caller's pid. Not inlined, because its frame must not be part of the
** frame that vfork returns to. */
__attribute__((noinline)) static _Noreturn void
become(const pt_spawn_plan *plan, const int sources[3], int report,
       pid_t parent) {
  reset_child_signals();
  if (join_child_group(plan->group) == -1)
    give_up_child(report, "cannot make a process group", NULL);
  take_sandbox_step(plan, pt_sandbox_join, report);
  if (arm_death_signal(plan->death_signal, parent) == -1)
    give_up_child(report, "cannot ask for a death signal", NULL);
  arrange_child_stdio(sources, report);
  if (plan->cwd != NULL && chdir(plan->cwd) == -1)
    give_up_child(report, "cannot enter \"%s\"", plan->cwd);
  take_sandbox_step(plan, pt_sandbox_confine, report);
  move_descriptors(plan, report);
  close_descriptors_from(plan->program == -1 ? REPORT + 1 : PROGRAM + 1);
  set_child_limits(plan);
  unblock_child_signals();
  if (plan->program != -1)
    execute_descriptor(plan->argv, plan->envp);
  else
    execve(plan->path, plan->argv, plan->envp);
  give_up_child(REPORT,
                plan->sandbox == NULL ? "cannot run \"%s\""
                                      : "cannot run \"%s\" in its sandbox",
                plan->argv[0]);
}

/* }====== */

/* {====== Starting ====== */

/* The index of the pipe on which the child reports a failure; 0 to 2 are its
** stdio. */
#define REPORT_PIPE 3

/* The descriptors of a start; -1 for none. */
typedef struct links {
  int sources[3]; /* for the child's descriptors 0, 1 and 2; or PT_SPAWN_NULL */
  int theirs[4];  /* the child's ends of pipes */
  int ours[4];    /* our ends of these pipes */
} links;

static int set_spawn_failure(pt_spawn_failure *failure, const char *step,
                             const char *name, int err) {
  *failure = (pt_spawn_failure){step, name, err};
  return -1;
}

static void close_pipe_ends(int ends[4]) {
  int i;
  for (i = 0; i < 4; i++)
    pt_fd_close(&ends[i]);
}

static int is_descriptor_open(int fd) { return fcntl(fd, F_GETFD) != -1; }

/* Called before any pipe is opened, because a pipe could get the number of a
** descriptor that the plan wants to inherit but that is closed. */
static int find_descriptor_sources(const pt_spawn_plan *plan, links *l,
                                   pt_spawn_failure *failure) {
  int i;
  for (i = 0; i < 3; i++) {
    int source = plan->stdio[i];
    if (source == PT_SPAWN_INHERIT)
      source = is_descriptor_open(i) ? i : PT_SPAWN_NULL;
    if (source >= 0 && !is_descriptor_open(source))
      return set_spawn_failure(failure, CANNOT_CONNECT, pt_spawn_stdio[i],
                               EBADF);
    l->sources[i] = source;
  }
  return 0;
}

/* The child reads its stdin, and writes the other pipes. Returns 0 or an error
** number. */
static int open_child_pipe(links *l, int i) {
  int ends[2], theirs = i == 0 ? 0 : 1;
  int err = pt_fd_pipe(ends);
  if (err == 0) {
    l->theirs[i] = ends[theirs];
    l->ours[i] = ends[1 - theirs];
  }
  return err;
}

static int open_child_pipes(const pt_spawn_plan *plan, links *l) {
  int i, err = open_child_pipe(l, REPORT_PIPE);
  for (i = 0; i < 3 && err == 0; i++)
    if (plan->stdio[i] == PT_SPAWN_PIPE) {
      err = open_child_pipe(l, i);
      l->sources[i] = l->theirs[i];
      if (err == 0)
        err = pt_fd_set_nonblocking(l->ours[i]);
    }
  return err;
}

#if defined(__APPLE__)
#define vfork fork /* macOS has deprecated vfork and its semantics */
#endif

/* A function of its own, with nothing in it that vfork could clobber. */
static pid_t start_child(const pt_spawn_plan *plan, const links *l,
                         pid_t parent) {
  pid_t pid = vfork();
  if (pid == 0)
    become(plan, l->sources, l->theirs[REPORT_PIPE], parent);
  return pid;
}

static pid_t start_child_undisturbed(const pt_spawn_plan *plan,
                                     const links *l) {
  sigset_t all, before;
  pid_t pid;
  int err;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  pid = start_child(plan, l, getpid());
  err = errno;
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = err;
  return pid;
}

/* Returns 1 if the child has become the program; otherwise 0 with `failure`
** set. */
static int await_child_exec(int report, pt_spawn_failure *failure) {
  ssize_t n;
  do {
    n = read(report, failure, sizeof *failure);
  } while (n == -1 && errno == EINTR);
  return n != (ssize_t)sizeof *failure;
}

static void reap_child(pid_t pid) {
  while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
    continue;
}

int pt_spawn(const pt_spawn_plan *plan, pt_spawn_child *child,
             pt_spawn_failure *failure) {
  links l = {{-1, -1, -1}, {-1, -1, -1, -1}, {-1, -1, -1, -1}};
  pid_t pid;
  int err;
  if (find_descriptor_sources(plan, &l, failure) == -1)
    return -1;
  err = open_child_pipes(plan, &l);
  pid = err == 0 ? start_child_undisturbed(plan, &l) : -1;
  if (pid == -1)
    set_spawn_failure(failure, CANNOT_START, plan->argv[0],
                      err != 0 ? err : errno);
  close_pipe_ends(l.theirs);
  if (pid != -1 && !await_child_exec(l.ours[REPORT_PIPE], failure)) {
    reap_child(pid);
    pid = -1;
  }
  if (pid == -1) {
    close_pipe_ends(l.ours);
    return -1;
  }
  pt_fd_close(&l.ours[REPORT_PIPE]);
  child->pid = pid;
  child->watch = pt_process_watch(pid);
  memcpy(child->ends, l.ours, sizeof child->ends);
  return 0;
}

/* }====== */

/* {====== Finding a program ====== */

/* Returns 0 if the file can be executed, else the reason. */
static int check_executable(const char *file) {
  struct stat st;
  if (stat(file, &st) == -1)
    return errno;
  if (!S_ISREG(st.st_mode))
    return EACCES;
  return faccessat(AT_FDCWD, file, X_OK, AT_EACCESS) == -1 ? errno : 0;
}

/* The result is absolute, because the child may enter another directory. */
static int compose_program_path(const char *dir, size_t len, const char *name,
                                char *file, size_t size) {
  char here[PATH_MAX] = "";
  int n, is_absolute = len > 0 && dir[0] == '/';
  if (!is_absolute && getcwd(here, sizeof here) == NULL)
    return errno;
  n = snprintf(file, size, "%s%s%.*s/%s", here,
               is_absolute || len == 0 ? "" : "/", (int)len, dir, name);
  return n < 0 || (size_t)n >= size ? ENAMETOOLONG : 0;
}

/* Skips directories without the program. A program that exists but cannot be
** executed is the better reason to report. */
static int search_program_path(const char *name, const char *path, char *file,
                               size_t size) {
  int result = ENOENT;
  for (;;) {
    size_t len = strcspn(path, ":");
    int err = compose_program_path(path, len, name, file, size);
    if (err == 0)
      err = check_executable(file);
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
    return search_program_path(name, path != NULL ? path : _PATH_DEFPATH, file,
                               size);
  if (strlen(name) >= size)
    return ENAMETOOLONG;
  strcpy(file, name);
  return check_executable(file);
}

/* }====== */

/* {====== Waiting and killing ====== */

int pt_process_watch(pid_t pid) {
#if defined(__linux__) && defined(SYS_pidfd_open)
  return pt_fd_make_private((int)syscall(SYS_pidfd_open, pid, 0));
#elif defined(PT_POLL_KQUEUE)
  struct kevent event;
  int queue = pt_fd_make_private(kqueue());
  EV_SET(&event, pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
  if (queue != -1 && kevent(queue, &event, 1, NULL, 0, NULL) == -1)
    pt_fd_close(&queue);
  return queue;
#else
  (void)pid;
  errno = ENOSYS;
  return -1;
#endif
}

int pt_process_has_ended(pid_t pid) {
  siginfo_t info = {.si_pid = 0};
  if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == -1)
    return -1;
  return info.si_pid == pid;
}

/* Whether the child is not reaped yet, which this does not change: its number
** is not reused before that. */
static int is_child_unreaped(pid_t pid) {
  siginfo_t info;
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

int pt_process_kill(pid_t pid, int sig, int group) {
  if (!is_child_unreaped(pid) || kill(group ? -pid : pid, sig) == -1)
    return errno;
  return 0;
}

/* }====== */

/* {====== Killing a session ====== */

#if defined(__linux__)

/* As the kernel writes it; the name goes on. */
typedef struct entry {
  uint64_t inode;
  int64_t offset;
  unsigned short size;
  unsigned char type;
  char name[5];
} entry;

/* The process that a directory of /proc is about; 0 for other names. */
static pid_t parse_proc_pid(const char *name) {
  long pid = 0;
  while (*name >= '0' && *name <= '9' && pid <= INT_MAX / 10)
    pid = pid * 10 + (*name++ - '0');
  return *name == '\0' ? (pid_t)pid : 0;
}

/* Whether the process is dead and only waits to be reaped, as the text of its
** file `stat` says. If it cannot be read, the process counts as alive. */
static int is_zombie_process(int proc, pid_t pid) {
  char path[32], text[512], *p;
  ssize_t n;
  int fd;
  snprintf(path, sizeof path, "%d/stat", (int)pid);
  fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd == -1)
    return errno == ENOENT;
  n = read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = '\0';
  p = strrchr(text, ')');
  return n <= 0 || (p != NULL && (p[2] == 'Z' || p[2] == 'X'));
}

/* What one look at all processes found in the session. */
typedef struct survey {
  int nalive;
  int has_missed;   /* a process was gone before it could be signalled */
  uint64_t zombies; /* a hash of their numbers */
} survey;

/* Returns 1 if the process is a member other than the leader, 0 if not, and -1
** with errno set if it could not be signalled. */
static int signal_member(pid_t sid, pid_t pid) {
  pid_t session = getsid(pid);
  if (session == sid && pid != sid)
    return kill(pid, SIGKILL) == 0 ? 1 : -1;
  return session == -1 ? -1 : 0;
}

static void kill_member(pid_t sid, int proc, pid_t pid, survey *found) {
  int signalled = signal_member(sid, pid);
  if (signalled == -1)
    found->has_missed |= errno == ESRCH;
  else if (signalled && is_zombie_process(proc, pid))
    found->zombies = found->zombies * 31 + (uint64_t)pid;
  else
    found->nalive += signalled;
}

/* A short list, because a process may end before its turn comes. */
static survey kill_members(pid_t sid, int proc) {
  union {
    entry first;
    char bytes[512];
  } list;
  survey found = {0, 0, 0};
  long n, at;
  lseek(proc, 0, SEEK_SET);
  while ((n = syscall(SYS_getdents64, proc, &list, sizeof list)) > 0)
    for (at = 0; at < n;) {
      const entry *e = (const void *)(list.bytes + at);
      pid_t pid = parse_proc_pid(list.bytes + at + offsetof(entry, name));
      if (pid > 0)
        kill_member(sid, proc, pid, &found);
      at += e->size;
    }
  return found;
}

/* A process that has ended may have started another one before. So the last two
** looks must find the same zombies, and nothing else. */
static int is_session_settled(const survey *before, const survey *now) {
  return before->nalive == 0 && now->nalive == 0 && !now->has_missed &&
         now->zombies == before->zombies;
}

void pt_session_kill(pid_t sid, int proc, double timeout) {
  double deadline = pt_clock_now() + timeout;
  struct timespec moment = {0, 1000000};
  survey before, now = {1, 0, 0};
  do {
    before = now;
    now = kill_members(sid, proc);
    if (now.nalive > 0)
      nanosleep(&moment, NULL);
  } while (!is_session_settled(&before, &now) && pt_clock_now() < deadline);
}

#else

void pt_session_kill(pid_t sid, int proc, double timeout) {
  (void)sid;
  (void)proc;
  (void)timeout;
}

#endif

/* }====== */

/* {====== Signals by name ====== */

/* An array instead of a pointer, so that loading needs no relocation. */
typedef struct signal_entry {
  char name[8];
  int number;
} signal_entry;

static const signal_entry signals[] = {
    {"HUP", SIGHUP},       {"INT", SIGINT},   {"QUIT", SIGQUIT},
    {"ILL", SIGILL},       {"TRAP", SIGTRAP}, {"ABRT", SIGABRT},
    {"BUS", SIGBUS},       {"FPE", SIGFPE},   {"KILL", SIGKILL},
    {"USR1", SIGUSR1},     {"SEGV", SIGSEGV}, {"USR2", SIGUSR2},
    {"PIPE", SIGPIPE},     {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"CHLD", SIGCHLD},     {"CONT", SIGCONT}, {"STOP", SIGSTOP},
    {"TSTP", SIGTSTP},     {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU},
    {"URG", SIGURG},       {"XCPU", SIGXCPU}, {"XFSZ", SIGXFSZ},
    {"VTALRM", SIGVTALRM}, {"PROF", SIGPROF}, {"WINCH", SIGWINCH},
    {"SYS", SIGSYS},
#if defined(SIGIO)
    {"IO", SIGIO},
#endif
#if defined(SIGPWR)
    {"PWR", SIGPWR},
#endif
};

#define NSIGNALS (sizeof signals / sizeof signals[0])

int pt_signal_number(const char *name) {
  size_t i;
  for (i = 0; i < NSIGNALS; i++)
    if (strcmp(signals[i].name, name) == 0)
      return signals[i].number;
  return 0;
}

const char *pt_signal_name(int sig) {
  size_t i;
  for (i = 0; i < NSIGNALS; i++)
    if (signals[i].number == sig)
      return signals[i].name;
  return NULL;
}

/* }====== */
