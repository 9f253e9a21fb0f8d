/*
** Reads the envelope of a message: the members of its object, in one pass and
** in any order. Payloads are decoded during that pass and left on the stack.
*/
#ifndef PT_LENVELOPE_H
#define PT_LENVELOPE_H

#include "lpeer.h"
#include "number.h"

typedef enum pt_presence {
  PT_IS_ABSENT,
  PT_IS_NULL,
  PT_IS_PRESENT,
  PT_IS_WRONG
} pt_presence;

typedef struct pt_envelope {
  pt_presence id, jsonrpc, method, params, result, error;
  /* stack indexes, 0 if missing */
  int method_at, params_at, result_at, error_at;
  const char *id_text; /* as in the message, with quotes */
  size_t id_len;
  pt_number id_number; /* if the id is a number */
} pt_envelope;

/* Reads the object at d->p. Afterwards d->p is the byte after it. The stack
** holds the peer at index 1, then what was decoded.
** Returns 0 with the fault set if the text is not JSON; the members before the
** fault are known nevertheless. */
int pt_envelope_read(lua_State *L, pt_peer *p, pt_decoder *d, pt_envelope *e);

/* Fills in what is known about a skipped message. The id points into `k`. */
void pt_envelope_skimmed(const pt_skim *k, pt_envelope *e);

/* Checks the extra members of the last message. Returns NULL if all have the
** expected values. Otherwise pushes and returns the reason. The peer is at
** index 1. */
const char *pt_envelope_check_extra(lua_State *L);

#endif
