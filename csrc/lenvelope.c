#include "lenvelope.h"

#include <math.h>
#include <string.h>

#include "lbatch.h"

#define SHOWN 40 /* bytes of a string in a complaint */

/* {====== The members of a message ====== */

/* Another codec gets the text of the payload; 0 if it refuses. */
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

/* Pushes the value at d->p as the peer wants it. */
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

/* The value on top becomes the one at *at, its place on the stack; each name
** has but one, however often it comes. */
static void put(lua_State *L, int *at) {
  if (*at == 0)
    *at = lua_gettop(L);
  else
    lua_replace(L, *at);
}

static int read_into(lua_State *L, pt_peer *p, pt_decoder *d, int *at,
                     pt_presence *seen) {
  *seen = *d->p == 'n' ? PT_NULL : PT_PRESENT;
  if (!read_payload(L, p, d))
    return 0;
  put(L, at);
  return 1;
}

static int read_params(lua_State *L, pt_peer *p, pt_decoder *d,
                       pt_envelope *e) {
  char first = *d->p;
  if (!read_into(L, p, d, &e->params_at, &e->params))
    return 0;
  if (e->params == PT_NULL) {
    lua_pushnil(L);
    put(L, &e->params_at);
  } else if (first != '{' && first != '[') {
    e->params = PT_WRONG;
  }
  return 1;
}

static int read_method(lua_State *L, pt_decoder *d, pt_envelope *e) {
  const char *text = d->p + 1, *close = pt_plain_end(text, d->end);
  e->method = *d->p == '"' ? PT_PRESENT : PT_WRONG;
  if (e->method == PT_PRESENT && close < d->end && *close == '"') {
    pt_names_push_name(L, &d->words, text, (size_t)(close - text), d->end);
    d->p = close + 1;
  } else if (!pt_decode_value(L, d)) {
    return 0;
  }
  put(L, &e->method_at);
  return 1;
}

static pt_presence kind_of_id(char first) {
  if (first == '"' || first == '-' || (first >= '0' && first <= '9'))
    return PT_PRESENT;
  return first == 'n' ? PT_NULL : PT_WRONG;
}

static int read_id(pt_decoder *d, pt_envelope *e) {
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
  if (e->id == PT_PRESENT && *text != '"' && !e->id_number.is_integer)
    pt_number_read(text, next, &e->id_number);
  d->p = next;
  return 1;
}

void pt_envelope_skimmed(const pt_skim *k, pt_envelope *e) {
  e->method = k->has_method ? PT_PRESENT : PT_ABSENT;
  e->result = k->has_outcome ? PT_PRESENT : PT_ABSENT;
  if (k->id_len > 0) {
    pt_decoder d = {
        .p = k->id, .end = k->id + k->id_len, .depth = 1, .values = 1};
    read_id(&d, e);
  }
}

static int read_version(lua_State *L, pt_decoder *d, pt_envelope *e) {
  if (d->end - d->p > 5 && memcmp(d->p, "\"2.0\"", 5) == 0) {
    e->jsonrpc = PT_PRESENT;
    d->p += 5;
    return 1;
  }
  if (!pt_decode_value(L, d))
    return 0;
  lua_pushliteral(L, "2.0");
  e->jsonrpc = lua_rawequal(L, -1, -2) ? PT_PRESENT : PT_WRONG;
  lua_pop(L, 2);
  return 1;
}

/* The bit of a member that every message must have, with the value that it must
** have pushed; 0 if it is any other. */
static unsigned push_required(lua_State *L, const char *name, size_t len) {
  unsigned bit;
  lua_getiuservalue(L, 1, PT_PEER_KEPT);
  lua_pushlstring(L, name, len);
  lua_rawgeti(L, -2, PT_KEPT_EXTRA_BIT);
  lua_pushvalue(L, -2);
  lua_rawget(L, -2);
  bit = (unsigned)lua_tointeger(L, -1);
  lua_rawgeti(L, -4, PT_KEPT_EXTRA);
  lua_pushvalue(L, -4);
  lua_rawget(L, -2);
  return bit;
}

/* The value on top is not the one that the extra member must have: it is kept
** above `top`, to be told of. */
static void keep_odd(lua_State *L, pt_envelope *e, unsigned bit, int top) {
  e->odd_extra = bit;
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  put(L, &e->odd_extra_at);
}

/* A member that every message must have, with the value it must have on top. */
static int read_extra(lua_State *L, pt_decoder *d, pt_envelope *e, unsigned bit,
                      int top) {
  if (!pt_decode_value(L, d))
    return 0;
  e->extras &= ~bit;
  if (lua_rawequal(L, -1, -2)) {
    e->extras |= bit;
    lua_settop(L, top);
  } else {
    keep_odd(L, e, bit, top);
  }
  return 1;
}

/* Any other member, kept for stream:others. */
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

/* Any other member: dropped, unless it is one that must be there. */
static int read_other(lua_State *L, pt_peer *p, pt_decoder *d, pt_envelope *e,
                      const char *name, size_t len) {
  int top = lua_gettop(L);
  unsigned bit = p->form.extras != 0 ? push_required(L, name, len) : 0;
  if (bit != 0)
    return read_extra(L, d, e, bit, top);
  lua_settop(L, top);
  if (p->form.keeps_others)
    return keep_other(L, d, name, len);
  d->p = pt_json_value(d->p, d->end, d->depth, &d->fault);
  return d->p != NULL;
}

#define IS(word) (memcmp(name, word, sizeof(word) - 1) == 0)

static int read_member(lua_State *L, pt_peer *p, pt_decoder *d, pt_envelope *e,
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
  return read_other(L, p, d, e, name, len);
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

#define NAME_MAX_LEN 64 /* no name that matters is longer */

/* A name with escapes may still be one that matters. */
static int read_odd_pair(lua_State *L, pt_peer *p, pt_decoder *d,
                         pt_envelope *e) {
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
  return expect(d, ':', "expected ':'") && read_member(L, p, d, e, name, len);
}

/* One name, colon and value. */
static int read_pair(lua_State *L, pt_peer *p, pt_decoder *d, pt_envelope *e) {
  const char *name = d->p + 1, *close;
  if (*d->p != '"') {
    d->fault.what = "expected a member name";
    d->fault.where = d->p;
    return 0;
  }
  close = pt_plain_end(name, d->end);
  if (close == d->end || *close != '"')
    return read_odd_pair(L, p, d, e);
  d->p = close + 1;
  return expect(d, ':', "expected ':'") &&
         read_member(L, p, d, e, name, (size_t)(close - name));
}

/* {====== The usual message: no white space, no escapes ====== */

/* Whether the text goes on with `word` and no space behind it. Of so few bytes
** the compiler makes one or two comparisons. */
#define GOES_ON(d, word)                                                       \
  ((size_t)((d)->end - (d)->p) > sizeof(word) - 1 &&                           \
   memcmp((d)->p, word, sizeof(word) - 1) == 0 &&                              \
   (unsigned char)(d)->p[sizeof(word) - 1] > ' ')

/* Nearly every message begins like this. */
static inline void skip_usual(pt_decoder *d, pt_envelope *e) {
  if (!GOES_ON(d, "{\"jsonrpc\":\"2.0") || d->end - d->p < 18 ||
      memcmp(d->p + 15, "\",\"", 3) != 0)
    return;
  e->jsonrpc = PT_PRESENT;
  d->p += 16; /* so that a comma stands where the brace stood */
}

/* A member whose name and colon stand as they usually do: -1 if it is none, and
** then nothing has changed. */
static inline int read_usual_pair(lua_State *L, pt_peer *p, pt_decoder *d,
                                  pt_envelope *e) {
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

static void forget_others(lua_State *L) {
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PT_PEER_OTHERS);
}

int pt_envelope_read(lua_State *L, pt_peer *p, pt_decoder *d, pt_envelope *e) {
  d->depth = p->codec.style.depth - 1;
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

/* An id that was sent as a number comes back as one from all but a few, who
** make a float of it. */
static int64_t to_integer(const pt_number *number) {
  if (number->is_integer)
    return number->integer;
  return number->real >= 1 && number->real < 9e15 &&
                 floor(number->real) == number->real
             ? (int64_t)number->real
             : 0;
}

/* The number of an own id that came back; 0 if it is none. */
static int64_t own_id(const pt_peer *p, const pt_envelope *e) {
  const char *last;
  pt_number number;
  unsigned form;
  if (e->id != PT_PRESENT)
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

size_t pt_envelope_slot(const pt_peer *p, const pt_envelope *e) {
  return pt_pending_find(&p->pending, own_id(p, e));
}

/* What the encoder would not write as it stands becomes a ticket: floats and
** integers beyond 64 bits, strings with escapes. */
void pt_envelope_push_id(lua_State *L, const pt_envelope *e, int in_batch) {
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

/* {====== Members that every message has beside jsonrpc ====== */

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

/* The name is at `name` and the value it should have at name + 1; the value
** that it has is at `got`, if it is there. */
static const char *push_complaint(lua_State *L, int name, int got) {
  push_shown(L, name + 1);
  if (got == 0)
    return lua_pushfstring(L, "%s is missing: %s expected",
                           lua_tostring(L, name), lua_tostring(L, -1));
  push_shown(L, got);
  return lua_pushfstring(L, "%s: %s expected, got %s", lua_tostring(L, name),
                         lua_tostring(L, -2), lua_tostring(L, -1));
}

/* Pushes the name of one of the extra members in `wrong`, and its value. */
static void push_member(lua_State *L, unsigned wrong) {
  int bits = lua_gettop(L) + 1;
  pt_peer_push_kept(L, 1, PT_KEPT_EXTRA_BIT);
  lua_pushnil(L);
  while (lua_next(L, bits) && ((unsigned)lua_tointeger(L, -1) & wrong) == 0)
    lua_pop(L, 1);
  lua_settop(L, bits + 1);
  pt_peer_push_kept(L, 1, PT_KEPT_EXTRA);
  lua_pushvalue(L, bits + 1);
  lua_rawget(L, -2);
  lua_remove(L, -2);
  lua_remove(L, bits);
}

const char *pt_envelope_wrong_extra(lua_State *L, const pt_peer *p,
                                    const pt_envelope *e) {
  unsigned wrong = p->form.extras & ~e->extras;
  int is_odd = e->odd_extra_at != 0 && (wrong & e->odd_extra) != 0;
  int name = lua_gettop(L) + 1;
  push_member(L, is_odd ? e->odd_extra : wrong);
  return push_complaint(L, name, is_odd ? e->odd_extra_at : 0);
}

int pt_envelope_check_others(lua_State *L) {
  int others = lua_gettop(L) + 1, name = others + 2;
  if (lua_getiuservalue(L, 1, PT_PEER_OTHERS) != LUA_TTABLE) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  pt_peer_push_kept(L, 1, PT_KEPT_EXTRA);
  lua_pushnil(L);
  while (lua_next(L, others + 1)) {
    lua_pushvalue(L, name);
    if (lua_rawget(L, others) == LUA_TNIL) {
      push_complaint(L, name, 0);
      return 0;
    }
    if (!lua_rawequal(L, name + 1, name + 2)) {
      push_complaint(L, name, name + 2);
      return 0;
    }
    lua_settop(L, name);
  }
  return 1;
}

/* }====== */
