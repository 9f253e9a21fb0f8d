/*
** The least that a JSON-RPC peer has to do with a body: see that it is JSON,
** and find the id and the payload. Nothing is made of the values.
*/
#ifndef SCAN_H
#define SCAN_H

#include <stddef.h>

typedef struct scanned {
  const char *id; /* into the body */
  size_t id_len;
  const char *payload; /* params or result */
  size_t payload_len;
} scanned;

/* 0 for a body that is no JSON object with an id and a payload. */
int scan(const char *body, size_t n, scanned *found);

#endif
