#include "lsend.h"

#include "core.h"
#include "lbatch.h"
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
  if (len > w->p->input.framing.body_limit) {
    pt_writer_undo(w);
    return pt_fail(
        w->L, "invalid", "message of %I bytes is longer than the limit of %I",
        (LUAI_UACINT)len, (LUAI_UACINT)w->p->input.framing.body_limit);
  }
  if (!pt_writer_end(w))
    return fail_memory(w);
  w->p->counts.sent++;
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
  switch (
      pt_encode_value(w->L, arg, w->out, w->mark, &w->p->codec.style, root)) {
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
static int prepare(lua_State *L, const pt_peer *p, int peer, int arg) {
  size_t len;
  const char *text;
  int status;
  if (!p->codec.is_foreign || lua_isnoneornil(L, arg) ||
      pt_raw_test(L, arg, &len) != NULL)
    return 0;
  pt_peer_push_kept(L, peer, PT_KEPT_ENCODE);
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
  lua_pop(L, 1);
  return 0;
}

/* }====== */

/* {====== Requests and notifications ====== */

static int fail_closed(lua_State *L) {
  return pt_fail(L, "closed", "the stream is closed");
}

/* 0 if there is room for one more message. */
static int check_room(lua_State *L, const pt_peer *p) {
  if (p->output.io.fd == -1)
    return fail_closed(L);
  if (pt_buf_len(&p->output.buf) > p->limits.queue)
    return pt_fail(L, "full", "%I bytes wait to be sent, the limit is %I",
                   (LUAI_UACINT)pt_buf_len(&p->output.buf),
                   (LUAI_UACINT)p->limits.queue);
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

/* A ring twice as large. */
static void grow_pending(lua_State *L, pt_pending *pending) {
  size_t old = pending->slots, slots = old > 0 ? old * 2 : 16;
  pt_pending_call *before = pending->calls;
  pt_pending_call *calls = reallocate(L, NULL, 0, slots * sizeof *calls);
  if (calls == NULL)
    luaL_error(L, "not enough memory");
  pt_pending_move(pending, calls, slots);
  reallocate(L, before, old * sizeof *calls, 0);
}

static void put_own_id(pt_writer *w, int64_t id) {
  if (w->p->form.string_ids) {
    put_literal(w, "\"id\":\"");
    pt_writer_put_integer(w, id);
    put_literal(w, "\",");
  } else {
    put_literal(w, "\"id\":");
    pt_writer_put_integer(w, id);
    put_literal(w, ",");
  }
}

/* 0 if there is a place for one more call. */
static int check_calls(lua_State *L, pt_peer *p) {
  if (p->pending.count >= p->limits.calls)
    return pt_fail(L, "full", "%I calls wait for an answer, which is the limit",
                   (LUAI_UACINT)p->limits.calls);
  if (pt_pending_is_full(&p->pending))
    grow_pending(L, &p->pending);
  return 0;
}

static int write_request(lua_State *L, pt_peer *p, pt_ask *a) {
  pt_writer w;
  int failed;
  a->id = pt_pending_next(&p->pending);
  if (!pt_writer_begin(&w, L, p, NULL))
    return fail_memory(&w);
  put_own_id(&w, a->id);
  failed = add_call(&w, check_method(L, a->method), a->params);
  if (!failed)
    failed = finish(&w);
  if (!failed)
    pt_pending_take(&p->pending, a->id, a->due, a->waiter);
  return failed;
}

/* What comes before a message is written. */
static int begin_call(lua_State *L, pt_peer *p, const pt_ask *a) {
  int failed;
  check_method(L, a->method);
  failed = check_room(L, p);
  return failed ? failed : prepare(L, p, a->peer, a->params);
}

int pt_send_request(lua_State *L, pt_peer *p, pt_ask *a) {
  int failed = begin_call(L, p, a);
  if (!failed)
    failed = check_calls(L, p);
  return failed ? failed : write_request(L, p, a);
}

int pt_send_notification(lua_State *L, pt_peer *p, const pt_ask *a) {
  pt_writer w;
  int failed = begin_call(L, p, a);
  if (failed)
    return failed;
  if (!pt_writer_begin(&w, L, p, NULL))
    return fail_memory(&w);
  failed = add_call(&w, check_method(L, a->method), a->params);
  return failed ? failed : finish(&w);
}

/* }====== */

/* {====== Answers ====== */

/* An answer being written. */
typedef struct answer {
  pt_writer w;
  int id;            /* where it is */
  pt_ticket *ticket; /* NULL if the id is none */
  pt_batch *batch;   /* NULL if it is sent by itself */
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

/* Begins it, in the batch of its id if that has one. The value at `payload` is
** written later. */
static int begin_answer(lua_State *L, pt_peer *p, int peer, answer *a,
                        int payload) {
  int failed;
  a->ticket = check_id(L, a->id);
  failed =
      p->output.io.fd == -1 ? fail_closed(L) : prepare(L, p, peer, payload);
  if (failed)
    return failed;
  a->batch = a->ticket != NULL ? pt_ticket_batch(L, a->id) : NULL;
  if (!pt_writer_begin(&a->w, L, p, a->batch != NULL ? &a->batch->out : NULL))
    return fail_memory(&a->w);
  return add_id(a);
}

static int finish_answer(lua_State *L, pt_peer *p, answer *a) {
  int failed = finish(&a->w);
  if (failed)
    return failed;
  if (a->ticket != NULL && !pt_ticket_answered(L, p, a->id, a->batch)) {
    p->counts.sent--;
    return fail_memory(&a->w);
  }
  return 0;
}

int pt_send_result(lua_State *L, pt_peer *p, int peer, int id, int result) {
  answer a;
  int failed;
  a.id = id;
  failed = begin_answer(L, p, peer, &a, result);
  if (failed)
    return failed;
  add_literal(&a.w, ",\"result\":");
  failed = add_value(&a.w, result, "result");
  return failed ? failed : finish_answer(L, p, &a);
}

/* The code, the message and the data are at 3, 4 and 5. */
static int add_error(pt_writer *w) {
  int failed;
  add_literal(w, ",\"error\":{\"code\":");
  w->ok = w->ok && pt_encode_integer(w->L, w->out, lua_tointeger(w->L, 3));
  add_literal(w, ",\"message\":");
  failed = w->ok ? add_string(w, 4, "message") : fail_memory(w);
  if (!failed && !lua_isnil(w->L, 5)) {
    add_literal(w, ",\"data\":");
    failed = add_value(w, 5, "data");
  }
  if (!failed)
    add_literal(w, "}");
  return failed;
}

/* stream:fail(id, code, message, data) -> true | nil, msg, kind */
int pt_send_fail(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  answer a;
  int failed;
  a.id = 2;
  lua_settop(L, 5);
  luaL_checkinteger(L, 3);
  luaL_checkstring(L, 4);
  failed = begin_answer(L, p, 1, &a, 5);
  if (!failed)
    failed = add_error(&a.w);
  if (!failed)
    failed = finish_answer(L, p, &a);
  if (failed)
    return failed;
  lua_pushboolean(L, 1);
  return 1;
}

/* }====== */
