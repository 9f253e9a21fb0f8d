#include "lwriter.h"

#include <string.h>

static int has_header(const pt_writer *w) {
  return w->is_framed && w->p->input.framing.mode == PT_FRAME_HEADER;
}

/* Room for a header whose length has as many digits as the last one's. */
static size_t header_room(const pt_peer *p) {
  return p->form.header_len + (size_t)p->output.digits + 4;
}

static void init(pt_writer *w, lua_State *L, pt_peer *p, pt_buf *out,
                 int is_framed) {
  w->L = L;
  w->p = p;
  w->out = out;
  w->is_framed = is_framed;
  w->has_start = 0;
  w->mark = w->body = pt_buf_len(out);
  w->ok = 1;
}

/* What stands before the head. */
static void begin_frame(pt_writer *w) {
  if (has_header(w)) {
    size_t room = header_room(w->p);
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
static void make_start(pt_peer *p) {
  size_t room = p->input.framing.mode == PT_FRAME_HEADER ? header_room(p) : 0;
  p->output.start_mode = p->input.framing.mode;
  p->output.start_digits = p->output.digits;
  p->output.start_len = 0;
  if (room + p->form.head_len > sizeof p->output.start)
    return;
  if (room > 0) {
    memcpy(p->output.start, p->form.header, p->form.header_len);
    memcpy(p->output.start + room - 4, "\r\n\r\n", 4);
  }
  memcpy(p->output.start + room, p->form.head, p->form.head_len);
  p->output.start_len = room + p->form.head_len;
}

/* Copies all of `start`, whatever its length: the compiler does that in place.
*/
static int put_start(pt_writer *w) {
  pt_peer *p = w->p;
  if (p->output.start_digits != p->output.digits ||
      p->output.start_mode != p->input.framing.mode)
    make_start(p);
  if (p->output.start_len == 0 ||
      !pt_buf_reserve(w->L, w->out, sizeof p->output.start + PT_WRITER_ROOM))
    return 0;
  memcpy(w->out->data + w->out->end, p->output.start, sizeof p->output.start);
  w->out->end += p->output.start_len;
  w->body = w->mark + p->output.start_len - p->form.head_len;
  return 1;
}

int pt_writer_begin(pt_writer *w, lua_State *L, pt_peer *p, pt_buf *batch) {
  init(w, L, p, batch != NULL ? batch : &p->output.buf, batch == NULL);
  w->has_start = w->is_framed && put_start(w);
  if (w->has_start)
    return 1;
  begin_frame(w);
  pt_writer_add(w, p->form.head, p->form.head_len);
  w->ok = w->ok && pt_buf_reserve(L, w->out, PT_WRITER_ROOM);
  return w->ok;
}

/* The guess was wrong: moves the body to where it belongs. */
static int refit(pt_writer *w, size_t body_len, int digits) {
  pt_peer *p = w->p;
  size_t before = w->body;
  size_t after = before + (size_t)digits - (size_t)p->output.digits;
  char *front;
  if (!pt_buf_reserve(w->L, w->out, 20))
    return 0;
  front = pt_buf_front(w->out);
  memmove(front + after, front + before, body_len);
  pt_buf_cut(w->out, after + body_len);
  p->output.digits = digits;
  return 1;
}

static int count_digits(size_t value) {
  int n = 1;
  for (; value >= 10; value /= 10)
    n++;
  return n;
}

static int write_header(pt_writer *w) {
  const pt_form *form = &w->p->form;
  size_t len = pt_writer_len(w);
  int digits = count_digits(len);
  char *header;
  if (digits != w->p->output.digits) {
    w->has_start = 0;
    if (!refit(w, len, digits))
      return 0;
  }
  header = pt_buf_front(w->out) + w->mark;
  if (!w->has_start) {
    memcpy(header, form->header, form->header_len);
    memcpy(header + form->header_len + digits, "\r\n\r\n", 4);
  }
  pt_number_write_integer(header + form->header_len, (int64_t)len);
  return 1;
}

int pt_writer_end(pt_writer *w) {
  if (w->ok && has_header(w))
    w->ok = write_header(w);
  else if (w->is_framed)
    pt_writer_literal(w, "\n");
  return w->ok;
}

int pt_writer_send(lua_State *L, pt_peer *p, const char *text, size_t len) {
  pt_writer w;
  init(&w, L, p, &p->output.buf, 1);
  begin_frame(&w);
  pt_writer_add(&w, text, len);
  if (!pt_writer_end(&w))
    pt_writer_undo(&w);
  return w.ok;
}
