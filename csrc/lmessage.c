#include "lmessage.h"

#include <math.h>
#include <string.h>

#include "lenvelope.h"
#include "lsend.h"

#define PARSE_ERROR (-32700)
#define INVALID_REQUEST (-32600)

/* ====== Ids ====== */

/* Returns the id as an integer; 0 if it is not one. A few peers return an
** integer id as a float. */
static int64_t message_id_to_integer(const pt_number *number) {
  if (number->is_integer)
    return number->integer;
  return number->real >= 1 && number->real < 9e15 &&
                 floor(number->real) == number->real
             ? (int64_t)number->real
             : 0;
}

/* Returns our own id that came back; 0 if it is not one of ours. */
static int64_t find_own_message_id(const pt_peer *p, const pt_envelope *e) {
  const char *last;
  pt_number number;
  unsigned form;
  if (e->id != PT_IS_PRESENT)
    return 0;
  form = *e->id_text == '"' ? PT_ID_STRING : PT_ID_INTEGER;
  if ((form & p->form.id_forms) == 0)
    return 0;
  if (form == PT_ID_INTEGER)
    return message_id_to_integer(&e->id_number);
  last = e->id_text + e->id_len - 1;
  return pt_number_read(e->id_text + 1, last, &number) == last
             ? message_id_to_integer(&number)
             : 0;
}

/* Returns the slot of the call that this answers, or PT_PENDING_NONE. */
static size_t find_call_slot(const pt_peer *p, const pt_envelope *e) {
  return pt_pending_find(&p->pending, find_own_message_id(p, e));
}

/* Pushes the id as a value whose encoding is exactly the text of the id. An id
** that the encoder would write differently becomes a ticket: floats, integers
** of more than 64 bits, strings with escapes. */
static void push_message_id(lua_State *L, const pt_envelope *e, int in_batch) {
  const char *text = e->id_text;
  size_t len = e->id_len;
  if (in_batch)
    pt_ticket_push(L, text, len, 1);
  else if (*text == 'n')
    lua_pushlightuserdata(L, NULL);
  else if (*text != '"' && e->id_number.is_integer)
    lua_pushinteger(L, e->id_number.integer);
  else if (*text == '"' && memchr(text, '\\', len) == NULL)
    lua_pushlstring(L, text + 1, len - 2);
  else
    pt_ticket_push(L, text, len, 0);
}

/* ====== Telling messages apart ====== */

static void set_message_report_text(lua_State *L, const pt_peer *p) {
  size_t len =
      p->input.text_len < p->limits.text ? p->input.text_len : p->limits.text;
  lua_pushlstring(L, p->input.text, len);
  lua_setfield(L, -2, "text");
  lua_pushinteger(L, (lua_Integer)p->input.text_len);
  lua_setfield(L, -2, "bytes");
}

/* Pushes the report { code, message, text, bytes }. Before the call, the
** message is on top. */
static void push_message_report(lua_State *L, const pt_peer *p, int code) {
  lua_createtable(L, 0, 4);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, code);
  lua_setfield(L, -2, "code");
  set_message_report_text(L, p);
}

/* Pushes the id if it is known, and returns its stack index. */
static int push_known_message_id(lua_State *L, const pt_envelope *e,
                                 int in_batch) {
  if (e->id == PT_IS_PRESENT || e->id == PT_IS_NULL)
    push_message_id(L, e, in_batch);
  else if (in_batch)
    pt_ticket_push(L, "null", 4, 1);
  else
    return 0;
  return lua_gettop(L);
}

/* Whether the message was meant as an answer. If the text is truncated, a
** method might have followed, unless there was a result or error already. */
static int is_answer_message(const pt_envelope *e, int code) {
  return e->method == PT_IS_ABSENT &&
         (code != PARSE_ERROR || e->result != PT_IS_ABSENT ||
          e->error != PT_IS_ABSENT);
}

/* Whether the message cannot have been meant as a request. */
static int is_surely_answer_message(const pt_envelope *e) {
  return e->method == PT_IS_ABSENT &&
         (e->result != PT_IS_ABSENT || e->error != PT_IS_ABSENT);
}

/* In the next functions everything that can fail for lack of memory comes
** first. A waiter or a place in the batch is removed after that. */

/* Sets an invalid message. If it answers a call, it carries the id of that
** call, and the call stays pending: it may still fail for a better reason. An
** invalid answer must not be answered itself: its id is not one of the other
** side's, and the two sides might answer each other forever. The reason is on
** top. */
static void set_invalid_message(lua_State *L, pt_peer *p, const pt_envelope *e,
                                int code, pt_message *m) {
  size_t slot = PT_PENDING_NONE;
  m->kind = PT_INVALID;
  push_message_report(L, p, code);
  m->payload = lua_gettop(L);
  if (is_surely_answer_message(e)) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "is_answer");
  }
  if (is_answer_message(e, code))
    slot = find_call_slot(p, e);
  if (slot != PT_PENDING_NONE)
    m->call = p->pending.calls[slot].id;
  m->id = push_known_message_id(
      L, e, p->input.batch > 0 && m->call == 0 && !is_surely_answer_message(e));
  p->counts.invalid++;
}

static void set_message_fault(lua_State *L, pt_peer *p, const pt_envelope *e,
                              const pt_json_fault *fault, pt_message *m) {
  pt_json_push_fault(L, p->input.text, fault);
  set_invalid_message(L, p, e, PARSE_ERROR, m);
}

static void set_noise_message(lua_State *L, pt_peer *p, const char *why,
                              pt_message *m) {
  m->kind = PT_NOISE;
  p->counts.noise++;
  p->counts.noise_bytes += (lua_Integer)p->input.text_len;
  lua_pushstring(L, why);
  push_message_report(L, p, PARSE_ERROR);
  m->payload = lua_gettop(L);
}

static void set_message_call(lua_State *L, pt_peer *p, const pt_envelope *e,
                             pt_message *m) {
  p->counts.received++;
  m->kind = PT_NOTIFICATION;
  m->method = e->method_at;
  m->payload = e->params_at;
  if (e->id != PT_IS_ABSENT) {
    m->kind = PT_REQUEST;
    push_message_id(L, e, p->input.batch > 0);
    m->id = lua_gettop(L);
  }
}

/* Finalizers may have withdrawn the call while the message was decoded. So the
** call is looked up here, and nothing after that can fail. */
static void set_answer_message(pt_peer *p, const pt_envelope *e,
                               pt_message *m) {
  size_t slot = find_call_slot(p, e);
  p->counts.received++;
  m->kind = e->error == PT_IS_PRESENT ? PT_ERROR : PT_RESULT;
  m->payload = m->kind == PT_ERROR ? e->error_at : e->result_at;
  if (slot == PT_PENDING_NONE) {
    m->kind = PT_STRAY;
    p->counts.stray++;
  } else {
    m->waiter = p->pending.calls[slot].waiter;
    pt_pending_remove(&p->pending, slot);
  }
}

static const char *find_call_fault(const pt_envelope *e) {
  if (e->method == PT_IS_WRONG)
    return "method is not a string";
  if (e->params == PT_IS_WRONG)
    return "params is neither an array nor an object";
  if (e->result == PT_IS_PRESENT || e->error == PT_IS_PRESENT)
    return "both a method and a result or error";
  return NULL;
}

static int is_error_object(lua_State *L, int at) {
  int ok;
  if (lua_type(L, at) != LUA_TTABLE)
    return 0;
  lua_getfield(L, at, "code");
  lua_getfield(L, at, "message");
  ok = lua_type(L, -2) == LUA_TNUMBER && lua_type(L, -1) == LUA_TSTRING;
  lua_pop(L, 2);
  return ok;
}

static const char *find_answer_fault(lua_State *L, const pt_peer *p,
                                     const pt_envelope *e) {
  if (e->error == PT_IS_PRESENT && e->result == PT_IS_PRESENT)
    return "both a result and an error";
  if (e->error != PT_IS_PRESENT && e->result == PT_IS_ABSENT)
    return "neither a method, nor a result, nor an error";
  if (e->id == PT_IS_ABSENT)
    return "an answer without an id";
  if (e->error == PT_IS_PRESENT && !p->codec.is_raw &&
      !is_error_object(L, e->error_at))
    return "error is not an object with a number as code and a message";
  return NULL;
}

/* Returns why the envelope is not a valid message, or NULL. */
static const char *find_message_fault(lua_State *L, const pt_peer *p,
                                      const pt_envelope *e) {
  if (e->jsonrpc != PT_IS_PRESENT)
    return e->jsonrpc == PT_IS_ABSENT ? "jsonrpc is missing"
                                      : "jsonrpc is not \"2.0\"";
  if (p->form.has_extra) {
    const char *wrong = pt_envelope_check_extra(L);
    if (wrong != NULL)
      return wrong;
  }
  if (e->id == PT_IS_WRONG)
    return "id is neither a string, nor a number, nor null";
  return e->method != PT_IS_ABSENT ? find_call_fault(e)
                                   : find_answer_fault(L, p, e);
}

/* Decides which kind of message the envelope is. */
static void classify_message(lua_State *L, pt_peer *p, const pt_envelope *e,
                             pt_message *m) {
  const char *wrong = find_message_fault(L, p, e);
  if (wrong != NULL) {
    lua_pushstring(L, wrong);
    set_invalid_message(L, p, e, INVALID_REQUEST, m);
  } else if (e->method != PT_IS_ABSENT) {
    set_message_call(L, p, e, m);
  } else {
    set_answer_message(p, e, m);
  }
}

/* ====== Whole messages ====== */

static void set_plain_invalid_message(lua_State *L, pt_peer *p, const char *why,
                                      pt_message *m) {
  pt_envelope none = {0};
  lua_pushstring(L, why);
  set_invalid_message(L, p, &none, INVALID_REQUEST, m);
}

static void read_object_message(lua_State *L, pt_peer *p,
                                const pt_decode_env *env, const char *text,
                                const char *end, pt_message *m) {
  pt_envelope e = {0};
  pt_decoder d;
  d.p = text;
  d.end = end;
  d.ordered = p->codec.is_ordered;
  d.values = p->limits.values;
  d.big_integers = p->codec.big_integers;
  d.repeat = p->codec.repeat.name != NULL ? &p->codec.repeat : NULL;
  p->codec.repeat.from = NULL;
  d.env = *env;
  if (pt_envelope_read(L, p, &d, &e)) {
    d.p = pt_json_space(d.p, end);
    if (d.p == end) {
      classify_message(L, p, &e, m);
      return;
    }
    pt_json_fail(&d.fault, "unexpected text after the message", d.p);
  }
  lua_settop(L, 1);
  set_message_fault(L, p, &e, &d.fault, m);
}

/* Reads the next member of the batch. Its text was checked when the batch
** began. */
static void read_batch_member(lua_State *L, pt_peer *p,
                              const pt_decode_env *env, pt_message *m) {
  pt_input *in = &p->input;
  const char *text = pt_buf_front(&in->buf) + in->batch;
  const char *end = pt_buf_front(&in->buf) + in->batch_used, *next;
  pt_json_fault fault;
  next = pt_json_value(text, end, p->codec.style.depth, &fault);
  in->text = text;
  in->text_len = (size_t)(next - text);
  if (*text == '{')
    read_object_message(L, p, env, text, next, m);
  else
    set_plain_invalid_message(L, p, "not an object", m);
  next = pt_json_space(next, end);
  in->text_used = *next == ']' ? in->batch_used : 0;
  in->batch = (size_t)(pt_json_space(next + 1, end) - pt_buf_front(&in->buf));
}

static void read_batch_message(lua_State *L, pt_peer *p,
                               const pt_decode_env *env, const char *text,
                               const char *end, pt_message *m) {
  pt_envelope none = {0};
  pt_json_fault fault;
  const char *first = pt_json_space(text + 1, end);
  const char *close = pt_json_value(text, end, p->codec.style.depth, &fault);
  if (close != NULL && pt_json_space(close, end) < end) {
    close = pt_json_fail(&fault, "unexpected text after the batch", close);
  }
  if (close == NULL) {
    set_message_fault(L, p, &none, &fault, m);
  } else if (*first == ']') {
    set_plain_invalid_message(L, p, "empty batch", m);
  } else {
    pt_batch_begin(L);
    p->input.batch = (size_t)(first - pt_buf_front(&p->input.buf));
    p->input.batch_used = p->input.text_used;
    read_batch_member(L, p, env, m);
  }
}

/* Whether the text may be a batch: an array whose first item is an object. */
static int begins_like_batch_message(const char *text, const char *end) {
  if (text == end || *text != '[')
    return 0;
  text = pt_json_space(text + 1, end);
  return text < end && *text == '{';
}

/* Reads a text that does not begin with '{': a batch, noise, or an error. Lines
** are often output that was printed by mistake: a line that is not JSON and
** does not even begin like a message is noise. */
static void read_unusual_message(lua_State *L, pt_peer *p,
                                 const pt_decode_env *env, const char *text,
                                 const char *end, pt_message *m) {
  pt_envelope none = {0};
  pt_json_fault fault;
  const char *after = pt_json_value(text, end, p->codec.style.depth, &fault);
  int is_line = p->input.framing.mode == PT_FRAME_LINE && text < end;
  if (is_line && !begins_like_batch_message(text, end) &&
      (after == NULL || pt_json_space(after, end) < end))
    set_noise_message(L, p, "not JSON", m);
  else if (text < end && *text == '[')
    read_batch_message(L, p, env, text, end, m);
  else if (after == NULL)
    set_message_fault(L, p, &none, &fault, m);
  else
    set_plain_invalid_message(L, p, "not an object", m);
}

void pt_message_read(lua_State *L, pt_peer *p, const pt_decode_env *env,
                     pt_message *m) {
  const char *end = p->input.text + p->input.text_len;
  const char *text = pt_json_space(p->input.text, end);
  if (p->input.batch > 0)
    read_batch_member(L, p, env, m);
  else if (text < end && *text == '{')
    read_object_message(L, p, env, text, end, m);
  else
    read_unusual_message(L, p, env, text, end, m);
}

void pt_message_noise(lua_State *L, pt_peer *p, pt_message *m) {
  set_noise_message(L, p, "not part of a message", m);
}

static void push_message_refusal(lua_State *L, const pt_frame_found *found) {
  if (found->size > 0)
    lua_pushfstring(L, "%s %I (it has %I bytes)", found->what,
                    (LUAI_UACINT)found->number, (LUAI_UACINT)found->size);
  else if (found->number > 0)
    lua_pushfstring(L, "%s %I", found->what, (LUAI_UACINT)found->number);
  else
    lua_pushstring(L, found->what);
}

void pt_message_refused(lua_State *L, pt_peer *p, const pt_frame_found *found,
                        pt_message *m) {
  pt_envelope e = {0};
  push_message_refusal(L, found);
  if (found->skim != NULL)
    pt_envelope_skimmed(found->skim, &e);
  set_invalid_message(L, p, &e, INVALID_REQUEST, m);
  if (found->skim != NULL) {
    lua_pushinteger(
        L, (lua_Integer)(found->size > 0 ? found->size : found->number));
    lua_setfield(L, m->payload, "bytes");
  }
}
