#define _GNU_SOURCE

#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "fd.h"

static atomic_flag is_taken = ATOMIC_FLAG_INIT;
static volatile sig_atomic_t output = -1; /* where the handler writes */
static pid_t owner;                       /* a fork has the pipe, too */

/* The disposition is the default one again: in a fork, which nobody has asked,
** the signal takes its course. */
static void note(int sig) {
  int saved = errno;
  unsigned char byte = (unsigned char)sig;
  ssize_t written = 0;
  if (getpid() == owner)
    written = write(output, &byte, 1);
  else
    raise(sig);
  (void)written;
  errno = saved;
}

static int set_disposition(int sig, void (*handler)(int), int flags) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = handler;
  act.sa_flags = flags;
  sigemptyset(&act.sa_mask);
  return sigaction(sig, &act, NULL);
}

static int is_handler(const struct sigaction *act, void (*handler)(int)) {
  return !(act->sa_flags & SA_SIGINFO) && act->sa_handler == handler;
}

static int has_disposition(int sig, void (*handler)(int)) {
  struct sigaction act;
  return sigaction(sig, NULL, &act) == 0 && is_handler(&act, handler);
}

/* One that is wanted twice is taken already. */
static int may_take(const struct sigaction *act, int handled) {
  if (handled)
    return !is_handler(act, SIG_IGN) && !is_handler(act, note);
  return is_handler(act, SIG_DFL);
}

static void take(pt_signals *s, int sig, int handled) {
  struct sigaction *before = &s->before[s->count];
  if (s->count < PT_SIGNALS_MOST && sigaction(sig, NULL, before) == 0 &&
      may_take(before, handled) &&
      set_disposition(sig, note, (int)SA_RESETHAND | SA_RESTART) == 0)
    s->taken[s->count++] = sig;
}

int pt_signals_open(pt_signals *s, const int *wanted, int count, int handled) {
  int ends[2], err, i;
  if (atomic_flag_test_and_set(&is_taken))
    return EBUSY;
  err = pt_fd_pipe(ends);
  if (err != 0) {
    atomic_flag_clear(&is_taken);
    return err;
  }
  pt_fd_nonblock(ends[0]);
  pt_fd_nonblock(ends[1]);
  s->is_open = 1;
  s->input = ends[0];
  s->count = 0;
  output = ends[1];
  owner = getpid();
  for (i = 0; i < count; i++)
    take(s, wanted[i], handled);
  return 0;
}

int pt_signals_next(const pt_signals *s) {
  unsigned char byte;
  if (s->is_open && read(s->input, &byte, 1) == 1)
    return byte;
  return 0;
}

void pt_signals_close(pt_signals *s) {
  int i, end = output;
  if (!s->is_open)
    return;
  s->is_open = 0;
  for (i = 0; i < s->count; i++)
    if (has_disposition(s->taken[i], note))
      sigaction(s->taken[i], &s->before[i], NULL);
  output = -1;
  pt_fd_drop(&end);
  pt_fd_drop(&s->input);
  atomic_flag_clear(&is_taken);
}

int pt_signal_raise(int sig) {
  sigset_t set;
  set_disposition(sig, SIG_DFL, 0); /* KILL and STOP have no other */
  sigemptyset(&set);
  sigaddset(&set, sig);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  return kill(getpid(), sig) == 0 ? 0 : errno;
}
