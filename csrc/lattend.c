/*
** Waiting for a stream and handing out what comes, again and again, without
** Lua in between: for as long as nothing comes that Lua has to see, and nothing
** that was handed out gives the loop something to do.
*/
#define _POSIX_C_SOURCE 200809L

#include <math.h>

#include "clock.h"
#include "lapi.h"
#include "ldeliver.h"
#include "lpoll.h"
#include "lresume.h"

/* How often it is waited for what comes before others have their turn. */
#define ROUNDS 16

static int push_nothing(lua_State *L) {
  lua_pushboolean(L, 0);
  return 1;
}

static int other_descriptor(lua_State *L, int arg, int *is_ready) {
  int other = pt_poller_fileno(L, arg, is_ready);
  if (other == -1)
    luaL_argerror(L, arg, "pollers have no descriptor here");
  return other;
}

/* Whether there was nothing but what is handed out, and no more is there. */
static int is_all_done(lua_State *L, int results) {
  return results == 5 && lua_isboolean(L, -5) && !lua_toboolean(L, -1);
}

/* Waits and hands out, again and again, until there is something for others to
** do; the results of stream:deliver, or 0 if there are none. Those who have set
** a deadline look at it themselves when there is much to do. */
static int attend(lua_State *L, pt_stream *s, pt_wait *w) {
  int left = w->deadline == 0 ? 1 : ROUNDS, results = 0;
  lua_Hook hook = lua_gethook(L);
  while (!pt_is_stopped(L, hook)) {
    int sent;
    pt_stream_begin_waiting(L, s, hook, w->other == -1 && w->deadline < 0);
    sent = pt_stream_write_out(L, s);
    if (sent == 0 && s->has_answered)
      return 0; /* who asks and does not listen is for Lua */
    if (sent == 1)
      s->has_answered = 0;
    if (!pt_stream_await(L, s, w))
      return 0;
    results = pt_stream_hand_over(L, s, 0);
    left -= w->deadline >= 0;
    if (left == 0 || s->is_disturbed || w->is_other_ready ||
        !is_all_done(L, results))
      break;
    lua_settop(L, 1);
    results = 0;
    if (w->guard != NULL)
      w->begun = pt_clock_now();
  }
  return results;
}

/* Puts behind the results of stream:deliver what else there is to be told. */
static int finish_attending(lua_State *L, pt_stream *s, int results,
                            int has_others) {
  if (results == 0)
    results = push_nothing(L);
  pt_stream_fill_up(L, results, 5);
  lua_pushboolean(L, s->has_answered);
  s->has_answered = 0;
  lua_pushboolean(L, has_others);
  return 7;
}

/* stream:attend(timeout, poller) -> as deliver, and whether the poller has
** something */
int pt_stream_attend(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  pt_wait w = PT_WAIT_ALONE;
  int is_over = 0, results;
  w.deadline = pt_stream_check_deadline(L);
  if (!lua_isnoneornil(L, 3))
    w.other = other_descriptor(L, 3, &is_over);
  if (is_over)
    w.deadline = 0;
  lua_settop(L, 1);
  s->is_disturbed = 0;
  results = attend(L, s, &w);
  return finish_attending(L, s, results, is_over || w.is_other_ready);
}

static double earlier(double a, double b) {
  double first = a < b ? a : b;
  return first < HUGE_VAL ? first : -1;
}

/* Whether the results are what this waiter waits for, and nothing else is to be
** done. */
static int is_answer(lua_State *L, const pt_stream *s, int results,
                     const void *waiter) {
  return results == 5 && s->kind == PT_RESULT && !lua_toboolean(L, -1) &&
         lua_topointer(L, -3) == waiter && !s->has_answered;
}

int pt_stream_await_answer(lua_State *L, pt_stream *s, pt_asked *asked) {
  int results;
  asked->wait.deadline = earlier(asked->due, asked->until);
  lua_settop(L, 1);
  s->is_disturbed |= asked->is_over;
  results = attend(L, s, &asked->wait);
  if (is_answer(L, s, results, asked->waiter)) {
    lua_pop(L, 1);
    return 0;
  }
  lua_pushinteger(L, asked->id);
  lua_pushnumber(L, asked->due);
  lua_rotate(L, -2 - results, 2);
  return 2 + finish_attending(L, s, results,
                              asked->is_over || asked->wait.is_other_ready);
}

/* stream:disturb(): attend returns as soon as what it runs now is done with */
int pt_stream_disturb(lua_State *L) {
  pt_stream_check(L)->is_disturbed = 1;
  return 0;
}
