/*
** Waiting for a stream and handing out what comes, again and again, without
** Lua in between: for as long as nothing comes that Lua has to see, and nothing
** that was handed out gives the loop something to do.
*/
#include <math.h>

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
static int attend(lua_State *L, pt_stream *s, int other, double deadline,
                  int *is_other_ready) {
  int left = deadline == 0 ? 1 : ROUNDS, results = 0;
  lua_Hook hook = lua_gethook(L);
  while (!pt_is_stopped(L, hook)) {
    int sent;
    pt_stream_begin_waiting(L, s, hook, other == -1 && deadline < 0);
    sent = pt_stream_write_out(L, s);
    if (sent == 0 && s->has_answered)
      return 0; /* who asks and does not listen is for Lua */
    if (sent == 1)
      s->has_answered = 0;
    if (!pt_stream_await(L, s, other, deadline, is_other_ready))
      return 0;
    results = pt_stream_hand_over(L, s, 0);
    left -= deadline >= 0;
    if (left == 0 || s->is_disturbed || *is_other_ready ||
        !is_all_done(L, results))
      break;
    lua_settop(L, 1);
    results = 0;
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
  double deadline = pt_stream_check_deadline(L);
  int is_alone = lua_isnoneornil(L, 3), is_over = 0, is_other_ready = 0;
  int other = is_alone ? -1 : other_descriptor(L, 3, &is_over), results;
  lua_settop(L, 1);
  s->is_disturbed = 0;
  results = attend(L, s, other, is_over ? 0 : deadline, &is_other_ready);
  return finish_attending(L, s, results, is_over || is_other_ready);
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
  double deadline = earlier(asked->due, asked->until);
  int results;
  lua_settop(L, 1);
  s->is_disturbed |= asked->is_over;
  asked->is_other_ready = 0;
  results = attend(L, s, asked->other, deadline, &asked->is_other_ready);
  if (is_answer(L, s, results, asked->waiter)) {
    lua_pop(L, 1);
    return 0;
  }
  lua_pushinteger(L, asked->id);
  lua_pushnumber(L, asked->due);
  lua_rotate(L, -2 - results, 2);
  return 2 + finish_attending(L, s, results,
                              asked->is_over || asked->is_other_ready);
}

/* stream:disturb(): attend returns as soon as what it runs now is done with */
int pt_stream_disturb(lua_State *L) {
  pt_stream_check(L)->is_disturbed = 1;
  return 0;
}
