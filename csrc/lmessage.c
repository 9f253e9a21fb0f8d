#include "lmessage.h"

#include "lbatch.h"
#include "lenvelope.h"

#define PARSE_ERROR (-32700)
#define INVALID_REQUEST (-32600)

/* {====== Telling messages apart ====== */

static void set_text(lua_State *L, const pt_peer *p) {
  size_t len =
      p->input.text_len < p->limits.text ? p->input.text_len : p->limits.text;
  lua_pushlstring(L, p->input.text, len);
  lua_setfield(L, -2, "text");
  lua_pushinteger(L, (lua_Integer)p->input.text_len);
  lua_setfield(L, -2, "bytes");
}

/* Pushes { code, message, text, bytes }; the message is on top before. */
static void push_report(lua_State *L, const pt_peer *p, int code) {
  lua_createtable(L, 0, 4);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, code);
  lua_setfield(L, -2, "code");
  set_text(L, p);
}

/* Pushes the id if it is known, and returns its place. */
static int push_known_id(lua_State *L, const pt_envelope *e, int in_batch) {
  if (e->id == PT_PRESENT || e->id == PT_NULL)
    pt_envelope_push_id(L, e, in_batch);
  else if (in_batch)
    pt_ticket_push(L, "null", 4, 1);
  else
    return 0;
  return lua_gettop(L);
}

/* Whether it was meant as an answer. Where the text breaks off, a method might
** have followed, unless there was a result or error already. */
static int is_answer(const pt_envelope *e, int code) {
  return e->method == PT_ABSENT &&
         (code != PARSE_ERROR || e->result != PT_ABSENT ||
          e->error != PT_ABSENT);
}

/* It cannot have been meant as a request. */
static int is_surely_answer(const pt_envelope *e) {
  return e->method == PT_ABSENT &&
         (e->result != PT_ABSENT || e->error != PT_ABSENT);
}

/* Whatever takes something out, a waiter or a place in the batch, comes after
** everything that memory may be short for. */

/* A message that is refused. If it answers a call, the id of that call comes
** with it, and the call still waits: it may yet fail for a better reason. One
** that answers nothing must not be answered itself: its id is not the other
** side's, and it might go on for ever. The message that says why is on top. */
static void give_invalid(lua_State *L, pt_peer *p, const pt_envelope *e,
                         int code, pt_message *m) {
  size_t slot = PT_PENDING_NONE;
  m->kind = PT_INVALID;
  push_report(L, p, code);
  m->payload = lua_gettop(L);
  if (is_surely_answer(e)) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "is_answer");
  }
  if (is_answer(e, code))
    slot = pt_envelope_slot(p, e);
  if (slot != PT_PENDING_NONE)
    m->call = p->pending.calls[slot].id;
  m->id = push_known_id(
      L, e, p->input.batch > 0 && m->call == 0 && !is_surely_answer(e));
  p->counts.invalid++;
}

static void give_fault(lua_State *L, pt_peer *p, const pt_envelope *e,
                       const pt_json_fault *fault, pt_message *m) {
  size_t line, column;
  pt_json_place(p->input.text, fault->where, &line, &column);
  lua_pushfstring(L, "%s at line %I, column %I", fault->what, (LUAI_UACINT)line,
                  (LUAI_UACINT)column);
  give_invalid(L, p, e, PARSE_ERROR, m);
}

static void give_noise(lua_State *L, pt_peer *p, const char *why,
                       pt_message *m) {
  m->kind = PT_NOISE;
  p->counts.noise++;
  p->counts.noise_bytes += (lua_Integer)p->input.text_len;
  lua_pushstring(L, why);
  push_report(L, p, PARSE_ERROR);
  m->payload = lua_gettop(L);
}

static void give_call(lua_State *L, pt_peer *p, const pt_envelope *e,
                      pt_message *m) {
  p->counts.received++;
  m->kind = PT_NOTIFICATION;
  m->method = e->method_at;
  m->payload = e->params_at;
  if (e->id != PT_ABSENT) {
    m->kind = PT_REQUEST;
    pt_envelope_push_id(L, e, p->input.batch > 0);
    m->id = lua_gettop(L);
  }
}

/* Finalizers may have given up on the call while the message was decoded, so it
** is looked for here, and nothing can fail behind that. */
static void give_answer(pt_peer *p, const pt_envelope *e, pt_message *m) {
  size_t slot = pt_envelope_slot(p, e);
  p->counts.received++;
  m->kind = e->error == PT_PRESENT ? PT_ERROR : PT_RESULT;
  m->payload = m->kind == PT_ERROR ? e->error_at : e->result_at;
  if (slot == PT_PENDING_NONE) {
    m->kind = PT_STRAY;
    p->counts.stray++;
  } else {
    m->waiter = p->pending.calls[slot].waiter;
    pt_pending_remove(&p->pending, slot);
  }
}

static const char *wrong_call(const pt_envelope *e) {
  if (e->method == PT_WRONG)
    return "method is not a string";
  if (e->params == PT_WRONG)
    return "params is neither an array nor an object";
  if (e->result == PT_PRESENT || e->error == PT_PRESENT)
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

static const char *wrong_answer(lua_State *L, const pt_peer *p,
                                const pt_envelope *e) {
  if (e->error == PT_PRESENT && e->result == PT_PRESENT)
    return "both a result and an error";
  if (e->error != PT_PRESENT && e->result == PT_ABSENT)
    return "neither a method, nor a result, nor an error";
  if (e->id == PT_ABSENT)
    return "an answer without an id";
  if (e->error == PT_PRESENT && !p->codec.is_raw &&
      !is_error_object(L, e->error_at))
    return "error is not an object with a number as code and a message";
  return NULL;
}

static const char *wrong_with(lua_State *L, const pt_peer *p,
                              const pt_envelope *e) {
  if (e->jsonrpc != PT_PRESENT)
    return e->jsonrpc == PT_ABSENT ? "jsonrpc is missing"
                                   : "jsonrpc is not \"2.0\"";
  if (e->extras != p->form.extras)
    return pt_envelope_wrong_extra(L, p, e);
  if (e->id == PT_WRONG)
    return "id is neither a string, nor a number, nor null";
  return e->method != PT_ABSENT ? wrong_call(e) : wrong_answer(L, p, e);
}

/* What the envelope that was read amounts to. */
static void classify(lua_State *L, pt_peer *p, const pt_envelope *e,
                     pt_message *m) {
  const char *wrong = wrong_with(L, p, e);
  if (wrong != NULL) {
    lua_pushstring(L, wrong);
    give_invalid(L, p, e, INVALID_REQUEST, m);
  } else if (e->method != PT_ABSENT) {
    give_call(L, p, e, m);
  } else {
    give_answer(p, e, m);
  }
}

/* }====== */

/* {====== Whole messages ====== */

static void give_plain_invalid(lua_State *L, pt_peer *p, const char *why,
                               pt_message *m) {
  pt_envelope none = {0};
  lua_pushstring(L, why);
  give_invalid(L, p, &none, INVALID_REQUEST, m);
}

static void read_object(lua_State *L, pt_peer *p, const pt_vocabulary *words,
                        const char *text, const char *end, pt_message *m) {
  pt_envelope e = {0};
  pt_decoder d;
  d.p = text;
  d.end = end;
  d.ordered = p->codec.is_ordered;
  d.values = p->limits.values;
  d.big_integers = p->codec.big_integers;
  d.words = *words;
  if (pt_envelope_read(L, p, &d, &e)) {
    d.p = pt_json_space(d.p, end);
    if (d.p == end) {
      classify(L, p, &e, m);
      return;
    }
    d.fault.what = "unexpected text behind the message";
    d.fault.where = d.p;
  }
  lua_settop(L, 1);
  give_fault(L, p, &e, &d.fault, m);
}

/* The next member of the batch that is being handed out. Its text was checked
** when the batch began. */
static void read_member(lua_State *L, pt_peer *p, const pt_vocabulary *words,
                        pt_message *m) {
  pt_input *in = &p->input;
  const char *text = pt_buf_front(&in->buf) + in->batch;
  const char *end = pt_buf_front(&in->buf) + in->batch_used, *next;
  pt_json_fault fault;
  next = pt_json_value(text, end, p->codec.style.depth, &fault);
  in->text = text;
  in->text_len = (size_t)(next - text);
  if (*text == '{')
    read_object(L, p, words, text, next, m);
  else
    give_plain_invalid(L, p, "not an object", m);
  next = pt_json_space(next, end);
  in->text_used = *next == ']' ? in->batch_used : 0;
  in->batch = (size_t)(pt_json_space(next + 1, end) - pt_buf_front(&in->buf));
}

static void read_batch(lua_State *L, pt_peer *p, const pt_vocabulary *words,
                       const char *text, const char *end, pt_message *m) {
  pt_envelope none = {0};
  pt_json_fault fault;
  const char *first = pt_json_space(text + 1, end);
  const char *close = pt_json_value(text, end, p->codec.style.depth, &fault);
  if (close != NULL && pt_json_space(close, end) < end) {
    fault.what = "unexpected text behind the batch";
    fault.where = close;
    close = NULL;
  }
  if (close == NULL) {
    give_fault(L, p, &none, &fault, m);
  } else if (*first == ']') {
    give_plain_invalid(L, p, "empty batch", m);
  } else {
    pt_batch_begin(L);
    p->input.batch = (size_t)(first - pt_buf_front(&p->input.buf));
    p->input.batch_used = p->input.text_used;
    read_member(L, p, words, m);
  }
}

/* Lines are often things that were printed by mistake: one that is not JSON and
** does not even begin like a message is noise. */
static int is_noise(const pt_peer *p, const char *text, const char *end,
                    pt_json_fault *fault) {
  const char *after;
  if (p->input.framing.mode != PT_FRAME_LINE || text == end || *text == '{')
    return 0;
  if (*text == '[') {
    after = pt_json_space(text + 1, end);
    if (after < end && *after == '{')
      return 0;
  }
  after = pt_json_value(text, end, p->codec.style.depth, fault);
  return after == NULL || pt_json_space(after, end) < end;
}

static void read_other(lua_State *L, pt_peer *p, const pt_vocabulary *words,
                       const char *text, const char *end, pt_message *m) {
  pt_envelope none = {0};
  pt_json_fault fault;
  if (is_noise(p, text, end, &fault))
    give_noise(L, p, "not JSON", m);
  else if (text < end && *text == '[')
    read_batch(L, p, words, text, end, m);
  else if (pt_json_value(text, end, p->codec.style.depth, &fault) == NULL)
    give_fault(L, p, &none, &fault, m);
  else
    give_plain_invalid(L, p, "not an object", m);
}

void pt_message_read(lua_State *L, pt_peer *p, const pt_vocabulary *words,
                     pt_message *m) {
  const char *end = p->input.text + p->input.text_len;
  const char *text = pt_json_space(p->input.text, end);
  if (p->input.batch > 0)
    read_member(L, p, words, m);
  else if (text < end && *text == '{')
    read_object(L, p, words, text, end, m);
  else
    read_other(L, p, words, text, end, m);
}

void pt_message_noise(lua_State *L, pt_peer *p, pt_message *m) {
  give_noise(L, p, "not part of a message", m);
}

static void push_refusal(lua_State *L, const pt_frame_found *found) {
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
  push_refusal(L, found);
  if (found->skim != NULL)
    pt_envelope_skimmed(found->skim, &e);
  give_invalid(L, p, &e, INVALID_REQUEST, m);
  if (found->skim != NULL) {
    lua_pushinteger(
        L, (lua_Integer)(found->size > 0 ? found->size : found->number));
    lua_setfield(L, m->payload, "bytes");
  }
}

/* }====== */
