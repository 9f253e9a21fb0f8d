/*
** Reading: bytes into the buffer, frames out of it, and one message at a time
** handed over. The payload is decoded where it stands, straight out of the
** buffer; that is done in a protected call because the buffer must be released
** again whatever happens.
*/
#define _GNU_SOURCE

#include <errno.h>
#include <lauxlib.h>
#include <sched.h>

#include "clock.h"
#include "core.h"
#include "lclassify.h"
#include "ljson.h"
#include "lstream.h"

#define READ_FIRST (64 * 1024)
#define READ_LEAST (16 * 1024)

/* The least that is worth sending while there is more to be read. */
#define SEND_EARLY (2 * 1024)

/* Upvalues of stream:receive. */
enum { HAND_OVER = 1, HAND_OVER_NOISE, HAND_OVER_REFUSED, NAMES };

/* {====== Bytes ====== */

void pt_stream_make_room(lua_State *L, pt_stream *s) {
  size_t want = s->in.cap == 0 ? READ_FIRST : READ_LEAST;
  pt_io_widen(&s->input, s->need);
  if (!pt_buf_reserve(L, &s->in, s->need > want ? s->need : want))
    luaL_error(L, "not enough memory");
}

void pt_stream_took(pt_stream *s, size_t n) {
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
  pt_stream_make_room(L, s);
  n = read_spinning(s, spin);
  if (n >= 0) {
    pt_stream_took(s, (size_t)n);
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

/* Whether it is worth asking for another message at once. */
static int has_more(const pt_stream *s) {
  return pt_buf_len(&s->in) > 0 || !s->is_drained || s->at_end;
}

/* Pushes the function to be called and its first argument. */
static void push_function(lua_State *L, int upvalue) {
  lua_pushvalue(L, lua_upvalueindex(upvalue));
  lua_pushvalue(L, 1);
}

/* Calls the function on the stack with the input held in place, and drops what
** it used. Returns how many results there are. */
static int protect(lua_State *L, pt_stream *s, int args) {
  int base = lua_gettop(L) - args - 1, status;
  s->is_reading = 1;
  if (s->text_len < PT_DECODE_LARGE) {
    status = lua_pcall(L, args, LUA_MULTRET, 0);
  } else {
    pt_vocabulary words = pt_names_get(L, NAMES);
    status = pt_call_paused(L, &words, args);
  }
  s->is_reading = 0;
  if (status != LUA_OK) { /* the members of a batch are not scanned again */
    if (s->batch == 0)
      s->framing = s->before;
    return lua_error(L);
  }
  consume(L, s);
  if (s->input.fd == -1)
    pt_stream_release(L, s);
  lua_pushboolean(L, has_more(s));
  return lua_gettop(L) - base;
}

static int hand_over(lua_State *L, pt_stream *s) {
  push_function(L, HAND_OVER);
  return protect(L, s, 1);
}

static void take_text(pt_stream *s, const pt_frame_found *found) {
  s->text = found->text;
  s->text_len = found->len;
  s->text_used = found->used;
}

/* Nothing may be allocated before the input is held in place. */
static int refuse(lua_State *L, pt_stream *s, pt_frame_found *found) {
  take_text(s, found);
  push_function(L, HAND_OVER_REFUSED);
  lua_pushlightuserdata(L, found);
  return protect(L, s, 2);
}

static int fail_at_end(lua_State *L) {
  return pt_fail(L, "closed", "the other side has closed the stream");
}

/* While many messages are handled in a row, what is queued is sent once it is
** more than what is left to read: so both sides work at the same time, and
** neither is woken for little. A failure is left for flush to report. */
static void send_early(lua_State *L, pt_stream *s) {
  size_t queued = pt_buf_len(&s->out);
  if (queued >= SEND_EARLY && queued >= pt_buf_len(&s->in))
    pt_stream_write_out(L, s);
}

/* stream:receive(spin) -> kind, id, what, payload, more | false | nil, msg,
** kind
*/
static int stream_receive(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  double spin = lua_gettop(L) > 1 ? luaL_optnumber(L, 2, 0) : 0;
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
    s->before = s->framing;
    switch (pt_frame_scan(&s->framing, pt_buf_front(&s->in), pt_buf_len(&s->in),
                          s->at_end, &found)) {
    case PT_FRAME_MESSAGE:
      take_text(s, &found);
      return hand_over(L, s);
    case PT_FRAME_NOISE:
      take_text(s, &found);
      push_function(L, HAND_OVER_NOISE);
      return protect(L, s, 1);
    case PT_FRAME_BAD:
      return refuse(L, s, &found);
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

/* }====== */

void pt_stream_push_receive(lua_State *L) {
  pt_classify_push_message(L);
  pt_classify_push_noise(L);
  pt_classify_push_refused(L);
  pt_names_push(L);
  lua_pushcclosure(L, stream_receive, NAMES - 1 + PT_NAMES_UPVALUES);
}
