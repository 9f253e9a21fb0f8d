/*
** Messages that go straight to the threads they are for: results to those that
** wait for them, requests to the server, a thread that handles one after the
** other for as long as its handlers do not wait. Lua sees to everything else.
**
** Nothing of a message is in the stream's hands any more when a thread runs, so
** whatever that does to the stream is as good as if Lua had resumed it.
*/
#include "ldeliver.h"

#include "lapi.h"
#include "lresume.h"

/* Messages that are handed out in a row. */
#define MOST 64

/* {====== One after the other ====== */

int pt_stream_push_handed_out(lua_State *L, int count, int more) {
  lua_pushboolean(L, 0);
  lua_pushinteger(L, count);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushboolean(L, more);
  return 5;
}

/* Gives the result on top to the thread that waits for it: on top are kind, id,
** thread, result and more. 0 if it only waits again, else what it did is on top
** instead. */
static int give_result(lua_State *L) {
  int more = lua_toboolean(L, -1), status, n;
  lua_State *thread = lua_tothread(L, -3);
  lua_pop(L, 1);
  status = pt_resume(L, lua_upvalueindex(PT_DELIVER_UPVALUES), thread, 1, &n);
  if (pt_resume_is_parked(thread, status, n)) {
    lua_settop(L, 1);
    return 0;
  }
  pt_resume_tell(L, status, n);
  lua_pushboolean(L, more);
  return 5;
}

/* Whether a request may be begun by the server, which is the one that asks, or
** at rest. */
static int can_serve(const lua_State *L, const pt_stream *s, int is_server) {
  if (!s->is_open || s->server == NULL)
    return 0;
  return is_server ? s->server == L : !s->is_busy;
}

/* Puts the handler of the request on top in the place of `more`, or does
** nothing if there is none: on top are kind, id, method, params and more. */
static int find_handler(lua_State *L) {
  lua_getiuservalue(L, 1, PT_STREAM_HANDLERS);
  lua_pushvalue(L, -4);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 2);
    return 0;
  }
  lua_replace(L, -3);
  lua_pop(L, 1);
  return 1;
}

int pt_stream_hand_out(lua_State *L, pt_stream *s, double spin, int *count,
                       int is_server) {
  while (*count < MOST) {
    int results;
    s->is_fetching = is_server;
    results = pt_stream_receive(L, s, spin);
    s->is_fetching = 0;
    if (results == 1 && *count > 0)
      return pt_stream_push_handed_out(L, *count, 0);
    if (results < 5)
      return results;
    if (s->kind == PT_REQUEST && can_serve(L, s, is_server) &&
        find_handler(L)) {
      ++*count;
      return 0;
    }
    if (s->kind != PT_RESULT || !lua_isthread(L, -3))
      return results;
    ++*count;
    results = give_result(L);
    if (results > 0)
      return results;
    if (!pt_stream_has_more(s))
      return pt_stream_push_handed_out(L, *count, 0);
  }
  return pt_stream_push_handed_out(L, *count, 1);
}

/* }====== */

/* {====== stream:deliver ====== */

/* Gives the request on top to the server, which goes on with those behind it.
** Unless it comes to rest it is the server no more: its handler waits, has
** failed, or was not answered simply. */
static int give_to_server(lua_State *L, pt_stream *s) {
  lua_State *server = s->server;
  int status, n;
  lua_getiuservalue(L, 1, PT_STREAM_SERVER);
  lua_replace(L, -6); /* the kind */
  s->is_handed = s->is_busy = 1;
  status = pt_resume(L, lua_upvalueindex(PT_DELIVER_UPVALUES), server, 4, &n);
  if (s->is_resting) {
    s->is_resting = 0;
    lua_insert(L, 2); /* the thread, whatever becomes of it as the server */
    lua_settop(L, 2);
    lua_xmove(server, L, n);
    return n;
  }
  if (s->server == server && !s->is_handling) { /* between two requests */
    s->server = NULL;
    lua_pushvalue(L, -1);
    pt_server_set_owner(L, PT_STREAM_REST);
  }
  pt_resume_tell(L, status, n);
  lua_pushboolean(L, pt_stream_has_more(s));
  return 5;
}

int pt_stream_hand_over(lua_State *L, pt_stream *s, double spin) {
  int count = 0, results = pt_stream_hand_out(L, s, spin, &count, 0);
  return results > 0 ? results : give_to_server(L, s);
}

void pt_stream_fill_up(lua_State *L, int results, int wanted) {
  for (; results < wanted; results++)
    lua_pushnil(L);
}

/* stream:deliver(spin) -> as receive; or "resumed", thread, ok, what, more; or
** false, n, nil, nil, more if n messages were handed out; and behind these,
** whether there are answers to be sent */
int pt_stream_deliver(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  int results;
  s->is_alone = 0;
  results = pt_stream_hand_over(L, s, pt_stream_check_spin(L));
  if (!s->has_answered)
    return results;
  s->has_answered = 0;
  pt_stream_fill_up(L, results, 5);
  lua_pushboolean(L, 1);
  return 6;
}

/* }====== */

void pt_stream_push_deliver_upvalues(lua_State *L) {
  pt_stream_push_receive_upvalues(L);
  pt_watch_push(L);
}

void pt_stream_push_delivering(lua_State *L, lua_CFunction function) {
  pt_stream_push_deliver_upvalues(L);
  lua_pushcclosure(L, function, PT_DELIVER_UPVALUES);
}
