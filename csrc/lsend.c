/*
** Writing messages. A message is written straight behind what is queued: frame
** header, envelope, payload. Nothing of it stays if it cannot be finished.
*/
#include <lauxlib.h>
#include <string.h>

#include "core.h"
#include "ljson.h"
#include "lwriter.h"

#define add_literal pt_writer_literal

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
static int add_string(pt_writer *w, int arg, const char *root) {
  size_t len;
  const char *text = lua_tolstring(w->L, arg, &len);
  int status;
  if (!w->ok)
    return fail_memory(w);
  status = pt_encode_string(w->L, w->out, text, len);
  if (status == 0)
    return fail_memory(w);
  if (status > 0)
    return 0;
  pt_writer_undo(w);
  return pt_fail(w->L, "invalid", "%s: invalid UTF-8", root);
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
static int prepare(lua_State *L, const pt_stream *s, int arg) {
  size_t len;
  const char *text;
  int status;
  if (!s->has_codec || lua_isnoneornil(L, arg) ||
      pt_raw_test(L, arg, &len) != NULL)
    return 0;
  lua_getiuservalue(L, 1, PT_STREAM_KEPT);
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

static void add_id_integer(pt_writer *w, lua_Integer id) {
  w->ok = w->ok && pt_encode_integer(w->L, w->out, id);
}

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

static int add_call(pt_writer *w, int method, int params) {
  int failed;
  add_literal(w, "\"method\":");
  failed = add_string(w, method, "method");
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
    if (p->ids[i] == 0)
      continue;
    lua_rawgeti(L, from, (lua_Integer)i + 1);
    lua_rawseti(L, to, (lua_Integer)((size_t)p->ids[i] & (slots - 1)) + 1);
  }
}

/* A ring twice as large, and a table of waiters with it. Making the table may
** run finalizers, and one of them may have made room already. */
static void grow_pending(lua_State *L, pt_stream *s) {
  pt_pending *p = &s->pending;
  size_t old = p->slots, slots = old > 0 ? old * 2 : 16;
  int64_t *before, *ids;
  lua_createtable(L, (int)slots, 0);
  if (p->slots == old) {
    ids = reallocate(L, NULL, 0, slots * sizeof *ids);
    if (ids == NULL)
      luaL_error(L, "not enough memory");
    lua_getiuservalue(L, 1, PT_STREAM_WAITERS);
    move_waiters(L, p, lua_gettop(L), lua_gettop(L) - 1, slots);
    before = p->ids;
    pt_pending_move(p, ids, slots);
    reallocate(L, before, old * sizeof *ids, 0);
    lua_pop(L, 1);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, PT_STREAM_WAITERS);
  }
  lua_pop(L, 1);
}

static void add_own_id(pt_writer *w, int64_t id) {
  if (w->s->string_ids)
    add_literal(w, "\"id\":\"");
  else
    add_literal(w, "\"id\":");
  add_id_integer(w, id);
  if (w->s->string_ids)
    add_literal(w, "\",");
  else
    add_literal(w, ",");
}

/* The table has room for it, so nothing here can fail. */
static void keep_waiter(lua_State *L, pt_stream *s, int64_t id, int waiter) {
  size_t slot = pt_pending_take(&s->pending, id);
  lua_getiuservalue(L, 1, PT_STREAM_WAITERS);
  lua_pushvalue(L, waiter);
  lua_rawseti(L, -2, (lua_Integer)slot + 1);
  lua_pop(L, 1);
}

/* stream:request(waiter, method, params) -> id | nil, msg, kind */
int pt_stream_request(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  pt_writer w;
  int64_t id;
  int failed;
  luaL_argcheck(L, !lua_isnoneornil(L, 2), 2, "waiter expected");
  luaL_checkstring(L, 3);
  lua_settop(L, 4);
  failed = check_room(L, s);
  if (!failed)
    failed = prepare(L, s, 4);
  if (failed)
    return failed;
  if (s->pending.count >= s->call_limit)
    return pt_fail(L, "full", "%I calls wait for an answer, which is the limit",
                   (LUAI_UACINT)s->call_limit);
  while (pt_pending_is_full(&s->pending))
    grow_pending(L, s);
  id = pt_pending_next(&s->pending);
  pt_writer_begin(&w, L, s, NULL);
  add_own_id(&w, id);
  failed = add_call(&w, 3, 4);
  if (!failed)
    failed = finish(&w);
  if (failed)
    return failed;
  keep_waiter(L, s, id, 2);
  lua_pushinteger(L, id);
  return 1;
}

/* stream:notify(method, params) -> true | nil, msg, kind */
int pt_stream_notify(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  pt_writer w;
  int failed;
  luaL_checkstring(L, 2);
  lua_settop(L, 3);
  failed = check_room(L, s);
  if (!failed)
    failed = prepare(L, s, 3);
  if (failed)
    return failed;
  pt_writer_begin(&w, L, s, NULL);
  failed = add_call(&w, 2, 3);
  if (!failed)
    failed = finish(&w);
  if (!failed)
    lua_pushboolean(L, 1);
  return failed ? failed : 1;
}

/* }====== */

/* {====== Answers ====== */

static void check_id(lua_State *L, int arg) {
  if (lua_isinteger(L, arg) || lua_type(L, arg) == LUA_TSTRING ||
      lua_isnil(L, arg) || pt_ticket_test(L, arg) != NULL)
    return;
  if (lua_islightuserdata(L, arg) && lua_touserdata(L, arg) == NULL)
    return;
  luaL_typeerror(L, arg, "id");
}

/* nil and null both stand for an id that could not be told. */
static int add_id(pt_writer *w, int arg) {
  pt_ticket *ticket = pt_ticket_test(w->L, arg);
  add_literal(w, "\"id\":");
  if (ticket != NULL) {
    size_t len;
    const char *text = pt_ticket_text(ticket, &len);
    pt_writer_add(w, text, len);
  } else if (lua_isinteger(w->L, arg)) {
    add_id_integer(w, lua_tointeger(w->L, arg));
  } else if (lua_type(w->L, arg) == LUA_TSTRING) {
    return add_string(w, arg, "id");
  } else {
    add_literal(w, "null");
  }
  return 0;
}

/* Begins an answer to the id at 2, in its batch if it has one. */
static int begin_answer(lua_State *L, pt_stream *s, pt_writer *w,
                        pt_batch **batch) {
  *batch = pt_ticket_test(L, 2) != NULL ? pt_ticket_batch(L, 2) : NULL;
  pt_writer_begin(w, L, s, *batch);
  return add_id(w, 2);
}

static int finish_answer(lua_State *L, pt_stream *s, pt_writer *w,
                         pt_batch *batch) {
  int failed = finish(w);
  if (failed)
    return failed;
  if (pt_ticket_test(L, 2) != NULL && !pt_ticket_answered(L, s, 2, batch)) {
    s->sent--;
    return fail_memory(w);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* stream:reply(id, result) -> true | nil, msg, kind */
int pt_stream_reply(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  pt_batch *batch;
  pt_writer w;
  int failed;
  lua_settop(L, 3);
  check_id(L, 2);
  failed = s->output.fd == -1 ? fail_closed(L) : prepare(L, s, 3);
  if (!failed)
    failed = begin_answer(L, s, &w, &batch);
  if (failed)
    return failed;
  add_literal(&w, ",\"result\":");
  failed = add_value(&w, 3, "result");
  return failed ? failed : finish_answer(L, s, &w, batch);
}

static int add_error(pt_writer *w, int code, int message, int data) {
  int failed;
  add_literal(w, ",\"error\":{\"code\":");
  add_id_integer(w, lua_tointeger(w->L, code));
  add_literal(w, ",\"message\":");
  failed = add_string(w, message, "message");
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
  pt_batch *batch;
  pt_writer w;
  int failed;
  lua_settop(L, 5);
  check_id(L, 2);
  luaL_checkinteger(L, 3);
  luaL_checkstring(L, 4);
  failed = s->output.fd == -1 ? fail_closed(L) : prepare(L, s, 5);
  if (!failed)
    failed = begin_answer(L, s, &w, &batch);
  if (!failed)
    failed = add_error(&w, 3, 4, 5);
  return failed ? failed : finish_answer(L, s, &w, batch);
}

/* }====== */
