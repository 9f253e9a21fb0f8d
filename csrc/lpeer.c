#define _POSIX_C_SOURCE 200809L

#include "lpeer.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "clock.h"
#include "core.h"
#include "lapi.h"

#define CLOGGED (1024 * 1024) /* bytes of answers that nobody reads */

static const char overdue = 0; /* its address stands for a missed deadline */

pt_peer *pt_peer_check(lua_State *L, int arg) {
  pt_stream *s = pt_stream_test(L, arg);
  if (s == NULL || !s->is_peer)
    luaL_typeerror(L, arg, "peer");
  return (pt_peer *)(void *)s;
}

int pt_peer_push(lua_State *L, const pt_peer *p) {
  pt_loop_push(L, PT_LOOP_PEERS);
  lua_rawgetp(L, -1, p);
  lua_remove(L, -2);
  return !lua_isnil(L, -1);
}

void pt_peer_push_policy(lua_State *L, int peer, const char *name) {
  peer = lua_absindex(L, peer);
  lua_getiuservalue(L, peer, PT_STREAM_POLICY);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
  lua_getiuservalue(L, peer, PT_STREAM_PEER);
}

/* {====== Writing ====== */

void pt_peer_watch(lua_State *L, pt_peer *p, int peer) {
  int in = p->s.input.fd, out = p->s.output.fd;
  int reads = in != -1 && !p->is_paused && !p->is_finished ? PT_POLL_READ : 0;
  int writes = out != -1 && p->is_blocked ? PT_POLL_WRITE : 0;
  int err = 0;
  if (p->watches == (reads | writes))
    return;
  if (in == out && in != -1) {
    if (reads | writes)
      err = pt_loop_watch(L, p->loop, in, reads | writes, peer);
    else
      pt_loop_unwatch(L, p->loop, in);
  } else {
    if (reads)
      err = pt_loop_watch(L, p->loop, in, reads, peer);
    else if (in != -1)
      pt_loop_unwatch(L, p->loop, in);
    if (writes && err == 0)
      err = pt_loop_watch(L, p->loop, out, writes, peer);
    else if (out != -1)
      pt_loop_unwatch(L, p->loop, out);
  }
  p->watches = err == 0 ? reads | writes : 0;
  if (err != 0) {
    pt_peer_push_policy(L, peer, "broken");
    lua_pushfstring(L, "cannot watch a descriptor: %s", strerror(err));
    lua_pushstring(L, err == EBADF ? "closed" : "full");
    lua_call(L, 3, 0);
  }
}

static void report(lua_State *L, int peer) {
  pt_peer_push_policy(L, peer, "moved");
  lua_call(L, 1, 0);
}

/* Has the loop say when there is room to write, or not any more. Until that is
** done the peer is among those that are written, to try again. */
static void watch_output(lua_State *L, pt_peer *p, int peer) {
  pt_list_add(&p->loop->unwritten, &p->to_write);
  pt_peer_watch(L, p, peer);
  pt_list_remove(&p->loop->unwritten, &p->to_write);
}

/* Writes what is queued; the peer's userdata is at `peer`. */
static void write_out(lua_State *L, pt_peer *p, int peer) {
  int status = pt_stream_write_out(L, &p->s), err = errno;
  p->s.is_drained = 0; /* what comes next may be an answer */
  p->is_blocked = status == 0;
  p->is_clogged = p->is_blocked && pt_buf_len(&p->s.out) > CLOGGED;
  if (p->is_blocked != ((p->watches & PT_POLL_WRITE) != 0))
    watch_output(L, p, peer);
  if (status < 0) {
    pt_peer_push_policy(L, peer, "lost");
    lua_pushfstring(L, "cannot write: %s", strerror(err));
    lua_call(L, 2, 0);
  }
  if (p->is_reporting)
    report(L, peer);
}

/* For the loop. */
static void write_link(lua_State *L, pt_link *l) {
  pt_peer *p = (pt_peer *)(void *)((char *)l - offsetof(pt_peer, to_write));
  p->loop->decoding = &p->to_read;
  if (pt_peer_push(L, p))
    write_out(L, p, lua_gettop(L));
  lua_pop(L, 1);
  p->loop->decoding = NULL;
}

static void push_link(lua_State *L, pt_link *l) {
  pt_peer_push(L, (pt_peer *)(void *)((char *)l - offsetof(pt_peer, to_read)));
}

void pt_peer_queued(lua_State *L, pt_peer *p) {
  if (p->loop->is_turning)
    pt_list_add(&p->loop->unwritten, &p->to_write);
  else
    write_link(L, &p->to_write);
}

/* stream:write(): writes what is queued now */
static int peer_write(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_list_remove(&p->loop->unwritten, &p->to_write);
  if (p->s.output.fd != -1)
    write_out(L, p, 1);
  return 0;
}

/* stream:write_soon(): before the loop waits, or now if it does not turn */
static int peer_write_soon(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  if (p->s.output.fd != -1)
    pt_peer_queued(L, p);
  return 0;
}

/* }====== */

/* {====== Deadlines of calls ====== */

/* Those that missed theirs are answered so; the alarm is set for the next. */
static void fire_overdue(lua_State *L, pt_alarm *a) {
  pt_peer *p = (pt_peer *)(void *)((char *)a - offsetof(pt_peer, overdue));
  double now = pt_clock_now(), next;
  size_t slot;
  while ((slot = pt_pending_overdue(&p->s.pending, now, &next)) !=
         PT_PENDING_NONE) {
    void *waiter = p->s.pending.calls[slot].waiter;
    pt_pending_remove(&p->s.pending, slot);
    lua_pushnil(L);
    lua_pushlightuserdata(L, (void *)&overdue);
    pt_peer_settle(L, waiter, 1);
  }
  if (next < HUGE_VAL)
    pt_loop_set_alarm(L, p->loop, a, next);
}

/* An alarm that is set for an earlier call finds the later ones. 0 when memory
** is short. */
static int note_deadline(lua_State *L, pt_peer *p, double due) {
  if (due == HUGE_VAL ||
      (p->overdue.timer.place != 0 && due >= p->overdue.timer.at))
    return 1;
  if (!pt_loop_reserve_alarm(L, p->loop))
    return 0;
  pt_loop_set_alarm(L, p->loop, &p->overdue, due);
  return 1;
}

/* }====== */

/* {====== Calling ====== */

/* What is on the stack of a call, and then what it is waited for with. */
enum { PEER = 1, METHOD, PARAMS, OPTIONS, STREAM, ID, SECONDS, CALL = SECONDS };

/* Reads options that have nothing but a timeout: 0 if there is more to them. */
static int read_options(lua_State *L, double *seconds) {
  int is_plain = 1;
  if (lua_isnil(L, OPTIONS))
    return 1;
  if (lua_type(L, OPTIONS) != LUA_TTABLE)
    return 0;
  lua_pushnil(L);
  while (is_plain && lua_next(L, OPTIONS)) {
    is_plain = lua_type(L, -2) == LUA_TSTRING &&
               strcmp(lua_tostring(L, -2), "timeout") == 0;
    if (is_plain && lua_type(L, -1) == LUA_TNUMBER)
      *seconds = lua_tonumber(L, -1);
    else if (is_plain && lua_isboolean(L, -1) && !lua_toboolean(L, -1))
      *seconds = HUGE_VAL;
    else
      is_plain = 0;
    lua_pop(L, 1);
  }
  lua_settop(L, STREAM);
  return is_plain && *seconds >= 0;
}

static int give_back(lua_State *L, int status, lua_KContext before) {
  (void)status;
  return lua_gettop(L) - (int)before;
}

/* The policy knows more options, and what is wrong with others. */
static int call_with_options(lua_State *L) {
  pt_peer_push_policy(L, STREAM, "call");
  lua_pushvalue(L, METHOD);
  lua_pushvalue(L, PARAMS);
  lua_pushvalue(L, OPTIONS);
  lua_callk(L, 4, LUA_MULTRET, STREAM, give_back);
  return give_back(L, LUA_OK, STREAM);
}

/* The call could not be made: kind and message are on top. It may take a moment
** to find out why. */
static int refuse_call(lua_State *L) {
  int before = lua_gettop(L) - 2;
  lua_pushnil(L);
  pt_peer_push_policy(L, STREAM, "refused");
  lua_pushvalue(L, before + 2);
  lua_pushvalue(L, before + 1);
  lua_callk(L, 3, 1, before + 2, give_back);
  return 2;
}

/* The results of a wait that is over are on top. */
static int answer_call(lua_State *L) {
  if (lua_touserdata(L, -1) != &overdue)
    return 2;
  lua_settop(L, CALL);
  lua_pushnil(L);
  pt_peer_push_policy(L, STREAM, "overdue");
  lua_pushvalue(L, ID);
  lua_pushvalue(L, METHOD);
  lua_pushvalue(L, SECONDS);
  lua_call(L, 4, 1);
  return 2;
}

static int task_was_answered(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  lua_settop(L, CALL + 2);
  return answer_call(L);
}

/* Tells the policy of a call that is given up; the error is on top. */
static void tell_withdrawn(lua_State *L, int peer, int64_t id) {
  int err = lua_gettop(L);
  pt_peer_push_policy(L, peer, "withdrawn");
  lua_pushinteger(L, id);
  lua_pushvalue(L, err);
  lua_call(L, 3, 0);
}

/* Takes a call back: 0 if it was answered already. */
static int withdraw(pt_peer *p, int64_t id) {
  size_t slot = pt_pending_find(&p->s.pending, id);
  if (slot == PT_PENDING_NONE)
    return 0;
  pt_pending_remove(&p->s.pending, slot);
  if (p->s.pending.count == 0)
    pt_loop_clear_alarm(p->loop, &p->overdue);
  return 1;
}

/* For a task that is stopped while it waits. */
static void withdraw_for(lua_State *L, pt_task *t) {
  pt_peer *p = t->caller;
  if (!withdraw(p, t->call))
    return;
  pt_peer_push(L, p);
  pt_task_push_stopped(L, t);
  tell_withdrawn(L, lua_gettop(L) - 1, t->call);
  lua_pop(L, 2);
}

/* An event for a call that turns the loop until it is answered. It stays among
** the spare ones until the call was made. */
static pt_event *find_event(lua_State *L, pt_loop *lp) {
  pt_event *e = lp->spare;
  if (e == NULL) {
    e = pt_event_push(L, lp);
    e->is_owned = 1;
    pt_loop_keep(L, e);
    lua_pop(L, 1);
    lp->spare = e;
  }
  return e;
}

static void take_event(pt_loop *lp, pt_event *e) {
  pt_event **at = &lp->spare;
  while (*at != NULL && *at != e)
    at = &(*at)->next;
  if (*at != NULL)
    *at = e->next;
  e->is_set = 0;
}

/* Pushes what the event was set to, and keeps nothing of it. */
static void leave_event(lua_State *L, pt_loop *lp, pt_event *e) {
  int i;
  pt_loop_push(L, PT_LOOP_LIVE);
  lua_rawgetp(L, -1, e);
  lua_replace(L, -2);
  for (i = 1; i <= 2; i++) {
    lua_getiuservalue(L, -i, i);
    lua_pushnil(L);
    lua_setiuservalue(L, -i - 2, i);
  }
  lua_remove(L, -3);
  e->next = lp->spare;
  lp->spare = e;
}

/* The task that cannot yield here was stopped, or what runs in the loop has
** raised. */
static int give_up_call(lua_State *L, pt_peer *p, const pt_task *t,
                        int status) {
  int64_t id = lua_tointeger(L, ID);
  int was_waiting = withdraw(p, id);
  if (status != LUA_OK)
    return lua_error(L);
  lua_pushnil(L);
  pt_task_push_stopped(L, t);
  if (was_waiting)
    tell_withdrawn(L, STREAM, id);
  return 2;
}

/* Turns the loop until the call is answered. */
static int call_turning(lua_State *L, pt_peer *p, pt_event *e) {
  pt_task *t = p->loop->current;
  int status = pt_loop_turn_until(L, p->loop, e, HUGE_VAL), is_set = e->is_set;
  leave_event(L, p->loop, e);
  if (status == LUA_OK && is_set)
    return answer_call(L);
  lua_pop(L, 2);
  return give_up_call(L, p, t, status);
}

/* What is left to do once a call was queued: 0, or the call is to be taken back
** and the error is on top. */
static int after_ask(lua_State *L, pt_peer *p, double due) {
  if (!note_deadline(L, p, due)) {
    lua_pushliteral(L, "not enough memory");
    return LUA_ERRMEM;
  }
  if (p->spin > 0)
    p->loop->spin = p->spin;
  if (!p->is_held && !p->is_paused)
    return LUA_OK;
  pt_peer_push_policy(L, STREAM, "calling");
  return lua_pcall(L, 1, 0, 0);
}

static void push_seconds(lua_State *L, double seconds) {
  if (seconds < HUGE_VAL)
    lua_pushnumber(L, seconds);
  else
    lua_pushboolean(L, 0);
}

/* Takes back a call for which there is an error on top. */
static int undo_ask(lua_State *L, pt_peer *p, void *waiter) {
  withdraw(p, lua_tointeger(L, ID));
  if (pt_is_event(waiter)) {
    leave_event(L, p->loop, waiter);
    lua_pop(L, 2);
  }
  return lua_error(L);
}

/* Queues the request for what waits for it: 0, or what the call returns. If it
** raises, nothing waits. */
static int ask(lua_State *L, pt_peer *p, void *waiter, double seconds) {
  pt_ask a = {.stream = STREAM, .method = METHOD, .params = PARAMS};
  if (p->is_deaf) {
    lua_pushnil(L);
    lua_pushliteral(L, "closed");
    return refuse_call(L);
  }
  a.waiter = waiter;
  a.due = seconds < HUGE_VAL ? pt_clock_now() + seconds : HUGE_VAL;
  if (pt_stream_ask(L, &p->s, &a) != 0)
    return refuse_call(L);
  lua_settop(L, STREAM);
  lua_pushinteger(L, a.id);
  push_seconds(L, seconds);
  if (pt_is_event(waiter))
    take_event(p->loop, waiter);
  return after_ask(L, p, a.due) == LUA_OK ? 0 : undo_ask(L, p, waiter);
}

/* In a protected call: (stream). */
static int write_protected(lua_State *L) {
  write_out(L, pt_peer_check(L, 1), 1);
  return 0;
}

/* As pt_peer_queued, for a task that waits already: what fails here is tried
** again by the next turn. */
static void queue_call(lua_State *L, pt_peer *p) {
  if (!p->loop->is_turning) {
    lua_pushcfunction(L, write_protected);
    lua_pushvalue(L, STREAM);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK)
      return;
    lua_pop(L, 1);
  }
  pt_list_add(&p->loop->unwritten, &p->to_write);
}

static int call_in_task(lua_State *L, pt_peer *p, pt_task *t, double seconds) {
  int failed = ask(L, p, t, seconds);
  if (failed)
    return failed;
  t->caller = p;
  t->call = lua_tointeger(L, ID);
  t->withdraw = withdraw_for;
  queue_call(L, p);
  return pt_task_wait(L, t, 0, task_was_answered);
}

static int call_outside(lua_State *L, pt_peer *p, double seconds) {
  pt_event *e = find_event(L, p->loop);
  int failed = ask(L, p, e, seconds);
  if (failed)
    return failed;
  pt_list_add(&p->loop->unwritten, &p->to_write);
  return call_turning(L, p, e);
}

/* Puts the userdata of the Lua peer at 1 on top. */
static pt_peer *push_stream(lua_State *L) {
  luaL_checktype(L, PEER, LUA_TTABLE);
  lua_getfield(L, PEER, "stream");
  return pt_peer_check(L, -1);
}

static void check_method(lua_State *L) {
  if (lua_type(L, METHOD) != LUA_TSTRING)
    luaL_error(L, "method: string expected, got %s", luaL_typename(L, METHOD));
}

/* peer:call(method, params, options) -> result | nil, err */
static int peer_call(lua_State *L) {
  pt_peer *p;
  pt_task *t;
  double seconds;
  lua_settop(L, OPTIONS);
  p = push_stream(L);
  check_method(L);
  seconds = p->timeout;
  if (!read_options(L, &seconds))
    return call_with_options(L);
  if (p->loop->current != NULL && p->loop->current->is_stopped) {
    lua_pushnil(L);
    pt_task_push_stopped(L, p->loop->current);
    return 2;
  }
  t = pt_task_here(L, p->loop);
  return t != NULL ? call_in_task(L, p, t, seconds)
                   : call_outside(L, p, seconds);
}

/* peer:notify(method, params) -> true | nil, err */
static int peer_notify(lua_State *L) {
  pt_ask a = {.stream = STREAM, .method = METHOD, .params = PARAMS};
  pt_peer *p;
  lua_settop(L, OPTIONS);
  p = push_stream(L);
  check_method(L);
  if (pt_stream_tell(L, &p->s, &a) != 0) {
    lua_pushnil(L);
    pt_peer_push_policy(L, STREAM, "failure");
    lua_pushvalue(L, -4);
    lua_pushvalue(L, -6);
    lua_call(L, 3, 1);
    return 2;
  }
  pt_peer_queued(L, p);
  lua_pushboolean(L, 1);
  return 1;
}

/* In a protected call: (event). */
static int keep_event(lua_State *L) {
  pt_loop_keep(L, lua_touserdata(L, 1));
  return 0;
}

/* stream:ask(event, method, params, timeout) -> id | nil, msg, kind: the event
** is set to the result, or to nil and the error; timeout may be false */
static int peer_ask(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_ask a = {.stream = 1, .method = 3, .params = 4, .due = HUGE_VAL};
  int failed;
  lua_settop(L, 5);
  a.waiter = pt_event_check(L, 2);
  if (lua_isnumber(L, 5))
    a.due = pt_clock_now() + lua_tonumber(L, 5);
  failed = pt_stream_ask(L, &p->s, &a);
  if (failed)
    return failed;
  lua_pushcfunction(L, keep_event);
  lua_pushvalue(L, 2);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK || !note_deadline(L, p, a.due)) {
    withdraw(p, a.id);
    pt_loop_let_go(L, a.waiter);
    return luaL_error(L, "not enough memory");
  }
  if (p->spin > 0)
    p->loop->spin = p->spin;
  pt_peer_queued(L, p);
  lua_pushinteger(L, a.id);
  return 1;
}

/* stream:settle(id, result, err) -> boolean: gives a call its answer, in the
** next turn, if it still waits */
static int peer_settle(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  size_t slot = pt_pending_find(&p->s.pending, luaL_checkinteger(L, 2));
  void *waiter;
  lua_settop(L, 4);
  if (slot != PT_PENDING_NONE) {
    waiter = p->s.pending.calls[slot].waiter;
    withdraw(p, lua_tointeger(L, 2));
    pt_peer_settle(L, waiter, 1);
  }
  lua_pushboolean(L, slot != PT_PENDING_NONE);
  return 1;
}

/* stream:deafen(err): every call that waits fails, and every later one */
static int peer_deafen(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_pending *calls = &p->s.pending;
  size_t slot;
  lua_settop(L, 2);
  p->is_deaf = 1;
  for (slot = 0; slot < calls->slots && calls->count > 0; slot++) {
    void *waiter = calls->calls[slot].waiter;
    if (calls->calls[slot].id == 0)
      continue;
    pt_pending_remove(calls, slot);
    lua_pushnil(L);
    lua_pushvalue(L, 2);
    pt_peer_settle(L, waiter, 1);
  }
  pt_loop_clear_alarm(p->loop, &p->overdue);
  return 0;
}

/* }====== */

/* {====== State ====== */

/* stream:hold(is_held): requests and notifications go to policy.request */
static int peer_hold(lua_State *L) {
  pt_peer_check(L, 1)->is_held = lua_toboolean(L, 2);
  return 0;
}

/* stream:report(is_reporting): policy.moved is called after answers and writes
*/
static int peer_report(lua_State *L) {
  pt_peer_check(L, 1)->is_reporting = lua_toboolean(L, 2);
  return 0;
}

/* stream:pause(is_paused): stops reading, or goes on */
static int peer_pause(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  p->is_paused = lua_toboolean(L, 2);
  if (!p->is_paused && p->s.input.fd != -1 && !p->is_finished)
    pt_list_add(&p->loop->unread, &p->to_read);
  pt_peer_watch(L, p, 1);
  return 0;
}

/* stream:expect_end(): nothing will come but what is there */
static int peer_expect_end(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  p->is_orphaned = 1;
  p->s.is_drained = 0; /* more may have come since the last read */
  if (p->s.input.fd != -1 && !p->is_finished)
    pt_list_add(&p->loop->unread, &p->to_read);
  return 0;
}

/* stream:has_room() -> boolean: whether one more request may be begun */
static int peer_has_room(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_pushboolean(L, pt_peer_has_room(p));
  return 1;
}

/* stream:running() -> integer, boolean: handlers at work, and whether answers
** wait that nobody reads */
static int peer_running(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_pushinteger(L, p->running);
  lua_pushboolean(L, p->is_clogged);
  return 2;
}

/* stream:finish(): closes it; calls that wait have to be settled before */
static int peer_finish(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_loop *lp = p->loop;
  if (p->s.input.fd != -1)
    pt_loop_unwatch(L, lp, p->s.input.fd);
  if (p->s.output.fd != -1)
    pt_loop_unwatch(L, lp, p->s.output.fd);
  p->watches = 0;
  pt_list_remove(&lp->unread, &p->to_read);
  pt_list_remove(&lp->unwritten, &p->to_write);
  pt_loop_clear_alarm(lp, &p->overdue);
  p->is_finished = p->is_held = 1;
  pt_stream_release(L, &p->s);
  return 0;
}

/* stream:shut(): closes the output alone */
static int peer_shut(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  if (p->s.output.fd != -1 && p->s.output.fd != p->s.input.fd)
    pt_loop_unwatch(L, p->loop, p->s.output.fd);
  p->is_blocked = p->is_clogged = 0;
  p->watches &= ~PT_POLL_WRITE;
  pt_list_remove(&p->loop->unwritten, &p->to_write);
  pt_stream_shut_output(&p->s);
  if (p->s.input.fd != -1) {
    p->watches = -1;
    pt_peer_watch(L, p, 1);
  }
  return 0;
}

/* }====== */

/* {====== core.peer ====== */

static double get_seconds(lua_State *L, const char *name, double usual) {
  double seconds = usual;
  if (lua_getfield(L, 3, name) == LUA_TNUMBER)
    seconds = lua_tonumber(L, -1);
  else if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
    seconds = HUGE_VAL;
  lua_pop(L, 1);
  return seconds;
}

/* Nothing points to one that is collected. */
static void forget_peer(pt_stream *s) {
  pt_peer *p = (pt_peer *)(void *)s;
  pt_loop *lp = p->loop;
  pt_list_remove(&lp->unread, &p->to_read);
  pt_list_remove(&lp->unwritten, &p->to_write);
  if (lp->broken == &p->to_read)
    lp->broken = NULL;
  if (lp->is_open)
    pt_loop_clear_alarm(lp, &p->overdue);
}

static void keep(lua_State *L, int stream, int value, const char *name) {
  lua_getfield(L, 3, name);
  lua_setiuservalue(L, stream, value);
}

/* What is of the peer alone: the settings are at 3. */
static void set_up(lua_State *L, pt_stream *s, int stream) {
  pt_peer *p = (pt_peer *)(void *)s;
  p->loop = lua_touserdata(L, lua_upvalueindex(1));
  p->overdue.fire = fire_overdue;
  p->timeout = get_seconds(L, "timeout", HUGE_VAL);
  p->spin = get_seconds(L, "spin", 0);
  if (p->spin == HUGE_VAL)
    p->spin = 0;
  lua_getfield(L, 3, "requests");
  p->bound = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, stream, PT_STREAM_PEER);
  keep(L, stream, PT_STREAM_POLICY, "policy");
  keep(L, stream, PT_STREAM_HANDLERS, "handlers");
  keep(L, stream, PT_STREAM_CONTROLS, "controls");
  keep(L, stream, PT_STREAM_META, "context");
  pt_loop_push(L, PT_LOOP_PEERS);
  lua_pushvalue(L, stream);
  lua_rawsetp(L, -2, p);
  lua_pop(L, 1);
  s->forget = forget_peer;
  s->is_peer = 1;
}

/* core.peer(options, peer, settings) -> stream | nil, msg, kind, errno: options
** are those of core.stream; settings have policy, handlers, controls, context,
** timeout, spin and requests */
static int core_peer(lua_State *L) {
  int failed;
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_settop(L, 3);
  failed = pt_stream_open_with(L, sizeof(pt_peer), set_up);
  return failed ? failed : 1;
}

/* stream:begin(): begins to read */
static int peer_begin(lua_State *L) {
  pt_peer_watch(L, pt_peer_check(L, 1), 1);
  return 0;
}

static const luaL_Reg methods[] = {{"ask", peer_ask},
                                   {"begin", peer_begin},
                                   {"deafen", peer_deafen},
                                   {"expect_end", peer_expect_end},
                                   {"finish", peer_finish},
                                   {"handle", pt_peer_handle},
                                   {"has_room", peer_has_room},
                                   {"hold", peer_hold},
                                   {"pause", peer_pause},
                                   {"report", peer_report},
                                   {"requests", pt_peer_requests},
                                   {"running", peer_running},
                                   {"settle", peer_settle},
                                   {"shut", peer_shut},
                                   {"write", peer_write},
                                   {"write_soon", peer_write_soon},
                                   {NULL, NULL}};

static void set_hooks(lua_State *L, pt_loop *lp) {
  lp->push_peer = push_link;
  lp->write = write_link;
  lp->give_up = pt_peer_give_up;
  lp->wait_reading = pt_peer_wait_reading;
  lp->describe = pt_peer_describe;
  pt_loop_push_self(L);
  pt_peer_push_reader(L);
  lua_setiuservalue(L, -2, PT_LOOP_READ);
  lua_pop(L, 1);
}

/* The functions peer:call and peer:notify, core.peer, and the methods of its
** userdata, which are in the table of streams as well. */
void pt_open_peer(lua_State *L) {
  pt_loop *lp = pt_loop_get(L);
  set_hooks(L, lp);
  lua_getfield(L, -1, "stream_methods");
  luaL_setfuncs(L, methods, 0);
  pt_peer_push_listen(L);
  lua_setfield(L, -2, "listen");
  lua_pop(L, 1);
  lua_pushlightuserdata(L, (void *)&overdue);
  lua_setfield(L, -2, "overdue");
  lua_pushcfunction(L, peer_call);
  lua_setfield(L, -2, "call");
  lua_pushcfunction(L, peer_notify);
  lua_setfield(L, -2, "notify");
  pt_loop_push_self(L);
  lua_pushcclosure(L, core_peer, 1);
  lua_setfield(L, -2, "peer");
}

/* }====== */
