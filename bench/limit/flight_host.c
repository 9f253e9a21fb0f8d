/* DEPTH calls under way at any time. Prints calls a second.
** flight_host SECONDS DEPTH CHILD... */
#include <stdio.h>
#include <stdlib.h>

#include "limit.h"
#include "peer.h"

#define DEPTH_MAX 65536

static char waiting[DEPTH_MAX]; /* by id */

static void ask(peer *p, unsigned long id) {
  waiting[id] = 1;
  p->out_end += put_request(peer_put(p), id);
}

/* Answers are matched by id, and each makes place for another question. */
static long turn(peer *p) {
  scanned m;
  long answers = 0;
  if (!peer_turn(p))
    die("the child ended");
  for (; peer_take(p, &m); answers++) {
    unsigned long id = strtoul(m.id, NULL, 10);
    if (id >= DEPTH_MAX || !waiting[id])
      die("stray answer");
    ask(p, id);
  }
  return answers;
}

int main(int argc, char **argv) {
  static peer p;
  double seconds = argc > 3 ? atof(argv[1]) : 0, begun, spent;
  unsigned long id, depth = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
  child c = start(argv + 3);
  long calls = 0;
  peer_open(&p, c.out, c.in);
  for (id = 0; id < depth && id < DEPTH_MAX; id++)
    ask(&p, id);
  turn(&p);
  begun = now();
  do {
    calls += turn(&p);
    spent = now() - begun;
  } while (spent < seconds);
  printf("%.9g\n", (double)calls / spent);
  stop(c);
  return 0;
}
