#include "lbuf.h"

#include <stdint.h>

#define FIRST_SIZE 256
#define SHRINK_AFTER                                                           \
  16 /* times in a row that little of a large buffer is used */

static void move_buf_to_front(pt_buf *b) {
  memmove(b->data, b->data + b->start, b->end - b->start);
  b->end -= b->start;
  b->start = 0;
}

/* Moves the bytes to the front if that makes enough room and the free space
** there is at least as large as the used bytes, so that bytes are not moved too
** often; otherwise reallocates. */
int pt_buf_grow(lua_State *L, pt_buf *b, size_t more) {
  size_t used = pt_buf_len(b);
  size_t cap = b->cap > 0 ? b->cap : FIRST_SIZE;
  char *data;
  if (more > SIZE_MAX / 4 || used > SIZE_MAX / 4)
    return 0;
  if (b->start > 0 && b->cap - used >= more && b->start >= used) {
    move_buf_to_front(b);
    return 1;
  }
  while (cap < used + more)
    cap *= 2;
  if (b->start > 0)
    move_buf_to_front(b);
  if (cap == b->cap)
    return 1;
  data = pt_reallocate(L, b->data, b->cap, cap);
  if (data == NULL)
    return 0;
  b->data = data;
  b->cap = cap;
  return 1;
}

/* `end` is how much of the buffer was used this time. A few small messages do
** not free a large buffer, because the next large one would allocate it again.
*/
static void consider_shrinking_buf(lua_State *L, pt_buf *b, size_t end) {
  if (b->cap <= PT_BUF_KEEP)
    return;
  b->unused = end > b->cap / 4 ? 0 : b->unused + 1;
  if (b->cap > PT_BUF_MOST || b->unused >= SHRINK_AFTER)
    pt_buf_free(L, b);
}

void pt_buf_consume(lua_State *L, pt_buf *b, size_t n) {
  size_t end = b->end;
  b->start += n;
  if (n == 0 || b->start < b->end)
    return;
  b->start = b->end = 0;
  consider_shrinking_buf(L, b, end);
}

void pt_buf_free(lua_State *L, pt_buf *b) {
  if (b->data != NULL)
    pt_reallocate(L, b->data, b->cap, 0);
  memset(b, 0, sizeof *b);
}
