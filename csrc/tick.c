#define _GNU_SOURCE

#include "tick.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

/* Exactly one backend; defining its name beforehand forces it. */
#if defined(PT_TICK_TIMER) || defined(PT_TICK_ALARM)
#elif defined(SYS_timer_create) && defined(SYS_timer_settime)
#define PT_TICK_TIMER
#else
#define PT_TICK_ALARM
#endif

#if defined(PT_TICK_TIMER)
#define TICKS 64
#else
#define TICKS 1
#endif

struct pt_tick {
  volatile sig_atomic_t is_open;
  int timer;        /* -1 when there is none */
  pid_t process;    /* who started it last; 0 in a fork, which inherits none */
  pthread_t thread; /* in which it did */
  pt_tick_beat *beat;
  void *subject;
};

static pt_tick ticks[TICKS];
static int taken; /* the signal; 0 while there are no ticks */
static atomic_flag busy = ATOMIC_FLAG_INIT; /* both are being changed */

static void lock(void) {
  while (atomic_flag_test_and_set(&busy))
    ;
}

static void unlock(void) { atomic_flag_clear(&busy); }

#if defined(PT_TICK_TIMER)

/* {====== A timer for each ======
** The system is called by number: its C library has these functions in a
** library of their own before glibc 2.34. */

#if !defined(sigev_notify_thread_id)
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* As this system call has it, whatever size time_t has. */
typedef struct rhythm {
  struct {
    long seconds, nanoseconds;
  } interval, first;
} rhythm;

static int first_signal(void) { return SIGRTMAX - 1; }
static int last_signal(void) { return SIGRTMIN; }

static pt_tick *origin(const siginfo_t *info) {
  int i = info->si_value.sival_int;
  return info->si_code == SI_TIMER && i >= 0 && i < TICKS ? &ticks[i] : NULL;
}

static int create(pt_tick *t) {
  struct sigevent event;
  if (t->timer != -1)
    return 0;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
  event.sigev_signo = taken;
  event.sigev_value.sival_int = (int)(t - ticks);
  return (int)syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &t->timer);
}

static int set(const pt_tick *t, double seconds) {
  rhythm r;
  r.interval.seconds = (long)seconds;
  r.interval.nanoseconds = (long)((seconds - (double)(long)seconds) * 1e9);
  r.first = r.interval;
  return (int)syscall(SYS_timer_settime, t->timer, 0, &r, NULL);
}

static void destroy(pt_tick *t) {
  if (t->timer != -1 && t->process == getpid())
    syscall(SYS_timer_delete, t->timer);
  t->timer = -1;
}

/* }====== */

#else

/* {====== The one alarm ====== */

static int first_signal(void) { return SIGALRM; }
static int last_signal(void) { return SIGALRM; }

static pt_tick *origin(const siginfo_t *info) {
  (void)info;
  return ticks;
}

static int create(pt_tick *t) {
  t->timer = 0;
  return 0;
}

static int set(const pt_tick *t, double seconds) {
  struct itimerval r;
  (void)t;
  memset(&r, 0, sizeof r);
  r.it_interval.tv_sec = (time_t)seconds;
  r.it_interval.tv_usec =
      (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
  r.it_value = r.it_interval;
  return setitimer(ITIMER_REAL, &r, NULL);
}

static void destroy(pt_tick *t) {
  if (t->timer != -1 && t->process == getpid())
    set(t, 0);
  t->timer = -1;
}

/* }====== */

#endif

/* {====== The signal ====== */

static void handle(int sig, siginfo_t *info, void *context) {
  int saved = errno;
  pt_tick *t = origin(info);
  (void)sig, (void)context;
  if (t != NULL && t->is_open && pt_tick_is_here(t) && !t->beat(t->subject))
    set(t, 0);
  errno = saved;
}

static int is_let_through(int sig) {
  sigset_t blocked;
  return sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 &&
         !sigismember(&blocked, sig);
}

/* One that is blocked is somebody's who waits for it in another way. */
static int is_free(int sig) {
  struct sigaction act;
  return sigaction(sig, NULL, &act) == 0 && !(act.sa_flags & SA_SIGINFO) &&
         act.sa_handler == SIG_DFL && is_let_through(sig);
}

static int take_signal(void) {
  struct sigaction act;
  int sig = first_signal();
  while (sig >= last_signal() && !is_free(sig))
    sig--;
  if (sig < last_signal())
    return 0;
  memset(&act, 0, sizeof act);
  act.sa_sigaction = handle;
  act.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&act.sa_mask);
  return sigaction(sig, &act, NULL) == 0 ? sig : 0;
}

/* What is ignored is no longer pending either, and what is not could otherwise
** end the program later. */
static void return_signal(void) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = SIG_IGN;
  sigaction(taken, &act, NULL);
  act.sa_handler = SIG_DFL;
  sigaction(taken, &act, NULL);
  taken = 0;
}

/* }====== */

static int count_open(void) {
  int i, n = 0;
  for (i = 0; i < TICKS; i++)
    n += ticks[i].is_open != 0;
  return n;
}

static pt_tick *find_free(void) {
  int i = 0;
  while (i < TICKS && ticks[i].is_open)
    i++;
  if (taken == 0)
    taken = take_signal();
  return i < TICKS && taken != 0 ? &ticks[i] : NULL;
}

/* In a fork, before anything else runs there. */
static void forget(void) {
  int i;
  for (i = 0; i < TICKS; i++)
    ticks[i].process = 0;
}

/* Once is enough. Only where a library that is unloaded is forgotten, too. */
static int heed_forks(void) {
#if defined(__linux__)
  static int is_done;
  if (!is_done)
    is_done = pthread_atfork(NULL, NULL, forget) == 0;
  return is_done;
#else
  (void)forget;
  return 1;
#endif
}

pt_tick *pt_tick_open(pt_tick_beat *beat, void *subject) {
  pt_tick *t;
  lock();
  t = heed_forks() ? find_free() : NULL;
  if (t != NULL) {
    t->timer = -1;
    t->thread = pthread_self();
    t->process = getpid();
    t->beat = beat;
    t->subject = subject;
    t->is_open = 1;
  }
  unlock();
  return t;
}

int pt_tick_is_here(const pt_tick *t) {
  return t->process != 0 && pthread_equal(t->thread, pthread_self());
}

int pt_tick_start(pt_tick *t, double seconds) {
  if (!pt_tick_is_here(t) || t->process != getpid()) {
    destroy(t);
    t->thread = pthread_self();
    t->process = getpid();
  }
  return create(t) == 0 && set(t, seconds) == 0 ? 0 : errno;
}

void pt_tick_close(pt_tick *t) {
  destroy(t);
  lock();
  t->is_open = 0;
  if (count_open() == 0)
    return_signal();
  unlock();
}
