/* Stores a whole frame, then forwards it: large_child */
#include <stdlib.h>

#include "limit.h"

#define ROOM (64u << 20)

int main(void) {
  char *bytes = malloc(ROOM);
  size_t have = 0, header, body, n;
  if (bytes == NULL)
    die("malloc");
  while ((n = read_some(0, bytes + have, ROOM - have)) > 0) {
    have += n;
    if (get_frame(bytes, have, &header, &body)) {
      write_all(1, bytes, have);
      have = 0;
    }
  }
  return 0;
}
