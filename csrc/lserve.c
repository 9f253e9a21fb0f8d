/*
** The server: a thread of the loop in which requests are handled one after the
** other. It is in stream:serve all the time, and waits there for stream:deliver
** to resume it with a request; then it goes on with those behind that one by
** itself. A handler that waits keeps the thread, and another has to be found.
*/
#include "lapi.h"
#include "ldeliver.h"
#include "lresume.h"

void pt_server_set_owner(lua_State *L, int value) {
  lua_getiuservalue(L, 1, PT_STREAM_OWNERS);
  lua_insert(L, -2);
  lua_getiuservalue(L, 1, value);
  lua_rawset(L, -3);
  lua_pop(L, 1);
}

/* What is on the server's stack behind `base` while a handler is at work. */
enum { ID = 1, METHOD, PARAMS, HANDLER, REQUEST, RESULT, ERROR };

static void set_field(lua_State *L, int value, const char *name) {
  lua_pushvalue(L, value);
  lua_setfield(L, -2, name);
}

/* Whether the handler takes a second parameter. */
static int takes_request(lua_State *L, int handler) {
  lua_Debug info;
  lua_pushvalue(L, handler);
  if (!lua_isfunction(L, -1)) {
    lua_pop(L, 1);
    return 1;
  }
  lua_getinfo(L, ">u", &info);
  return info.nparams > 1 || info.isvararg;
}

static void make_request(lua_State *L, pt_stream *s) {
  lua_createtable(L, 0, 4);
  lua_getiuservalue(L, 1, PT_STREAM_PEER);
  lua_setfield(L, -2, "peer");
  lua_getiuservalue(L, 1, PT_STREAM_META);
  lua_setmetatable(L, -2);
  lua_pushthread(L);
  lua_setfield(L, -2, "thread");
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, 1, PT_STREAM_REQUEST);
  lua_pushthread(L);
  pt_server_set_owner(L, PT_STREAM_REQUEST);
  s->is_kept = 0;
}

/* Pushes what the handler is given beside the params, and what runs in this
** thread. A handler that takes no second parameter cannot keep it, so it serves
** for the next one, too. */
static void push_request(lua_State *L, pt_stream *s, int base) {
  if (s->is_kept)
    make_request(L, s);
  else
    lua_getiuservalue(L, 1, PT_STREAM_REQUEST);
  set_field(L, base + ID, "id");
  set_field(L, base + METHOD, "method");
  s->is_kept = takes_request(L, base + HANDLER);
}

static int end_serving(lua_State *L, int status, lua_KContext ctx) {
  (void)L;
  (void)status;
  (void)ctx;
  return 0;
}

/* Has Lua answer, and ends: it is no longer simple. */
static int answer_and_end(lua_State *L, int status, lua_KContext base) {
  pt_stream *s = pt_stream_check(L);
  (void)status;
  if (s->server == L) {
    s->server = NULL;
    s->is_handling = 0;
  }
  lua_getiuservalue(L, 1, PT_STREAM_ANSWER);
  lua_getiuservalue(L, 1, PT_STREAM_PEER);
  lua_pushvalue(L, (int)base + REQUEST);
  lua_pushvalue(L, (int)base + RESULT);
  lua_pushvalue(L, (int)base + ERROR);
  lua_callk(L, 4, 0, 0, end_serving);
  return 0;
}

/* Whether the request still has its id: a handler may take it away, so that
** nothing is answered. */
static int has_its_id(lua_State *L, const pt_stream *s, int base) {
  int has;
  if (!s->is_kept)
    return 1;
  lua_pushliteral(L, "id");
  lua_rawget(L, base + REQUEST);
  has = lua_rawequal(L, -1, base + ID);
  lua_pop(L, 1);
  return has;
}

/* Whether the handler's result was sent, and nothing else is to be done about
** it. A request that somebody took note of meanwhile has dismissed the server.
*/
static int answer_simply(lua_State *L, pt_stream *s, int base) {
  if (s->server != L || !has_its_id(L, s, base))
    return 0;
  if (lua_isnil(L, base + RESULT) && !lua_isnil(L, base + ERROR))
    return 0;
  if (!lua_toboolean(L, -pt_stream_answer(L, s, base + ID, base + RESULT)))
    return 0;
  s->has_answered = 1;
  return 1;
}

/* Waits for more, sending what is queued, where stream:attend would do nothing
** else. 0 if that is for others to do. */
static int wait_for_more(lua_State *L, pt_stream *s) {
  pt_activation *paused;
  pt_wait w = PT_WAIT_ALONE;
  int is_there;
  if (!s->is_alone || s->is_disturbed || pt_stream_write_out(L, s) != 1)
    return 0;
  s->has_answered = 0;
  paused = pt_resume_pause(L, lua_upvalueindex(PT_DELIVER_UPVALUES));
  is_there = pt_stream_await(L, s, &w);
  pt_resume_go_on(L, lua_upvalueindex(PT_DELIVER_UPVALUES), paused);
  return is_there;
}

/* 0 with the next request on top, else the results of stream:deliver. */
static int fetch(lua_State *L, pt_stream *s, int *count) {
  if (!pt_stream_has_more(s)) {
    if (!wait_for_more(L, s))
      return pt_stream_push_handed_out(L, *count, 0);
    *count = 0;
  }
  return pt_stream_hand_out(L, s, 0, count, 1);
}

static int next_request(lua_State *L, int status, lua_KContext ctx);

/* Handles the request on top and those behind it, until there is none, or
** something for others: yields what stream:deliver then returns. */
static int serve(lua_State *L, pt_stream *s) {
  int count = 1, results = 0;
  while (results == 0) {
    int base = lua_gettop(L) - HANDLER;
    s->is_fetching = 0; /* what failed before may have left it */
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    push_request(L, s, base);
    lua_pushvalue(L, base + HANDLER);
    lua_pushvalue(L, base + PARAMS);
    lua_pushvalue(L, base + REQUEST);
    s->is_handling = 1;
    lua_callk(L, 2, 2, base, answer_and_end);
    pt_stream_check(L);
    if (!answer_simply(L, s, base)) {
      lua_settop(L, base + ERROR);
      return answer_and_end(L, LUA_OK, base);
    }
    s->is_handling = 0;
    lua_settop(L, 1);
    results = fetch(L, s, &count);
  }
  if (s->server == L)
    s->is_busy = 0;
  s->is_resting = 1;
  return lua_yieldk(L, results, 0, next_request);
}

/* Nobody but stream:deliver has anything to resume it with. */
static int next_request(lua_State *L, int status, lua_KContext ctx) {
  pt_stream *s = pt_stream_check(L);
  (void)status;
  (void)ctx;
  if (!s->is_handed)
    return luaL_error(L, "the thread that serves was resumed");
  s->is_handed = 0;
  return serve(L, s);
}

static void keep_field(lua_State *L, const char *name, int value) {
  lua_getfield(L, 2, name);
  lua_setiuservalue(L, 1, value);
}

static void keep(lua_State *L, int arg, int value) {
  lua_pushvalue(L, arg);
  lua_setiuservalue(L, 1, value);
}

/* stream:serve(peer, owners, metatable, answer): yields core.parked, and then
** handles what stream:deliver resumes it with */
int pt_stream_serve(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  int i;
  for (i = 2; i <= 4; i++)
    luaL_checktype(L, i, LUA_TTABLE);
  luaL_checktype(L, 5, LUA_TFUNCTION);
  luaL_argcheck(L, lua_getfield(L, 2, "handlers") == LUA_TTABLE, 2,
                "a peer has handlers");
  if (!lua_isyieldable(L))
    return luaL_error(L, "only a thread that can wait can serve");
  keep(L, 2, PT_STREAM_PEER);
  keep(L, 3, PT_STREAM_OWNERS);
  keep(L, 4, PT_STREAM_META);
  keep(L, 5, PT_STREAM_ANSWER);
  keep_field(L, "handlers", PT_STREAM_HANDLERS);
  keep_field(L, "reader", PT_STREAM_REST);
  lua_pushthread(L);
  lua_setiuservalue(L, 1, PT_STREAM_SERVER);
  s->server = L;
  s->is_kept = 1;
  s->is_busy = s->is_handed = s->is_handling = 0;
  lua_settop(L, 1);
  pt_resume_push_parked(L);
  return lua_yieldk(L, 1, 0, next_request);
}

/* stream:dismiss() -> request | nil */
int pt_stream_dismiss(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  if (s->server == NULL || !s->is_handling)
    return 0;
  s->server = NULL;
  s->is_handling = 0;
  lua_getiuservalue(L, 1, PT_STREAM_REQUEST);
  return 1;
}

/* stream:admit(is_open) */
int pt_stream_admit(lua_State *L) {
  pt_stream_check(L)->is_open = lua_toboolean(L, 2);
  return 0;
}
