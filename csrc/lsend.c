/*
** Writing messages. A message is written straight behind what is queued: frame
** header, envelope, payload. Nothing of it stays if it cannot be finished.
*/
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <string.h>

#include "clock.h"
#include "core.h"
#include "lapi.h"
#include "ljson.h"
#include "lwriter.h"

#define add_literal pt_writer_literal
#define put_literal pt_writer_put_literal

/* {====== Failing ====== */

static int fail_memory(pt_writer *w) {
  pt_writer_undo(w);
  return luaL_error(w->L, "not enough memory");
}

/* The message of a misuse is on top of the stack. */
static int fail_misuse(lua_State *L) {
  lua_pushnil(L);
  lua_insert(L, -2);
  lua_pushliteral(L, "invalid");
  return 3;
}

/* 0 if all went well; else what the Lua function returns. */
static int finish(pt_writer *w) {
  size_t len;
  add_literal(w, "}");
  if (!w->ok)
    return fail_memory(w);
  len = pt_writer_len(w);
  if (len > w->s->framing.body_limit) {
    pt_writer_undo(w);
    return pt_fail(w->L, "invalid",
                   "message of %I bytes is longer than the limit of %I",
                   (LUAI_UACINT)len, (LUAI_UACINT)w->s->framing.body_limit);
  }
  if (!pt_writer_end(w))
    return fail_memory(w);
  w->s->sent++;
  return 0;
}

/* }====== */

/* {====== Members ====== */

/* 0, or what the Lua function returns; so also the next. */
static int add_text(pt_writer *w, const char *text, size_t len,
                    const char *root) {
  int status = pt_encode_string(w->L, w->out, text, len);
  if (status == 0)
    return fail_memory(w);
  if (status > 0)
    return 0;
  pt_writer_undo(w);
  return pt_fail(w->L, "invalid", "%s: invalid UTF-8", root);
}

static int add_string(pt_writer *w, int arg, const char *root) {
  size_t len;
  const char *text = lua_tolstring(w->L, arg, &len);
  return add_text(w, text, len, root);
}

static int add_value(pt_writer *w, int arg, const char *root) {
  if (!w->ok)
    return fail_memory(w);
  switch (pt_encode_value(w->L, arg, w->out, w->mark, &w->s->style, root)) {
  case PT_ENCODED:
    return 0;
  case PT_ENCODE_MISUSE:
    return fail_misuse(w->L);
  default:
    return fail_memory(w);
  }
}

/* Before anything is written, because another codec may run any code: puts its
** text in the place of the value. 0, or what the Lua function returns. */
static int prepare(lua_State *L, const pt_stream *s, int stream, int arg) {
  size_t len;
  const char *text;
  int status;
  if (!s->has_codec || lua_isnoneornil(L, arg) ||
      pt_raw_test(L, arg, &len) != NULL)
    return 0;
  lua_getiuservalue(L, stream, PT_STREAM_KEPT);
  lua_rawgeti(L, -1, PT_KEPT_ENCODE);
  lua_pushvalue(L, arg);
  status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_ERRMEM)
    return lua_error(L);
  if (status != LUA_OK)
    return fail_misuse(L);
  text = lua_tolstring(L, -1, &len);
  if (text == NULL)
    return pt_fail(L, "invalid", "the codec's encode gave no string");
  pt_raw_push(L, text, len);
  lua_replace(L, arg);
  lua_pop(L, 2);
  return 0;
}

/* }====== */

/* {====== Requests and notifications ====== */

static int fail_closed(lua_State *L) {
  return pt_fail(L, "closed", "the stream is closed");
}

/* 0 if there is room for one more message. */
static int check_room(lua_State *L, const pt_stream *s) {
  if (s->output.fd == -1)
    return fail_closed(L);
  if (pt_buf_len(&s->out) > s->queue_limit)
    return pt_fail(L, "full", "%I bytes wait to be sent, the limit is %I",
                   (LUAI_UACINT)pt_buf_len(&s->out),
                   (LUAI_UACINT)s->queue_limit);
  return 0;
}

typedef struct method {
  const char *name;
  size_t len;
} method;

static method check_method(lua_State *L, int arg) {
  method m;
  m.name = luaL_checklstring(L, arg, &m.len);
  return m;
}

static int add_call(pt_writer *w, method m, int params) {
  int failed;
  put_literal(w, "\"method\":");
  failed = add_text(w, m.name, m.len, "method");
  if (failed || lua_isnoneornil(w->L, params))
    return failed;
  add_literal(w, ",\"params\":");
  return add_value(w, params, "params");
}

static void *reallocate(lua_State *L, void *block, size_t old, size_t size) {
  void *ud;
  lua_Alloc alloc = lua_getallocf(L, &ud);
  return alloc(ud, block, old, size);
}

static void move_waiters(lua_State *L, const pt_pending *p, int from, int to,
                         size_t slots) {
  size_t i;
  for (i = 0; i < p->slots; i++) {
    if (p->calls[i].id == 0)
      continue;
    lua_rawgeti(L, from, (lua_Integer)i + 1);
    lua_rawseti(L, to, (lua_Integer)((size_t)p->calls[i].id & (slots - 1)) + 1);
  }
}

/* A ring twice as large, and a table of waiters with it. Making the table may
** run finalizers, and one of them may have made room already. */
static void grow_pending(lua_State *L, pt_stream *s, int stream) {
  pt_pending *p = &s->pending;
  size_t old = p->slots, slots = old > 0 ? old * 2 : 16;
  pt_pending_call *before, *calls;
  lua_createtable(L, (int)slots, 0);
  if (p->slots == old) {
    calls = reallocate(L, NULL, 0, slots * sizeof *calls);
    if (calls == NULL)
      luaL_error(L, "not enough memory");
    lua_getiuservalue(L, stream, PT_STREAM_WAITERS);
    move_waiters(L, p, lua_gettop(L), lua_gettop(L) - 1, slots);
    before = p->calls;
    pt_pending_move(p, calls, slots);
    reallocate(L, before, old * sizeof *calls, 0);
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, stream, PT_STREAM_WAITERS);
  }
  lua_pop(L, 1);
}

static void put_own_id(pt_writer *w, int64_t id) {
  if (w->s->string_ids) {
    put_literal(w, "\"id\":\"");
    pt_writer_put_integer(w, id);
    put_literal(w, "\",");
  } else {
    put_literal(w, "\"id\":");
    pt_writer_put_integer(w, id);
    put_literal(w, ",");
  }
}

/* The table has room for it, so nothing here can fail. */
static void keep_waiter(lua_State *L, size_t slot) {
  lua_getiuservalue(L, 1, PT_STREAM_WAITERS);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, (lua_Integer)slot + 1);
  lua_pop(L, 1);
}

/* 0 if there is a place for one more call. */
static int check_calls(lua_State *L, pt_stream *s, int stream) {
  if (s->pending.count >= s->call_limit)
    return pt_fail(L, "full", "%I calls wait for an answer, which is the limit",
                   (LUAI_UACINT)s->call_limit);
  while (pt_pending_is_full(&s->pending))
    grow_pending(L, s, stream);
  return 0;
}

/* 0 if it was queued; else what the Lua function returns. */
static int send_request(lua_State *L, pt_stream *s, pt_ask *a) {
  pt_writer w;
  int failed;
  a->id = pt_pending_next(&s->pending);
  if (!pt_writer_begin(&w, L, s, NULL))
    return fail_memory(&w);
  put_own_id(&w, a->id);
  failed = add_call(&w, check_method(L, a->method), a->params);
  if (!failed)
    failed = finish(&w);
  if (!failed)
    a->slot = pt_pending_take(&s->pending, a->id, a->due, a->waiter);
  return failed;
}

int pt_stream_ask(lua_State *L, pt_stream *s, pt_ask *a) {
  int failed;
  check_method(L, a->method);
  failed = check_room(L, s);
  if (!failed)
    failed = prepare(L, s, a->stream, a->params);
  if (!failed)
    failed = check_calls(L, s, a->stream);
  return failed ? failed : send_request(L, s, a);
}

/* 0 if the request at 3 and 4 was queued for the waiter at 2, and its id is on
** top; else what the Lua function returns. */
static int queue_request(lua_State *L, pt_stream *s, double due) {
  pt_ask a = {.stream = 1, .method = 3, .params = 4, .due = due};
  int failed = pt_stream_ask(L, s, &a);
  if (failed)
    return failed;
  keep_waiter(L, a.slot);
  lua_pushinteger(L, a.id);
  return 0;
}

/* stream:request(waiter, method, params, timeout)
** -> id, deadline | nil, msg, kind */
int pt_stream_request(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  double due = luaL_optnumber(L, 5, HUGE_VAL);
  int failed;
  luaL_argcheck(L, !lua_isnoneornil(L, 2), 2, "waiter expected");
  lua_settop(L, 4);
  if (due < HUGE_VAL)
    due += pt_clock_now();
  failed = queue_request(L, s, due);
  if (failed)
    return failed;
  lua_pushnumber(L, due);
  return 2;
}

static int send_notification(lua_State *L, pt_stream *s, const pt_ask *a) {
  pt_writer w;
  int failed;
  if (!pt_writer_begin(&w, L, s, NULL))
    return fail_memory(&w);
  failed = add_call(&w, check_method(L, a->method), a->params);
  return failed ? failed : finish(&w);
}

int pt_stream_tell(lua_State *L, pt_stream *s, const pt_ask *a) {
  int failed;
  check_method(L, a->method);
  failed = check_room(L, s);
  if (!failed)
    failed = prepare(L, s, a->stream, a->params);
  return failed ? failed : send_notification(L, s, a);
}

/* stream:notify(method, params) -> true | nil, msg, kind */
int pt_stream_notify(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  pt_ask a = {.stream = 1, .method = 2, .params = 3};
  int failed;
  lua_settop(L, 3);
  failed = pt_stream_tell(L, s, &a);
  if (failed)
    return failed;
  lua_pushboolean(L, 1);
  return 1;
}

/* }====== */

/* {====== Answers ====== */

/* An answer being written. */
typedef struct answer {
  pt_writer w;
  int id;            /* where it is */
  pt_ticket *ticket; /* NULL if the id is none */
  pt_batch *batch;   /* NULL for the stream itself */
} answer;

/* The ticket at `id`, NULL if that is an id of another kind; raises if it is
** none. */
static pt_ticket *check_id(lua_State *L, int id) {
  pt_ticket *ticket = NULL;
  int type = lua_type(L, id);
  if (lua_isinteger(L, id) || type == LUA_TSTRING || type == LUA_TNIL)
    return NULL;
  if (type == LUA_TLIGHTUSERDATA && lua_touserdata(L, id) == NULL)
    return NULL;
  ticket = pt_ticket_test(L, id);
  if (ticket == NULL)
    luaL_typeerror(L, id, "id");
  return ticket;
}

/* nil and null both stand for an id that could not be told. */
static int add_id(answer *a) {
  pt_writer *w = &a->w;
  put_literal(w, "\"id\":");
  if (a->ticket != NULL) {
    size_t len;
    const char *text = pt_ticket_text(a->ticket, &len);
    pt_writer_add(w, text, len);
  } else if (lua_isinteger(w->L, a->id)) {
    pt_writer_put_integer(w, lua_tointeger(w->L, a->id));
  } else if (lua_type(w->L, a->id) == LUA_TSTRING) {
    return add_string(w, a->id, "id");
  } else {
    put_literal(w, "null");
  }
  return 0;
}

/* Begins it, in the batch of its id if that has one. */
static int begin_answer(lua_State *L, pt_stream *s, answer *a) {
  a->batch = a->ticket != NULL ? pt_ticket_batch(L, a->id) : NULL;
  if (!pt_writer_begin(&a->w, L, s, a->batch))
    return fail_memory(&a->w);
  return add_id(a);
}

static int finish_answer(lua_State *L, pt_stream *s, answer *a) {
  int failed = finish(&a->w);
  if (failed)
    return failed;
  if (a->ticket != NULL && !pt_ticket_answered(L, s, a->id, a->batch)) {
    s->sent--;
    return fail_memory(&a->w);
  }
  lua_pushboolean(L, 1);
  return 1;
}

int pt_stream_answer(lua_State *L, pt_stream *s, int stream, int id,
                     int result) {
  answer a;
  int failed;
  a.id = id;
  a.ticket = check_id(L, id);
  failed = s->output.fd == -1 ? fail_closed(L) : prepare(L, s, stream, result);
  if (!failed)
    failed = begin_answer(L, s, &a);
  if (failed)
    return failed;
  add_literal(&a.w, ",\"result\":");
  failed = add_value(&a.w, result, "result");
  return failed ? failed : finish_answer(L, s, &a);
}

/* stream:reply(id, result) -> true | nil, msg, kind */
int pt_stream_reply(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  lua_settop(L, 3);
  return pt_stream_answer(L, s, 1, 2, 3);
}

static int add_error(pt_writer *w, int code, int message, int data) {
  int failed;
  add_literal(w, ",\"error\":{\"code\":");
  w->ok = w->ok && pt_encode_integer(w->L, w->out, lua_tointeger(w->L, code));
  add_literal(w, ",\"message\":");
  failed = w->ok ? add_string(w, message, "message") : fail_memory(w);
  if (!failed && !lua_isnil(w->L, data)) {
    add_literal(w, ",\"data\":");
    failed = add_value(w, data, "data");
  }
  if (!failed)
    add_literal(w, "}");
  return failed;
}

/* stream:fail(id, code, message, data) -> true | nil, msg, kind */
int pt_stream_fail(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  answer a;
  int failed;
  lua_settop(L, 5);
  a.id = 2;
  a.ticket = check_id(L, a.id);
  luaL_checkinteger(L, 3);
  luaL_checkstring(L, 4);
  failed = s->output.fd == -1 ? fail_closed(L) : prepare(L, s, 1, 5);
  if (!failed)
    failed = begin_answer(L, s, &a);
  if (!failed)
    failed = add_error(&a.w, 3, 4, 5);
  return failed ? failed : finish_answer(L, s, &a);
}

/* }====== */
