/* One call after another: write, poll, read. Prints seconds per call.
** sequential_host SECONDS CHILD... */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "limit.h"

#define BETWEEN_LOOKS 100 /* calls from one look at the clock to the next */

static void call(child c, const char *request, size_t n) {
  struct pollfd ready = {.fd = c.out, .events = POLLIN};
  char answer[SMALL];
  write_all(c.in, request, n);
  if (poll(&ready, 1, -1) < 0 || read_some(c.out, answer, sizeof answer) == 0)
    die("call");
}

int main(int argc, char **argv) {
  double seconds = argc > 2 ? atof(argv[1]) : 0, begun, spent;
  char request[SMALL];
  size_t n = put_request(request, 1);
  child c = start(argv + 2);
  long i, calls = 0;
  call(c, request, n);
  begun = now();
  do {
    for (i = 0; i < BETWEEN_LOOKS; i++)
      call(c, request, n);
    calls += i;
    spent = now() - begun;
  } while (spent < seconds);
  printf("%.9g\n", spent / (double)calls);
  stop(c);
  return 0;
}
