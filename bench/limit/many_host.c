/* Many children at once, on epoll. Prints calls a second.
** many_host turn|flight SECONDS N CHILD...
**   turn    one call to each after the other
**   flight  one call under way at each */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "limit.h"

#define EVENTS 64

static char request[SMALL];
static size_t request_len;

static void ask(const child *c) { write_all(c->in, request, request_len); }

static void take_answer(const child *c) {
  char answer[SMALL];
  if (read_some(c->out, answer, sizeof answer) == 0)
    die("end of input");
}

static void watch(int epoll, const child *children, int i) {
  struct epoll_event event = {.events = EPOLLIN, .data.u32 = (unsigned)i};
  if (epoll_ctl(epoll, EPOLL_CTL_ADD, children[i].out, &event) != 0)
    die("epoll_ctl");
}

static long in_turn(int epoll, const child *children, int n) {
  struct epoll_event event;
  int i;
  for (i = 0; i < n; i++) {
    ask(&children[i]);
    if (epoll_wait(epoll, &event, 1, -1) != 1)
      die("epoll_wait");
    take_answer(&children[event.data.u32]);
  }
  return n;
}

static long in_flight(int epoll, const child *children) {
  struct epoll_event events[EVENTS];
  int ready = epoll_wait(epoll, events, EVENTS, -1), i;
  if (ready < 0)
    die("epoll_wait");
  for (i = 0; i < ready; i++) {
    const child *c = &children[events[i].data.u32];
    take_answer(c);
    ask(c);
  }
  return ready;
}

static double measure(int epoll, const child *children, int n, int is_flight,
                      double seconds) {
  double begun, spent;
  long calls = 0;
  int i;
  in_turn(epoll, children, n);
  for (i = 0; is_flight && i < n; i++)
    ask(&children[i]);
  begun = now();
  do {
    calls +=
        is_flight ? in_flight(epoll, children) : in_turn(epoll, children, n);
    spent = now() - begun;
  } while (spent < seconds);
  return (double)calls / spent;
}

int main(int argc, char **argv) {
  int n = argc > 4 ? atoi(argv[3]) : 0, i;
  int epoll = epoll_create1(EPOLL_CLOEXEC);
  child *children = calloc((size_t)n, sizeof *children);
  if (children == NULL || epoll < 0)
    die("no memory");
  request_len = put_request(request, 1);
  for (i = 0; i < n; i++) {
    children[i] = start(argv + 4);
    watch(epoll, children, i);
  }
  printf("%.9g\n", measure(epoll, children, n, strcmp(argv[1], "flight") == 0,
                           atof(argv[2])));
  for (i = 0; i < n; i++)
    stop(children[i]);
  free(children);
  return 0;
}
