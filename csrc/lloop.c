#define _GNU_SOURCE

#include "lloop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "core.h"
#include "io.h"
#include "lfd.h"
#include "ljson.h"

#define FIRST_SLOTS 64

static const char keys[PT_LOOP_VALUES] = {0}; /* addresses in the registry */

/* {====== Memory ====== */

static void *reallocate(lua_State *L, void *block, size_t old, size_t size) {
  void *ud;
  lua_Alloc alloc = lua_getallocf(L, &ud);
  return alloc(ud, block, old, size);
}

void pt_loop_push(lua_State *L, int value) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &keys[value]);
}

void pt_loop_set(lua_State *L, int value) {
  lua_rawsetp(L, LUA_REGISTRYINDEX, &keys[value]);
}

int pt_loop_keep(lua_State *L) {
  lua_pushvalue(L, -1);
  return luaL_ref(L, LUA_REGISTRYINDEX);
}

void pt_loop_let_go(lua_State *L, int *ref) {
  luaL_unref(L, LUA_REGISTRYINDEX, *ref);
  *ref = LUA_NOREF;
}

void pt_loop_push_kept(lua_State *L, int ref) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
}

void pt_list_add(pt_list *list, pt_link *l) {
  if (l->is_listed)
    return;
  l->is_listed = 1;
  l->next = NULL;
  if (list->first == NULL)
    list->first = l;
  else
    list->last->next = l;
  list->last = l;
}

void pt_list_remove(pt_list *list, pt_link *l) {
  pt_link **at = &list->first, *before = NULL;
  if (!l->is_listed)
    return;
  for (; *at != l; at = &(*at)->next)
    before = *at;
  *at = l->next;
  if (list->last == l)
    list->last = before;
  l->is_listed = 0;
}

/* }====== */

/* {====== What is ready ====== */

static int fail_memory(lua_State *L) {
  return luaL_error(L, "not enough memory");
}

/* For finalizers that run after the loop's own. */
static void check_open(lua_State *L, const pt_loop *lp) {
  if (!lp->is_open)
    luaL_error(L, "the loop is closed");
}

static void grow_ready(lua_State *L, pt_loop *lp) {
  size_t room = lp->ready_room > 0 ? lp->ready_room * 2 : 64, i;
  pt_task **ready = reallocate(L, NULL, 0, room * sizeof *ready);
  if (ready == NULL)
    fail_memory(L);
  for (i = 0; i < lp->ready_count; i++)
    ready[i] = lp->ready[(lp->ready_first + i) & (lp->ready_room - 1)];
  reallocate(L, lp->ready, lp->ready_room * sizeof *ready, 0);
  lp->ready = ready;
  lp->ready_first = 0;
  lp->ready_room = room;
}

void pt_loop_reserve_ready(lua_State *L, pt_loop *lp) {
  size_t calls = (size_t)(lp->last_call - lp->first_call + 1) / 2;
  check_open(L, lp);
  while (lp->ready_room <= lp->tasks + calls)
    grow_ready(L, lp);
}

void pt_loop_add_ready(pt_loop *lp, pt_task *t) {
  lp->ready[(lp->ready_first + lp->ready_count++) & (lp->ready_room - 1)] = t;
}

/* Calls the next function of those that were to be called soon. */
static void call_next(lua_State *L, pt_loop *lp) {
  lua_Integer at = lp->first_call;
  pt_loop_push(L, PT_LOOP_CALLS);
  lua_rawgeti(L, -1, at);
  lua_rawgeti(L, -2, at + 1);
  lua_pushnil(L);
  lua_rawseti(L, -4, at);
  lua_pushnil(L);
  lua_rawseti(L, -4, at + 1);
  lp->first_call += 2;
  if (lp->first_call > lp->last_call) {
    lp->first_call = 1;
    lp->last_call = 0;
  }
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

/* Those that are ready now; a turn inside of this one may go on with them. */
static void run_ready(lua_State *L, pt_loop *lp) {
  size_t left = lp->ready_count;
  for (; left > 0 && lp->ready_count > 0; left--) {
    pt_task *t = lp->ready[lp->ready_first];
    lp->ready_first = (lp->ready_first + 1) & (lp->ready_room - 1);
    lp->ready_count--;
    if (t == NULL)
      call_next(L, lp);
    else
      pt_task_run(L, t, t->args);
  }
}

void pt_loop_call_soon(lua_State *L, pt_loop *lp) {
  pt_loop_reserve_ready(L, lp);
  pt_loop_push(L, PT_LOOP_CALLS);
  lua_insert(L, -3);
  lua_rawseti(L, -3, lp->last_call + 2);
  lua_rawseti(L, -2, lp->last_call + 1);
  lua_pop(L, 1);
  pt_loop_add_ready(lp, NULL);
  lp->last_call += 2;
}

/* loop.soon(action, subject): action(subject) is called in the next turn */
static int loop_soon(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  pt_loop_call_soon(L, lua_touserdata(L, lua_upvalueindex(1)));
  return 0;
}

/* }====== */

/* {====== Timers ====== */

void pt_loop_clear_alarm(pt_loop *lp, pt_alarm *a) {
  pt_timers_remove(&lp->timers, &a->timer);
}

int pt_loop_reserve_alarm(lua_State *L, pt_loop *lp) {
  pt_timers *h = &lp->timers;
  size_t room = h->room > 0 ? h->room * 2 : 16;
  pt_timer **heap;
  check_open(L, lp);
  if (h->count < h->room)
    return 1;
  heap = reallocate(L, h->heap, h->room * sizeof *heap, room * sizeof *heap);
  if (heap == NULL)
    return 0;
  h->heap = heap;
  h->room = room;
  return 1;
}

void pt_loop_set_alarm(lua_State *L, pt_loop *lp, pt_alarm *a, double at) {
  if (a->timer.place == 0 && !pt_loop_reserve_alarm(L, lp))
    fail_memory(L);
  pt_timers_remove(&lp->timers, &a->timer);
  pt_timers_add(&lp->timers, &a->timer, at);
}

static void fire_timers(lua_State *L, pt_loop *lp) {
  double now;
  pt_timer *t;
  if (lp->timers.count == 0)
    return;
  now = pt_clock_now();
  while ((t = pt_timers_take(&lp->timers, now)) != NULL) {
    pt_alarm *a = (pt_alarm *)(void *)t;
    a->fire(L, a);
  }
}

/* A timer of Lua's: its user values are the function and its subject. */
typedef struct lua_timer {
  pt_alarm alarm; /* first: it is known by this address */
  int ref;
} lua_timer;

#define TIMER "pintle.timer"

static void fire_lua_timer(lua_State *L, pt_alarm *a) {
  lua_timer *t = (lua_timer *)(void *)a;
  pt_loop_push_kept(L, t->ref);
  pt_loop_let_go(L, &t->ref);
  lua_getiuservalue(L, -1, 1);
  lua_getiuservalue(L, -2, 2);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

/* loop.after(seconds, action, subject) -> timer */
static int loop_after(lua_State *L) {
  static const luaL_Reg no_methods[] = {{NULL, NULL}};
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  double seconds = luaL_checknumber(L, 1);
  lua_timer *t;
  luaL_argcheck(L, !isnan(seconds), 1, "seconds expected");
  luaL_checkany(L, 2);
  lua_settop(L, 3);
  t = lua_newuserdatauv(L, sizeof *t, 2);
  memset(t, 0, sizeof *t);
  t->alarm.fire = fire_lua_timer;
  t->ref = LUA_NOREF;
  pt_set_class(L, TIMER, no_methods, NULL);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 4, 1);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, 4, 2);
  if (!pt_loop_reserve_alarm(L, lp))
    fail_memory(L);
  t->ref = pt_loop_keep(L);
  pt_loop_set_alarm(L, lp, &t->alarm,
                    pt_clock_now() + (seconds > 0 ? seconds : 0));
  return 1;
}

/* loop.forget(timer): does nothing once it has fired */
static int loop_forget(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  lua_timer *t = luaL_checkudata(L, 1, TIMER);
  pt_loop_clear_alarm(lp, &t->alarm);
  pt_loop_let_go(L, &t->ref);
  return 0;
}

/* }====== */

/* {====== Descriptors ====== */

/* A number that is not open would claim memory for nothing. */
static int reserve(lua_State *L, pt_loop *lp, int fd) {
  int limit = lp->poll.limit > 0 ? lp->poll.limit : FIRST_SLOTS;
  void *memory;
  if (fd < lp->poll.limit)
    return 0;
  if (fcntl(fd, F_GETFD) < 0)
    return errno;
  while (limit <= fd)
    limit = limit > INT_MAX / 2 ? INT_MAX : limit * 2;
  memory = lua_newuserdatauv(L, pt_poll_size(limit), 0);
  if (limit > lp->poll.limit) { /* a finalizer may have done it */
    pt_poll_move(&lp->poll, memory, limit);
    pt_loop_set(L, PT_LOOP_SLOTS);
  } else {
    lua_pop(L, 1);
  }
  return 0;
}

int pt_loop_watch(lua_State *L, pt_loop *lp, int fd, int events, int index) {
  int err = reserve(L, lp, fd), was_watched;
  index = lua_absindex(L, index);
  if (err != 0)
    return err;
  pt_loop_push(L, PT_LOOP_WATCHERS);
  was_watched = lua_rawgeti(L, -1, fd) != LUA_TNIL;
  lua_pushvalue(L, index);
  lua_rawseti(L, -3, fd);
  err = pt_poll_set(&lp->poll, fd, events);
  if (err != 0) {
    lua_pushnil(L);
    lua_rawseti(L, -3, fd);
  }
  lua_pop(L, 2);
  lp->watched += (err == 0) - was_watched;
  return err;
}

void pt_loop_unwatch(lua_State *L, pt_loop *lp, int fd) {
  if (fd >= lp->poll.limit)
    return;
  pt_loop_push(L, PT_LOOP_WATCHERS);
  if (lua_rawgeti(L, -1, fd) != LUA_TNIL) {
    pt_poll_set(&lp->poll, fd, 0);
    lua_pushnil(L);
    lua_rawseti(L, -3, fd);
    lp->watched--;
  }
  lua_pop(L, 2);
}

static const char *kind_of(int err) {
  if (err == EBADF)
    return "closed";
  return err == ENOMEM || err == ENOSPC ? "full" : "invalid";
}

/* loop.watch(fd, events, watcher) -> true | nil, msg, kind, errno */
static int loop_watch(lua_State *L) {
  static const char *const names[] = {"", "r", "w", "rw", NULL};
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  int fd = pt_fd_check(L, 1);
  int events = luaL_checkoption(L, 2, NULL, names), err;
  luaL_checktype(L, 3, LUA_TTABLE);
  err = pt_loop_watch(L, lp, fd, events, 3);
  if (err != 0)
    return pt_fail_errno(L, err, kind_of(err), "cannot watch descriptor %d",
                         fd);
  lua_pushboolean(L, 1);
  return 1;
}

/* loop.unwatch(fd, watcher): nothing if another one watches it by now */
static int loop_unwatch(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  int fd = pt_fd_check(L, 1);
  pt_loop_push(L, PT_LOOP_WATCHERS);
  lua_rawgeti(L, -1, fd);
  if (lua_rawequal(L, -1, 2))
    pt_loop_unwatch(L, lp, fd);
  return 0;
}

/* For a peer, which is on top. */
static void tell_reader(lua_State *L, int ready) {
  pt_loop_push(L, PT_LOOP_READ);
  lua_insert(L, -2);
  lua_pushinteger(L, ready);
  lua_call(L, 2, 0);
}

static void tell_watcher(lua_State *L, int fd, int ready) {
  int top = lua_gettop(L);
  pt_loop_push(L, PT_LOOP_WATCHERS);
  if (lua_rawgeti(L, -1, fd) == LUA_TUSERDATA) {
    tell_reader(L, ready);
  } else if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "on_ready");
    lua_insert(L, -2);
    lua_pushboolean(L, ready & PT_POLL_READ);
    lua_pushboolean(L, ready & PT_POLL_WRITE);
    lua_call(L, 3, 0);
  }
  lua_settop(L, top);
}

/* }====== */

/* {====== Waiting ====== */

/* Rounded up: a timer that is not quite due must not be asked for again and
** again. */
static int milliseconds_until(double at) {
  double ms = at < HUGE_VAL ? ceil((at - pt_clock_now()) * 1000) : -1;
  if (at < HUGE_VAL && ms <= 0)
    return 0;
  return ms < INT_MAX ? (int)ms : INT_MAX;
}

static int do_nothing(lua_State *L) {
  (void)L;
  return 0;
}

/* A signal has come. If it wants to stop the program, its handler has set a
** hook, as lua.c does, and that runs with the next call. */
static void let_signals_stop_it(lua_State *L, lua_Hook before) {
  if (!pt_is_stopped(L, before))
    return;
  lua_pushcfunction(L, do_nothing);
  lua_call(L, 0, 0);
}

/* The same for a signal that came before the wait: such a hook is for every
** call and every instruction. Nothing but a call would run it now. */
static void let_hook_stop_it(lua_State *L) {
  if (!pt_has_stop_hook(L))
    return;
  lua_pushcfunction(L, do_nothing);
  lua_call(L, 0, 0);
}

/* Asks again and again for a moment: an answer is due. */
static int spin(pt_loop *lp, double seconds) {
  double until = pt_clock_now() + seconds;
  int found = pt_poll_wait(&lp->poll, 0);
  while (found == 0 && pt_clock_now() < until) {
    sched_yield();
    found = pt_poll_wait(&lp->poll, 0);
  }
  return found;
}

/* Large messages have left work for the collector, and now is time for it. */
static int is_behind(const pt_loop *lp) {
  return lp->arrears != NULL && lp->arrears->owed > 0;
}

static int poll_once(lua_State *L, pt_loop *lp, double until) {
  double seconds = lp->spin;
  int found = 0;
  lp->spin = 0;
  if (until > 0 && seconds > 0)
    found = spin(lp, seconds);
  if (found == 0 && until > 0 && is_behind(lp)) {
    found = pt_poll_wait(&lp->poll, 0);
    if (found == 0) {
      pt_make_up(L, lp->arrears);
      return 0;
    }
  }
  return found != 0 ? found
                    : pt_poll_wait(&lp->poll,
                                   until > 0 ? milliseconds_until(until) : 0);
}

/* Whether a blocking read does as well: nothing else can happen. Leaves the
** watcher on top then. */
static int push_only_reader(lua_State *L, const pt_loop *lp, double until) {
  if (lp->watched != 1 || until < HUGE_VAL || lp->is_public ||
      lp->wait_reading == NULL || is_behind(lp) || lp->spin > 0)
    return 0;
  pt_loop_push(L, PT_LOOP_WATCHERS);
  lua_pushnil(L);
  return lua_next(L, -2) && lua_type(L, -1) == LUA_TUSERDATA;
}

/* A signal that does not stop the program does not cut it short. */
static int poll_until(lua_State *L, pt_loop *lp, double until) {
  lua_Hook hook = lua_gethook(L);
  int found;
  while ((found = poll_once(L, lp, until)) == -EINTR)
    let_signals_stop_it(L, hook);
  return found;
}

/* Waits, and has those that are ready told. `until` is 0 for not at all. */
static void wait(lua_State *L, pt_loop *lp, double until) {
  lua_Hook hook = lua_gethook(L);
  int top = lua_gettop(L), found = 0, key, ready;
  if (until == HUGE_VAL && lp->watched == 0)
    luaL_error(L, "nothing is left that could end this wait");
  if (until > 0)
    let_hook_stop_it(L);
  if (push_only_reader(L, lp, until))
    found = lp->wait_reading(L, lua_gettop(L));
  lua_settop(L, top);
  if (found == 1)
    return;
  if (found == -1)
    let_signals_stop_it(L, hook);
  found = poll_until(L, lp, until);
  if (found < 0)
    luaL_error(L, "cannot wait for descriptors: %s", strerror(-found));
  while ((ready = pt_poll_next(&lp->poll, &key)) != 0)
    tell_watcher(L, key, ready);
}

/* }====== */

/* {====== Turning ====== */

static void write_queued(lua_State *L, pt_loop *lp) {
  pt_link *l;
  while ((l = lp->unwritten.first) != NULL) {
    pt_list_remove(&lp->unwritten, l);
    lp->write(L, l);
  }
}

static void move_back(pt_list *list, pt_link *l) {
  pt_list_remove(list, l);
  pt_list_add(list, l);
}

/* Reads the peer, which stays in the list until it has found nothing more: an
** error may come out of a hook before it begins. */
static void read_unread(lua_State *L, pt_loop *lp, pt_link *l) {
  lp->decoding = l;
  lp->push_peer(L, l);
  if (lua_isnil(L, -1)) { /* it is being collected */
    lua_pop(L, 1);
    pt_list_remove(&lp->unread, l);
    return;
  }
  tell_reader(L, PT_POLL_READ);
  if (l->is_listed && l == lp->unread.first)
    move_back(&lp->unread, l);
}

/* Each peer that has input which was read, but not looked at; those that were
** read by this turn have had their share. */
static void read_more(lua_State *L, pt_loop *lp, unsigned turn) {
  pt_link *last = lp->unread.last, *l;
  while ((l = lp->unread.first) != NULL) {
    if (l->turn == turn)
      move_back(&lp->unread, l);
    else
      read_unread(L, lp, l);
    if (l == last)
      break;
  }
}

/* What a turn is for. */
typedef struct waiting {
  const pt_event *event; /* it is set, */
  const pt_task *task;   /* this one is stopped, */
  double deadline;       /* or the time has come */
  int is_single;         /* one turn is enough */
  int is_outermost;      /* nothing is left queued */
} waiting;

static int is_over(const waiting *w) {
  return (w->event != NULL && w->event->is_set) ||
         (w->task != NULL && w->task->is_stopped);
}

/* In a protected call: (loop, peer to read). */
static int give_up_protected(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, 1);
  lp->give_up(L, lua_touserdata(L, 2));
  return 0;
}

/* A peer whose message did not fit into memory. If there is not even enough for
** its end, the next turn tries again. */
static void give_up_broken(lua_State *L, pt_loop *lp) {
  pt_link *peer = lp->broken;
  int status;
  lp->broken = NULL;
  lua_pushcfunction(L, give_up_protected);
  lua_pushlightuserdata(L, lp);
  lua_pushlightuserdata(L, peer);
  status = lua_pcall(L, 2, 0, 0);
  if (status == LUA_ERRMEM && lp->broken == NULL)
    lp->broken = peer;
  if (status != LUA_OK)
    lua_error(L);
}

/* What was ready may be all that is waited for, so a turn that has run
** something does not wait. */
static void turn(lua_State *L, pt_loop *lp, const waiting *w) {
  int has_run = lp->ready_count > 0;
  unsigned number = ++lp->turns;
  double until;
  if (has_run)
    run_ready(L, lp);
  if (lp->unwritten.first != NULL)
    write_queued(L, lp);
  if (is_over(w))
    return;
  until = pt_timers_due(&lp->timers);
  if (w->deadline < until)
    until = w->deadline;
  if (has_run || lp->ready_count > 0 || lp->unread.first != NULL)
    until = 0;
  wait(L, lp, until);
  if (lp->unread.first != NULL)
    read_more(L, lp, number);
  fire_timers(L, lp);
}

/* In a protected call: (loop, waiting). */
static int turn_protected(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, 1);
  const waiting *w = lua_touserdata(L, 2);
  do {
    if (lp->broken != NULL)
      give_up_broken(L, lp);
    turn(L, lp, w);
    lua_settop(L, 2);
  } while (!w->is_single && !is_over(w) &&
           (w->deadline == HUGE_VAL || pt_clock_now() < w->deadline));
  if (is_over(w)) /* others may have waited for the same */
    run_ready(L, lp);
  if (w->is_outermost)
    write_queued(L, lp);
  return 0;
}

/* Whether memory was short for the message of one peer, which is nobody else's
** trouble. */
static int is_one_peers(lua_State *L, pt_loop *lp, int status) {
  if (status != LUA_ERRMEM || lp->decoding == NULL)
    return 0;
  lp->broken = lp->decoding;
  lp->decoding = NULL;
  lua_pop(L, 1);
  return 1;
}

/* What runs in a turn does not belong to the task that happens to turn. The
** status of a protected call; an error is left on top. */
static int turn_outside(lua_State *L, pt_loop *lp, waiting *w) {
  pt_task *current = lp->current;
  pt_link *decoding = lp->decoding;
  int was_turning = lp->is_turning, depth = lp->depth, status;
  int turn_depth = lp->turn_depth;
  pt_activation *paused = pt_watch_pause(lp->watch);
  if (!lua_checkstack(L, LUA_MINSTACK)) {
    pt_watch_go_on(lp->watch, paused);
    fail_memory(L);
  }
  w->is_outermost = !was_turning;
  lp->is_turning = 1;
  lp->turn_depth = depth;
  lp->current = NULL;
  lp->decoding = NULL;
  do {
    lua_pushcfunction(L, turn_protected);
    lua_pushlightuserdata(L, lp);
    lua_pushlightuserdata(L, w);
    status = lua_pcall(L, 2, 0, 0);
  } while (status != LUA_OK && is_one_peers(L, lp, status));
  lp->is_turning = was_turning;
  lp->current = current;
  lp->decoding = decoding;
  lp->depth = depth;
  lp->turn_depth = turn_depth;
  pt_watch_go_on(lp->watch, paused);
  return status;
}

int pt_loop_turn_until(lua_State *L, pt_loop *lp, const pt_event *e,
                       double deadline) {
  waiting w = {0};
  w.event = e;
  w.task = lp->current;
  w.deadline = deadline;
  return turn_outside(L, lp, &w);
}

/* loop.step(timeout): one turn, of at most so many seconds; 0 by default */
static int loop_step(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  double seconds = luaL_optnumber(L, 1, 0);
  waiting w = {0};
  w.deadline = seconds > 0 ? pt_clock_now() + seconds : 0;
  w.is_single = 1;
  return turn_outside(L, lp, &w) == LUA_OK ? 0 : lua_error(L);
}

/* loop.timeout() -> seconds | nil: when there is something to do even if
** nothing is ready */
static int loop_timeout(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  double due = pt_timers_due(&lp->timers), left;
  if (lp->ready_count > 0 || lp->unread.first != NULL) {
    lua_pushinteger(L, 0);
    return 1;
  }
  if (due == HUGE_VAL) {
    lua_pushnil(L);
    return 1;
  }
  left = due - pt_clock_now();
  lua_pushnumber(L, left > 0 ? left : 0);
  return 1;
}

/* loop.fileno() -> integer | nil: readable when a step has something to do */
static int loop_fileno(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  lp->is_public = 1;
  if (lp->poll.fd < 0)
    lua_pushnil(L);
  else
    lua_pushinteger(L, lp->poll.fd);
  return 1;
}

/* }====== */

static int loop_gc(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, 1);
  if (!lp->is_open)
    return 0;
  lp->is_open = 0;
  pt_poll_close(&lp->poll);
  reallocate(L, lp->ready, lp->ready_room * sizeof *lp->ready, 0);
  reallocate(L, lp->timers.heap, lp->timers.room * sizeof *lp->timers.heap, 0);
  lp->ready = NULL;
  lp->ready_room = lp->ready_count = 0;
  memset(&lp->timers, 0, sizeof lp->timers);
  return 0;
}

static void new_table(lua_State *L, int value, const char *mode) {
  lua_newtable(L);
  if (mode != NULL) {
    lua_createtable(L, 0, 1);
    lua_pushstring(L, mode);
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
  }
  pt_loop_set(L, value);
}

static pt_loop *make_loop(lua_State *L) {
  pt_loop *lp = lua_newuserdatauv(L, sizeof *lp, 0);
  int err;
  memset(lp, 0, sizeof *lp);
  lp->first_call = 1;
  new_table(L, PT_LOOP_WATCHERS, NULL);
  new_table(L, PT_LOOP_CALLS, NULL);
  new_table(L, PT_LOOP_PEERS, "v");
  lp->watch = pt_watch_get(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, loop_gc);
  lua_setfield(L, -2, "__gc");
  err = pt_poll_open(&lp->poll);
  if (err != 0)
    luaL_error(L, "cannot make a poller: %s", strerror(err));
  lp->is_open = 1;
  lua_setmetatable(L, -2);
  pt_loop_set(L, PT_LOOP_SELF);
  return lp;
}

pt_loop *pt_loop_get(lua_State *L) {
  pt_loop *lp;
  pt_loop_push(L, PT_LOOP_SELF);
  lp = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return lp != NULL ? lp : make_loop(L);
}

static const luaL_Reg functions[] = {{"after", loop_after},
                                     {"fileno", loop_fileno},
                                     {"forget", loop_forget},
                                     {"soon", loop_soon},
                                     {"step", loop_step},
                                     {"timeout", loop_timeout},
                                     {"unwatch", loop_unwatch},
                                     {"watch", loop_watch},
                                     {NULL, NULL}};

void pt_open_loop(lua_State *L) {
  pt_loop_get(L);
  lua_createtable(L, 0, 16);
  pt_loop_push(L, PT_LOOP_SELF);
  luaL_setfuncs(L, functions, 1);
  pt_loop_push(L, PT_LOOP_SELF);
  pt_tasks_add(L);
  lua_setfield(L, -2, "loop");
}
