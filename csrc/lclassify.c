#include "lclassify.h"

#include <string.h>

#include "lapi.h"
#include "lenvelope.h"
#include "lextra.h"

static const char *const kind_names[PT_KINDS] = {
    "request", "notification", "result", "error", "invalid", "noise", "stray"};

/* {====== Telling messages apart ====== */

static void push_kind(lua_State *L, pt_stream *s, int kind) {
  lua_pushvalue(L, lua_upvalueindex(kind));
  s->kind = kind;
}

static void set_text(lua_State *L, const pt_stream *s) {
  size_t len = s->text_len < s->text_limit ? s->text_len : s->text_limit;
  lua_pushlstring(L, s->text, len);
  lua_setfield(L, -2, "text");
  lua_pushinteger(L, (lua_Integer)s->text_len);
  lua_setfield(L, -2, "bytes");
}

/* Pushes { code, message, text, bytes }; the message is on top before. */
static void push_report(lua_State *L, const pt_stream *s, int code) {
  lua_createtable(L, 0, 4);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, code);
  lua_setfield(L, -2, "code");
  set_text(L, s);
}

static void push_at(lua_State *L, int at) {
  if (at > 0)
    lua_pushvalue(L, at);
  else
    lua_pushnil(L);
}

/* Takes the waiter of the call that this answers, and says whether there was
** one; nil is pushed if not. Finalizers may have given up on the call since it
** was last looked for, so it is looked for here. */
static int push_waiter(lua_State *L, pt_stream *s, const pt_envelope *e) {
  size_t slot = pt_envelope_slot(s, e);
  if (slot == PT_PENDING_NONE)
    lua_pushnil(L);
  else
    pt_stream_take_waiter(L, s, slot);
  return slot != PT_PENDING_NONE;
}

static void push_id_if_told(lua_State *L, const pt_envelope *e, int in_batch) {
  if (e->id == PT_PRESENT || e->id == PT_NULL)
    pt_envelope_push_id(L, e, in_batch);
  else if (in_batch)
    pt_ticket_push(L, "null", 4, 1);
  else
    lua_pushnil(L);
}

/* Whether it was meant as an answer. Where the text breaks off, a method might
** have followed, unless there was a result or error already. */
static int is_answer(const pt_envelope *e, int code) {
  return e->method == PT_ABSENT &&
         (code != PT_PARSE_ERROR || e->result != PT_ABSENT ||
          e->error != PT_ABSENT);
}

/* It cannot have been meant as a request. */
static int is_surely_answer(const pt_envelope *e) {
  return e->method == PT_ABSENT &&
         (e->result != PT_ABSENT || e->error != PT_ABSENT);
}

/* Whatever takes something out, a waiter or a place in the batch, comes after
** everything that memory may be short for. */

/* A message that is refused. If it answers a call, its waiter comes with it; if
** it might be a request, its id. One that answers nothing must not be answered
** itself: its id is not the other side's, and it might go on for ever. The
** message that says why is on top. */
static int give_invalid(lua_State *L, pt_stream *s, const pt_envelope *e,
                        int code) {
  int answers, report;
  push_report(L, s, code);
  report = lua_gettop(L);
  if (is_surely_answer(e)) {
    lua_pushboolean(L, 1);
    lua_setfield(L, report, "is_answer");
  }
  push_kind(L, s, PT_INVALID);
  answers = is_answer(e, code) && pt_envelope_slot(s, e) != PT_PENDING_NONE;
  push_id_if_told(L, e, s->batch > 0 && !answers && !is_surely_answer(e));
  if (answers && s->is_peer) /* it may yet fail for a better reason */
    lua_pushinteger(L, s->pending.calls[pt_envelope_slot(s, e)].id);
  else if (answers)
    push_waiter(L, s, e);
  else
    lua_pushnil(L);
  lua_pushvalue(L, report);
  s->invalid++;
  return 4;
}

static int give_fault(lua_State *L, pt_stream *s, const pt_envelope *e,
                      const pt_json_fault *fault) {
  size_t line, column;
  pt_json_place(s->text, fault->where, &line, &column);
  lua_pushfstring(L, "%s at line %I, column %I", fault->what, (LUAI_UACINT)line,
                  (LUAI_UACINT)column);
  return give_invalid(L, s, e, PT_PARSE_ERROR);
}

static int give_noise(lua_State *L, pt_stream *s, const char *why) {
  s->noise++;
  s->noise_bytes += (lua_Integer)s->text_len;
  push_kind(L, s, PT_NOISE);
  lua_pushnil(L);
  lua_pushnil(L);
  lua_pushstring(L, why);
  push_report(L, s, PT_PARSE_ERROR);
  return 4;
}

static int give_call(lua_State *L, pt_stream *s, const pt_envelope *e) {
  s->received++;
  if (e->id == PT_ABSENT) {
    push_kind(L, s, PT_NOTIFICATION);
    lua_pushnil(L);
  } else {
    push_kind(L, s, PT_REQUEST);
    pt_envelope_push_id(L, e, s->batch > 0);
  }
  push_at(L, e->method_at);
  push_at(L, e->params_at);
  return 4;
}

static int give_answer(lua_State *L, pt_stream *s, const pt_envelope *e) {
  int failed = e->error == PT_PRESENT, kind = lua_gettop(L) + 1;
  push_kind(L, s, failed ? PT_ERROR : PT_RESULT);
  pt_envelope_push_id(L, e, 0);
  if (!push_waiter(L, s, e)) {
    push_kind(L, s, PT_STRAY);
    lua_replace(L, kind);
    s->stray++;
  }
  push_at(L, failed ? e->error_at : e->result_at);
  s->received++;
  return 4;
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

static const char *wrong_answer(lua_State *L, const pt_stream *s,
                                const pt_envelope *e) {
  if (e->error == PT_PRESENT && e->result == PT_PRESENT)
    return "both a result and an error";
  if (e->error != PT_PRESENT && e->result == PT_ABSENT)
    return "neither a method, nor a result, nor an error";
  if (e->id == PT_ABSENT)
    return "an answer without an id";
  if (e->error == PT_PRESENT && !s->is_raw && !is_error_object(L, e->error_at))
    return "error is not an object with a number as code and a message";
  return NULL;
}

static const char *wrong_with(lua_State *L, const pt_stream *s,
                              const pt_envelope *e) {
  if (e->jsonrpc != PT_PRESENT)
    return e->jsonrpc == PT_ABSENT ? "jsonrpc is missing"
                                   : "jsonrpc is not \"2.0\"";
  if (e->extras != s->extras)
    return pt_extra_wrong(L, s, e->extras, e->odd_extra, e->odd_extra_at);
  if (e->id == PT_WRONG)
    return "id is neither a string, nor a number, nor null";
  return e->method != PT_ABSENT ? wrong_call(e) : wrong_answer(L, s, e);
}

/* What the envelope that was read amounts to. */
static int classify(lua_State *L, pt_stream *s, const pt_envelope *e) {
  const char *wrong = wrong_with(L, s, e);
  if (wrong != NULL) {
    lua_pushstring(L, wrong);
    return give_invalid(L, s, e, PT_INVALID_REQUEST);
  }
  return e->method != PT_ABSENT ? give_call(L, s, e) : give_answer(L, s, e);
}

/* }====== */

/* {====== Whole messages ====== */

/* The stream is alone on the stack. */
static void begin(lua_State *L, const pt_stream *s, pt_decoder *d,
                  const char *p, const char *end) {
  d->p = p;
  d->end = end;
  d->ordered = s->is_ordered;
  d->values = s->value_limit;
  d->big_integers = s->big_integers;
  d->words = pt_names_get(L, PT_KINDS + 1);
}

static int give_not_an_object(lua_State *L, pt_stream *s) {
  pt_envelope none = {0};
  lua_pushliteral(L, "not an object");
  return give_invalid(L, s, &none, PT_INVALID_REQUEST);
}

static int hand_over_object(lua_State *L, pt_stream *s, const char *p,
                            const char *end) {
  pt_envelope e = {0};
  pt_decoder d;
  begin(L, s, &d, p, end);
  if (pt_envelope_read(L, s, &d, &e)) {
    d.p = pt_json_space(d.p, end);
    if (d.p == end)
      return classify(L, s, &e);
    d.fault.what = "unexpected text behind the message";
    d.fault.where = d.p;
  }
  lua_settop(L, 1);
  return give_fault(L, s, &e, &d.fault);
}

/* The next member of the batch that is being handed out. Its text was checked
** when the batch began. */
static int hand_over_member(lua_State *L, pt_stream *s) {
  const char *p = pt_buf_front(&s->in) + s->batch;
  const char *end = pt_buf_front(&s->in) + s->batch_used, *next;
  pt_json_fault fault;
  int results;
  next = pt_json_value(p, end, s->style.depth, &fault);
  s->text = p;
  s->text_len = (size_t)(next - p);
  results =
      *p == '{' ? hand_over_object(L, s, p, next) : give_not_an_object(L, s);
  next = pt_json_space(next, end);
  s->text_used = *next == ']' ? s->batch_used : 0;
  s->batch = (size_t)(pt_json_space(next + 1, end) - pt_buf_front(&s->in));
  return results;
}

static int hand_over_batch(lua_State *L, pt_stream *s, const char *p,
                           const char *end) {
  pt_envelope none = {0};
  pt_json_fault fault;
  const char *first = pt_json_space(p + 1, end);
  const char *close = pt_json_value(p, end, s->style.depth, &fault);
  if (close != NULL && pt_json_space(close, end) < end) {
    fault.what = "unexpected text behind the batch";
    fault.where = close;
    close = NULL;
  }
  if (close == NULL)
    return give_fault(L, s, &none, &fault);
  if (*first == ']') {
    lua_pushliteral(L, "empty batch");
    return give_invalid(L, s, &none, PT_INVALID_REQUEST);
  }
  pt_batch_begin(L);
  s->batch = (size_t)(first - pt_buf_front(&s->in));
  s->batch_used = s->text_used;
  return hand_over_member(L, s);
}

/* Lines are often things that were printed by mistake: one that is not JSON and
** does not even begin like a message is noise. */
static int is_noise(const pt_stream *s, const char *p, const char *end,
                    pt_json_fault *fault) {
  const char *after;
  if (s->framing.mode != PT_FRAME_LINE || p == end || *p == '{')
    return 0;
  if (*p == '[') {
    after = pt_json_space(p + 1, end);
    if (after < end && *after == '{')
      return 0;
  }
  after = pt_json_value(p, end, s->style.depth, fault);
  return after == NULL || pt_json_space(after, end) < end;
}

static int hand_over_other(lua_State *L, pt_stream *s, const char *p,
                           const char *end) {
  pt_envelope none = {0};
  pt_json_fault fault;
  if (is_noise(s, p, end, &fault))
    return give_noise(L, s, "not JSON");
  if (p < end && *p == '[')
    return hand_over_batch(L, s, p, end);
  if (pt_json_value(p, end, s->style.depth, &fault) == NULL)
    return give_fault(L, s, &none, &fault);
  return give_not_an_object(L, s);
}

int pt_classify_message(lua_State *L, pt_stream *s) {
  const char *end = s->text + s->text_len;
  const char *p = pt_json_space(s->text, end);
  if (s->batch > 0)
    return hand_over_member(L, s);
  if (p < end && *p == '{')
    return hand_over_object(L, s, p, end);
  return hand_over_other(L, s, p, end);
}

int pt_classify_noise(lua_State *L, pt_stream *s) {
  return give_noise(L, s, "not part of a message");
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

int pt_classify_refused(lua_State *L, pt_stream *s,
                        const pt_frame_found *found) {
  pt_envelope e = {0};
  int results;
  push_refusal(L, found);
  if (found->skim == NULL)
    return give_invalid(L, s, &e, PT_INVALID_REQUEST);
  pt_envelope_skimmed(found->skim, &e);
  results = give_invalid(L, s, &e, PT_INVALID_REQUEST);
  lua_pushinteger(L,
                  (lua_Integer)(found->size > 0 ? found->size : found->number));
  lua_setfield(L, -2, "bytes");
  return results;
}

/* }====== */

void pt_classify_push_upvalues(lua_State *L) {
  int i;
  for (i = 0; i < PT_KINDS; i++)
    lua_pushstring(L, kind_names[i]);
  pt_names_push(L);
}
