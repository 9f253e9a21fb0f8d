/*
** The envelope of a JSON-RPC message: its members read in one pass over the
** text, whatever their order, with the payloads decoded on the way.
*/
#ifndef PT_LENVELOPE_H
#define PT_LENVELOPE_H

#include "ljson.h"
#include "lpeer.h"
#include "number.h"
#include "skim.h"

#pragma GCC visibility push(hidden)

typedef enum pt_presence {
  PT_ABSENT,
  PT_NULL,
  PT_PRESENT,
  PT_WRONG
} pt_presence;

typedef struct pt_envelope {
  pt_presence id, jsonrpc, method, params, result, error;
  int method_at; /* where on the stack they were put */
  int params_at, result_at;
  int error_at;
  const char *id_text; /* as it stands in the message, quotes and all */
  size_t id_len;
  pt_number id_number; /* if it is one */
  unsigned extras; /* a bit for each required member that was there and right */
  unsigned odd_extra; /* the bit of one that was wrong, if there was any */
  int odd_extra_at;   /* and where on the stack its value was put */
} pt_envelope;

/* Reads the object at d->p; afterwards d->p stands behind it, and the stack
** holds what was decoded above the peer, which is at 1. 0 with the fault set
** if the text is not JSON; the members before that are known all the same. */
int pt_envelope_read(lua_State *L, pt_peer *p, pt_decoder *d, pt_envelope *e);

/* What is known of a message that was skipped; the id points into `k`. */
void pt_envelope_skimmed(const pt_skim *k, pt_envelope *e);

/* Pushes the id as a value that gives back its very text when answered. */
void pt_envelope_push_id(lua_State *L, const pt_envelope *e, int in_batch);

/* The slot of the call that this answers, or PT_PENDING_NONE. */
size_t pt_envelope_slot(const pt_peer *p, const pt_envelope *e);

/* {====== Members that every message has beside jsonrpc ====== */

/* Pushes what is wrong with those of a message, and returns it: the name, what
** was expected and what came. The peer is at 1, here and in the next. */
const char *pt_envelope_wrong_extra(lua_State *L, const pt_peer *p,
                                    const pt_envelope *e);

/* Looks for them among the other members that were kept of the last message: 1
** if they are as they should be, else what is wrong is pushed. */
int pt_envelope_check_others(lua_State *L);

/* }====== */

#pragma GCC visibility pop

#endif
