/*
** The only growable buffer. Its memory comes from the allocator of the Lua
** state, so a buffer inside a userdata is freed by that userdata's finalizer.
** Bytes are appended at the end and consumed from the front. Offsets that
** outlive a call are relative to the front, because growing moves the bytes.
*/
#ifndef PT_LBUF_H
#define PT_LBUF_H

#include <stddef.h>
#include <string.h>

#include "core.h"

typedef struct pt_buf {
  char *data;
  size_t start; /* first byte in use */
  size_t end;   /* one past the last byte in use */
  size_t cap;
  int unused; /* how often in a row little of a large buffer was used */
} pt_buf;

/* NULL if nothing was ever appended: C does not allow adding an offset to NULL.
*/
static inline char *pt_buf_front(const pt_buf *b) {
  return b->start > 0 ? b->data + b->start : b->data;
}
static inline size_t pt_buf_len(const pt_buf *b) { return b->end - b->start; }
static inline size_t pt_buf_room(const pt_buf *b) { return b->cap - b->end; }

/* Makes room for `more` bytes after `end`. Returns 0 if there is not enough
** memory, and then nothing has changed. Never raises and never runs the garbage
** collector. */
int pt_buf_grow(lua_State *L, pt_buf *b, size_t more);

static inline int pt_buf_reserve(lua_State *L, pt_buf *b, size_t more) {
  return pt_buf_room(b) >= more || pt_buf_grow(L, b, more);
}

/* Appends `n` bytes. Returns 0 if there is not enough memory. */
static inline int pt_buf_add(lua_State *L, pt_buf *b, const void *bytes,
                             size_t n) {
  if (!pt_buf_reserve(L, b, n))
    return 0;
  if (n > 0)
    memcpy(b->data + b->end, bytes, n);
  b->end += n;
  return 1;
}

/* Drops everything after the first `len` bytes. */
static inline void pt_buf_cut(pt_buf *b, size_t len) {
  b->end = b->start + len;
}

/* Drops `n` bytes from the front. An empty buffer starts over at the beginning
** of its memory. A buffer larger than PT_BUF_KEEP is freed when it is empty and
** little of it was used several times in a row; one larger than PT_BUF_MOST is
** freed at once. So a conversation with large messages does not need new pages
** for each message. */
void pt_buf_consume(lua_State *L, pt_buf *b, size_t n);

void pt_buf_free(lua_State *L, pt_buf *b);

#define PT_BUF_KEEP (256 * 1024)
#define PT_BUF_MOST (4 * 1024 * 1024)

#endif
