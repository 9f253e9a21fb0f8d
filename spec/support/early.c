/*
** Asks TIMES whether so much is to be sent early, and prints how often it was.
** INTERRUPTED is 1 if each time this one is interrupted for it.
**
**   early INTERRUPTED QUEUED LEFT TIMES
*/
#include <stdio.h>
#include <stdlib.h>

#include "../../csrc/early.h"

int main(int argc, char **argv) {
  pt_early e = {0};
  long interrupted, times, interrupts = 1000, sent = 0;
  if (argc != 5)
    return 1;
  interrupted = atol(argv[1]);
  for (times = atol(argv[4]); times > 0; times--) {
    if (!pt_early_is_time(&e, (size_t)atol(argv[2]), (size_t)atol(argv[3])))
      continue;
    sent++;
    interrupts += interrupted;
    pt_early_sent(&e, &interrupts);
  }
  printf("%ld\n", sent);
  return 0;
}
