/* Answers each read with the same response: a message is read whole. */
#include <string.h>

#include "limit.h"

int main(void) {
  char in[SMALL], out[SMALL];
  size_t n = put_response(out, "1", 1, PARAMS, strlen(PARAMS));
  while (read_some(0, in, sizeof in) > 0)
    write_all(1, out, n);
  return 0;
}
