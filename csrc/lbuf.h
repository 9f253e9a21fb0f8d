/*
** The one growable buffer. Memory comes from the state's own allocator, so a
** buffer inside a userdata is freed by that userdata's finalizer. Bytes are
** appended at the back and consumed from the front; offsets that outlive a
** call are kept relative to the front, because growing moves everything.
*/
#ifndef PT_LBUF_H
#define PT_LBUF_H

#include <stddef.h>
#include <string.h>

#include "core.h"

#pragma GCC visibility push(hidden)

typedef struct pt_buf {
  char *data;
  size_t start; /* first byte in use */
  size_t end;   /* one behind the last byte in use */
  size_t cap;
  int unused; /* how often in a row it was emptied without being needed large */
} pt_buf;

/* NULL if nothing was ever appended, to which C lets no offset be added. */
static inline char *pt_buf_front(const pt_buf *b) {
  return b->start > 0 ? b->data + b->start : b->data;
}
static inline size_t pt_buf_len(const pt_buf *b) { return b->end - b->start; }
static inline size_t pt_buf_room(const pt_buf *b) { return b->cap - b->end; }

/* Makes room for `more` bytes behind `end`; 0 when memory is short, and then
** nothing has changed. Never raises and never runs the collector. */
int pt_buf_grow(lua_State *L, pt_buf *b, size_t more);

static inline int pt_buf_reserve(lua_State *L, pt_buf *b, size_t more) {
  return pt_buf_room(b) >= more || pt_buf_grow(L, b, more);
}

/* Appends; 0 when memory is short. */
static inline int pt_buf_add(lua_State *L, pt_buf *b, const void *bytes,
                             size_t n) {
  if (!pt_buf_reserve(L, b, n))
    return 0;
  if (n > 0)
    memcpy(b->data + b->end, bytes, n);
  b->end += n;
  return 1;
}

/* Drops what is behind the first `len` bytes. */
static inline void pt_buf_cut(pt_buf *b, size_t len) {
  b->end = b->start + len;
}

/* Drops `n` bytes from the front. An emptied buffer starts over. One that has
** grown beyond PT_BUF_KEEP gives its memory back once its size was not needed
** several times in a row, and beyond PT_BUF_MOST at once: a conversation of
** large messages does not pay for fresh pages with each. */
void pt_buf_consume(lua_State *L, pt_buf *b, size_t n);

void pt_buf_free(lua_State *L, pt_buf *b);

/* Before values of about `size` bytes are made again and again: has the C
** library keep what is freed of them. glibc gives the end of its heap back to
** the system, to be mapped and cleared anew for the next value, once that is
** more than twice the largest block ever mapped and freed; so such a block is
** taken, not touched, and freed. Elsewhere that does nothing. */
void pt_buf_keep_pages(lua_State *L, size_t size);

#define PT_BUF_KEEP (256 * 1024)
#define PT_BUF_MOST (4 * 1024 * 1024)

#pragma GCC visibility pop

#endif
