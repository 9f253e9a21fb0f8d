/*
** Reading: bytes into the buffer, frames out of it, and one message at a time
** handed over. The payload is decoded where it stands, straight out of the
** buffer, which is held in place meanwhile.
**
** Decoding raises when memory is short. The input is still held in place then,
** which the caller has to put right: a peer is given up, see lpeer.h.
*/
#define _GNU_SOURCE

#include <errno.h>
#include <sched.h>

#include "clock.h"
#include "core.h"
#include "lapi.h"
#include "ljson.h"
#include "lreceive.h"

#define READ_FIRST (64 * 1024)
#define READ_LEAST (16 * 1024)
#define READ_MOST (1024 * 1024) /* beyond what is there already */
#define LARGE (128 * 1024) /* bytes from which memory is mapped by itself */

/* The upvalue behind those that classifying needs. */
#define HAND_OVER_LARGE PT_RECEIVE_UPVALUES

/* {====== Bytes ====== */

static void note_size(lua_State *L, pt_stream *s, size_t size) {
  if (size <= s->largest)
    return;
  s->largest = size;
  if (size > LARGE)
    pt_buf_keep_pages(L, size);
}

/* A length that was announced is no reason to believe that so much will come:
** at most as much as there is already, or READ_MOST, is given at once. */
static size_t believe(const pt_stream *s) {
  size_t there = pt_buf_len(&s->in);
  size_t most = there > READ_MOST ? there : READ_MOST;
  return s->need < most ? s->need : most;
}

static void make_room(lua_State *L, pt_stream *s) {
  size_t want = s->in.cap == 0 ? READ_FIRST : READ_LEAST, need = believe(s);
  note_size(L, s, need);
  pt_io_widen(&s->input, s->need);
  if (!pt_buf_reserve(L, &s->in, need > want ? need : want))
    luaL_error(L, "not enough memory");
}

static void took(pt_stream *s, size_t n) {
  s->is_drained = n < pt_buf_room(&s->in);
  s->is_searched = 0;
  s->at_end = n == 0;
  s->in.end += n;
}

static ssize_t read_some(pt_stream *s) {
  return pt_io_read(&s->input, s->in.data + s->in.end, pt_buf_room(&s->in));
}

/* As read_some, but asks again for a while when an answer is due. */
static ssize_t read_spinning(pt_stream *s, double spin) {
  ssize_t n = read_some(s);
  double until;
  if (n >= 0 || errno != EAGAIN || spin <= 0 || s->pending.count == 0)
    return n;
  until = pt_clock_now() + spin;
  do {
    sched_yield();
    n = read_some(s);
  } while (n == -1 && errno == EAGAIN && pt_clock_now() < until);
  return n;
}

static int push_nothing(lua_State *L) {
  lua_pushboolean(L, 0);
  return 1;
}

/* 0 if something came. Else the function's results are pushed: false when there
** is nothing yet, or why there will be nothing. */
static int fill(lua_State *L, pt_stream *s, double spin) {
  ssize_t n;
  if (s->is_drained && spin <= 0) { /* asking again would only say EAGAIN */
    s->is_drained = 0;
    return push_nothing(L);
  }
  make_room(L, s);
  n = read_spinning(s, spin);
  if (n >= 0) {
    took(s, (size_t)n);
    return 0;
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK)
    return push_nothing(L);
  return pt_fail_errno(L, errno, "closed", "cannot read");
}

/* }====== */

/* {====== stream:receive ====== */

/* Drops what was handed over; a batch may be answered with that. */
static void consume(lua_State *L, pt_stream *s) {
  if (s->text_used == 0) /* there is more of the batch */
    return;
  pt_buf_consume(L, &s->in, s->text_used);
  if (s->batch > 0) {
    s->batch = 0;
    if (!pt_batch_complete(L, s))
      luaL_error(L, "not enough memory");
  }
}

int pt_stream_has_more(const pt_stream *s) {
  return pt_buf_len(&s->in) > 0 || !s->is_drained || s->at_end ||
         s->input.fd == -1;
}

/* Drops what was handed over in so many results, and returns how many there
** are. */
static int finish_reading(lua_State *L, pt_stream *s, int results) {
  s->is_reading = 0;
  consume(L, s);
  if (s->input.fd == -1)
    pt_stream_release(L, s);
  lua_pushboolean(L, pt_stream_has_more(s));
  return results + 1;
}

static int classify_large(lua_State *L) {
  return pt_classify_message(L, lua_touserdata(L, 1));
}

/* The size of a line is known only now. */
static int hand_over_large(lua_State *L, pt_stream *s) {
  pt_vocabulary words = pt_names_get(L, PT_KINDS + 1);
  note_size(L, s, s->text_len);
  s->arrears = &words.names->arrears;
  lua_pushvalue(L, lua_upvalueindex(HAND_OVER_LARGE));
  lua_pushvalue(L, 1);
  if (pt_call_paused(L, &words, 1) != LUA_OK)
    return lua_error(L);
  return lua_gettop(L) - 1;
}

static int hand_over(lua_State *L, pt_stream *s) {
  s->is_reading = 1;
  if (s->text_len < PT_DECODE_LARGE)
    return finish_reading(L, s, pt_classify_message(L, s));
  return finish_reading(L, s, hand_over_large(L, s));
}

static void take_text(pt_stream *s, const pt_frame_found *found) {
  s->text = found->text;
  s->text_len = found->len;
  s->text_used = found->used;
}

static int fail_at_end(lua_State *L) {
  return pt_fail(L, "closed", "the other side has closed the stream");
}

/* A failure is left for flush to report. Where there is no room, that is tried
** again by whoever waits for it. */
static void send_early(lua_State *L, pt_stream *s) {
  if (!s->is_full &&
      pt_early_is_time(&s->early, pt_buf_len(&s->out), pt_buf_len(&s->in))) {
    s->is_full = pt_stream_write_out(L, s) == 0;
    pt_early_sent(&s->early, NULL);
  }
}

int pt_stream_receive(lua_State *L, pt_stream *s, double spin) {
  pt_frame_found found;
  int results;
  if (s->input.fd == -1)
    return pt_fail(L, "closed", "the stream is closed");
  if (s->is_reading) /* a finalizer asks in the middle of a message */
    return push_nothing(L);
  send_early(L, s);
  if (s->batch > 0) {
    if (!pt_batch_reserve(L, s))
      return luaL_error(L, "not enough memory");
    return hand_over(L, s);
  }
  for (;;) {
    pt_frame_save(&s->before, &s->framing);
    switch (pt_frame_scan(&s->framing, pt_buf_front(&s->in), pt_buf_len(&s->in),
                          s->at_end, &found)) {
    case PT_FRAME_MESSAGE:
      take_text(s, &found);
      return hand_over(L, s);
    case PT_FRAME_NOISE:
      take_text(s, &found);
      s->is_reading = 1;
      return finish_reading(L, s, pt_classify_noise(L, s));
    case PT_FRAME_BAD:
      take_text(s, &found);
      s->is_reading = 1;
      return finish_reading(L, s, pt_classify_refused(L, s, &found));
    default:
      pt_buf_consume(L, &s->in, found.used);
      if (found.used > 0 && pt_buf_len(&s->in) > 0)
        continue;
      if (s->at_end)
        return fail_at_end(L);
      s->is_searched = 1;
      s->need = found.need;
      results = fill(L, s, spin);
      if (results > 0)
        return results;
    }
  }
}

double pt_stream_check_spin(lua_State *L) {
  double spin = 0;
  if (lua_gettop(L) > 1) {
    spin = luaL_optnumber(L, 2, 0);
    lua_settop(L, 1);
  }
  return spin;
}

/* In a protected call: (stream, spin). */
static int receive_protected(lua_State *L) {
  pt_stream *s = lua_touserdata(L, 1);
  return pt_stream_receive(L, s, pt_stream_check_spin(L));
}

/* stream:receive(spin) -> kind, id, what, payload, more | false | nil, msg,
** kind. A message that memory was short for is still there, to be read again;
** the members of a batch are not scanned again. */
static int stream_receive(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  int was_reading = s->is_reading;
  lua_settop(L, 2);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 1);
  lua_pushnumber(L, luaL_optnumber(L, 2, 0));
  if (lua_pcall(L, 2, LUA_MULTRET, 0) == LUA_OK)
    return lua_gettop(L) - 2;
  if (s->is_reading && !was_reading) {
    s->is_reading = 0;
    if (s->batch == 0)
      pt_frame_save(&s->framing, &s->before);
  }
  return lua_error(L);
}

/* }====== */

/* {====== Waiting ====== */

/* Whether `receive` would do something without new input. */
static int has_input(const pt_stream *s) {
  return s->is_reading || s->at_end || s->batch > 0 ||
         (pt_buf_len(&s->in) > 0 && !s->is_searched);
}

int pt_stream_wait_reading(lua_State *L, pt_stream *s) {
  ssize_t n;
  if (!s->owns_input || !pt_io_can_be_patient(&s->input) ||
      pt_buf_len(&s->out) > 0 || has_input(s))
    return 0;
  make_room(L, s);
  n = pt_io_read_patiently(&s->input, s->in.data + s->in.end,
                           pt_buf_room(&s->in));
  if (n >= 0)
    took(s, (size_t)n);
  return n >= 0 ? 1 : errno == EINTR ? -1 : 0;
}

/* }====== */

void pt_stream_push_receive_upvalues(lua_State *L) {
  pt_classify_push_upvalues(L);
  pt_classify_push_upvalues(L);
  lua_pushcclosure(L, classify_large, PT_CLASSIFY_UPVALUES);
}

void pt_stream_push_receive(lua_State *L) {
  pt_stream_push_receive_upvalues(L);
  lua_pushcclosure(L, receive_protected, PT_RECEIVE_UPVALUES);
  lua_pushcclosure(L, stream_receive, 1);
}
