/*
** A call is registered in the ring of pending calls when its request is queued.
** From then on its waiter, a task or an event, must be completed exactly once.
** So every path that removes a call from the ring either completes the waiter
** or stops waiting itself.
*/
#define _POSIX_C_SOURCE 200809L

#include "lpeer.h"

#include <math.h>
#include <string.h>

#include "io.h"
#include "lsend.h"

static const char overdue = 0; /* its address represents a missed deadline */

/* ====== Answers ====== */

/* Sets the event of a call to the two values on top. */
static void complete_with_event(lua_State *L, pt_event *e) {
  pt_loop_push_kept(L, e->ref);
  lua_insert(L, -3);
  if (!e->is_owned)
    pt_loop_release(L, &e->ref);
  pt_event_set(L, e, lua_gettop(L) - 2);
  lua_pop(L, 1);
}

void pt_call_complete(lua_State *L, void *waiter, int soon) {
  pt_task *t = waiter;
  if (pt_is_event(waiter)) {
    complete_with_event(L, waiter);
  } else if (soon) {
    pt_task_wake(L, t, 2);
  } else {
    if (!lua_checkstack(t->thread, 2))
      luaL_error(L, "not enough memory");
    t->withdraw = NULL;
    lua_xmove(L, t->thread, 2);
    pt_task_run(L, t, 2);
  }
}

/* ====== Deadlines of calls ====== */

static double find_earliest_call_deadline(const pt_pending *calls) {
  double earliest = HUGE_VAL;
  for (size_t slot = 0; slot < calls->slots; slot++)
    if (calls->calls[slot].id != 0 && calls->calls[slot].due < earliest)
      earliest = calls->calls[slot].due;
  return earliest;
}

/* Completes the overdue calls, and sets the alarm for the next deadline. If
** this raises, the next turn tries again. Completing a call may run finalizers
** that make calls; then the ring may grow, but no call moves to a lower slot.
*/
static void fire_overdue_calls(lua_State *L, pt_alarm *a) {
  pt_peer *p = PT_CONTAINER(pt_peer, overdue, a);
  pt_pending *calls = &p->pending;
  double now = pt_clock_now(), next;
  pt_loop_set_alarm(p->loop, a, now);
  for (size_t slot = 0; slot < calls->slots; slot++) {
    void *waiter = calls->calls[slot].waiter;
    if (calls->calls[slot].id == 0 || calls->calls[slot].due > now)
      continue;
    pt_pending_remove(calls, slot);
    lua_pushnil(L);
    lua_pushlightuserdata(L, (void *)&overdue);
    pt_call_complete(L, waiter, 1);
  }
  next = find_earliest_call_deadline(calls);
  if (next < HUGE_VAL)
    pt_loop_set_alarm(p->loop, a, next);
  else
    pt_loop_clear_alarm(p->loop, a);
}

/* The alarm of an earlier deadline also finds the later calls. */
static void note_call_deadline(pt_peer *p, double due) {
  if (due < HUGE_VAL && (!p->overdue.timer.is_set || due < p->overdue.timer.at))
    pt_loop_set_alarm(p->loop, &p->overdue, due);
}

/* ====== Calling ====== */

/* Stack indexes of a call, and of the values that it waits with. */
enum { PEER = 1, METHOD, PARAMS, OPTIONS, STREAM, ID, SECONDS, CALL = SECONDS };

/* Reads options that contain only a timeout. Returns 0 for any other options;
** the policy handles those. */
static int read_call_options(lua_State *L, double *seconds) {
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

/* The policy implements the other options and reports wrong ones. */
static int call_with_options(lua_State *L) {
  pt_peer_push_policy(L, STREAM, "call");
  lua_pushvalue(L, METHOD);
  lua_pushvalue(L, PARAMS);
  lua_pushvalue(L, OPTIONS);
  lua_callk(L, 4, LUA_MULTRET, STREAM, pt_return_above);
  return lua_gettop(L) - STREAM;
}

/* The call could not be made: its message and kind are on top. The policy may
** wait for a moment to find out why. */
static int refuse_call(lua_State *L) {
  int before = lua_gettop(L) - 2;
  lua_pushnil(L);
  pt_peer_push_policy(L, STREAM, "refused");
  lua_pushvalue(L, before + 2);
  lua_pushvalue(L, before + 1);
  lua_callk(L, 3, 1, before + 2, pt_return_above);
  return 2;
}

/* The results of the finished wait are on top. The policy creates the error of
** a missed deadline. */
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

/* Continues a task after its wait for an answer. */
static int continue_answered_call(lua_State *L, int status, lua_KContext ctx) {
  (void)status;
  (void)ctx;
  lua_settop(L, CALL + 2);
  return answer_call(L);
}

/* Calls the policy for a withdrawn call; the error is on top. */
static void report_withdrawn_call(lua_State *L, int peer, int64_t id) {
  int err = lua_gettop(L);
  pt_peer_push_policy(L, peer, "withdrawn");
  lua_pushinteger(L, id);
  lua_pushvalue(L, err);
  lua_call(L, 3, 0);
}

/* Withdraws a call; returns 0 if it is not pending any more. */
static int withdraw_call(pt_peer *p, int64_t id) {
  size_t slot = pt_pending_find(&p->pending, id);
  if (slot == PT_PENDING_NONE)
    return 0;
  pt_pending_remove(&p->pending, slot);
  if (p->pending.count == 0)
    pt_loop_clear_alarm(p->loop, &p->overdue);
  return 1;
}

/* Called when a task is stopped while it waits for an answer. */
static void withdraw_call_of_task(lua_State *L, pt_task *t) {
  pt_peer *p = t->caller;
  if (!withdraw_call(p, t->call))
    return;
  pt_peer_push(L, p);
  pt_task_push_stopped(L, t);
  report_withdrawn_call(L, lua_gettop(L) - 1, t->call);
  lua_pop(L, 2);
}

/* Returns an event for a call that turns the loop until it is answered. The
** event stays in the list of spare events until the request was queued, so that
** an error before that does not lose it. */
static pt_event *find_call_event(lua_State *L, pt_loop *lp) {
  pt_event *e = lp->spare_events;
  if (e == NULL) {
    e = pt_event_push(L, lp);
    e->is_owned = 1;
    e->ref = pt_loop_keep(L);
    lua_pop(L, 1);
    lp->spare_events = e;
  }
  return e;
}

/* Removes the event from the list of spare events. It need not be the first:
** nested calls may have added others since find_call_event. */
static void take_call_event(pt_loop *lp, pt_event *e) {
  pt_event **at = &lp->spare_events;
  while (*at != NULL && *at != e)
    at = &(*at)->next;
  if (*at != NULL)
    *at = e->next;
  e->is_set = 0;
}

/* Pushes the values of the event, clears them, and puts the event back into the
** list of spare events. */
static void release_call_event(lua_State *L, pt_loop *lp, pt_event *e) {
  pt_loop_push_kept(L, e->ref);
  for (int i = 1; i <= 2; i++) {
    lua_getiuservalue(L, -i, i);
    lua_pushnil(L);
    lua_setiuservalue(L, -i - 2, i);
  }
  lua_remove(L, -3);
  e->next = lp->spare_events;
  lp->spare_events = e;
}

/* The wait has ended without an answer: the task, which cannot yield here, was
** stopped, or code that the loop ran has raised. */
static int give_up_call(lua_State *L, pt_peer *p, const pt_task *t,
                        int status) {
  int64_t id = lua_tointeger(L, ID);
  int was_waiting = withdraw_call(p, id);
  if (status != LUA_OK)
    return lua_error(L);
  lua_pushnil(L);
  pt_task_push_stopped(L, t);
  if (was_waiting)
    report_withdrawn_call(L, STREAM, id);
  return 2;
}

/* Turns the loop until the call is answered. */
static int call_turning(lua_State *L, pt_peer *p, pt_event *e) {
  pt_task *t = p->loop->current;
  int status = pt_loop_turn_until(L, p->loop, e, HUGE_VAL), is_set = e->is_set;
  release_call_event(L, p->loop, e);
  if (status == LUA_OK && is_set)
    return answer_call(L);
  lua_pop(L, 2);
  return give_up_call(L, p, t, status);
}

/* Completes the bookkeeping of a queued call. Returns LUA_OK; with any other
** status the caller must withdraw the call, and the error is on top. */
static int after_send_call(lua_State *L, pt_peer *p, double due) {
  note_call_deadline(p, due);
  if (p->spin > 0)
    p->loop->spin = p->spin;
  if (!p->is_held && !p->is_paused)
    return LUA_OK;
  pt_peer_push_policy(L, STREAM, "calling");
  return lua_pcall(L, 1, 0, 0);
}

static void push_call_timeout(lua_State *L, double seconds) {
  if (seconds < HUGE_VAL)
    lua_pushnumber(L, seconds);
  else
    lua_pushboolean(L, 0);
}

/* Withdraws a call after an error, which is on top, and raises that error. */
static int undo_call(lua_State *L, pt_peer *p, void *waiter) {
  withdraw_call(p, lua_tointeger(L, ID));
  if (pt_is_event(waiter)) {
    release_call_event(L, p->loop, waiter);
    lua_pop(L, 2);
  }
  return lua_error(L);
}

/* Queues the request for `waiter`. Returns 0, or the number of results that the
** call returns. If this raises, the call is not pending. */
static int send_call(lua_State *L, pt_peer *p, void *waiter, double seconds) {
  pt_ask a = {.peer = STREAM, .method = METHOD, .params = PARAMS};
  if (p->fails_calls) {
    lua_pushnil(L);
    lua_pushliteral(L, "closed");
    return refuse_call(L);
  }
  a.waiter = waiter;
  a.due = seconds < HUGE_VAL ? pt_clock_now() + seconds : HUGE_VAL;
  if (pt_send_request(L, p, &a) != 0)
    return refuse_call(L);
  lua_settop(L, STREAM);
  lua_pushinteger(L, a.id);
  push_call_timeout(L, seconds);
  if (pt_is_event(waiter))
    take_call_event(p->loop, waiter);
  return after_send_call(L, p, a.due) == LUA_OK ? 0 : undo_call(L, p, waiter);
}

/* In a protected call: (stream). */
static int write_call_protected(lua_State *L) {
  pt_peer_write(L, pt_peer_check(L, 1));
  return 0;
}

/* As pt_peer_write_soon, for a call that is pending already and therefore must
** not raise: the next turn tries again. */
static void queue_call(lua_State *L, pt_peer *p) {
  if (!p->loop->is_turning) {
    lua_pushcfunction(L, write_call_protected);
    lua_pushvalue(L, STREAM);
    if (lua_pcall(L, 1, 0, 0) == LUA_OK)
      return;
    lua_pop(L, 1);
  }
  pt_list_add(&p->loop->unwritten, &p->to_write);
}

/* Makes a call in a task that can yield: the waiter is the task. */
static int call_in_task(lua_State *L, pt_peer *p, pt_task *t, double seconds) {
  int failed = send_call(L, p, t, seconds);
  if (failed)
    return failed;
  t->caller = p;
  t->call = lua_tointeger(L, ID);
  t->withdraw = withdraw_call_of_task;
  queue_call(L, p);
  return pt_task_wait(L, t, 0, continue_answered_call);
}

/* Makes a call where yielding is not possible: turns the loop until an event is
** set. */
static int call_outside(lua_State *L, pt_peer *p, double seconds) {
  pt_event *e = find_call_event(L, p->loop);
  int failed = send_call(L, p, e, seconds);
  if (failed)
    return failed;
  pt_list_add(&p->loop->unwritten, &p->to_write);
  return call_turning(L, p, e);
}

/* Pushes the userdata of the Lua peer at index 1. The name of its field is the
** upvalue of the running function. */
static pt_peer *push_stream_of_peer(lua_State *L) {
  luaL_checktype(L, PEER, LUA_TTABLE);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_rawget(L, PEER);
  return pt_peer_check(L, -1);
}

static void check_call_method(lua_State *L) {
  if (lua_type(L, METHOD) != LUA_TSTRING)
    luaL_error(L, "method: string expected, got %s", luaL_typename(L, METHOD));
}

/* peer:call(method, params, options) -> result | nil, err */
static int peer_call(lua_State *L) {
  pt_peer *p;
  pt_task *t;
  double seconds;
  lua_settop(L, OPTIONS);
  p = push_stream_of_peer(L);
  check_call_method(L);
  seconds = p->timeout;
  if (!read_call_options(L, &seconds))
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
  pt_ask a = {.peer = STREAM, .method = METHOD, .params = PARAMS};
  pt_peer *p;
  lua_settop(L, OPTIONS);
  p = push_stream_of_peer(L);
  check_call_method(L);
  if (pt_send_notification(L, p, &a) != 0) {
    lua_pushnil(L);
    pt_peer_push_policy(L, STREAM, "failure");
    lua_pushvalue(L, -4);
    lua_pushvalue(L, -6);
    lua_call(L, 3, 1);
    return 2;
  }
  pt_peer_write_soon(L, p);
  lua_pushboolean(L, 1);
  return 1;
}

/* In a protected call: (event). */
static int keep_call_event_alive(lua_State *L) {
  pt_event *e = lua_touserdata(L, 1);
  if (e->ref == LUA_NOREF)
    e->ref = pt_loop_keep(L);
  return 0;
}

/* stream:ask(event, method, params, timeout) -> id | nil, msg, kind: the event
** is set to the result, or to nil and the error; timeout may be false */
int pt_call_ask(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_ask a = {.peer = 1, .method = 3, .params = 4, .due = HUGE_VAL};
  pt_event *e;
  int failed;
  lua_settop(L, 5);
  a.waiter = e = pt_event_check(L, 2);
  luaL_checktype(L, 3, LUA_TSTRING);
  if (lua_isnumber(L, 5))
    a.due = pt_clock_now() + lua_tonumber(L, 5);
  failed = pt_send_request(L, p, &a);
  if (failed)
    return failed;
  lua_pushcfunction(L, keep_call_event_alive);
  lua_pushvalue(L, 2);
  if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
    withdraw_call(p, a.id);
    return luaL_error(L, "not enough memory");
  }
  note_call_deadline(p, a.due);
  if (p->spin > 0)
    p->loop->spin = p->spin;
  pt_peer_write_soon(L, p);
  lua_pushinteger(L, a.id);
  return 1;
}

/* stream:complete_call(id, result, err) -> boolean: completes a pending call in
** the next turn; false if it is not pending */
int pt_call_complete_id(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  size_t slot = pt_pending_find(&p->pending, luaL_checkinteger(L, 2));
  void *waiter;
  lua_settop(L, 4);
  if (slot != PT_PENDING_NONE) {
    waiter = p->pending.calls[slot].waiter;
    withdraw_call(p, lua_tointeger(L, 2));
    pt_call_complete(L, waiter, 1);
  }
  lua_pushboolean(L, slot != PT_PENDING_NONE);
  return 1;
}

/* stream:fail_calls(err): fails every pending call, and every later one */
int pt_call_fail_all(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_pending *calls = &p->pending;
  lua_settop(L, 2);
  p->fails_calls = 1;
  for (size_t slot = 0; slot < calls->slots && calls->count > 0; slot++) {
    void *waiter = calls->calls[slot].waiter;
    if (calls->calls[slot].id == 0)
      continue;
    pt_pending_remove(calls, slot);
    lua_pushnil(L);
    lua_pushvalue(L, 2);
    pt_call_complete(L, waiter, 1);
  }
  pt_loop_clear_alarm(p->loop, &p->overdue);
  return 0;
}

void pt_call_init(pt_peer *p) { p->overdue.fire = fire_overdue_calls; }

void pt_call_add(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"call", peer_call}, {"notify", peer_notify}, {NULL, NULL}};
  lua_pushliteral(L, "stream");
  luaL_setfuncs(L, functions, 1);
  lua_pushlightuserdata(L, (void *)&overdue);
  lua_setfield(L, -2, "overdue");
}
