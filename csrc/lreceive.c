#include "lreceive.h"

#include <errno.h>
#include <string.h>

#include "lbatch.h"

#define READ_FIRST (64 * 1024)
#define READ_LEAST (16 * 1024)
#define READ_MOST (1024 * 1024) /* beyond what is there already */
#define LARGE (128 * 1024) /* bytes from which memory is mapped by itself */

/* {====== Bytes ====== */

static void note_size(lua_State *L, pt_input *in, size_t size) {
  if (size <= in->largest)
    return;
  in->largest = size;
  if (size > LARGE)
    pt_buf_keep_pages(L, size);
}

/* A length that was announced is no reason to believe that so much will come:
** at most as much as there is already, or READ_MOST, is given at once. */
static size_t believe(const pt_input *in) {
  size_t there = pt_buf_len(&in->buf);
  size_t most = there > READ_MOST ? there : READ_MOST;
  return in->need < most ? in->need : most;
}

static void make_room(lua_State *L, pt_input *in) {
  size_t want = in->buf.cap == 0 ? READ_FIRST : READ_LEAST, need = believe(in);
  note_size(L, in, need);
  pt_io_widen(&in->io, in->need);
  if (!pt_buf_reserve(L, &in->buf, need > want ? need : want))
    luaL_error(L, "not enough memory");
}

static void took(pt_input *in, size_t n) {
  in->is_drained = n < pt_buf_room(&in->buf);
  in->is_searched = 0;
  in->at_end = n == 0;
  in->buf.end += n;
}

/* As pt_receive, and 1 if bytes came. */
static int fill(lua_State *L, pt_input *in) {
  ssize_t n;
  int err;
  if (in->is_drained) { /* asking again would only say EAGAIN */
    in->is_drained = 0;
    return 0;
  }
  make_room(L, in);
  n = pt_io_read(&in->io, in->buf.data + in->buf.end, pt_buf_room(&in->buf));
  if (n >= 0) {
    took(in, (size_t)n);
    return 1;
  }
  err = errno;
  if (err == EAGAIN || err == EWOULDBLOCK)
    return 0;
  lua_pushfstring(L, "cannot read: %s", strerror(err));
  lua_pushliteral(L, "closed");
  return -1;
}

/* }====== */

/* {====== One message ====== */

/* Drops the message from the buffer; a batch may be answered with that. */
static void consume(lua_State *L, pt_peer *p) {
  pt_input *in = &p->input;
  if (in->text_used == 0) /* there is more of the batch */
    return;
  pt_buf_consume(L, &in->buf, in->text_used);
  if (in->batch > 0) {
    in->batch = 0;
    if (!pt_batch_complete(L, p))
      luaL_error(L, "not enough memory");
  }
}

static int finish_reading(lua_State *L, pt_peer *p) {
  p->input.is_reading = 0;
  consume(L, p);
  if (p->input.io.fd == -1)
    pt_peer_release(L, p);
  return 1;
}

static void push_at(lua_State *L, int at) {
  if (at > 0)
    lua_pushvalue(L, at);
  else
    lua_pushnil(L);
}

/* With the collector paused: (peer, message) -> id, method, payload */
static int read_large(lua_State *L) {
  pt_peer *p = lua_touserdata(L, 1);
  pt_message *m = lua_touserdata(L, 2);
  pt_vocabulary words = pt_names_get(L, 1);
  lua_settop(L, 1);
  pt_message_read(L, p, &words, m);
  luaL_checkstack(L, 3, NULL);
  push_at(L, m->id);
  push_at(L, m->method);
  push_at(L, m->payload);
  return 3;
}

/* The size of a line is known only now. */
static void receive_large(lua_State *L, pt_peer *p, const pt_vocabulary *words,
                          pt_message *m) {
  note_size(L, &p->input, p->input.text_len);
  p->loop->arrears = &words->names->arrears;
  lua_pushvalue(L, lua_upvalueindex(PT_RECEIVE_UPVALUES));
  lua_pushvalue(L, 1);
  lua_pushlightuserdata(L, m);
  if (pt_call_paused(L, words, 2) != LUA_OK)
    lua_error(L);
  m->id = m->id > 0 ? 2 : 0;
  m->method = m->method > 0 ? 3 : 0;
  m->payload = m->payload > 0 ? 4 : 0;
}

static int receive_message(lua_State *L, pt_peer *p, pt_message *m) {
  pt_vocabulary words = pt_names_get(L, 1);
  p->input.is_reading = 1;
  if (p->input.text_len < PT_DECODE_LARGE)
    pt_message_read(L, p, &words, m);
  else
    receive_large(L, p, &words, m);
  return finish_reading(L, p);
}

/* A failure is left for the next write to report. Where there is no room, that
** is tried again when there is some. */
static void send_early(lua_State *L, pt_peer *p) {
  pt_output *o = &p->output;
  if (!o->is_full && pt_early_is_time(&o->early, pt_buf_len(&o->buf),
                                      pt_buf_len(&p->input.buf))) {
    o->is_full = pt_peer_write_bytes(L, p) == 0;
    pt_early_sent(&o->early, NULL);
  }
}

/* No frame is whole yet: as pt_receive, and 1 if it is to be searched again. */
static int read_on(lua_State *L, pt_input *in, const pt_frame_found *found) {
  pt_buf_consume(L, &in->buf, found->used);
  if (found->used > 0 && pt_buf_len(&in->buf) > 0)
    return 1;
  if (in->at_end) {
    lua_pushliteral(L, "the other side has closed the stream");
    lua_pushliteral(L, "closed");
    return -1;
  }
  in->is_searched = 1;
  in->need = found->need;
  return fill(L, in);
}

/* The next frame; the results are those of pt_receive. */
static int receive_frame(lua_State *L, pt_peer *p, pt_message *m) {
  pt_input *in = &p->input;
  pt_frame_found found;
  pt_frame_result result;
  int status = 1;
  do {
    result = pt_frame_scan(&in->framing, pt_buf_front(&in->buf),
                           pt_buf_len(&in->buf), in->at_end, &found);
    if (result == PT_FRAME_MORE)
      status = read_on(L, in, &found);
  } while (result == PT_FRAME_MORE && status == 1);
  if (result == PT_FRAME_MORE)
    return status;
  in->text = found.text;
  in->text_len = found.len;
  in->text_used = found.used;
  if (result == PT_FRAME_MESSAGE)
    return receive_message(L, p, m);
  in->is_reading = 1;
  if (result == PT_FRAME_NOISE)
    pt_message_noise(L, p, m);
  else
    pt_message_refused(L, p, &found, m);
  return finish_reading(L, p);
}

int pt_receive(lua_State *L, pt_peer *p, pt_message *m) {
  static const pt_message none = {.id = 0};
  *m = none;
  if (p->input.is_reading) /* a finalizer asks in the middle of a message */
    return 0;
  send_early(L, p);
  if (p->input.batch == 0)
    return receive_frame(L, p, m);
  if (!pt_batch_reserve(L, p))
    return luaL_error(L, "not enough memory");
  return receive_message(L, p, m);
}

int pt_receive_has_more(const pt_peer *p) {
  const pt_input *in = &p->input;
  return pt_buf_len(&in->buf) > 0 || !in->is_drained || in->at_end ||
         in->io.fd == -1;
}

/* }====== */

/* {====== Waiting ====== */

/* Whether pt_receive would do something without new input. */
static int has_input(const pt_input *in) {
  return in->is_reading || in->at_end || in->batch > 0 ||
         (pt_buf_len(&in->buf) > 0 && !in->is_searched);
}

int pt_receive_wait(lua_State *L, pt_peer *p) {
  pt_input *in = &p->input;
  ssize_t n;
  if (!in->is_owned || !pt_io_can_be_patient(&in->io) ||
      pt_buf_len(&p->output.buf) > 0 || has_input(in))
    return 0;
  make_room(L, in);
  n = pt_io_read_patiently(&in->io, in->buf.data + in->buf.end,
                           pt_buf_room(&in->buf));
  if (n >= 0)
    took(in, (size_t)n);
  return n >= 0 ? 1 : errno == EINTR ? -1 : 0;
}

/* }====== */

void pt_receive_push_upvalues(lua_State *L) {
  pt_names_push(L);
  pt_names_push(L);
  lua_pushcclosure(L, read_large, PT_NAMES_UPVALUES);
}
