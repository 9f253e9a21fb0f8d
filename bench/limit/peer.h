/*
** One end of a conversation with many messages under way: what was read and not
** yet taken, what was written and not yet sent, and no call that blocks but
** poll.
*/
#ifndef PEER_H
#define PEER_H

#include <stddef.h>

#include "scan.h"

#define PEER_ROOM (1u << 20)

typedef struct peer {
  int read_fd, write_fd;
  size_t in_start, in_end, out_start, out_end;
  char in[PEER_ROOM], out[PEER_ROOM];
} peer;

void peer_open(peer *p, int read_fd, int write_fd);

/* Where the next message of at most SMALL bytes is to be put; the caller adds
** its length to out_end. */
char *peer_put(peer *p);

/* The next whole message that is there already; 0 when there is none. */
int peer_take(peer *p, scanned *message);

/* Sends what can be sent, waits for input and reads it; 0 at its end. */
int peer_turn(peer *p);

#endif
