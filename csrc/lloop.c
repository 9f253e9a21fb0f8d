#define _GNU_SOURCE

#include "lloop.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <string.h>

#include "core.h"
#include "io.h"
#include "lfd.h"

#define FIRST_SLOTS 64

/* its address is the key of the loop in the registry */
static const char loop_key = 0;

/* ====== Values and lists ====== */

void pt_loop_push(lua_State *L, const pt_loop *lp, int value) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, lp->values[value]);
}

void pt_loop_set(lua_State *L, const pt_loop *lp, int value) {
  lua_rawseti(L, LUA_REGISTRYINDEX, lp->values[value]);
}

int pt_loop_keep(lua_State *L) {
  lua_pushvalue(L, -1);
  return luaL_ref(L, LUA_REGISTRYINDEX);
}

void pt_loop_release(lua_State *L, int *ref) {
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

/* ====== Ready links and timers ====== */

void pt_loop_add_ready(pt_loop *lp, pt_link *l) {
  pt_list_add(&lp->ready, l);
  lp->ready_count++;
}

/* Runs the links that are ready at the start. A nested turn may run some of
** them. */
static void run_ready_links(lua_State *L, pt_loop *lp) {
  size_t left = lp->ready_count;
  for (; left > 0 && lp->ready_count > 0; left--) {
    pt_link *l = lp->ready.first;
    pt_list_remove(&lp->ready, l);
    lp->ready_count--;
    l->run(L, l);
  }
}

void pt_loop_clear_alarm(pt_loop *lp, pt_alarm *a) {
  pt_timers_remove(&lp->timers, &a->timer);
}

void pt_loop_set_alarm(pt_loop *lp, pt_alarm *a, double at) {
  pt_timers_remove(&lp->timers, &a->timer);
  pt_timers_add(&lp->timers, &a->timer, at);
}

/* Fires the due timers. A timer is removed before it fires, so that a nested
** turn does not fire it again. */
static void fire_timers(lua_State *L, pt_loop *lp) {
  double now;
  pt_timer *t;
  if (pt_timers_due(&lp->timers) == HUGE_VAL)
    return;
  now = pt_clock_now();
  while ((t = pt_timers_take(&lp->timers, now)) != NULL) {
    pt_alarm *a = PT_CONTAINER(pt_alarm, timer, t);
    a->fire(L, a);
  }
}

/* A Lua function that the loop will call. The function and its argument are the
** user values. */
typedef struct callback {
  pt_alarm alarm;
  pt_link ready;
  int ref;
} callback;

#define CALLBACK "pintle.timer"

static void call_callback(lua_State *L, callback *c) {
  pt_loop_push_kept(L, c->ref);
  pt_loop_release(L, &c->ref);
  lua_getiuservalue(L, -1, 1);
  lua_getiuservalue(L, -2, 2);
  lua_call(L, 1, 0);
  lua_pop(L, 1);
}

static void fire_callback(lua_State *L, pt_alarm *a) {
  call_callback(L, PT_CONTAINER(callback, alarm, a));
}

static void run_callback(lua_State *L, pt_link *l) {
  call_callback(L, PT_CONTAINER(callback, ready, l));
}

/* Pushes a new callback with the function at -2 and the argument on top, which
** are both removed. */
static callback *push_callback(lua_State *L) {
  callback *c = lua_newuserdatauv(L, sizeof *c, 2);
  memset(c, 0, sizeof *c);
  c->alarm.fire = fire_callback;
  c->ready.run = run_callback;
  c->ref = LUA_NOREF;
  pt_set_class(L, CALLBACK, NULL, NULL);
  lua_insert(L, -3);
  lua_setiuservalue(L, -3, 2);
  lua_setiuservalue(L, -2, 1);
  c->ref = pt_loop_keep(L);
  return c;
}

void pt_loop_call_soon(lua_State *L, pt_loop *lp) {
  pt_loop_add_ready(lp, &push_callback(L)->ready);
  lua_pop(L, 1);
}

/* loop.soon(action, subject): action(subject) is called in the next turn */
static int loop_soon(lua_State *L) {
  luaL_checkany(L, 1);
  lua_settop(L, 2);
  pt_loop_call_soon(L, lua_touserdata(L, lua_upvalueindex(1)));
  return 0;
}

/* loop.after(seconds, action, subject) -> timer */
static int loop_after(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  double seconds = luaL_checknumber(L, 1);
  luaL_argcheck(L, !isnan(seconds), 1, "seconds expected");
  luaL_checkany(L, 2);
  lua_settop(L, 3);
  pt_loop_set_alarm(lp, &push_callback(L)->alarm,
                    pt_clock_now() + (seconds > 0 ? seconds : 0));
  return 1;
}

/* loop.cancel(timer): cancels a timer; does nothing after it has fired */
static int loop_cancel(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  callback *c = luaL_checkudata(L, 1, CALLBACK);
  pt_loop_clear_alarm(lp, &c->alarm);
  pt_loop_release(L, &c->ref);
  return 0;
}

/* ====== Descriptors ====== */

/* Makes a slot for `fd`. Returns 0 or an error number. A number that is not an
** open descriptor is refused first: it could require any amount of memory. */
static int reserve_slot(lua_State *L, pt_loop *lp, int fd) {
  pt_poll *p = &lp->poll;
  int limit = p->limit > 0 ? p->limit : FIRST_SLOTS;
  void *memory;
  if (fd < p->limit)
    return 0;
  if (!lp->is_open)
    return EBADF;
  if (fcntl(fd, F_GETFD) < 0)
    return errno;
  while (limit <= fd)
    limit = limit > INT_MAX / 2 ? INT_MAX : limit * 2;
  memory =
      pt_reallocate(L, p->slots, pt_poll_size(p->limit), pt_poll_size(limit));
  if (memory == NULL)
    return luaL_error(L, "not enough memory");
  pt_poll_grow(p, memory, limit);
  return 0;
}

int pt_loop_watch(lua_State *L, pt_loop *lp, int fd, int events, int index) {
  int err = reserve_slot(L, lp, fd), was_watched;
  index = lua_absindex(L, index);
  if (err != 0)
    return err;
  pt_loop_push(L, lp, PT_LOOP_WATCHERS);
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
  pt_loop_push(L, lp, PT_LOOP_WATCHERS);
  if (lua_rawgeti(L, -1, fd) != LUA_TNIL) {
    pt_poll_set(&lp->poll, fd, 0);
    lua_pushnil(L);
    lua_rawseti(L, -3, fd);
    lp->watched--;
  }
  lua_pop(L, 2);
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
    return pt_fail_errno(L, err,
                         pt_kind_of(err, err == EBADF ? "closed" : "invalid"),
                         "cannot watch descriptor %d", fd);
  lua_pushboolean(L, 1);
  return 1;
}

/* loop.unwatch(fd, watcher): does nothing if another watcher has replaced it */
static int loop_unwatch(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  int fd = pt_fd_check(L, 1);
  pt_loop_push(L, lp, PT_LOOP_WATCHERS);
  lua_rawgeti(L, -1, fd);
  if (lua_rawequal(L, -1, 2))
    pt_loop_unwatch(L, lp, fd);
  return 0;
}

/* ====== Waiting ====== */

/* Stack indexes of turn_protected, in which the following functions run. */
enum { LOOP = 1, WAITING, WATCHERS };

/* Reads and writes the peer on top, which is popped. */
static void read_peer(lua_State *L, const pt_loop *lp, int ready) {
  pt_loop_push(L, lp, PT_LOOP_READ);
  lua_insert(L, -2);
  lua_pushinteger(L, ready);
  lua_call(L, 2, 0);
}

/* Calls the watcher of a ready descriptor: a peer (userdata) or a Lua table. */
static void call_watcher(lua_State *L, const pt_loop *lp, int fd, int ready) {
  int type = lua_rawgeti(L, WATCHERS, fd);
  if (type == LUA_TUSERDATA) {
    read_peer(L, lp, ready);
  } else if (type == LUA_TTABLE) {
    lua_getfield(L, -1, "on_ready");
    lua_insert(L, -2);
    lua_pushboolean(L, ready & PT_POLL_READ);
    lua_pushboolean(L, ready & PT_POLL_WRITE);
    lua_call(L, 3, 0);
  } else {
    lua_pop(L, 1);
  }
}

/* Rounded up: otherwise the loop would poll repeatedly just before a timer is
** due. */
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

/* A signal handler that stops the program sets a hook, as lua.c does at Ctrl-C.
** In C code only a function call runs that hook. */
static void run_stop_hook(lua_State *L) {
  if (!pt_has_stop_hook(L))
    return;
  lua_pushcfunction(L, do_nothing);
  lua_call(L, 0, 0);
}

/* Polls without sleeping for a short time, because an answer is expected. */
static int poll_without_sleeping(pt_loop *lp, double seconds) {
  double until = pt_clock_now() + seconds;
  int found = pt_poll_wait(&lp->poll, 0);
  while (found == 0 && pt_clock_now() < until) {
    sched_yield();
    found = pt_poll_wait(&lp->poll, 0);
  }
  return found;
}

/* Whether large messages have left work for the garbage collector. The time
** before a wait is used for it. */
static int has_gc_debt(const pt_loop *lp) {
  return lp->gc_debt != NULL && lp->gc_debt->owed > 0;
}

/* Waits until `until`, or not at all if it is 0. Returns the result of
** pt_poll_wait. */
static int poll_once(lua_State *L, pt_loop *lp, double until) {
  double seconds = lp->spin;
  int found = 0;
  lp->spin = 0;
  if (until > 0 && seconds > 0)
    found = poll_without_sleeping(lp, seconds);
  if (found == 0 && until > 0 && has_gc_debt(lp)) {
    found = pt_poll_wait(&lp->poll, 0);
    if (found == 0) {
      pt_repay_gc_debt(L, lp->gc_debt);
      return 0;
    }
  }
  return found != 0 ? found
                    : pt_poll_wait(&lp->poll,
                                   until > 0 ? milliseconds_until(until) : 0);
}

/* Whether only the descriptor of one peer can end the wait: then a blocking
** read saves a system call. Leaves the peer on top. */
static int push_only_reader(lua_State *L, const pt_loop *lp, double until) {
  if (lp->watched != 1 || until < HUGE_VAL || lp->has_outer_loop ||
      lp->wait_reading == NULL || has_gc_debt(lp) || lp->spin > 0)
    return 0;
  lua_pushnil(L);
  return lua_next(L, WATCHERS) && lua_type(L, -1) == LUA_TUSERDATA;
}

/* Returns whether that read has found input, which was then handled. */
static int read_only_reader(lua_State *L, pt_loop *lp, double until) {
  int found = 0;
  if (push_only_reader(L, lp, until)) {
    found = lp->wait_reading(L, lua_gettop(L));
    if (found == 1)
      read_peer(L, lp, PT_POLL_READ);
    else if (found == -1)
      run_stop_hook(L);
  }
  lua_settop(L, WATCHERS);
  return found == 1;
}

/* Waits until `until` (0: does not wait), and handles the ready descriptors. A
** signal that does not stop the program does not end the wait. */
static void wait_for_events(lua_State *L, pt_loop *lp, double until) {
  int found, fd, ready;
  if (until == HUGE_VAL && lp->watched == 0)
    luaL_error(L, "nothing is left that could end this wait");
  if (until > 0)
    run_stop_hook(L);
  if (read_only_reader(L, lp, until))
    return;
  while ((found = poll_once(L, lp, until)) == -EINTR)
    run_stop_hook(L);
  if (found < 0)
    luaL_error(L, "cannot wait for descriptors: %s", strerror(-found));
  while ((ready = pt_poll_next(&lp->poll, &fd)) != 0)
    call_watcher(L, lp, fd, ready);
}

/* ====== Turning ====== */

/* Writes the queued output of all peers. A peer leaves the list first, because
** writing may add it again. */
static void write_queued(lua_State *L, pt_loop *lp) {
  pt_link *l;
  while ((l = lp->unwritten.first) != NULL) {
    pt_list_remove(&lp->unwritten, l);
    l->run(L, l);
  }
}

/* Reads each peer with unread input, except those that this turn has already
** read. A peer stays in the list until it has found no more input, because a
** hook may raise before the read begins. Reading one peer may remove others
** from the list. */
static void read_unread_peers(lua_State *L, pt_loop *lp, unsigned turn) {
  pt_link *l;
  size_t left = 0;
  for (l = lp->unread.first; l != NULL; l = l->next)
    left++;
  for (; left > 0 && (l = lp->unread.first) != NULL; left--) {
    pt_list_remove(&lp->unread, l);
    pt_list_add(&lp->unread, l);
    if (l->turn != turn)
      l->run(L, l);
  }
}

/* The conditions that end the turns. */
typedef struct waiting {
  const pt_event *event; /* this event is set, */
  const pt_task *task;   /* this task is stopped, */
  double deadline;       /* or this time is reached */
  int is_single;         /* do only one turn */
  int is_outermost; /* not nested: write all queued output before returning */
} waiting;

static int is_wait_over(const waiting *w) {
  return (w->event != NULL && w->event->is_set) ||
         (w->task != NULL && w->task->is_stopped);
}

/* In a protected call: (loop, peer to read). */
static int give_up_protected(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, 1);
  lp->give_up(L, lua_touserdata(L, 2));
  return 0;
}

/* Closes a peer whose message did not fit into memory. If there is not enough
** memory even for that, the next turn tries again. */
static void give_up_broken_peer(lua_State *L, pt_loop *lp) {
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

/* A turn that has run something does not wait: the condition that the caller
** waits for may be true now. */
static void turn_once(lua_State *L, pt_loop *lp, const waiting *w) {
  int has_run = lp->ready_count > 0;
  unsigned number = ++lp->turns;
  double until;
  if (has_run)
    run_ready_links(L, lp);
  write_queued(L, lp);
  if (is_wait_over(w))
    return;
  until = pt_timers_due(&lp->timers);
  if (w->deadline < until)
    until = w->deadline;
  if (has_run || lp->ready_count > 0 || lp->unread.first != NULL)
    until = 0;
  wait_for_events(L, lp, until);
  read_unread_peers(L, lp, number);
  fire_timers(L, lp);
}

/* In a protected call: (loop, waiting). */
static int turn_protected(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, LOOP);
  const waiting *w = lua_touserdata(L, WAITING);
  pt_loop_push(L, lp, PT_LOOP_WATCHERS);
  do {
    if (lp->broken != NULL)
      give_up_broken_peer(L, lp);
    turn_once(L, lp, w);
    lua_settop(L, WATCHERS);
  } while (!w->is_single && !is_wait_over(w) &&
           (w->deadline == HUGE_VAL || pt_clock_now() < w->deadline));
  if (is_wait_over(w)) /* other tasks may have waited for the same event */
    run_ready_links(L, lp);
  if (w->is_outermost)
    write_queued(L, lp);
  return 0;
}

/* Whether there was not enough memory for the message of one peer: then only
** that peer is closed. */
static int is_memory_error_of_peer(lua_State *L, pt_loop *lp, int status) {
  if (status != LUA_ERRMEM || lp->decoding == NULL)
    return 0;
  lp->broken = lp->decoding;
  lp->decoding = NULL;
  lua_pop(L, 1);
  return 1;
}

/* Turns the loop. Code that runs in a turn does not belong to the task that
** turns the loop, so the state of that task is saved and restored. Returns the
** status of a protected call; an error is left on top. */
static int turn_outside(lua_State *L, pt_loop *lp, waiting *w) {
  pt_task *current = lp->current;
  pt_link *decoding = lp->decoding;
  int was_turning = lp->is_turning, depth = lp->depth, status;
  int turn_depth = lp->turn_depth;
  pt_activation *paused;
  if (!lua_checkstack(L, LUA_MINSTACK))
    return luaL_error(L, "not enough memory");
  paused = pt_watch_pause(lp->watch);
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
  } while (status != LUA_OK && is_memory_error_of_peer(L, lp, status));
  lp->is_turning = was_turning;
  lp->current = current;
  lp->decoding = decoding;
  lp->depth = depth;
  lp->turn_depth = turn_depth;
  pt_watch_unpause(lp->watch, paused);
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

/* loop.step(timeout): does one turn, which waits for at most `timeout` seconds;
** default: 0 */
static int loop_step(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  double seconds = luaL_optnumber(L, 1, 0);
  waiting w = {0};
  w.deadline = seconds > 0 ? pt_clock_now() + seconds : 0;
  w.is_single = 1;
  return turn_outside(L, lp, &w) == LUA_OK ? 0 : lua_error(L);
}

/* loop.timeout() -> seconds | nil: the time after which loop.step has work even
** if no descriptor is ready */
static int loop_timeout(lua_State *L) {
  const pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  double due = pt_timers_due(&lp->timers);
  if (lp->ready_count > 0 || lp->unread.first != NULL)
    lua_pushinteger(L, 0);
  else if (due == HUGE_VAL)
    lua_pushnil(L);
  else
    lua_pushnumber(L, fmax(due - pt_clock_now(), 0));
  return 1;
}

/* loop.fileno() -> integer: a descriptor that is readable when loop.step has
** work */
static int loop_fileno(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, lua_upvalueindex(1));
  lp->has_outer_loop = 1;
  lua_pushinteger(L, lp->poll.fd);
  return 1;
}

/* ====== Opening and closing ====== */

/* Runs when the state is closed. Finalizers of peers may still run after this,
** and find the loop closed (is_open). */
static int loop_gc(lua_State *L) {
  pt_loop *lp = lua_touserdata(L, 1);
  lp->is_open = 0;
  pt_poll_close(&lp->poll);
  pt_reallocate(L, lp->poll.slots, pt_poll_size(lp->poll.limit), 0);
  memset(&lp->poll, 0, sizeof lp->poll);
  lp->poll.fd = -1;
  return 0;
}

/* Each value is a table until it is set: a registry reference needs a value. */
static void make_loop_values(lua_State *L, pt_loop *lp) {
  for (int i = 0; i < PT_LOOP_VALUES; i++) {
    lua_newtable(L);
    lp->values[i] = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  pt_push_weak_table(L, "v");
  pt_loop_set(L, lp, PT_LOOP_PEERS);
}

static pt_loop *make_loop(lua_State *L) {
  pt_loop *lp = lua_newuserdatauv(L, sizeof *lp, 0);
  int err;
  memset(lp, 0, sizeof *lp);
  make_loop_values(L, lp);
  lp->watch = pt_watch_get(L);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, loop_gc);
  lua_setfield(L, -2, "__gc");
  err = pt_poll_open(&lp->poll);
  if (err != 0)
    luaL_error(L, "cannot make a poller: %s", strerror(err));
  lp->is_open = 1;
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  pt_loop_set(L, lp, PT_LOOP_SELF);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &loop_key);
  return lp;
}

pt_loop *pt_loop_get(lua_State *L) {
  pt_loop *lp;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &loop_key);
  lp = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return lp != NULL ? lp : make_loop(L);
}

static const luaL_Reg functions[] = {{"after", loop_after},
                                     {"fileno", loop_fileno},
                                     {"cancel", loop_cancel},
                                     {"soon", loop_soon},
                                     {"step", loop_step},
                                     {"timeout", loop_timeout},
                                     {"unwatch", loop_unwatch},
                                     {"watch", loop_watch},
                                     {NULL, NULL}};

void pt_open_loop(lua_State *L) {
  const pt_loop *lp = pt_loop_get(L);
  lua_createtable(L, 0, 16);
  pt_loop_push(L, lp, PT_LOOP_SELF);
  luaL_setfuncs(L, functions, 1);
  pt_loop_push(L, lp, PT_LOOP_SELF);
  pt_tasks_add(L);
  lua_setfield(L, -2, "loop");
}
