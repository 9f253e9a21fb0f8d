/* A frame with a body of BYTES there and back, stored whole at either end, over
** pipes of the default size. Prints bytes of body a second.
** large_host SECONDS BYTES CHILD... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limit.h"

static void there_and_back(child c, char *frame, size_t n) {
  write_all(c.in, frame, n);
  read_all(c.out, frame, n);
}

int main(int argc, char **argv) {
  double seconds = argc > 3 ? atof(argv[1]) : 0, begun, spent;
  size_t body = argc > 3 ? (size_t)atol(argv[2]) : 0;
  char *frame = malloc(body + SMALL);
  int header = sprintf(frame, "Content-Length: %zu\r\n\r\n", body);
  child c = start(argv + 3);
  long calls = 0;
  memset(frame + header, ' ', body);
  there_and_back(c, frame, body + (size_t)header);
  begun = now();
  do {
    there_and_back(c, frame, body + (size_t)header);
    calls++;
    spent = now() - begun;
  } while (spent < seconds);
  printf("%.9g\n", (double)body * (double)calls / spent);
  stop(c);
  return 0;
}
