#define _GNU_SOURCE

#include "lwatchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#include "core.h"

/* Seconds between two ticks. */
#define INTERVAL 0.05
#define LEAST 0.001
#define MOST 3600

/* One resume of a task; it lives in the C frame of pt_watch_resume. A tick may
** read and change it as soon as it is on top. */
struct pt_activation {
  pt_activation *outer;
  lua_State *thread;
  volatile sig_atomic_t is_seen; /* a tick has found it running */
  /* its hook is set or was set; then the other fields are valid */
  volatile sig_atomic_t is_hooked;
  lua_Hook hook; /* the program's hook, with its mask and count */
  int mask;
  int count;
  int left;  /* rest of that count, before the `armed` instructions */
  int armed; /* instructions until the watchdog's hook is called */
  int gap;   /* instructions between two checks of a protected function */
};

/* User values of a watchdog: the two callbacks, and a table of protected
** sources. */
enum { TICK = 1, MUST_ABORT, PROTECTED, VALUES = PROTECTED };

/* There is one for each Lua state, in the registry. */
struct pt_watch {
  /* the innermost running task; NULL if none runs */
  pt_activation *volatile top;
  /* the timer is stopped and must be started */
  volatile sig_atomic_t is_stopped;
  struct ticker *ticker; /* NULL while the watchdog is off */
  double interval;
  lua_State *main;
  /* offset of the rest of a count in a lua_State; 0: unknown */
  size_t count_place;
};

typedef pt_watch watch;

/* ====== The timer ======
** The timer calls `tick` from a signal handler, at any point of what the thread
** is doing. Signals belong to the whole process, so the number of the signal
** and the tickers are the only static memory here. Linux has a timer for each
** ticker, and it interrupts the thread that has started it. On other systems
** there is one ticker for each process. It uses SIGALRM and interrupts the
** thread to which the system delivers that signal, usually the first one. */

/* Exactly one backend is defined; a name defined beforehand forces that
** backend. */
#if defined(PT_TICK_TIMER) || defined(PT_TICK_ALARM)
#elif defined(SYS_timer_create) && defined(SYS_timer_settime)
#define PT_TICK_TIMER
#else
#define PT_TICK_ALARM
#endif

#if defined(PT_TICK_TIMER)
#define TICKERS 64
#define FIRST_SIGNAL (SIGRTMAX - 1)
#define LAST_SIGNAL SIGRTMIN
#else
#define TICKERS 1
#define FIRST_SIGNAL SIGALRM
#define LAST_SIGNAL SIGALRM
#endif

typedef struct ticker {
  watch *volatile watch; /* NULL: the ticker is free */
  int timer;             /* -1 if there is none */
  /* the process that started it last; 0 in a fork, which does not inherit
  ** timers */
  pid_t process;
  pthread_t thread; /* the thread that started it last */
} ticker;

static ticker tickers[TICKERS];
static int taken; /* the signal in use; 0 while there are no tickers */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

#if defined(PT_TICK_TIMER)

/* System calls by number: before glibc 2.34 these functions are in a separate
** library. */

#if !defined(sigev_notify_thread_id)
#define sigev_notify_thread_id _sigev_un._tid
#endif

static ticker *find_ticker(const siginfo_t *info) {
  int i = info->si_value.sival_int;
  return info->si_code == SI_TIMER && i >= 0 && i < TICKERS ? &tickers[i]
                                                            : NULL;
}

static int create_ticker_timer(ticker *t) {
  struct sigevent event;
  if (t->timer != -1)
    return 0;
  memset(&event, 0, sizeof event);
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
  event.sigev_signo = taken;
  event.sigev_value.sival_int = (int)(t - tickers);
  return (int)syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &t->timer);
}

/* The kernel's struct has four longs, whatever the size of time_t. */
static int set_ticker_timer(const ticker *t, double seconds) {
  long whole = (long)seconds, rest = (long)((seconds - (double)whole) * 1e9);
  long interval_and_first[] = {whole, rest, whole, rest};
  return (int)syscall(SYS_timer_settime, t->timer, 0, interval_and_first, NULL);
}

static void delete_ticker_timer(ticker *t) {
  if (t->timer != -1 && t->process == getpid())
    syscall(SYS_timer_delete, t->timer);
  t->timer = -1;
}

#else

static ticker *find_ticker(const siginfo_t *info) {
  (void)info;
  return tickers;
}

static int create_ticker_timer(ticker *t) { return t->timer = 0; }

static int set_ticker_timer(const ticker *t, double seconds) {
  struct itimerval r = {0};
  (void)t;
  r.it_interval.tv_sec = (time_t)seconds;
  r.it_interval.tv_usec =
      (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
  r.it_value = r.it_interval;
  return setitimer(ITIMER_REAL, &r, NULL);
}

static void delete_ticker_timer(ticker *t) {
  if (t->timer != -1 && t->process == getpid())
    set_ticker_timer(t, 0);
  t->timer = -1;
}

#endif

/* Whether the calling thread was the last to start it, and not before a fork.
*/
static int is_own_thread(const ticker *t) {
  return t->process != 0 && pthread_equal(t->thread, pthread_self());
}

static int tick_watch(watch *w);

static void handle_ticker_signal(int sig, siginfo_t *info, void *context) {
  int saved = errno;
  const ticker *t = find_ticker(info);
  (void)sig, (void)context;
  if (t != NULL && is_own_thread(t) && t->watch != NULL &&
      !tick_watch(t->watch))
    set_ticker_timer(t, 0);
  errno = saved;
}

/* Whether the program does not use the signal. A blocked signal belongs to code
** that waits for it in another way. */
static int is_ticker_signal_free(int sig) {
  struct sigaction act;
  sigset_t blocked;
  return sigaction(sig, NULL, &act) == 0 && !(act.sa_flags & SA_SIGINFO) &&
         act.sa_handler == SIG_DFL &&
         sigprocmask(SIG_BLOCK, NULL, &blocked) == 0 &&
         !sigismember(&blocked, sig);
}

/* Installs the handler for a signal that the program does not use; returns 0 if
** there is none. */
static int take_ticker_signal(void) {
  struct sigaction act;
  int sig = FIRST_SIGNAL;
  while (sig >= LAST_SIGNAL && !is_ticker_signal_free(sig))
    sig--;
  if (sig < LAST_SIGNAL)
    return 0;
  memset(&act, 0, sizeof act);
  act.sa_sigaction = handle_ticker_signal;
  act.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigemptyset(&act.sa_mask);
  return sigaction(sig, &act, NULL) == 0 ? sig : 0;
}

/* Restores the signal. It is ignored first, which discards a pending one;
** otherwise that one would end the program. */
static void return_ticker_signal(void) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = SIG_IGN;
  sigaction(taken, &act, NULL);
  act.sa_handler = SIG_DFL;
  sigaction(taken, &act, NULL);
  taken = 0;
}

/* Called in a forked process before any other code. */
static void forget_ticker_timers(void) {
  for (int i = 0; i < TICKERS; i++)
    tickers[i].process = 0;
}

/* Registers the fork handler once. Only on Linux: there the C library removes
** the handler when this library is unloaded. */
static int watch_ticker_forks(void) {
#if defined(__linux__)
  static int is_done;
  if (!is_done)
    is_done = pthread_atfork(NULL, NULL, forget_ticker_timers) == 0;
  return is_done;
#else
  (void)forget_ticker_timers;
  return 1;
#endif
}

/* Returns NULL if there is no free signal or no free ticker. */
static ticker *open_ticker(watch *w) {
  ticker *t = tickers;
  pthread_mutex_lock(&changing);
  while (t < tickers + TICKERS && t->watch != NULL)
    t++;
  if (t == tickers + TICKERS || !watch_ticker_forks() ||
      (taken == 0 && (taken = take_ticker_signal()) == 0))
    t = NULL;
  else
    *t = (ticker){.watch = w, .timer = -1};
  pthread_mutex_unlock(&changing);
  return t;
}

/* Starts the ticks in the calling thread. Returns 0 or an error number. */
static int start_ticker(ticker *t, double seconds) {
  if (!is_own_thread(t) || t->process != getpid()) {
    delete_ticker_timer(t);
    t->thread = pthread_self();
    t->process = getpid();
  }
  return create_ticker_timer(t) == 0 && set_ticker_timer(t, seconds) == 0
             ? 0
             : errno;
}

/* Closes a ticker. After the last one the signal is restored. */
static void close_ticker(ticker *t) {
  int i = 0;
  delete_ticker_timer(t);
  pthread_mutex_lock(&changing);
  t->watch = NULL;
  while (i < TICKERS && tickers[i].watch == NULL)
    i++;
  if (i == TICKERS)
    return_ticker_signal();
  pthread_mutex_unlock(&changing);
}

/* ====== The watchdog of a state ====== */

static const char watch_key = 0; /* its address is the key in the registry */

static watch *push_watchdog(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &watch_key);
  return lua_touserdata(L, -1);
}

static void on_watchdog_hook(lua_State *L, lua_Debug *ar);

/* ====== The rest of a count ====== */

/* More than the ints in any lua_State of Lua 5.4. */
#define PLACES (32 * sizeof(void *) / sizeof(int))

/* Sets a count, and returns the memory of the thread as an array of ints. */
static const int *set_hook_probe_count(lua_State *thread, int count) {
  lua_sethook(thread, on_watchdog_hook, LUA_MASKCOUNT, count);
  return (const int *)(void *)thread;
}

/* Finds the rest of the count in a thread. lua_sethook writes a count to two
** adjacent ints; Lua counts the second one down. */
static size_t find_hook_count_place(lua_State *L) {
  enum { ONE = 0x5a17c3e9, OTHER = 0x36d28b45 };
  lua_State *thread = lua_newthread(L);
  const int *at = set_hook_probe_count(thread, ONE);
  size_t i = 1;
  while (i < PLACES && !(at[i - 1] == ONE && at[i] == ONE))
    i++;
  set_hook_probe_count(thread, OTHER);
  if (i == PLACES || at[i - 1] != OTHER || at[i] != OTHER)
    i = 0;
  lua_pop(L, 1);
  return i;
}

static int *hook_count_of_thread(const watch *w, lua_State *thread) {
  return (int *)(void *)thread + w->count_place;
}

/* Returns the rest of the count; at least 1, because it is 0 for a moment
** before Lua starts it again. */
static int get_hook_count_left(const watch *w, const pt_activation *a) {
  int left =
      w->count_place != 0 ? *hook_count_of_thread(w, a->thread) : a->count;
  return left > 0 ? left : 1;
}

static void set_hook_count_left(const watch *w, const pt_activation *a) {
  if ((a->mask & LUA_MASKCOUNT) && w->count_place != 0)
    *hook_count_of_thread(w, a->thread) = a->left;
}

/* Subtracts the executed instructions; returns whether the program's hook is
** due. */
static int subtract_armed_count(pt_activation *a) {
  if (!(a->mask & LUA_MASKCOUNT))
    return 0;
  a->left -= a->armed;
  if (a->left > 0)
    return 0;
  a->left = a->count;
  return 1;
}

/* ====== The hook ====== */

/* Makes Lua call on_watchdog_hook after so many instructions, or earlier if the
** program's hook is due. */
static void arm_watch_hook(pt_activation *a, int instructions) {
  a->armed = instructions;
  if ((a->mask & LUA_MASKCOUNT) && a->left < instructions)
    a->armed = a->left;
  lua_sethook(a->thread, on_watchdog_hook, a->mask | LUA_MASKCOUNT, a->armed);
}

static void set_watch_hook(const watch *w, pt_activation *a) {
  if (lua_gethook(a->thread) != on_watchdog_hook) {
    a->hook = lua_gethook(a->thread);
    a->mask = lua_gethookmask(a->thread);
    a->count = lua_gethookcount(a->thread);
    a->left = get_hook_count_left(w, a);
  }
  a->is_hooked = 1;
  a->gap = 1;
  arm_watch_hook(a, 1);
}

static void restore_watch_hook(const watch *w, const pt_activation *a) {
  if (lua_gethook(a->thread) != on_watchdog_hook)
    return;
  lua_sethook(a->thread, a->hook, a->mask, a->count);
  set_hook_count_left(w, a);
}

/* Runs in the signal handler. Setting a hook is safe there; lua.c does the
** same. Returns 0 to stop the timer until the next task runs. */
static int tick_watch(watch *w) {
  pt_activation *a = w->top;
  if (a == NULL) {
    w->is_stopped = 1;
    return 0;
  }
  if (a->is_seen)
    set_watch_hook(w, a);
  a->is_seen = 1;
  return 1;
}

/* Whether the interrupted function is from a protected file. */
static int is_watchdog_protected(lua_State *L, lua_Debug *ar) {
  int is;
  push_watchdog(L);
  lua_getiuservalue(L, -1, PROTECTED);
  lua_getinfo(L, "S", ar);
  is = lua_getfield(L, -1, ar->source) != LUA_TNIL;
  lua_pop(L, 3);
  return is;
}

/* Calls one of the two callbacks; returns whether it returned true. */
static int call_watchdog_function(lua_State *L, int function) {
  int is_true = 0;
  push_watchdog(L);
  if (lua_getiuservalue(L, -1, function) != LUA_TNIL) {
    lua_call(L, 0, 1);
    is_true = lua_toboolean(L, -1);
  }
  lua_pop(L, 2);
  return is_true;
}

/* Calls `tick`. At Ctrl-C lua.c sets a hook in the main thread only, which
** waits for this thread; so that hook is called here. Instructions of the
** callback do not count for the program's hook. */
static void call_tick(lua_State *L, lua_Debug *ar, const watch *w,
                      const pt_activation *a) {
  lua_Hook of_main = lua_gethook(w->main);
  if (of_main != a->hook && pt_has_stop_hook(w->main))
    of_main(L, ar);
  call_watchdog_function(L, TICK);
  if (lua_gethook(L) == a->hook && lua_gethookcount(L) == a->count)
    set_hook_count_left(w, a);
}

/* Interrupts the task. A protected function may finish first: the hook checks
** again after 1, 3, 7 and so on to 127 instructions, because a check before
** each one is slow. */
static void interrupt_task(lua_State *L, lua_Debug *ar, const watch *w,
                           pt_activation *a) {
  int is_due = subtract_armed_count(a),
      may_interrupt = !is_watchdog_protected(L, ar);
  a->gap = may_interrupt ? 1 : a->gap % 127 * 2 + 1;
  if (may_interrupt && !call_watchdog_function(L, MUST_ABORT))
    restore_watch_hook(w, a);
  else
    arm_watch_hook(a, a->gap);
  if (is_due)
    a->hook(L, ar);
  if (may_interrupt)
    call_tick(L, ar, w, a);
}

/* Called by Lua for the watchdog's hook. A coroutine that was created while its
** creator had this hook has inherited it. */
static void on_watchdog_hook(lua_State *L, lua_Debug *ar) {
  const watch *w = push_watchdog(L);
  pt_activation *a = w->top;
  lua_pop(L, 1);
  if (a == NULL || !a->is_hooked)
    lua_sethook(L, NULL, 0, 0);
  else if (a->thread != L)
    lua_sethook(L, a->hook, a->mask, a->count);
  else if (ar->event == LUA_HOOKCOUNT)
    interrupt_task(L, ar, w, a);
  else if (a->hook != NULL)
    a->hook(L, ar);
}

int pt_is_stopped(lua_State *L, lua_Hook before) {
  lua_Hook now = lua_gethook(L);
  return now != before && now != on_watchdog_hook;
}

int pt_has_stop_hook(lua_State *L) {
  return lua_gethookcount(L) == 1 && (lua_gethookmask(L) & LUA_MASKCALL);
}

/* ====== The hook of the main thread ====== */

/* debug.sethook stores the Lua function of a hook in this table, by thread. */
static void copy_watchdog_hook_function(lua_State *L, lua_State *thread) {
  int top = lua_gettop(L);
  luaL_checkstack(L, LUA_MINSTACK, NULL);
  if (lua_getfield(L, LUA_REGISTRYINDEX, "_HOOKKEY") == LUA_TTABLE) {
    lua_pushthread(thread);
    lua_xmove(thread, L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    lua_rawget(L, top + 1);
    lua_rawset(L, top + 1);
  }
  lua_settop(L, top);
}

/* A stop hook is meant for the main thread only. */
void pt_watch_set_hook(const pt_watch *w, lua_State *L, lua_State *thread) {
  lua_Hook wanted = lua_gethook(w->main);
  if (wanted == NULL && lua_gethook(thread) == NULL)
    return;
  copy_watchdog_hook_function(L, thread);
  if (pt_has_stop_hook(w->main))
    wanted = NULL;
  lua_sethook(thread, wanted, lua_gethookmask(w->main),
              lua_gethookcount(w->main));
}

/* ====== Running threads ====== */

static void begin_watch_activation(watch *w, pt_activation *a) {
  a->is_seen = 0;
  atomic_signal_fence(memory_order_release);
  w->top = a;
  if (w->ticker != NULL && (w->is_stopped || !is_own_thread(w->ticker))) {
    w->is_stopped = 0;
    start_ticker(w->ticker, w->interval);
  }
}

/* A thread that does not run has the program's hook. */
static void replace_watch_activation(watch *w, pt_activation *next) {
  const pt_activation *a = w->top;
  w->top = next;
  atomic_signal_fence(memory_order_acquire);
  if (a != NULL && a->is_hooked)
    restore_watch_hook(w, a);
}

int pt_watch_resume(pt_watch *w, lua_State *L, lua_State *thread, int n,
                    int *results) {
  pt_activation a;
  int status;
  a.outer = w->top;
  a.thread = thread;
  a.is_hooked = 0;
  begin_watch_activation(w, &a);
  status = lua_resume(thread, L, n, results);
  replace_watch_activation(w, a.outer);
  return status;
}

pt_activation *pt_watch_pause(pt_watch *w) {
  pt_activation *paused = w->top;
  replace_watch_activation(w, NULL);
  return paused;
}

void pt_watch_unpause(pt_watch *w, pt_activation *paused) {
  if (paused != NULL)
    begin_watch_activation(w, paused);
  else
    w->top = NULL;
}

/* ====== What Lua sees ====== */

static void stop_watchdog(watch *w) {
  ticker *t = w->ticker;
  w->ticker = NULL;
  if (t != NULL)
    close_ticker(t);
}

/* Starts the timer immediately. If no task runs, the next tick stops it.
** Returns 0 or an error number. */
static int start_watchdog(watch *w, double interval) {
  if (w->ticker == NULL)
    w->ticker = open_ticker(w);
  if (w->ticker == NULL)
    return ENOTSUP;
  w->interval = interval;
  w->is_stopped = 0;
  return start_ticker(w->ticker, interval);
}

static void set_watchdog_callback(lua_State *L, int arg, int value) {
  lua_pushvalue(L, arg);
  lua_setiuservalue(L, lua_upvalueindex(1), value);
}

/* core.watchdog(tick, must_abort, interval) -> true | nil, msg, kind, errno:
** calls tick() in a task that computes, once an interval, and before every
** instruction while must_abort() returns true; without functions the watchdog
** ends */
static int core_watchdog(lua_State *L) {
  watch *w = lua_touserdata(L, lua_upvalueindex(1));
  double interval = luaL_optnumber(L, 3, INTERVAL);
  int err = 0;
  luaL_argcheck(L, interval >= LEAST && interval <= MOST, 3,
                "from 0.001 to 3600 seconds expected");
  lua_settop(L, 2);
  for (int i = 1; i <= 2; i++)
    if (!lua_isnil(L, i))
      luaL_checktype(L, i, LUA_TFUNCTION);
  if (lua_isnil(L, 1))
    stop_watchdog(w);
  else
    err = start_watchdog(w, interval);
  if (err != 0)
    return pt_fail_errno(L, err, "unsupported", "no timer is available");
  set_watchdog_callback(L, 1, TICK);
  set_watchdog_callback(L, 2, MUST_ABORT);
  lua_pushboolean(L, 1);
  return 1;
}

/* core.protect(): functions of the calling file are not interrupted */
static int core_protect(lua_State *L) {
  lua_Debug ar;
  if (lua_getstack(L, 1, &ar) && lua_getinfo(L, "S", &ar)) {
    lua_getiuservalue(L, lua_upvalueindex(1), PROTECTED);
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, ar.source);
  }
  return 0;
}

static int watch_gc(lua_State *L) {
  stop_watchdog(lua_touserdata(L, 1));
  return 0;
}

/* Pushes the watchdog of this state. If the module is opened again, it is the
** same one. */
static watch *push_or_make_watchdog(lua_State *L) {
  watch *w = push_watchdog(L);
  if (w != NULL)
    return w;
  lua_pop(L, 1);
  w = lua_newuserdatauv(L, sizeof *w, VALUES);
  memset(w, 0, sizeof *w);
  lua_newtable(L);
  lua_setiuservalue(L, -2, PROTECTED);
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  w->main = lua_tothread(L, -1);
  w->count_place = find_hook_count_place(L);
  lua_pop(L, 1);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, watch_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &watch_key);
  return w;
}

pt_watch *pt_watch_get(lua_State *L) {
  watch *w = push_or_make_watchdog(L);
  lua_pop(L, 1);
  return w;
}

static const luaL_Reg functions[] = {
    {"protect", core_protect}, {"watchdog", core_watchdog}, {NULL, NULL}};

void pt_open_watchdog(lua_State *L) {
  push_or_make_watchdog(L);
  luaL_setfuncs(L, functions, 1);
}
