#include "lsend.h"

#include <string.h>

#include "core.h"
#include "ljson.h"
#include "number.h"

#define ROOM 96 /* bytes reserved after the head of a message */
#define CRLFCRLF 4
#define DIGITS 20 /* digits of any size_t */

/* ====== One message ====== */

/* A message that is being written. Its length is filled in at the end. It can
** be undone. */
typedef struct writer {
  lua_State *L;
  pt_peer *p;
  pt_buf *out;
  int has_header;
  size_t mark; /* length of the buffer before the message */
  size_t body; /* length of the buffer before its body */
  int ok;      /* no append has failed */
} writer;

/* Begins a message in the output queue, or a member of `batch` if that is not
** NULL. Returns 0 if there is not enough memory; otherwise at least ROOM bytes
** are free for `put_message_bytes`. */
static int begin_message(writer *w, lua_State *L, pt_peer *p, pt_buf *batch) {
  const pt_form *form = &p->form;
  size_t room = form->header_len + DIGITS + form->head_len + 1 + ROOM;
  char *at;
  w->L = L;
  w->p = p;
  w->out = batch != NULL ? batch : &p->output.buf;
  w->has_header = batch == NULL && p->input.framing.mode == PT_FRAME_HEADER;
  w->mark = w->body = pt_buf_len(w->out);
  w->ok = pt_buf_reserve(L, w->out, room);
  if (!w->ok)
    return 0;
  at = w->out->data + w->out->end;
  if (w->has_header) {
    memcpy(at, form->header, form->header_len);
    at += form->header_len + (size_t)p->output.digits;
    memcpy(at, form->head, CRLFCRLF);
    at += CRLFCRLF;
  } else if (batch != NULL) {
    *at++ = w->mark == 0 ? '[' : ',';
  }
  w->body += (size_t)(at - w->out->data) - w->out->end;
  memcpy(at, form->head + CRLFCRLF, form->head_len - CRLFCRLF);
  w->out->end = (size_t)(at - w->out->data) + form->head_len - CRLFCRLF;
  return 1;
}

/* Appends without a check, within the ROOM bytes that `begin_message` has
** reserved. */
static void put_message_bytes(writer *w, const char *text, size_t len) {
  memcpy(w->out->data + w->out->end, text, len);
  w->out->end += len;
}

static void put_message_integer(writer *w, lua_Integer value) {
  w->out->end += pt_number_write_integer(w->out->data + w->out->end, value);
}

/* Appends; records a failure in w->ok. */
static PT_ALWAYS_INLINE inline void
add_message_bytes(writer *w, const char *text, size_t len) {
  w->ok = w->ok && pt_buf_add(w->L, w->out, text, len);
}

#define put_literal(w, text) put_message_bytes(w, "" text, sizeof(text) - 1)
#define add_literal(w, text) add_message_bytes(w, "" text, sizeof(text) - 1)

static void undo_message(writer *w) { pt_buf_cut(w->out, w->mark); }

static int count_message_length_digits(size_t value) {
  int n = 1;
  for (; value >= 10; value /= 10)
    n++;
  return n;
}

/* Writes the length into the header. If the guessed number of digits was wrong,
** the body is moved first. */
static int write_message_length(writer *w, size_t len) {
  size_t place = w->mark + w->p->form.header_len;
  int n = count_message_length_digits(len), guess = w->p->output.digits;
  char *at;
  if (n != guess) {
    if (!pt_buf_reserve(w->L, w->out, DIGITS))
      return 0;
    at = pt_buf_front(w->out) + place;
    memmove(at + n, at + guess, len + CRLFCRLF);
    pt_buf_cut(w->out, place + (size_t)n + CRLFCRLF + len);
    w->p->output.digits = n;
  }
  pt_number_write_integer(pt_buf_front(w->out) + place, (int64_t)len);
  return 1;
}

/* Undoes the message, and raises. */
static int fail_message_memory(writer *w) {
  undo_message(w);
  return luaL_error(w->L, "not enough memory");
}

/* Completes the message. Returns 0, or the number of results of the Lua
** function. */
static int finish_message(writer *w) {
  size_t limit = w->p->input.framing.body_limit, len;
  add_literal(w, "}");
  len = pt_buf_len(w->out) - w->body;
  if (w->ok && len > limit) {
    undo_message(w);
    return pt_fail(w->L, "invalid",
                   "message of %I bytes is longer than the limit of %I",
                   (LUAI_UACINT)len, (LUAI_UACINT)limit);
  }
  if (w->ok && w->has_header)
    w->ok = write_message_length(w, len);
  else if (w->out == &w->p->output.buf)
    add_literal(w, "\n");
  if (!w->ok)
    return fail_message_memory(w);
  w->p->counts.sent++;
  return 0;
}

/* ====== Members ====== */

/* The message of the encoder is on top. */
static int fail_message_encoding(lua_State *L) {
  lua_pushnil(L);
  lua_insert(L, -2);
  lua_pushliteral(L, "invalid");
  return 3;
}

/* Both return 0, or the number of results of the Lua function. */
static int add_message_string(writer *w, int arg, const char *root) {
  size_t len;
  const char *text = lua_tolstring(w->L, arg, &len);
  int status = w->ok ? pt_encode_string(w->L, w->out, text, len) : 0;
  if (status == 0)
    return fail_message_memory(w);
  if (status > 0)
    return 0;
  undo_message(w);
  return pt_fail(w->L, "invalid", "%s: invalid UTF-8", root);
}

static int add_message_value(writer *w, int arg, const char *root) {
  pt_encoded status = PT_ENCODE_MEMORY;
  if (w->ok)
    status =
        pt_encode_value(w->L, arg, w->out, w->mark, &w->p->codec.style, root);
  if (status == PT_ENCODED)
    return 0;
  return status == PT_ENCODE_MISUSE ? fail_message_encoding(w->L)
                                    : fail_message_memory(w);
}

/* Replaces the value at `arg` by the text of another codec. Called before
** anything is written, because that codec may run any code. Returns 0, or the
** number of results of the Lua function. */
static int encode_message_with_codec(lua_State *L, int peer, int arg) {
  size_t len;
  const char *text;
  int status;
  if (lua_isnoneornil(L, arg) || pt_raw_test(L, arg, &len) != NULL)
    return 0;
  lua_getiuservalue(L, peer, PT_PEER_ENCODE);
  lua_pushvalue(L, arg);
  status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_ERRMEM)
    return lua_error(L);
  if (status != LUA_OK)
    return fail_message_encoding(L);
  text = lua_tolstring(L, -1, &len);
  if (text == NULL)
    return pt_fail(L, "invalid", "the codec's encode did not return a string");
  pt_raw_push(L, text, len);
  lua_replace(L, arg);
  lua_pop(L, 1);
  return 0;
}

/* Called before each message is written. */
static int prepare_message(lua_State *L, const pt_peer *p, int peer,
                           int payload) {
  if (p->output.io.fd == -1)
    return pt_fail(L, "closed", "the stream is closed");
  return p->codec.is_foreign ? encode_message_with_codec(L, peer, payload) : 0;
}

/* ====== Requests and notifications ====== */

/* Checks that the queue has room for one more message; returns 0 if it has. */
static int prepare_call_message(lua_State *L, const pt_peer *p,
                                const pt_ask *a) {
  size_t queued = pt_buf_len(&p->output.buf);
  if (queued > p->limits.queue && p->output.io.fd != -1)
    return pt_fail(L, "full", "%I bytes wait to be sent, the limit is %I",
                   (LUAI_UACINT)queued, (LUAI_UACINT)p->limits.queue);
  return prepare_message(L, p, a->peer, a->params);
}

static int add_call_message(writer *w, const pt_ask *a) {
  int failed;
  put_literal(w, "\"method\":");
  failed = add_message_string(w, a->method, "method");
  if (!failed && !lua_isnoneornil(w->L, a->params)) {
    add_literal(w, ",\"params\":");
    failed = add_message_value(w, a->params, "params");
  }
  return failed ? failed : finish_message(w);
}

static void put_call_message_id(writer *w, int64_t id) {
  const char *quote = w->p->form.string_ids ? "\"" : "";
  put_literal(w, "\"id\":");
  put_message_bytes(w, quote, strlen(quote));
  put_message_integer(w, id);
  put_message_bytes(w, quote, strlen(quote));
  put_literal(w, ",");
}

int pt_send_request(lua_State *L, pt_peer *p, pt_ask *a) {
  writer w;
  int failed = prepare_call_message(L, p, a);
  if (failed)
    return failed;
  if (p->pending.count >= p->limits.calls)
    return pt_fail(L, "full", "%I calls wait for an answer, which is the limit",
                   (LUAI_UACINT)p->limits.calls);
  a->id = pt_pending_next(L, &p->pending);
  if (!begin_message(&w, L, p, NULL))
    return fail_message_memory(&w);
  put_call_message_id(&w, a->id);
  failed = add_call_message(&w, a);
  if (!failed)
    pt_pending_take(&p->pending, a->id, a->due, a->waiter);
  return failed;
}

int pt_send_notification(lua_State *L, pt_peer *p, const pt_ask *a) {
  writer w;
  int failed = prepare_call_message(L, p, a);
  if (failed)
    return failed;
  return begin_message(&w, L, p, NULL) ? add_call_message(&w, a)
                                       : fail_message_memory(&w);
}

/* ====== Tickets and batches ====== */

#define TICKET "pintle.ticket"
#define BATCH "pintle.batch"

typedef struct ticket {
  int is_answered;
  size_t len;
  char text[];
} ticket;

typedef struct batch {
  pt_buf out;      /* the answers so far, as "[a,b" */
  size_t open;     /* members that are not answered yet */
  int is_complete; /* all members were handed out */
} batch;

static int ticket_tostring(lua_State *L) {
  ticket *t = luaL_checkudata(L, 1, TICKET);
  lua_pushlstring(L, t->text, t->len);
  return 1;
}

/* Pushes the batch that the peer at index 1 is reading. */
static batch *push_batch(lua_State *L) {
  lua_getiuservalue(L, 1, PT_PEER_BATCH);
  return lua_touserdata(L, -1);
}

void pt_ticket_push(lua_State *L, const char *text, size_t len, int in_batch) {
  static const luaL_Reg meta[] = {{"__tostring", ticket_tostring},
                                  {NULL, NULL}};
  ticket *t = lua_newuserdatauv(L, sizeof *t + len, 1);
  t->is_answered = 0;
  t->len = len;
  memcpy(t->text, text, len);
  pt_set_class(L, TICKET, NULL, meta);
  if (in_batch) {
    push_batch(L)->open++;
    lua_setiuservalue(L, -2, 1);
  }
}

static int batch_gc(lua_State *L) {
  batch *b = luaL_checkudata(L, 1, BATCH);
  pt_buf_free(L, &b->out);
  return 0;
}

void pt_batch_begin(lua_State *L) {
  static const luaL_Reg meta[] = {{"__gc", batch_gc}, {NULL, NULL}};
  memset(lua_newuserdatauv(L, sizeof(batch), 0), 0, sizeof(batch));
  pt_set_class(L, BATCH, NULL, meta);
  lua_setiuservalue(L, 1, PT_PEER_BATCH);
}

/* Reserves space in the output for the answers so far as one message. */
static int reserve_batch_array(lua_State *L, pt_peer *p, const batch *b) {
  return pt_buf_reserve(L, &p->output.buf,
                        p->form.header_len + DIGITS + CRLFCRLF +
                            pt_buf_len(&b->out) + sizeof "]\n");
}

static void send_batch_array(pt_peer *p, const batch *b) {
  writer w = {.p = p, .out = &p->output.buf};
  size_t len = pt_buf_len(&b->out);
  int has_header = p->input.framing.mode == PT_FRAME_HEADER;
  if (has_header) {
    put_message_bytes(&w, p->form.header, p->form.header_len);
    put_message_integer(&w, (lua_Integer)len + 1);
    put_message_bytes(&w, p->form.head, CRLFCRLF);
  }
  put_message_bytes(&w, pt_buf_front(&b->out), len);
  put_message_bytes(&w, has_header ? "]" : "]\n", has_header ? 1 : 2);
}

/* Sends the answers if the batch is finished; `open` is the number of members
** that are not answered yet. A batch of notifications gets no answer. Answers
** that would not fit into one message are sent in several messages, because a
** few bytes of a batch may cause long answers. Returns 0 if there is not enough
** memory, and then nothing has changed. */
static int send_batch_if_due(lua_State *L, pt_peer *p, batch *b, size_t open) {
  size_t len = pt_buf_len(&b->out);
  int is_done = open == 0 && b->is_complete;
  if (len == 0 || (!is_done && len <= p->input.framing.body_limit / 2))
    return 1;
  if (!reserve_batch_array(L, p, b))
    return 0;
  send_batch_array(p, b);
  pt_buf_free(L, &b->out);
  return 1;
}

int pt_batch_reserve(lua_State *L, pt_peer *p) {
  const batch *b = push_batch(L);
  lua_pop(L, 1);
  return b->open > 0 || pt_buf_len(&b->out) == 0 ||
         reserve_batch_array(L, p, b);
}

int pt_batch_complete(lua_State *L, pt_peer *p) {
  batch *b = push_batch(L);
  int ok;
  b->is_complete = 1;
  ok = send_batch_if_due(L, p, b, b->open);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PT_PEER_BATCH);
  lua_pop(L, 1);
  return ok;
}

/* ====== Answers ====== */

/* An answer that is being written. */
typedef struct answer {
  writer w;
  int id;         /* stack index */
  ticket *ticket; /* NULL if the id is not a ticket */
  batch *batch;   /* NULL if the answer is a message of its own */
} answer;

/* Returns the ticket at `id`, or NULL if it is another kind of id. Raises if it
** is not an id. */
static ticket *check_ticket(lua_State *L, int id) {
  int type = lua_type(L, id);
  ticket *t;
  if (lua_isinteger(L, id) || type == LUA_TSTRING || type == LUA_TNIL ||
      (type == LUA_TLIGHTUSERDATA && lua_touserdata(L, id) == NULL))
    return NULL;
  t = type == LUA_TUSERDATA ? luaL_testudata(L, id, TICKET) : NULL;
  if (t == NULL)
    luaL_typeerror(L, id, "id");
  return t;
}

/* Returns the batch of the answer, or NULL if it is a message of its own.
** Pushes the batch to keep it alive. Raises if the ticket was answered already.
*/
static batch *push_batch_of(lua_State *L, const answer *a) {
  luaL_argcheck(L, !a->ticket->is_answered, a->id, "was answered already");
  lua_getiuservalue(L, a->id, 1);
  return lua_touserdata(L, -1);
}

/* nil and null both represent an unknown id. */
static int add_answer_id(answer *a) {
  writer *w = &a->w;
  put_literal(w, "\"id\":");
  if (a->ticket != NULL)
    add_message_bytes(w, a->ticket->text, a->ticket->len);
  else if (lua_isinteger(w->L, a->id))
    put_message_integer(w, lua_tointeger(w->L, a->id));
  else if (lua_type(w->L, a->id) == LUA_TSTRING)
    return add_message_string(w, a->id, "id");
  else
    put_literal(w, "null");
  return 0;
}

/* Begins the answer, in the batch of its id if it has one. The caller writes
** the value at `payload` later. */
static int begin_answer(lua_State *L, pt_peer *p, int peer, answer *a,
                        int payload) {
  int failed;
  a->ticket = check_ticket(L, a->id);
  failed = prepare_message(L, p, peer, payload);
  if (failed)
    return failed;
  a->batch = a->ticket != NULL ? push_batch_of(L, a) : NULL;
  if (!begin_message(&a->w, L, p, a->batch != NULL ? &a->batch->out : NULL))
    return fail_message_memory(&a->w);
  return add_answer_id(a);
}

/* Completes the answer. The ticket counts as answered only after nothing can
** fail any more. */
static int finish_answer(lua_State *L, pt_peer *p, answer *a) {
  int failed = finish_message(&a->w);
  if (failed || a->ticket == NULL)
    return failed;
  if (a->batch != NULL &&
      !send_batch_if_due(L, p, a->batch, a->batch->open - 1)) {
    p->counts.sent--;
    return fail_message_memory(&a->w);
  }
  if (a->batch != NULL)
    a->batch->open--;
  a->ticket->is_answered = 1;
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
  failed = add_message_value(&a.w, result, "result");
  return failed ? failed : finish_answer(L, p, &a);
}

/* The code, the message and the data are at indexes 3, 4 and 5. */
static int add_answer_error(writer *w) {
  int failed;
  add_literal(w, ",\"error\":{\"code\":");
  failed = add_message_value(w, 3, "code");
  if (failed)
    return failed;
  add_literal(w, ",\"message\":");
  failed = add_message_string(w, 4, "message");
  if (!failed && !lua_isnil(w->L, 5)) {
    add_literal(w, ",\"data\":");
    failed = add_message_value(w, 5, "data");
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
  lua_pushinteger(L, luaL_checkinteger(L, 3));
  lua_replace(L, 3);
  luaL_checkstring(L, 4);
  failed = begin_answer(L, p, 1, &a, 5);
  if (!failed)
    failed = add_answer_error(&a.w);
  if (!failed)
    failed = finish_answer(L, p, &a);
  if (failed)
    return failed;
  lua_pushboolean(L, 1);
  return 1;
}
