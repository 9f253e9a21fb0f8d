/* Answers every message that is there before it sends: flight_child */
#include "limit.h"
#include "peer.h"

int main(void) {
  static peer p;
  scanned m;
  peer_open(&p, 0, 1);
  while (peer_turn(&p))
    while (peer_take(&p, &m))
      p.out_end +=
          put_response(peer_put(&p), m.id, m.id_len, m.payload, m.payload_len);
  return 0;
}
