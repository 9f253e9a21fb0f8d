/*
** A guard over reads from an empty pipe: plays the scene that is its argument,
** and prints what came of it, a word each.
*/
#define _GNU_SOURCE

#include "../../csrc/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pt_guard guard;
static pt_io input;
static int output;

static void pause_a_little(void) { usleep(1000); }

static void tell_whether_it_holds(void) {
  printf("%s ", pt_guard_holds(&guard) ? "holds" : "no");
}

static void tell_of_read(ssize_t n) {
  if (n >= 0)
    printf("%d ", (int)n);
  else
    printf("%s ", strerrorname_np(errno));
}

static void tell_what_is_read(void) {
  char bytes[8];
  tell_of_read(pt_guard_read(&guard, &input, bytes, sizeof bytes));
}

static int is_blocking(void) {
  return !(fcntl(input.fd, F_GETFL) & O_NONBLOCK);
}

static void read_what_is_there(void) {
  if (write(output, "ab", 2) == 2)
    tell_what_is_read();
  printf("%s ", is_blocking() ? "blocking" : "not");
}

static void read_in_vain(void) {
  tell_what_is_read();
  printf("%s ", is_blocking() ? "blocking" : "not");
  read_what_is_there();
}

/* The beat comes after it was decided to read, and before that. */
static void read_too_late(void) {
  char bytes[8];
  read_what_is_there();
  guard.fd = input.fd;
  guard.is_reading = 1;
  while (is_blocking())
    pause_a_little();
  tell_of_read(pt_io_read_patiently(&input, bytes, sizeof bytes));
}

static void rest(void) {
  while (guard.is_beating)
    pause_a_little();
  tell_whether_it_holds();
  tell_whether_it_holds();
}

/* It comes to rest after it was decided to read, and before that. */
static void read_after_all(void) {
  while (guard.is_beating)
    pause_a_little();
  tell_what_is_read();
}

/* So long that it would have come to rest by now. */
static void go_on_reading(void) {
  int i;
  guard.fd = input.fd;
  guard.is_reading = 1;
  for (i = 0; i < (int)(PT_GUARD_INTERVAL * 4000); i++)
    pause_a_little();
  printf("%s ", guard.is_beating ? "beats" : "rests");
}

static void block(void) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  tell_whether_it_holds();
  sigprocmask(SIG_SETMASK, &before, NULL);
  tell_whether_it_holds();
}

static void inspect(void) {
  pt_guard_inspect(&guard);
  tell_whether_it_holds();
}

static void take_the_signal_away(void) {
  int sig;
  inspect();
  for (sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
    signal(sig, SIG_IGN);
  inspect();
}

static void part(void) {
  fflush(stdout);
  if (fork() == 0) {
    tell_whether_it_holds();
    return;
  }
  wait(NULL);
  inspect();
}

static void close_it(void) {
  pt_guard_close(&guard);
  inspect();
}

static const struct {
  const char *name;
  void (*play)(void);
} scenes[] = {
    {"what is there", read_what_is_there},
    {"in vain", read_in_vain},
    {"too late", read_too_late},
    {"rest", rest},
    {"after all", read_after_all},
    {"going on", go_on_reading},
    {"blocked", block},
    {"taken", take_the_signal_away},
    {"forked", part},
    {"closed", close_it},
};

int main(int argc, char **argv) {
  size_t i;
  int fds[2];
  if (argc != 2 || pipe2(fds, O_NONBLOCK) != 0 ||
      pt_io_init(&input, fds[0]) != 0)
    return 1;
  output = fds[1];
  tell_whether_it_holds();
  tell_whether_it_holds();
  for (i = 0; i < sizeof scenes / sizeof scenes[0]; i++)
    if (strcmp(scenes[i].name, argv[1]) == 0)
      scenes[i].play();
  return 0;
}
