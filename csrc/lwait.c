/*
** Waiting for one stream: alone, for a program that has nothing else to wait
** for, which is cheaper than a poller and all that a plugin needs; or beside
** everything that a poller watches, for a host that talks to one plugin.
*/
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <limits.h>
#include <math.h>

#include "clock.h"
#include "core.h"
#include "lapi.h"
#include "lpoll.h"
#include "lresume.h"
#include "lstream.h"

static int push_answer(lua_State *L, int answer) {
  lua_pushboolean(L, answer);
  return 1;
}

/* Whether `receive` would do something without new input. */
static int is_ready(const pt_stream *s) {
  return s->at_end || s->batch > 0 ||
         (pt_buf_len(&s->in) > 0 && !s->is_searched);
}

void pt_stream_begin_waiting(lua_State *L, pt_stream *s, lua_Hook before,
                             int is_alone) {
  if (s->waiting != L) {
    lua_pushthread(L);
    lua_setiuservalue(L, 1, PT_STREAM_WAITING);
    s->waiting = L;
  }
  s->hook = before;
  s->is_alone = is_alone;
}

static int is_stopped(const pt_stream *s) {
  return pt_is_stopped(s->waiting, s->hook);
}

static ssize_t read_patiently(pt_stream *s, pt_guard *guard) {
  char *to = s->in.data + s->in.end;
  size_t room = pt_buf_room(&s->in);
  return guard != NULL ? pt_guard_read(guard, &s->input, to, room)
                       : pt_io_read_patiently(&s->input, to, room);
}

/* Reads at once what it waits for: 1 if something came, 0 if the program is to
** stop, -1 with errno set. */
static int wait_reading(lua_State *L, pt_stream *s, pt_guard *guard) {
  pt_stream_make_room(L, s);
  while (!is_stopped(s)) {
    ssize_t n = read_patiently(s, guard);
    if (n >= 0) {
      pt_stream_took(s, (size_t)n);
      return 1;
    }
    if (errno != EINTR)
      return -1;
  }
  return 0;
}

static int milliseconds_until(double deadline) {
  double left = ceil((deadline - pt_clock_now()) * 1000);
  return left <= 0 ? 0 : left >= INT_MAX ? INT_MAX : (int)left;
}

/* Whether large messages have left work for the collector. While the other side
** is at work is the time for it. */
static int is_behind(const pt_stream *s) {
  return s->arrears != NULL && s->arrears->owed > 0;
}

/* Waits for input, for room for output, and for what else is to be waited for,
** and goes on sending; as wait_reading, and 0 also when the other is first or
** the deadline has come. A write that fails ends it as input would: the next
** call reports it. */
static int wait_asking(lua_State *L, pt_stream *s, pt_wait *w) {
  while (!is_stopped(s)) {
    int sent = pt_stream_write_out(L, s), found;
    int left = w->deadline < 0 ? -1 : milliseconds_until(w->deadline);
    int is_free = left != 0 && sent == 1 && is_behind(s);
    if (sent < 0)
      return 1;
    found = pt_io_wait(&s->input, sent ? NULL : &s->output, w->other,
                       is_free ? 0 : left);
    if (found == -1 && errno != EINTR)
      return -1;
    if (found == 0 && is_free) {
      pt_make_up(L, s->arrears);
      if (is_ready(s) || s->input.fd == -1) /* finalizers may do anything */
        return 1;
    } else if (found != -1 && found != PT_IO_OUTPUT) {
      w->is_other_ready = found & PT_IO_OTHER;
      return found & PT_IO_INPUT;
    }
  }
  return 0;
}

/* Whether it may wait under a guard: that ends in time. */
static int is_guarded(const pt_wait *w) {
  return w->guard != NULL &&
         (w->deadline < 0 || w->deadline - w->begun > 2 * PT_GUARD_INTERVAL) &&
         pt_guard_holds(w->guard);
}

/* Whether it may read at once: there is nothing but input to wait for. */
static int may_read(const pt_stream *s, const pt_wait *w) {
  return s->owns_input && pt_io_can_be_patient(&s->input) &&
         pt_buf_len(&s->out) == 0 && !is_behind(s) &&
         ((w->other == -1 && w->deadline < 0) || is_guarded(w));
}

/* Says so once. From then on there is only input to wait for, or a program that
** goes on waiting would never come to rest. */
static int fail_writing(lua_State *L, pt_stream *s) {
  int results = pt_fail_errno(L, errno, "closed", "cannot write");
  pt_stream_close_output(s);
  return results;
}

double pt_stream_check_deadline(lua_State *L) {
  double timeout = luaL_optnumber(L, 2, -1);
  luaL_argcheck(L, !isnan(timeout), 2, "a time is not NaN");
  return timeout <= 0 ? timeout : pt_clock_now() + timeout;
}

int pt_stream_await(lua_State *L, pt_stream *s, pt_wait *w) {
  w->is_other_ready = 0;
  if (s->is_reading || is_ready(s))
    return !s->is_reading;
  s->is_drained = 0;
  if (may_read(s, w)) {
    int status = wait_reading(L, s, w->guard);
    if (status >= 0 || (errno != ENOTSUP && errno != EAGAIN))
      return status;
  }
  return wait_asking(L, s, w);
}

/* stream:wait(timeout, poller) -> true | false | nil, msg, kind, errno */
int pt_stream_wait(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  pt_wait w = PT_WAIT_ALONE;
  int is_over = 0, status;
  w.deadline = pt_stream_check_deadline(L);
  if (!lua_isnoneornil(L, 3)) {
    w.other = pt_poller_fileno(L, 3, &is_over);
    if (w.other == -1)
      return pt_fail(L, "unsupported", "pollers have no descriptor here");
  }
  if (is_over)
    w.deadline = 0;
  pt_stream_begin_waiting(L, s, lua_gethook(L), 0);
  if (s->input.fd == -1)
    return pt_fail(L, "closed", "the stream is closed");
  if (pt_stream_write_out(L, s) < 0)
    return fail_writing(L, s);
  status = pt_stream_await(L, s, &w);
  if (status < 0)
    return pt_fail_errno(L, errno, "closed", "cannot wait");
  return push_answer(L, status);
}
