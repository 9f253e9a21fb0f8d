/*
** One message being written behind what is queued: its frame, with the length
** filled in at the end, and a way back if it cannot be finished.
*/
#ifndef PT_LWRITER_H
#define PT_LWRITER_H

#include "lpeer.h"
#include "number.h"

#pragma GCC visibility push(hidden)

typedef struct pt_writer {
  lua_State *L;
  pt_peer *p;
  pt_buf *out;
  int is_framed; /* not the member of a batch */
  int has_start; /* all of the frame but its length is written */
  size_t mark;   /* length of the buffer before this message */
  size_t body;   /* length before its body */
  int ok;        /* no append has failed */
} pt_writer;

/* Begins a message, head included: a member of the batch whose answers are in
** `batch`, if that is not NULL. 0 when memory is short; else there is room for
** PT_WRITER_ROOM bytes. */
int pt_writer_begin(pt_writer *w, lua_State *L, pt_peer *p, pt_buf *batch);

#define PT_WRITER_ROOM 96

/* Within the room that there is after the beginning. */
static inline void pt_writer_put(pt_writer *w, const char *text, size_t len) {
  memcpy(w->out->data + w->out->end, text, len);
  w->out->end += len;
}

static inline void pt_writer_put_integer(pt_writer *w, lua_Integer value) {
  w->out->end += pt_number_write_integer(w->out->data + w->out->end, value);
}

/* A failure is kept in w->ok. */
static inline void pt_writer_add(pt_writer *w, const char *text, size_t len) {
  w->ok = w->ok && pt_buf_add(w->L, w->out, text, len);
}

#define pt_writer_literal(w, text) pt_writer_add(w, "" text, sizeof(text) - 1)
#define pt_writer_put_literal(w, text)                                         \
  pt_writer_put(w, "" text, sizeof(text) - 1)

/* The length of the body so far. */
static inline size_t pt_writer_len(const pt_writer *w) {
  return pt_buf_len(w->out) - w->body;
}

/* Ends the frame; 0 when memory is short, now or at any time before. */
int pt_writer_end(pt_writer *w);

/* Queues a whole message made elsewhere; 0 when memory is short. */
int pt_writer_send(lua_State *L, pt_peer *p, const char *text, size_t len);

/* Leaves nothing of the message. */
static inline void pt_writer_undo(pt_writer *w) { pt_buf_cut(w->out, w->mark); }

#pragma GCC visibility pop

#endif
