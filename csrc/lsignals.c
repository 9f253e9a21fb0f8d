/*
** core.signals and core.raise: signals as events, and ending the process by a
** signal. When a watched signal arrives the first time, its number is written
** to a pipe. The second time it has its default effect, unless all are asked
** for (`repeated`). So a program that reads the pipe can shut down cleanly, and
** one that hangs is still ended.
*/
#define _GNU_SOURCE

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "core.h"
#include "io.h"
#include "spawn.h"

#define CLASS "pintle.signals"
#define MOST 32

/* All zero means closed. */
typedef struct signals {
  int is_open;
  int input; /* readable when a signal has arrived */
  int count;
  int taken[MOST];
  /* their former dispositions, in the same order */
  struct sigaction before[MOST];
} signals;

/* The user value: a table from signal numbers to names. A signal is read from
** the pipe only once, so returning its name must not need memory. */
#define NAMES 1

/* {====== Taking signals over ======
** Signals and the variables of their handler belong to the whole process, so
** only one object can be open at a time. */

static atomic_flag is_taken = ATOMIC_FLAG_INIT;
static volatile sig_atomic_t output = -1; /* where the handler writes */
static pid_t owner;                       /* a forked process shares the pipe */

static int set_signal_disposition(int sig, void (*handler)(int), int flags) {
  struct sigaction act;
  memset(&act, 0, sizeof act);
  act.sa_handler = handler;
  act.sa_flags = flags;
  sigemptyset(&act.sa_mask);
  return sigaction(sig, &act, NULL);
}

/* In a forked process, the signal has its default effect. */
static void note_taken_signal(int sig) {
  int saved = errno;
  unsigned char byte = (unsigned char)sig;
  ssize_t written = 0;
  if (getpid() == owner)
    written = write(output, &byte, 1);
  else if (set_signal_disposition(sig, SIG_DFL, 0) == 0)
    raise(sig);
  (void)written;
  errno = saved;
}

static int is_signal_handler(const struct sigaction *act,
                             void (*handler)(int)) {
  return !(act->sa_flags & SA_SIGINFO) && act->sa_handler == handler;
}

/* The second check refuses a signal that is listed twice. */
static int may_take_signal(const struct sigaction *act, int handled) {
  if (handled)
    return !is_signal_handler(act, SIG_IGN) &&
           !is_signal_handler(act, note_taken_signal);
  return is_signal_handler(act, SIG_DFL);
}

static void take_signal(signals *s, int sig, int handled, int flags) {
  struct sigaction *before = &s->before[s->count];
  if (s->count < MOST && sigaction(sig, NULL, before) == 0 &&
      may_take_signal(before, handled) &&
      set_signal_disposition(sig, note_taken_signal, flags) == 0)
    s->taken[s->count++] = sig;
}

/* Takes over each signal of `wanted` that has its default disposition; with
** `handled` also those that the program handles, but none that it ignores.
** Returns 0 or an error number: EBUSY if another object is open. */
static int take_all_signals(signals *s, const int *wanted, int count,
                            int handled, int repeated) {
  int flags = repeated ? SA_RESTART : (int)SA_RESETHAND | SA_RESTART;
  int ends[2], err, i;
  if (atomic_flag_test_and_set(&is_taken))
    return EBUSY;
  err = pt_fd_pipe(ends);
  if (err != 0) {
    atomic_flag_clear(&is_taken);
    return err;
  }
  pt_fd_set_nonblocking(ends[0]);
  pt_fd_set_nonblocking(ends[1]);
  s->is_open = 1;
  s->input = ends[0];
  s->count = 0;
  output = ends[1];
  owner = getpid();
  for (i = 0; i < count; i++)
    take_signal(s, wanted[i], handled, flags);
  return 0;
}

/* Restores the signals that were taken over and have not arrived. */
static void give_signals_back(signals *s) {
  struct sigaction now;
  int i, end = output;
  if (!s->is_open)
    return;
  s->is_open = 0;
  for (i = 0; i < s->count; i++)
    if (sigaction(s->taken[i], NULL, &now) == 0 &&
        is_signal_handler(&now, note_taken_signal))
      sigaction(s->taken[i], &s->before[i], NULL);
  output = -1;
  pt_fd_close(&end);
  pt_fd_close(&s->input);
  atomic_flag_clear(&is_taken);
}

/* Raises the signal with its default disposition. Returns 0 if that had no
** effect, or an error number. */
static int raise_default_signal(int sig) {
  sigset_t set;
  /* fails for KILL and STOP, which always have their default disposition */
  set_signal_disposition(sig, SIG_DFL, 0);
  sigemptyset(&set);
  sigaddset(&set, sig);
  sigprocmask(SIG_UNBLOCK, &set, NULL);
  return kill(getpid(), sig) == 0 ? 0 : errno;
}

/* }====== */

static signals *check_signals(lua_State *L) {
  return luaL_checkudata(L, 1, CLASS);
}

/* Returns the number of the signal whose name is on top. */
static int check_signal_name(lua_State *L, int arg) {
  const char *name;
  int sig;
  luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, arg,
                "a signal's name expected");
  name = lua_tostring(L, -1);
  sig = pt_signal_number(name);
  if (sig == 0)
    luaL_argerror(L, arg, lua_pushfstring(L, "unknown signal '%s'", name));
  return sig;
}

/* Reads the list of names at index 1. Pushes a table from signal numbers to
** names and returns the length of the list. */
static int read_signal_names(lua_State *L, int wanted[MOST]) {
  int i, count;
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_argcheck(L, lua_rawlen(L, 1) <= MOST, 1, "too many names");
  count = (int)lua_rawlen(L, 1);
  lua_createtable(L, 0, count);
  for (i = 0; i < count; i++) {
    lua_rawgeti(L, 1, i + 1);
    wanted[i] = check_signal_name(L, 1);
    lua_rawseti(L, -2, wanted[i]);
  }
  return count;
}

/* core.signals(names, handled, repeated) -> signals | nil, msg, kind, errno */
static int core_signals(lua_State *L) {
  int wanted[MOST];
  int handled = lua_toboolean(L, 2), repeated = lua_toboolean(L, 3);
  signals *s = lua_newuserdatauv(L, sizeof *s, 1);
  int count, err;
  memset(s, 0, sizeof *s);
  luaL_setmetatable(L, CLASS);
  count = read_signal_names(L, wanted);
  lua_setiuservalue(L, -2, NAMES);
  err = take_all_signals(s, wanted, count, handled, repeated);
  if (err == EBUSY)
    return pt_fail(L, "full", "signals are watched in this process already");
  if (err != 0)
    return pt_fail_errno(L, err, "full", "cannot watch signals");
  return 1;
}

/* core.raise(name) -> true | nil, msg, kind, errno */
static int core_raise(lua_State *L) {
  int err;
  lua_settop(L, 1);
  err = raise_default_signal(check_signal_name(L, 1));
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "cannot raise %s",
                         lua_tostring(L, 1));
  lua_pushboolean(L, 1);
  return 1;
}

/* signals:fd() -> integer | nil */
static int signals_fd(lua_State *L) {
  const signals *s = check_signals(L);
  if (s->is_open)
    lua_pushinteger(L, s->input);
  else
    lua_pushnil(L);
  return 1;
}

/* signals:next() -> name | nil */
static int signals_next(lua_State *L) {
  const signals *s = check_signals(L);
  unsigned char sig;
  if (!s->is_open || read(s->input, &sig, 1) != 1)
    sig = 0; /* no signal has this number */
  lua_getiuservalue(L, 1, NAMES);
  lua_rawgeti(L, -1, sig);
  return 1;
}

/* signals:close() */
static int signals_close(lua_State *L) {
  give_signals_back(check_signals(L));
  return 0;
}

static const luaL_Reg methods[] = {{"close", signals_close},
                                   {"fd", signals_fd},
                                   {"next", signals_next},
                                   {NULL, NULL}};

static const luaL_Reg meta[] = {
    {"__close", signals_close}, {"__gc", signals_close}, {NULL, NULL}};

static const luaL_Reg functions[] = {
    {"raise", core_raise}, {"signals", core_signals}, {NULL, NULL}};

void pt_open_signals(lua_State *L) {
  pt_new_class(L, CLASS, methods, meta);
  luaL_setfuncs(L, functions, 0);
}
