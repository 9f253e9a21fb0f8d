#include "lwriter.h"

#include <string.h>

static int has_header(const pt_writer *w) {
  return w->is_framed && w->s->framing.mode == PT_FRAME_HEADER;
}

/* Room for a header whose length has as many digits as the last one's. */
static size_t header_room(const pt_stream *s) {
  return s->header_len + (size_t)s->digits + 4;
}

static void init(pt_writer *w, lua_State *L, pt_stream *s, pt_buf *out,
                 int is_framed) {
  w->L = L;
  w->s = s;
  w->out = out;
  w->is_framed = is_framed;
  w->has_start = 0;
  w->mark = w->body = pt_buf_len(out);
  w->ok = 1;
}

/* What stands before the head. */
static void begin_frame(pt_writer *w) {
  if (has_header(w)) {
    size_t room = header_room(w->s);
    w->ok = pt_buf_reserve(w->L, w->out, room);
    if (!w->ok)
      return;
    w->out->end += room;
    w->body += room;
  }
  if (!w->is_framed) {
    pt_writer_add(w, w->mark == 0 ? "[" : ",", 1);
    w->body++;
  }
}

/* Keeps ready what a message begins with, the length yet to be written. */
static void make_start(pt_stream *s) {
  size_t room = s->framing.mode == PT_FRAME_HEADER ? header_room(s) : 0;
  s->start_mode = s->framing.mode;
  s->start_digits = s->digits;
  s->start_len = 0;
  if (room + s->head_len > sizeof s->start)
    return;
  if (room > 0) {
    memcpy(s->start, s->header, s->header_len);
    memcpy(s->start + room - 4, "\r\n\r\n", 4);
  }
  memcpy(s->start + room, s->head, s->head_len);
  s->start_len = room + s->head_len;
}

/* Copies all of `start`, whatever its length: the compiler does that in place.
*/
static int put_start(pt_writer *w) {
  pt_stream *s = w->s;
  if (s->start_digits != s->digits || s->start_mode != s->framing.mode)
    make_start(s);
  if (s->start_len == 0 ||
      !pt_buf_reserve(w->L, w->out, sizeof s->start + PT_WRITER_ROOM))
    return 0;
  memcpy(w->out->data + w->out->end, s->start, sizeof s->start);
  w->out->end += s->start_len;
  w->body = w->mark + s->start_len - s->head_len;
  return 1;
}

int pt_writer_begin(pt_writer *w, lua_State *L, pt_stream *s, pt_batch *batch) {
  init(w, L, s, batch != NULL ? &batch->out : &s->out, batch == NULL);
  w->has_start = w->is_framed && put_start(w);
  if (w->has_start)
    return 1;
  begin_frame(w);
  pt_writer_add(w, s->head, s->head_len);
  w->ok = w->ok && pt_buf_reserve(L, w->out, PT_WRITER_ROOM);
  return w->ok;
}

/* The guess was wrong: moves the body to where it belongs. */
static int refit(pt_writer *w, size_t body_len, int digits) {
  pt_stream *s = w->s;
  size_t before = w->body;
  size_t after = before + (size_t)digits - (size_t)s->digits;
  char *front;
  if (!pt_buf_reserve(w->L, w->out, 20))
    return 0;
  front = pt_buf_front(w->out);
  memmove(front + after, front + before, body_len);
  pt_buf_cut(w->out, after + body_len);
  s->digits = digits;
  return 1;
}

static int count_digits(size_t value) {
  int n = 1;
  for (; value >= 10; value /= 10)
    n++;
  return n;
}

static int write_header(pt_writer *w) {
  pt_stream *s = w->s;
  size_t len = pt_writer_len(w);
  int digits = count_digits(len);
  char *p;
  if (digits != s->digits) {
    w->has_start = 0;
    if (!refit(w, len, digits))
      return 0;
  }
  p = pt_buf_front(w->out) + w->mark;
  if (!w->has_start) {
    memcpy(p, s->header, s->header_len);
    memcpy(p + s->header_len + digits, "\r\n\r\n", 4);
  }
  pt_number_write_integer(p + s->header_len, (int64_t)len);
  return 1;
}

int pt_writer_end(pt_writer *w) {
  if (w->ok && has_header(w))
    w->ok = write_header(w);
  else if (w->is_framed)
    pt_writer_literal(w, "\n");
  return w->ok;
}

int pt_stream_send_text(lua_State *L, pt_stream *s, const char *text,
                        size_t len) {
  pt_writer w;
  init(&w, L, s, &s->out, 1);
  begin_frame(&w);
  pt_writer_add(&w, text, len);
  if (!pt_writer_end(&w))
    pt_writer_undo(&w);
  return w.ok;
}
