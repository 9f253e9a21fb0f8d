/* Starts a child, asks, waits for the answer. Prints seconds from before the
** start to the answer, the median of several.
** spawn_host SECONDS CHILD... */
#include <stdio.h>
#include <stdlib.h>

#include "limit.h"

#define MOST 10000

static double once(char **argv) {
  char request[SMALL], answer[SMALL];
  size_t n = put_request(request, 1);
  double begun = now(), spent;
  child c = start(argv);
  write_all(c.in, request, n);
  if (read_some(c.out, answer, sizeof answer) == 0)
    die("no answer");
  spent = now() - begun;
  stop(c);
  return spent;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static double times[MOST];
  double end = now() + (argc > 2 ? atof(argv[1]) : 0);
  size_t n = 0;
  do
    times[n++] = once(argv + 2);
  while (n < MOST && now() < end);
  qsort(times, n, sizeof times[0], compare);
  printf("%.9g\n", times[n / 2]);
  return 0;
}
