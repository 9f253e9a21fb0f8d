/*
** Makes one system call of the core fail. Preloaded into a process
** (LD_PRELOAD), it counts the calls that pintle/core.so makes, and has the
** n-th call of a function fail. The child between vfork and exec shares the
** memory of its parent, so its calls count too. A program that the process
** starts runs without faults.
**
**   PINTLE_FAULT=read:EINTR:3    the third read fails once
**   PINTLE_FAULT=pipe2:EMFILE:3+ the third and all that follow fail
**   PINTLE_FAULT=read:short:3    the third read gets one byte at most
**   PINTLE_FAULT_COUNTS=FILE     the process writes its calls to a file when
**                                it ends: a line "read 17" for each function
**
** Linux with glibc only.
*/
#define _GNU_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* {====== The fault ====== */

/* The functions that can fail; torture/system_calls.lua lists the ways. The
** names of the last ones are those of numbers for syscall, without "SYS_". */
/* clang-format off */
#define FUNCTIONS(X)                                                         \
  X(read) X(write) X(preadv2) X(recv) X(send) X(poll)                        \
  X(epoll_create1) X(epoll_ctl) X(epoll_wait) X(pipe2) X(dup) X(pipe_size)   \
  X(open) X(socketpair) X(socket) X(connect) X(accept4) X(bind) X(listen)    \
  X(chdir) X(execve) X(setpgid) X(setsid) X(setrlimit) X(prctl) X(vfork)     \
  X(waitid) X(waitpid) X(kill) X(close) X(stat) X(lstat) X(fstat)            \
  X(faccessat) X(getcwd) X(dup2) X(chmod) X(openat) X(pread) X(realpath)     \
  X(unlink) X(shutdown) X(getaddrinfo) X(getnameinfo) X(getsockname)         \
  X(getpeername) X(getsockopt) X(setsockopt) X(getrlimit) X(getsid)          \
  X(nanosleep) X(unshare) X(sigaction)                                       \
  NUMBERED(X)
#define NUMBERED(X)                                                          \
  X(pidfd_open) X(close_range) X(landlock_create_ruleset)                    \
  X(landlock_add_rule) X(landlock_restrict_self) X(statx) X(capset)          \
  X(execveat) X(getdents64) X(timer_create) X(timer_settime)
/* clang-format on */

typedef enum function {
#define NUMBER(name) F_##name,
  FUNCTIONS(NUMBER) NFUNCTIONS
#undef NUMBER
} function;

static const char *const names[] = {
#define NAME(name) #name,
    FUNCTIONS(NAME)
#undef NAME
};

static const struct {
  const char *name;
  int number;
} errors[] = {
    {"short", 0},
    {"EINTR", EINTR},
    {"EAGAIN", EAGAIN},
    {"EIO", EIO},
    {"ENOMEM", ENOMEM},
    {"EMFILE", EMFILE},
    {"ENFILE", ENFILE},
    {"ENOSPC", ENOSPC},
    {"EPIPE", EPIPE},
    {"ECONNRESET", ECONNRESET},
    {"ENOSYS", ENOSYS},
    {"EOPNOTSUPP", EOPNOTSUPP},
    {"EACCES", EACCES},
    {"EPERM", EPERM},
    {"ENOENT", ENOENT},
    {"ECHILD", ECHILD},
    {"ESRCH", ESRCH},
    {"ECONNREFUSED", ECONNREFUSED},
    {"EINVAL", EINVAL},
    {"ECONNABORTED", ECONNABORTED},
    {"E2BIG", E2BIG},
    {"EADDRINUSE", EADDRINUSE},
    {"ELOOP", ELOOP},
    {"ENOTCONN", ENOTCONN},
    {"ENOBUFS", ENOBUFS},
    {"ETXTBSY", ETXTBSY},
    {"EAI_AGAIN", EAI_AGAIN},
    {"EAI_NONAME", EAI_NONAME},
    {"EAI_MEMORY", EAI_MEMORY},
    {"EAI_FAIL", EAI_FAIL},
};

static long counts[NFUNCTIONS];
static int is_counting, failing = -1, error_number, goes_on;
static long failing_call;
static char counts_file[4096];
static pid_t owner;

static int find_function(const char *name, size_t len) {
  int i;
  for (i = 0; i < NFUNCTIONS; i++)
    if (strlen(names[i]) == len && strncmp(names[i], name, len) == 0)
      return i;
  return -1;
}

static int find_error(const char *name, size_t len) {
  size_t i;
  for (i = 0; i < sizeof errors / sizeof errors[0]; i++)
    if (strlen(errors[i].name) == len &&
        strncmp(errors[i].name, name, len) == 0)
      return errors[i].number;
  fprintf(stderr, "faults: unknown error in \"%s\"\n", name);
  _exit(99);
}

static void read_fault(const char *fault) {
  const char *error = strchr(fault, ':') + 1;
  const char *call = strchr(error, ':') + 1;
  char *rest;
  failing = find_function(fault, (size_t)(error - 1 - fault));
  error_number = find_error(error, (size_t)(call - 1 - error));
  failing_call = strtol(call, &rest, 10);
  goes_on = *rest == '+';
}

__attribute__((constructor)) static void begin(void) {
  const char *fault = getenv("PINTLE_FAULT");
  const char *file = getenv("PINTLE_FAULT_COUNTS");
  is_counting = fault != NULL || file != NULL;
  owner = getpid();
  if (fault != NULL)
    read_fault(fault);
  if (file != NULL)
    snprintf(counts_file, sizeof counts_file, "%s", file);
  unsetenv("PINTLE_FAULT");
  unsetenv("PINTLE_FAULT_COUNTS");
}

__attribute__((destructor)) static void end(void) {
  FILE *file;
  int i;
  is_counting = 0;
  if (counts_file[0] == '\0' || getpid() != owner)
    return;
  file = fopen(counts_file, "w");
  for (i = 0; file != NULL && i < NFUNCTIONS; i++)
    if (counts[i] > 0)
      fprintf(file, "%s %ld\n", names[i], counts[i]);
  if (file != NULL)
    fclose(file);
}

static int is_from_core(const void *caller) {
  Dl_info info;
  return dladdr(caller, &info) != 0 && info.dli_fname != NULL &&
         strstr(info.dli_fname, "pintle/core.so") != NULL;
}

/* Whether this call has to fail. Counts it. */
static int must_fail(function f, const void *caller) {
  int fails;
  if (!is_counting || !is_from_core(caller))
    return 0;
  counts[f]++;
  fails = (int)f == failing &&
          (counts[f] == failing_call || (goes_on && counts[f] > failing_call));
  if (fails && error_number != 0)
    errno = error_number;
  return fails;
}

/* }====== */

/* {====== The functions ====== */

#define REAL(name) ((__typeof__(&name))real_of(#name))
#define CALLER __builtin_return_address(0)

/* Not kept: dlsym allocates nothing for a name that exists. */
static void *real_of(const char *name) { return dlsym(RTLD_NEXT, name); }

/* A function that fails as a whole. */
#define FAIL_WHOLE(type, name, params, arguments)                              \
  type name params {                                                           \
    if (must_fail(F_##name, CALLER))                                           \
      return -1;                                                               \
    return REAL(name) arguments;                                               \
  }

/* A function that returns its error. */
#define FAIL_BY_RESULT(name, params, arguments)                                \
  int name params {                                                            \
    return must_fail(F_##name, CALLER) ? error_number : REAL(name) arguments;  \
  }

/* A function that may also do less than it was asked for: one byte. */
#define FAIL_OR_SHORTEN(name, params, whole, shortened)                        \
  ssize_t name params {                                                        \
    if (!must_fail(F_##name, CALLER))                                          \
      return REAL(name) whole;                                                 \
    if (error_number == 0)                                                     \
      return REAL(name) shortened;                                             \
    return -1;                                                                 \
  }

FAIL_OR_SHORTEN(read, (int fd, void *bytes, size_t len), (fd, bytes, len),
                (fd, bytes, len > 0))
FAIL_OR_SHORTEN(write, (int fd, const void *bytes, size_t len),
                (fd, bytes, len), (fd, bytes, len > 0))
FAIL_OR_SHORTEN(recv, (int fd, void *bytes, size_t len, int flags),
                (fd, bytes, len, flags), (fd, bytes, len > 0, flags))
FAIL_OR_SHORTEN(send, (int fd, const void *bytes, size_t len, int flags),
                (fd, bytes, len, flags), (fd, bytes, len > 0, flags))
FAIL_OR_SHORTEN(pread, (int fd, void *bytes, size_t len, off_t at),
                (fd, bytes, len, at), (fd, bytes, len > 0, at))
FAIL_WHOLE(ssize_t, preadv2,
           (int fd, const struct iovec *pieces, int n, off_t at, int flags),
           (fd, pieces, n, at, flags))
FAIL_WHOLE(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms))
FAIL_WHOLE(int, epoll_create1, (int flags), (flags))
FAIL_WHOLE(int, epoll_ctl, (int ep, int op, int fd, struct epoll_event *event),
           (ep, op, fd, event))
FAIL_WHOLE(int, epoll_wait, (int ep, struct epoll_event *events, int n, int ms),
           (ep, events, n, ms))
FAIL_WHOLE(int, pipe2, (int ends[2], int flags), (ends, flags))
FAIL_WHOLE(int, socketpair, (int family, int type, int protocol, int ends[2]),
           (family, type, protocol, ends))
FAIL_WHOLE(int, socket, (int family, int type, int protocol),
           (family, type, protocol))
FAIL_WHOLE(int, accept4,
           (int fd, __SOCKADDR_ARG address, socklen_t *len, int flags),
           (fd, address, len, flags))
FAIL_WHOLE(int, bind, (int fd, __CONST_SOCKADDR_ARG address, socklen_t len),
           (fd, address, len))
FAIL_WHOLE(int, listen, (int fd, int n), (fd, n))
FAIL_WHOLE(int, chdir, (const char *path), (path))
FAIL_WHOLE(int, execve,
           (const char *path, char *const argv[], char *const envp[]),
           (path, argv, envp))
FAIL_WHOLE(int, setpgid, (pid_t pid, pid_t group), (pid, group))
FAIL_WHOLE(pid_t, setsid, (void), ())
FAIL_WHOLE(int, setrlimit,
           (__rlimit_resource_t resource, const struct rlimit *limit),
           (resource, limit))
FAIL_WHOLE(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options),
           (type, id, info, options))
FAIL_WHOLE(pid_t, waitpid, (pid_t pid, int *status, int options),
           (pid, status, options))
FAIL_WHOLE(int, kill, (pid_t pid, int sig), (pid, sig))
FAIL_WHOLE(int, stat, (const char *path, struct stat *st), (path, st))
FAIL_WHOLE(int, lstat, (const char *path, struct stat *st), (path, st))
FAIL_WHOLE(int, fstat, (int fd, struct stat *st), (fd, st))
FAIL_WHOLE(int, faccessat, (int dir, const char *path, int mode, int flags),
           (dir, path, mode, flags))
FAIL_WHOLE(int, dup2, (int from, int to), (from, to))
FAIL_WHOLE(int, chmod, (const char *path, mode_t mode), (path, mode))
FAIL_WHOLE(int, unlink, (const char *path), (path))
FAIL_WHOLE(int, shutdown, (int fd, int how), (fd, how))
FAIL_WHOLE(int, getsockname, (int fd, __SOCKADDR_ARG address, socklen_t *len),
           (fd, address, len))
FAIL_WHOLE(int, getpeername, (int fd, __SOCKADDR_ARG address, socklen_t *len),
           (fd, address, len))
FAIL_WHOLE(int, getsockopt,
           (int fd, int level, int name, void *value, socklen_t *len),
           (fd, level, name, value, len))
FAIL_WHOLE(int, setsockopt,
           (int fd, int level, int name, const void *value, socklen_t len),
           (fd, level, name, value, len))
FAIL_WHOLE(int, getrlimit, (__rlimit_resource_t resource, struct rlimit *limit),
           (resource, limit))
FAIL_WHOLE(pid_t, getsid, (pid_t pid), (pid))
FAIL_WHOLE(int, nanosleep, (const struct timespec *time, struct timespec *rest),
           (time, rest))
FAIL_WHOLE(int, unshare, (int flags), (flags))
FAIL_WHOLE(int, sigaction,
           (int sig, const struct sigaction *act, struct sigaction *before),
           (sig, act, before))
FAIL_BY_RESULT(getaddrinfo,
               (const char *host, const char *service,
                const struct addrinfo *hints, struct addrinfo **list),
               (host, service, hints, list))
FAIL_BY_RESULT(getnameinfo,
               (const struct sockaddr *address, socklen_t len, char *host,
                socklen_t host_size, char *service, socklen_t service_size,
                int flags),
               (address, len, host, host_size, service, service_size, flags))

char *realpath(const char *path, char *real) {
  return must_fail(F_realpath, CALLER) ? NULL : REAL(realpath)(path, real);
}

char *getcwd(char *path, size_t size) {
  return must_fail(F_getcwd, CALLER) ? NULL : REAL(getcwd)(path, size);
}

/* After a signal the system goes on to connect. */
int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t len) {
  int fails = must_fail(F_connect, CALLER);
  int result =
      fails && error_number != EINTR ? -1 : REAL(connect)(fd, address, len);
  if (fails)
    errno = error_number;
  return fails ? -1 : result;
}

/* Linux closes the descriptor whatever it returns. */
int close(int fd) {
  int fails = must_fail(F_close, CALLER);
  int result = REAL(close)(fd);
  if (fails)
    errno = error_number;
  return fails ? -1 : result;
}

/* Both F_DUPFD and F_SETPIPE_SZ can fail for a descriptor that is open. */
int fcntl(int fd, int command, ...) {
  const void *caller = CALLER;
  va_list rest;
  long argument;
  va_start(rest, command);
  argument = va_arg(rest, long);
  va_end(rest);
  if (command == F_DUPFD_CLOEXEC && must_fail(F_dup, caller))
    return -1;
  if (command == F_SETPIPE_SZ && must_fail(F_pipe_size, caller))
    return -1;
  return REAL(fcntl)(fd, command, argument);
}

int openat(int dir, const char *path, int flags, ...) {
  const void *caller = CALLER;
  va_list rest;
  mode_t mode;
  va_start(rest, flags);
  mode = va_arg(rest, mode_t);
  va_end(rest);
  return must_fail(F_openat, caller) ? -1
                                     : REAL(openat)(dir, path, flags, mode);
}

int open(const char *path, int flags, ...) {
  const void *caller = CALLER;
  va_list rest;
  mode_t mode;
  va_start(rest, flags);
  mode = va_arg(rest, mode_t);
  va_end(rest);
  return must_fail(F_open, caller) ? -1 : REAL(open)(path, flags, mode);
}

int prctl(int option, ...) {
  const void *caller = CALLER;
  va_list rest;
  unsigned long a, b, c, d;
  int (*real)(int, ...) = (int (*)(int, ...))real_of("prctl");
  va_start(rest, option);
  a = va_arg(rest, unsigned long);
  b = va_arg(rest, unsigned long);
  c = va_arg(rest, unsigned long);
  d = va_arg(rest, unsigned long);
  va_end(rest);
  return must_fail(F_prctl, caller) ? -1 : real(option, a, b, c, d);
}

/* The headers may be older than the kernel. */
#if !defined(SYS_landlock_create_ruleset)
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

static const struct {
  long number;
  function f;
} numbered[] = {
#define NUMBER(name) {SYS_##name, F_##name},
    NUMBERED(NUMBER)
#undef NUMBER
};

long syscall(long number, ...) {
  const void *caller = CALLER;
  va_list rest;
  long a, b, c, d, e, f;
  size_t i;
  va_start(rest, number);
  a = va_arg(rest, long);
  b = va_arg(rest, long);
  c = va_arg(rest, long);
  d = va_arg(rest, long);
  e = va_arg(rest, long);
  f = va_arg(rest, long);
  va_end(rest);
  for (i = 0; i < sizeof numbered / sizeof numbered[0]; i++)
    if (numbered[i].number == number && must_fail(numbered[i].f, caller))
      return -1;
  return REAL(syscall)(number, a, b, c, d, e, f);
}

#if defined(__x86_64__)
/* No function of C can call vfork, which returns twice through its caller. */
__attribute__((used, visibility("hidden"))) void *
find_vfork(const void *caller) {
  return must_fail(F_vfork, caller) ? NULL : real_of("vfork");
}

__asm__(".globl vfork\n"
        ".type vfork, @function\n"
        "vfork:\n"
        "  mov (%rsp), %rdi\n"
        "  sub $8, %rsp\n"
        "  call find_vfork\n"
        "  add $8, %rsp\n"
        "  test %rax, %rax\n"
        "  jz 1f\n"
        "  jmp *%rax\n"
        "1:\n"
        "  mov $-1, %eax\n"
        "  ret\n"
        ".size vfork, . - vfork\n");
#endif

/* }====== */
