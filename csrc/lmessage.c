#include "lmessage.h"

#include <math.h>
#include <string.h>

#include "lsend.h"
#include "number.h"

#define PARSE_ERROR (-32700)
#define INVALID_REQUEST (-32600)

#define SHOWN 40      /* bytes of a string that an error message shows */
#define FIRST_EXTRA 2 /* stack index of the first extra member */

typedef enum presence { IS_ABSENT, IS_NULL, IS_PRESENT, IS_WRONG } presence;

typedef struct envelope {
  presence id, jsonrpc, method, params, result, error;
  /* stack indexes, 0 if missing */
  int method_at, params_at, result_at, error_at;
  const char *id_text; /* as in the message, with quotes */
  size_t id_len;
  pt_number id_number; /* if the id is a number */
} envelope;

/* {====== The envelope ====== */

/* Decodes the payload with another codec. Returns 0 if the codec fails. */
static int decode_with_codec(lua_State *L, pt_decoder *d, const char *text) {
  int status;
  pt_peer_push_kept(L, 1, PT_KEPT_DECODE);
  lua_pushlstring(L, text, (size_t)(d->p - text));
  status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_ERRMEM)
    lua_error(L);
  if (status == LUA_OK && !lua_isnil(L, -1))
    return 1;
  d->fault.what = "the codec cannot read the payload";
  d->fault.where = text;
  return 0;
}

/* Pushes the value at d->p in the form that the peer is set to. */
static int read_payload(lua_State *L, pt_peer *p, pt_decoder *d) {
  const char *text = d->p;
  if (!p->codec.is_raw && !p->codec.is_foreign)
    return pt_decode_value(L, d);
  d->p = pt_json_value(text, d->end, d->depth, &d->fault);
  if (d->p == NULL)
    return 0;
  if (p->codec.is_foreign)
    return decode_with_codec(L, d, text);
  pt_raw_push(L, text, (size_t)(d->p - text));
  return 1;
}

/* Stores the value on top at the stack index *at, which is set on the first
** call. So a member that occurs several times takes only one slot. */
static void store(lua_State *L, int *at) {
  if (*at == 0)
    *at = lua_gettop(L);
  else
    lua_replace(L, *at);
}

static int read_into(lua_State *L, pt_peer *p, pt_decoder *d, int *at,
                     presence *seen) {
  *seen = *d->p == 'n' ? IS_NULL : IS_PRESENT;
  if (!read_payload(L, p, d))
    return 0;
  store(L, at);
  return 1;
}

static int read_params(lua_State *L, pt_peer *p, pt_decoder *d, envelope *e) {
  char first = *d->p;
  if (!read_into(L, p, d, &e->params_at, &e->params))
    return 0;
  if (e->params == IS_NULL) {
    lua_pushnil(L);
    store(L, &e->params_at);
  } else if (first != '{' && first != '[') {
    e->params = IS_WRONG;
  }
  return 1;
}

static int read_method(lua_State *L, pt_decoder *d, envelope *e) {
  const char *text = d->p + 1, *close = pt_plain_end(text, d->end);
  e->method = *d->p == '"' ? IS_PRESENT : IS_WRONG;
  if (e->method == IS_PRESENT && close < d->end && *close == '"') {
    pt_names_push_name(L, &d->env, text, (size_t)(close - text), d->end);
    d->p = close + 1;
  } else if (!pt_decode_value(L, d)) {
    return 0;
  }
  store(L, &e->method_at);
  return 1;
}

/* Classifies an id by its first byte: JSON-RPC allows strings, numbers and
** null. */
static presence kind_of_id(char first) {
  if (first == '"' || first == '-' || (first >= '0' && first <= '9'))
    return IS_PRESENT;
  return first == 'n' ? IS_NULL : IS_WRONG;
}

static int read_id(pt_decoder *d, envelope *e) {
  const char *text = d->p;
  const char *next = pt_number_short(text, d->end, &e->id_number.integer);
  e->id_number.is_integer = next != NULL;
  if (next == NULL)
    next = pt_json_value(text, d->end, d->depth, &d->fault);
  if (next == NULL)
    return 0;
  e->id = kind_of_id(*text);
  e->id_text = text;
  e->id_len = (size_t)(next - text);
  if (e->id == IS_PRESENT && *text != '"' && !e->id_number.is_integer)
    pt_number_read(text, next, &e->id_number);
  d->p = next;
  return 1;
}

/* Fills in what is known about a skipped message. The id points into `k`. */
static void read_skimmed(const pt_skim *k, envelope *e) {
  e->method = k->has_method ? IS_PRESENT : IS_ABSENT;
  e->result = k->has_outcome ? IS_PRESENT : IS_ABSENT;
  if (k->id_len > 0) {
    pt_decoder d = {
        .p = k->id, .end = k->id + k->id_len, .depth = 1, .values = 1};
    read_id(&d, e);
  }
}

static int read_version(lua_State *L, pt_decoder *d, envelope *e) {
  if (d->end - d->p > 5 && memcmp(d->p, "\"2.0\"", 5) == 0) {
    e->jsonrpc = IS_PRESENT;
    d->p += 5;
    return 1;
  }
  if (!pt_decode_value(L, d))
    return 0;
  lua_pushliteral(L, "2.0");
  e->jsonrpc = lua_rawequal(L, -1, -2) ? IS_PRESENT : IS_WRONG;
  lua_pop(L, 2);
  return 1;
}

/* Returns the stack index for the value of an extra member; 0 if the name is
** not one of them. */
static int find_extra(lua_State *L, const pt_peer *p, const char *name,
                      size_t len) {
  int i, found = 0;
  if (p->form.extras == 0)
    return 0;
  lua_pushlstring(L, name, len);
  pt_peer_push_kept(L, 1, PT_KEPT_EXTRA);
  for (i = 0; i < p->form.extras && found == 0; i++) {
    lua_rawgeti(L, -1, 2 * i + 1);
    if (lua_rawequal(L, -1, -3))
      found = FIRST_EXTRA + i;
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
  return found;
}

/* Stores a member for stream:others. */
static int keep_other(lua_State *L, pt_decoder *d, const char *name,
                      size_t len) {
  if (lua_getiuservalue(L, 1, PT_PEER_OTHERS) == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, 1, PT_PEER_OTHERS);
  }
  lua_pushlstring(L, name, len);
  if (!pt_decode_value(L, d))
    return 0;
  lua_rawset(L, -3);
  lua_pop(L, 1);
  return 1;
}

/* Reads a member that is not JSON-RPC's: an extra member is stored, any other
** is dropped unless keeps_others is set. */
static int read_other(lua_State *L, pt_peer *p, pt_decoder *d, const char *name,
                      size_t len) {
  int extra = find_extra(L, p, name, len);
  if (extra > 0) {
    if (!pt_decode_value(L, d))
      return 0;
    lua_replace(L, extra);
    return 1;
  }
  if (p->form.keeps_others)
    return keep_other(L, d, name, len);
  d->p = pt_json_value(d->p, d->end, d->depth, &d->fault);
  return d->p != NULL;
}

#define IS(word) (memcmp(name, word, sizeof(word) - 1) == 0)

static int read_named(lua_State *L, pt_peer *p, pt_decoder *d, envelope *e,
                      const char *name, size_t len) {
  if (len == 2 && IS("id"))
    return read_id(d, e);
  if (len == 7 && IS("jsonrpc"))
    return read_version(L, d, e);
  if (len == 6 && IS("method"))
    return read_method(L, d, e);
  if (len == 6 && IS("params"))
    return read_params(L, p, d, e);
  if (len == 6 && IS("result"))
    return read_into(L, p, d, &e->result_at, &e->result);
  if (len == 5 && IS("error"))
    return read_into(L, p, d, &e->error_at, &e->error);
  return read_other(L, p, d, name, len);
}

static inline int expect(pt_decoder *d, char c, const char *what) {
  d->p = pt_json_space(d->p, d->end);
  if (d->p < d->end && *d->p == c) {
    d->p = pt_json_space(d->p + 1, d->end);
    if (d->p < d->end)
      return 1;
    what = "unfinished value";
  }
  d->fault.what = what;
  d->fault.where = d->p;
  return 0;
}

#define NAME_MAX_LEN 64 /* no name of interest is longer */

/* Reads a pair whose name has escapes; it may still be a name of the envelope.
*/
static int read_escaped_pair(lua_State *L, pt_peer *p, pt_decoder *d,
                             envelope *e) {
  char plain[NAME_MAX_LEN];
  const char *name = d->p + 1, *close;
  size_t len;
  int escaped;
  close = pt_json_string(name, d->end, &escaped, &d->fault);
  if (close == NULL)
    return 0;
  len = (size_t)(close - name);
  if (escaped && len <= sizeof plain) {
    len = pt_json_unescape(name, close, plain);
    name = plain;
  }
  d->p = close + 1;
  return expect(d, ':', "expected ':'") && read_named(L, p, d, e, name, len);
}

/* Reads one name, colon and value. */
static int read_pair(lua_State *L, pt_peer *p, pt_decoder *d, envelope *e) {
  const char *name = d->p + 1, *close;
  if (*d->p != '"') {
    d->fault.what = "expected a member name";
    d->fault.where = d->p;
    return 0;
  }
  close = pt_plain_end(name, d->end);
  if (close == d->end || *close != '"')
    return read_escaped_pair(L, p, d, e);
  d->p = close + 1;
  return expect(d, ':', "expected ':'") &&
         read_named(L, p, d, e, name, (size_t)(close - name));
}

/* {====== The usual message: no white space, no escapes ====== */

/* Whether the text continues with `word` and a byte that is not white space.
** For so few bytes the compiler emits one or two comparisons. */
#define GOES_ON(d, word)                                                       \
  ((size_t)((d)->end - (d)->p) > sizeof(word) - 1 &&                           \
   memcmp((d)->p, word, sizeof(word) - 1) == 0 &&                              \
   (unsigned char)(d)->p[sizeof(word) - 1] > ' ')

/* Skips the beginning that nearly every message has. */
static inline void skip_usual(pt_decoder *d, envelope *e) {
  if (!GOES_ON(d, "{\"jsonrpc\":\"2.0") || d->end - d->p < 18 ||
      memcmp(d->p + 15, "\",\"", 3) != 0)
    return;
  e->jsonrpc = IS_PRESENT;
  d->p += 16; /* the caller now sees a comma in place of the brace */
}

/* Reads a member whose name and colon are written in the usual way. Returns -1
** if it is not, and then nothing has changed. */
static inline int read_usual_pair(lua_State *L, pt_peer *p, pt_decoder *d,
                                  envelope *e) {
  if (GOES_ON(d, "\"id\":")) {
    d->p += 5;
    return read_id(d, e);
  }
  if (GOES_ON(d, "\"result\":")) {
    d->p += 9;
    return read_into(L, p, d, &e->result_at, &e->result);
  }
  if (GOES_ON(d, "\"method\":")) {
    d->p += 9;
    return read_method(L, d, e);
  }
  if (GOES_ON(d, "\"params\":")) {
    d->p += 9;
    return read_params(L, p, d, e);
  }
  return -1;
}

/* }====== */

/* Clears the members that were stored of the last message. */
static void forget_others(lua_State *L) {
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PT_PEER_OTHERS);
}

/* Reads the object at d->p. Afterwards d->p is the byte after it. The stack
** holds the peer at index 1, then the extra members, then what was decoded.
** Returns 0 with the fault set if the text is not JSON; the members before the
** fault are known nevertheless. */
static int read_envelope(lua_State *L, pt_peer *p, pt_decoder *d, envelope *e) {
  d->depth = p->codec.style.depth - 1;
  lua_settop(L, 1 + p->form.extras);
  if (p->form.keeps_others)
    forget_others(L);
  skip_usual(d, e);
  d->p = pt_json_space(d->p + 1, d->end);
  if (d->p < d->end && *d->p == '}') {
    d->p++;
    return 1;
  }
  do {
    int ok;
    if (d->p >= d->end) {
      d->fault.what = "unfinished value";
      d->fault.where = d->p;
      return 0;
    }
    ok = read_usual_pair(L, p, d, e);
    if (ok < 0)
      ok = read_pair(L, p, d, e);
    if (!ok)
      return 0;
    d->p = pt_json_space(d->p, d->end);
    if (d->p < d->end && *d->p == '}') {
      d->p++;
      return 1;
    }
  } while (expect(d, ',', "expected ',' or '}'"));
  return 0;
}

/* }====== */

/* {====== Ids ====== */

/* Returns the id as an integer; 0 if it is not one. A few peers return an
** integer id as a float. */
static int64_t to_integer(const pt_number *number) {
  if (number->is_integer)
    return number->integer;
  return number->real >= 1 && number->real < 9e15 &&
                 floor(number->real) == number->real
             ? (int64_t)number->real
             : 0;
}

/* Returns our own id that came back; 0 if it is not one of ours. */
static int64_t own_id(const pt_peer *p, const envelope *e) {
  const char *last;
  pt_number number;
  unsigned form;
  if (e->id != IS_PRESENT)
    return 0;
  form = *e->id_text == '"' ? PT_ID_STRING : PT_ID_INTEGER;
  if ((form & p->form.id_forms) == 0)
    return 0;
  if (form == PT_ID_INTEGER)
    return to_integer(&e->id_number);
  last = e->id_text + e->id_len - 1;
  return pt_number_read(e->id_text + 1, last, &number) == last
             ? to_integer(&number)
             : 0;
}

/* Returns the slot of the call that this answers, or PT_PENDING_NONE. */
static size_t find_slot(const pt_peer *p, const envelope *e) {
  return pt_pending_find(&p->pending, own_id(p, e));
}

/* Pushes the id as a value whose encoding is exactly the text of the id. An id
** that the encoder would write differently becomes a ticket: floats, integers
** of more than 64 bits, strings with escapes. */
static void push_id(lua_State *L, const envelope *e, int in_batch) {
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

/* }====== */

/* {====== Extra members ====== */

static void push_quoted(lua_State *L, int at) {
  size_t len, shown;
  const char *text = lua_tolstring(L, at, &len);
  shown = len;
  if (len > SHOWN)
    for (shown = SHOWN; ((unsigned char)text[shown] & 0xC0) == 0x80;)
      shown--;
  lua_pushliteral(L, "\"");
  lua_pushlstring(L, text, shown);
  lua_pushstring(L, shown < len ? "…\"" : "\"");
  lua_concat(L, 3);
}

static void push_shown(lua_State *L, int at) {
  switch (lua_type(L, at)) {
  case LUA_TSTRING:
    push_quoted(L, at);
    break;
  case LUA_TNUMBER:
    lua_pushvalue(L, at);
    lua_tostring(L, -1);
    break;
  case LUA_TBOOLEAN:
    lua_pushstring(L, lua_toboolean(L, at) ? "true" : "false");
    break;
  case LUA_TTABLE:
    lua_pushliteral(L, "an array or object");
    break;
  default:
    lua_pushliteral(L, "null");
  }
}

/* Pushes the error message for an extra member. Its name is at `name`, the
** expected value at name + 1, the actual value at `got` (nil if it is missing).
*/
static const char *push_complaint(lua_State *L, int name, int got) {
  push_shown(L, name + 1);
  if (lua_isnil(L, got))
    return lua_pushfstring(L, "%s is missing: %s expected",
                           lua_tostring(L, name), lua_tostring(L, -1));
  push_shown(L, got);
  return lua_pushfstring(L, "%s: %s expected, got %s", lua_tostring(L, name),
                         lua_tostring(L, -2), lua_tostring(L, -1));
}

const char *pt_message_check_extra(lua_State *L, const pt_peer *p, int first) {
  int i, list = lua_gettop(L) + 1, name = list + 1;
  pt_peer_push_kept(L, 1, PT_KEPT_EXTRA);
  for (i = 0; i < p->form.extras; i++) {
    lua_rawgeti(L, list, 2 * i + 1);
    lua_rawgeti(L, list, 2 * i + 2);
    if (!lua_rawequal(L, -1, first + i))
      return push_complaint(L, name, first + i);
    lua_settop(L, list);
  }
  lua_pop(L, 1);
  return NULL;
}

/* }====== */

/* {====== Telling messages apart ====== */

static void set_text(lua_State *L, const pt_peer *p) {
  size_t len =
      p->input.text_len < p->limits.text ? p->input.text_len : p->limits.text;
  lua_pushlstring(L, p->input.text, len);
  lua_setfield(L, -2, "text");
  lua_pushinteger(L, (lua_Integer)p->input.text_len);
  lua_setfield(L, -2, "bytes");
}

/* Pushes the report { code, message, text, bytes }. Before the call, the
** message is on top. */
static void push_report(lua_State *L, const pt_peer *p, int code) {
  lua_createtable(L, 0, 4);
  lua_insert(L, -2);
  lua_setfield(L, -2, "message");
  lua_pushinteger(L, code);
  lua_setfield(L, -2, "code");
  set_text(L, p);
}

/* Pushes the id if it is known, and returns its stack index. */
static int push_known_id(lua_State *L, const envelope *e, int in_batch) {
  if (e->id == IS_PRESENT || e->id == IS_NULL)
    push_id(L, e, in_batch);
  else if (in_batch)
    pt_ticket_push(L, "null", 4, 1);
  else
    return 0;
  return lua_gettop(L);
}

/* Whether the message was meant as an answer. If the text is truncated, a
** method might have followed, unless there was a result or error already. */
static int is_answer(const envelope *e, int code) {
  return e->method == IS_ABSENT &&
         (code != PARSE_ERROR || e->result != IS_ABSENT ||
          e->error != IS_ABSENT);
}

/* Whether the message cannot have been meant as a request. */
static int is_surely_answer(const envelope *e) {
  return e->method == IS_ABSENT &&
         (e->result != IS_ABSENT || e->error != IS_ABSENT);
}

/* In the next functions everything that can fail for lack of memory comes
** first. A waiter or a place in the batch is removed after that. */

/* Sets an invalid message. If it answers a call, it carries the id of that
** call, and the call stays pending: it may still fail for a better reason. An
** invalid answer must not be answered itself: its id is not one of the other
** side's, and the two sides might answer each other forever. The reason is on
** top. */
static void set_invalid(lua_State *L, pt_peer *p, const envelope *e, int code,
                        pt_message *m) {
  size_t slot = PT_PENDING_NONE;
  m->kind = PT_INVALID;
  push_report(L, p, code);
  m->payload = lua_gettop(L);
  if (is_surely_answer(e)) {
    lua_pushboolean(L, 1);
    lua_setfield(L, -2, "is_answer");
  }
  if (is_answer(e, code))
    slot = find_slot(p, e);
  if (slot != PT_PENDING_NONE)
    m->call = p->pending.calls[slot].id;
  m->id = push_known_id(
      L, e, p->input.batch > 0 && m->call == 0 && !is_surely_answer(e));
  p->counts.invalid++;
}

static void set_fault(lua_State *L, pt_peer *p, const envelope *e,
                      const pt_json_fault *fault, pt_message *m) {
  size_t line, column;
  pt_json_place(p->input.text, fault->where, &line, &column);
  lua_pushfstring(L, "%s at line %I, column %I", fault->what, (LUAI_UACINT)line,
                  (LUAI_UACINT)column);
  set_invalid(L, p, e, PARSE_ERROR, m);
}

static void set_noise(lua_State *L, pt_peer *p, const char *why,
                      pt_message *m) {
  m->kind = PT_NOISE;
  p->counts.noise++;
  p->counts.noise_bytes += (lua_Integer)p->input.text_len;
  lua_pushstring(L, why);
  push_report(L, p, PARSE_ERROR);
  m->payload = lua_gettop(L);
}

static void set_call(lua_State *L, pt_peer *p, const envelope *e,
                     pt_message *m) {
  p->counts.received++;
  m->kind = PT_NOTIFICATION;
  m->method = e->method_at;
  m->payload = e->params_at;
  if (e->id != IS_ABSENT) {
    m->kind = PT_REQUEST;
    push_id(L, e, p->input.batch > 0);
    m->id = lua_gettop(L);
  }
}

/* Finalizers may have withdrawn the call while the message was decoded. So the
** call is looked up here, and nothing after that can fail. */
static void set_answer(pt_peer *p, const envelope *e, pt_message *m) {
  size_t slot = find_slot(p, e);
  p->counts.received++;
  m->kind = e->error == IS_PRESENT ? PT_ERROR : PT_RESULT;
  m->payload = m->kind == PT_ERROR ? e->error_at : e->result_at;
  if (slot == PT_PENDING_NONE) {
    m->kind = PT_STRAY;
    p->counts.stray++;
  } else {
    m->waiter = p->pending.calls[slot].waiter;
    pt_pending_remove(&p->pending, slot);
  }
}

static const char *find_call_fault(const envelope *e) {
  if (e->method == IS_WRONG)
    return "method is not a string";
  if (e->params == IS_WRONG)
    return "params is neither an array nor an object";
  if (e->result == IS_PRESENT || e->error == IS_PRESENT)
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
                                     const envelope *e) {
  if (e->error == IS_PRESENT && e->result == IS_PRESENT)
    return "both a result and an error";
  if (e->error != IS_PRESENT && e->result == IS_ABSENT)
    return "neither a method, nor a result, nor an error";
  if (e->id == IS_ABSENT)
    return "an answer without an id";
  if (e->error == IS_PRESENT && !p->codec.is_raw &&
      !is_error_object(L, e->error_at))
    return "error is not an object with a number as code and a message";
  return NULL;
}

/* Returns why the envelope is not a valid message, or NULL. */
static const char *find_fault(lua_State *L, const pt_peer *p,
                              const envelope *e) {
  if (e->jsonrpc != IS_PRESENT)
    return e->jsonrpc == IS_ABSENT ? "jsonrpc is missing"
                                   : "jsonrpc is not \"2.0\"";
  if (p->form.extras > 0) {
    const char *wrong = pt_message_check_extra(L, p, FIRST_EXTRA);
    if (wrong != NULL)
      return wrong;
  }
  if (e->id == IS_WRONG)
    return "id is neither a string, nor a number, nor null";
  return e->method != IS_ABSENT ? find_call_fault(e)
                                : find_answer_fault(L, p, e);
}

/* Decides which kind of message the envelope is. */
static void classify(lua_State *L, pt_peer *p, const envelope *e,
                     pt_message *m) {
  const char *wrong = find_fault(L, p, e);
  if (wrong != NULL) {
    lua_pushstring(L, wrong);
    set_invalid(L, p, e, INVALID_REQUEST, m);
  } else if (e->method != IS_ABSENT) {
    set_call(L, p, e, m);
  } else {
    set_answer(p, e, m);
  }
}

/* }====== */

/* {====== Whole messages ====== */

static void set_plain_invalid(lua_State *L, pt_peer *p, const char *why,
                              pt_message *m) {
  envelope none = {0};
  lua_pushstring(L, why);
  set_invalid(L, p, &none, INVALID_REQUEST, m);
}

static void read_object(lua_State *L, pt_peer *p, const pt_decode_env *env,
                        const char *text, const char *end, pt_message *m) {
  envelope e = {0};
  pt_decoder d;
  d.p = text;
  d.end = end;
  d.ordered = p->codec.is_ordered;
  d.values = p->limits.values;
  d.big_integers = p->codec.big_integers;
  d.repeat = p->codec.repeat.name != NULL ? &p->codec.repeat : NULL;
  p->codec.repeat.from = NULL;
  d.env = *env;
  if (read_envelope(L, p, &d, &e)) {
    d.p = pt_json_space(d.p, end);
    if (d.p == end) {
      classify(L, p, &e, m);
      return;
    }
    d.fault.what = "unexpected text after the message";
    d.fault.where = d.p;
  }
  lua_settop(L, 1);
  set_fault(L, p, &e, &d.fault, m);
}

/* Reads the next member of the batch. Its text was checked when the batch
** began. */
static void read_member(lua_State *L, pt_peer *p, const pt_decode_env *env,
                        pt_message *m) {
  pt_input *in = &p->input;
  const char *text = pt_buf_front(&in->buf) + in->batch;
  const char *end = pt_buf_front(&in->buf) + in->batch_used, *next;
  pt_json_fault fault;
  next = pt_json_value(text, end, p->codec.style.depth, &fault);
  in->text = text;
  in->text_len = (size_t)(next - text);
  if (*text == '{')
    read_object(L, p, env, text, next, m);
  else
    set_plain_invalid(L, p, "not an object", m);
  next = pt_json_space(next, end);
  in->text_used = *next == ']' ? in->batch_used : 0;
  in->batch = (size_t)(pt_json_space(next + 1, end) - pt_buf_front(&in->buf));
}

static void read_batch(lua_State *L, pt_peer *p, const pt_decode_env *env,
                       const char *text, const char *end, pt_message *m) {
  envelope none = {0};
  pt_json_fault fault;
  const char *first = pt_json_space(text + 1, end);
  const char *close = pt_json_value(text, end, p->codec.style.depth, &fault);
  if (close != NULL && pt_json_space(close, end) < end) {
    fault.what = "unexpected text after the batch";
    fault.where = close;
    close = NULL;
  }
  if (close == NULL) {
    set_fault(L, p, &none, &fault, m);
  } else if (*first == ']') {
    set_plain_invalid(L, p, "empty batch", m);
  } else {
    pt_batch_begin(L);
    p->input.batch = (size_t)(first - pt_buf_front(&p->input.buf));
    p->input.batch_used = p->input.text_used;
    read_member(L, p, env, m);
  }
}

/* Whether a line is noise. Lines are often output that was printed by mistake:
** a line that is not JSON and does not even begin like a message is noise. */
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

/* Reads a text that does not begin with '{': a batch, noise, or an error. */
static void read_unusual(lua_State *L, pt_peer *p, const pt_decode_env *env,
                         const char *text, const char *end, pt_message *m) {
  envelope none = {0};
  pt_json_fault fault;
  if (is_noise(p, text, end, &fault))
    set_noise(L, p, "not JSON", m);
  else if (text < end && *text == '[')
    read_batch(L, p, env, text, end, m);
  else if (pt_json_value(text, end, p->codec.style.depth, &fault) == NULL)
    set_fault(L, p, &none, &fault, m);
  else
    set_plain_invalid(L, p, "not an object", m);
}

void pt_message_read(lua_State *L, pt_peer *p, const pt_decode_env *env,
                     pt_message *m) {
  const char *end = p->input.text + p->input.text_len;
  const char *text = pt_json_space(p->input.text, end);
  if (p->input.batch > 0)
    read_member(L, p, env, m);
  else if (text < end && *text == '{')
    read_object(L, p, env, text, end, m);
  else
    read_unusual(L, p, env, text, end, m);
}

void pt_message_noise(lua_State *L, pt_peer *p, pt_message *m) {
  set_noise(L, p, "not part of a message", m);
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
  envelope e = {0};
  push_refusal(L, found);
  if (found->skim != NULL)
    read_skimmed(found->skim, &e);
  set_invalid(L, p, &e, INVALID_REQUEST, m);
  if (found->skim != NULL) {
    lua_pushinteger(
        L, (lua_Integer)(found->size > 0 ? found->size : found->number));
    lua_setfield(L, m->payload, "bytes");
  }
}

/* }====== */
