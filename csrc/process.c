#define _GNU_SOURCE

#include "process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__NetBSD__) ||     \
    defined(__OpenBSD__) || defined(__DragonFly__)
#define HAVE_KQUEUE
#include <fcntl.h>
#include <sys/event.h>
#endif

#include "clock.h"
#include "fd.h"

#if defined(__linux__) && defined(SYS_pidfd_open)

/* The descriptor is closed on exec by itself. */
int pt_process_watch(pid_t pid) {
  int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  return fd >= 0 ? pt_fd_above_stdio(fd) : -1;
}

#elif defined(HAVE_KQUEUE)

int pt_process_watch(pid_t pid) {
  struct kevent event;
  int queue = kqueue();
  if (queue == -1)
    return -1;
  fcntl(queue, F_SETFD, FD_CLOEXEC);
  EV_SET(&event, pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
  if (kevent(queue, &event, 1, NULL, 0, NULL) == -1)
    pt_fd_drop(&queue);
  return queue;
}

#else

int pt_process_watch(pid_t pid) {
  (void)pid;
  errno = ENOSYS;
  return -1;
}

#endif

static int nap(double seconds) {
  struct timespec t;
  t.tv_sec = 0;
  t.tv_nsec = (long)(seconds * 1e9);
  return nanosleep(&t, NULL);
}

static int sleep_on(int watch, double seconds) {
  struct pollfd end;
  end.fd = watch;
  end.events = POLLIN;
  end.revents = 0;
  return poll(&end, 1, seconds > 1e6 ? INT_MAX : (int)(seconds * 1e3) + 1);
}

int pt_process_wait(pid_t pid, int watch, double deadline, int *status) {
  double step = 0.001;
  for (;;) {
    pid_t ended = waitpid(pid, status, WNOHANG);
    double left = deadline - pt_clock_now();
    int slept;
    if (ended == pid)
      return 1;
    if (ended == -1)
      return -1;
    if (left <= 0)
      return 0;
    slept = watch >= 0 ? sleep_on(watch, left) : nap(left < step ? left : step);
    if (slept == -1)
      return 0;
    step = step < 0.016 ? step * 2 : step;
  }
}

/* As long as a child was not waited for, its number is not given to another
** process; this looks without waiting. */
static int is_ours(pid_t pid) {
  siginfo_t info;
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

static int deliver(pid_t pid, int watch, int sig) {
#if defined(__linux__) && defined(SYS_pidfd_send_signal)
  if (watch >= 0)
    return (int)syscall(SYS_pidfd_send_signal, watch, sig, NULL, 0);
#else
  (void)watch;
#endif
  return kill(pid, sig);
}

int pt_process_kill(pid_t pid, int watch, int sig, int group) {
  if (!is_ours(pid))
    return errno;
  if ((group ? kill(-pid, sig) : deliver(pid, watch, sig)) == -1)
    return errno;
  return 0;
}

/* Without a pointer, so that nothing is to be done when it is loaded. */
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
