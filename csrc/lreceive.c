/*
** Reading: bytes into the buffer, frames out of it, and one message at a time
** handed over. The payload is decoded where it stands, straight out of the
** buffer, which is held in place meanwhile.
**
** Decoding raises when memory is short, and nothing catches that here, because
** a protected call for every message would cost too much. What it leaves behind
** is put right when the stream is used next: see pt_stream_stop_reading.
*/
#define _GNU_SOURCE

#include <errno.h>
#include <sched.h>

#include "clock.h"
#include "core.h"
#include "lapi.h"
#include "ldeliver.h"
#include "ljson.h"
#include "lstream.h"

#define READ_FIRST (64 * 1024)
#define READ_LEAST (16 * 1024)
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

void pt_stream_make_room(lua_State *L, pt_stream *s) {
  size_t want = s->in.cap == 0 ? READ_FIRST : READ_LEAST;
  note_size(L, s, s->need);
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

int pt_stream_has_more(const pt_stream *s) {
  return pt_buf_len(&s->in) > 0 || !s->is_drained || s->at_end ||
         s->input.fd == -1;
}

/* Holds the input in place. The thread is kept, to be asked later whether it is
** still at it. */
static void start_reading(lua_State *L, pt_stream *s) {
  if (s->reader != L) {
    lua_pushthread(L);
    lua_setiuservalue(L, 1, PT_STREAM_READER);
    s->reader = L;
  }
  s->is_reading = 1;
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
  start_reading(L, s);
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
      start_reading(L, s);
      return finish_reading(L, s, pt_classify_noise(L, s));
    case PT_FRAME_BAD:
      take_text(s, &found);
      start_reading(L, s);
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

/* stream:receive(spin) -> kind, id, what, payload, more | false | nil, msg,
** kind
*/
static int stream_receive(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  return pt_stream_receive(L, s, pt_stream_check_spin(L));
}

/* }====== */

/* {====== What an error leaves behind ====== */

/* A server is always in its function. */
static int may_receive(const pt_stream *s, lua_CFunction f) {
  return f == stream_receive || f == pt_stream_deliver ||
         f == pt_stream_attend || f == pt_call_alone ||
         (f == pt_stream_serve && s->is_fetching);
}

/* Whether the function at this level of the thread receives from the stream. */
static int receives(lua_State *L, lua_Debug *level, const pt_stream *s) {
  int does;
  lua_getinfo(L, "f", level);
  does = may_receive(s, lua_tocfunction(L, -1));
  lua_pop(L, 1);
  if (!does || lua_getlocal(L, level, 1) == NULL)
    return 0;
  does = lua_touserdata(L, -1) == s;
  lua_pop(L, 1);
  return does;
}

/* Whether the call that began to read is still under way. Whoever asks is the
** first level of `L`, and not that call. A thread that ended with an error
** shows the calls that it was in, but its status tells. */
static int is_under_way(lua_State *L, const pt_stream *s) {
  lua_State *reader = s->reader;
  lua_Debug level;
  int i = reader == L ? 1 : 0;
  if (lua_status(reader) != LUA_OK)
    return 0;
  if (!lua_checkstack(reader, 2))
    return 1;
  for (; lua_getstack(reader, i, &level); i++)
    if (receives(reader, &level, s))
      return 1;
  return 0;
}

/* The members of a batch are not scanned again. */
void pt_stream_stop_reading(lua_State *L, pt_stream *s) {
  if (is_under_way(L, s))
    return;
  s->is_reading = 0;
  if (s->batch == 0)
    s->framing = s->before;
}

/* }====== */

void pt_stream_push_receive_upvalues(lua_State *L) {
  pt_classify_push_upvalues(L);
  pt_classify_push_upvalues(L);
  lua_pushcclosure(L, classify_large, PT_CLASSIFY_UPVALUES);
}

void pt_stream_push_receive(lua_State *L) {
  pt_stream_push_receive_upvalues(L);
  lua_pushcclosure(L, stream_receive, PT_RECEIVE_UPVALUES);
}
