#include "lenvelope.h"

#include <string.h>

#define SHOWN 40 /* bytes of a string that an error message shows */

/* ====== The envelope ====== */

static int fail_reading_envelope(pt_decoder *d, const char *what,
                                 const char *where) {
  pt_json_fail(&d->fault, what, where);
  return 0;
}

/* Decodes the payload with another codec. Returns 0 if the codec fails. */
static int decode_envelope_with_codec(lua_State *L, pt_decoder *d,
                                      const char *text) {
  int status;
  lua_getiuservalue(L, 1, PT_PEER_DECODE);
  lua_pushlstring(L, text, (size_t)(d->p - text));
  status = lua_pcall(L, 1, 1, 0);
  if (status == LUA_ERRMEM)
    lua_error(L); /* this ends the peer; any other error refuses the message */
  if (status == LUA_OK && !lua_isnil(L, -1))
    return 1;
  return fail_reading_envelope(d, "the codec cannot read the payload", text);
}

/* Pushes the value at d->p in the form that the peer is set to. */
static int read_envelope_payload(lua_State *L, pt_peer *p, pt_decoder *d) {
  const char *text = d->p;
  if (!p->codec.is_raw && !p->codec.is_foreign)
    return pt_decode_value(L, d);
  d->p = pt_json_value(text, d->end, d->depth, &d->fault);
  if (d->p == NULL)
    return 0;
  if (p->codec.is_foreign)
    return decode_envelope_with_codec(L, d, text);
  pt_raw_push(L, text, (size_t)(d->p - text));
  return 1;
}

/* Stores the value on top at the stack index *at, which is set on the first
** call. So a member that occurs several times takes only one slot. */
static void store_envelope_member(lua_State *L, int *at) {
  if (*at == 0)
    *at = lua_gettop(L);
  else
    lua_replace(L, *at);
}

static int read_envelope_payload_into(lua_State *L, pt_peer *p, pt_decoder *d,
                                      int *at, pt_presence *seen) {
  *seen = *d->p == 'n' ? PT_IS_NULL : PT_IS_PRESENT;
  if (!read_envelope_payload(L, p, d))
    return 0;
  store_envelope_member(L, at);
  return 1;
}

/* JSON-RPC allows an object or an array. Real programs also send null for no
** params. */
static int read_envelope_params(lua_State *L, pt_peer *p, pt_decoder *d,
                                pt_envelope *e) {
  char first = *d->p;
  if (!read_envelope_payload_into(L, p, d, &e->params_at, &e->params))
    return 0;
  if (e->params == PT_IS_NULL) {
    lua_pushnil(L);
    store_envelope_member(L, &e->params_at);
  } else if (first != '{' && first != '[') {
    e->params = PT_IS_WRONG;
  }
  return 1;
}

/* A method without escapes goes through the cache of names, so the same method
** is not interned again for every message. */
static int read_envelope_method(lua_State *L, pt_decoder *d, pt_envelope *e) {
  const char *text = d->p + 1, *close = pt_plain_end(text, d->end);
  e->method = *d->p == '"' ? PT_IS_PRESENT : PT_IS_WRONG;
  if (e->method == PT_IS_PRESENT && close < d->end && *close == '"') {
    pt_names_push_name(L, &d->env, text, (size_t)(close - text), d->end);
    d->p = close + 1;
  } else if (!pt_decode_value(L, d)) {
    return 0;
  }
  store_envelope_member(L, &e->method_at);
  return 1;
}

/* Classifies an id by its first byte: JSON-RPC allows strings, numbers and
** null. */
static pt_presence kind_of_id(char first) {
  if (first == '"' || first == '-' || (first >= '0' && first <= '9'))
    return PT_IS_PRESENT;
  return first == 'n' ? PT_IS_NULL : PT_IS_WRONG;
}

/* Keeps the text of the id, which the answer must repeat byte for byte. */
static int read_envelope_id(pt_decoder *d, pt_envelope *e) {
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
  if (e->id == PT_IS_PRESENT && *text != '"' && !e->id_number.is_integer)
    pt_number_read(text, next, &e->id_number);
  d->p = next;
  return 1;
}

void pt_envelope_skimmed(const pt_skim *k, pt_envelope *e) {
  e->method = k->has_method ? PT_IS_PRESENT : PT_IS_ABSENT;
  e->result = k->has_outcome ? PT_IS_PRESENT : PT_IS_ABSENT;
  if (k->id_len > 0) {
    pt_decoder d = {
        .p = k->id, .end = k->id + k->id_len, .depth = 1, .values = 1};
    read_envelope_id(&d, e);
  }
}

static int read_envelope_version(lua_State *L, pt_decoder *d, pt_envelope *e) {
  if (d->end - d->p > 5 && memcmp(d->p, "\"2.0\"", 5) == 0) {
    e->jsonrpc = PT_IS_PRESENT;
    d->p += 5;
    return 1;
  }
  if (!pt_decode_value(L, d))
    return 0;
  lua_pushliteral(L, "2.0");
  e->jsonrpc = lua_rawequal(L, -1, -2) ? PT_IS_PRESENT : PT_IS_WRONG;
  lua_pop(L, 2);
  return 1;
}

/* Stores a member that is not JSON-RPC's. */
static int keep_other_envelope_member(lua_State *L, pt_decoder *d,
                                      const char *name, size_t len) {
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

/* Reads a member that is not JSON-RPC's. It is dropped unless it may be an
** extra member, or is kept for stream:others. */
static int read_other_envelope_member(lua_State *L, const pt_peer *p,
                                      pt_decoder *d, const char *name,
                                      size_t len) {
  if (p->form.has_extra || p->form.keeps_others)
    return keep_other_envelope_member(L, d, name, len);
  d->p = pt_json_value(d->p, d->end, d->depth, &d->fault);
  return d->p != NULL;
}

#define IS(word) (memcmp(name, word, sizeof(word) - 1) == 0)

static inline int read_named_envelope_member(lua_State *L, pt_peer *p,
                                             pt_decoder *d, pt_envelope *e,
                                             const char *name, size_t len) {
  if (len == 2 && IS("id"))
    return read_envelope_id(d, e);
  if (len == 7 && IS("jsonrpc"))
    return read_envelope_version(L, d, e);
  if (len == 6 && IS("method"))
    return read_envelope_method(L, d, e);
  if (len == 6 && IS("params"))
    return read_envelope_params(L, p, d, e);
  if (len == 6 && IS("result"))
    return read_envelope_payload_into(L, p, d, &e->result_at, &e->result);
  if (len == 5 && IS("error"))
    return read_envelope_payload_into(L, p, d, &e->error_at, &e->error);
  return read_other_envelope_member(L, p, d, name, len);
}

/* Goes past this byte and the white space around it. In compact JSON there is
** none, which the first lines find out without a loop. */
static inline int expect_envelope_byte(pt_decoder *d, char c,
                                       const char *what) {
  if (d->end - d->p > 1 && *d->p == c && (unsigned char)d->p[1] > ' ') {
    d->p++;
    return 1;
  }
  d->p = pt_json_space(d->p, d->end);
  if (d->p < d->end && *d->p == c) {
    d->p = pt_json_space(d->p + 1, d->end);
    if (d->p < d->end)
      return 1;
    what = "unfinished value";
  }
  return fail_reading_envelope(d, what, d->p);
}

#define NAME_MAX_LEN 64 /* no name of interest is longer */

/* Reads a pair whose name has escapes; it may still be a name of the envelope.
*/
static int read_escaped_envelope_pair(lua_State *L, pt_peer *p, pt_decoder *d,
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
  return expect_envelope_byte(d, ':', "expected ':'") &&
         read_named_envelope_member(L, p, d, e, name, len);
}

/* Reads one name, colon and value. */
static inline int read_envelope_pair(lua_State *L, pt_peer *p, pt_decoder *d,
                                     pt_envelope *e) {
  const char *name = d->p + 1, *close;
  if (*d->p != '"')
    return fail_reading_envelope(d, "expected a member name", d->p);
  close = pt_plain_end(name, d->end);
  if (close == d->end || *close != '"')
    return read_escaped_envelope_pair(L, p, d, e);
  d->p = close + 1;
  return expect_envelope_byte(d, ':', "expected ':'") &&
         read_named_envelope_member(L, p, d, e, name, (size_t)(close - name));
}

/* Skips the beginning that nearly every message has. The caller then sees a
** comma in place of the brace. */
static inline void skip_usual_envelope_head(pt_decoder *d, pt_envelope *e) {
  if (d->end - d->p < 18 || memcmp(d->p, "{\"jsonrpc\":\"2.0\"", 16) != 0 ||
      d->p[16] != ',' || d->p[17] != '"')
    return;
  e->jsonrpc = PT_IS_PRESENT;
  d->p += 16;
}

/* Clears the members that were stored of the last message. */
static void forget_other_envelope_members(lua_State *L) {
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PT_PEER_OTHERS);
}

int pt_envelope_read(lua_State *L, pt_peer *p, pt_decoder *d, pt_envelope *e) {
  d->depth = p->codec.style.depth - 1;
  lua_settop(L, 1);
  if (p->form.has_extra || p->form.keeps_others)
    forget_other_envelope_members(L);
  skip_usual_envelope_head(d, e);
  d->p = pt_json_space(d->p + 1, d->end);
  if (d->p < d->end && *d->p == '}') {
    d->p++;
    return 1;
  }
  do {
    if (d->p >= d->end)
      return fail_reading_envelope(d, "unfinished value", d->p);
    if (!read_envelope_pair(L, p, d, e))
      return 0;
    d->p = pt_json_space(d->p, d->end);
    if (d->p < d->end && *d->p == '}') {
      d->p++;
      return 1;
    }
  } while (expect_envelope_byte(d, ',', "expected ',' or '}'"));
  return 0;
}

/* ====== Extra members ====== */

/* Pushes the string in quotes; a long one is cut between two characters. */
static void push_quoted_member(lua_State *L, int at) {
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

static void push_shown_member_value(lua_State *L, int at) {
  int type = lua_type(L, at);
  if (type == LUA_TSTRING)
    push_quoted_member(L, at);
  else if (type == LUA_TTABLE || type == LUA_TLIGHTUSERDATA)
    lua_pushstring(L, type == LUA_TTABLE ? "an array or object" : "null");
  else
    luaL_tolstring(L, at, NULL);
}

/* Pushes the error message for an extra member. Its name is at `name`, the
** expected value at name + 1, the actual value at `got` (nil if it is missing).
*/
static const char *push_extra_member_error(lua_State *L, int name, int got) {
  push_shown_member_value(L, name + 1);
  if (lua_isnil(L, got))
    return lua_pushfstring(L, "%s is missing: %s expected",
                           lua_tostring(L, name), lua_tostring(L, -1));
  push_shown_member_value(L, got);
  return lua_pushfstring(L, "%s: %s expected, got %s", lua_tostring(L, name),
                         lua_tostring(L, -2), lua_tostring(L, -1));
}

const char *pt_envelope_check_extra(lua_State *L) {
  int others = lua_gettop(L) + 1, extra = others + 1, name = extra + 1;
  int has_others = lua_getiuservalue(L, 1, PT_PEER_OTHERS) == LUA_TTABLE;
  lua_getiuservalue(L, 1, PT_PEER_EXTRA);
  for (lua_pushnil(L); lua_next(L, extra); lua_settop(L, name)) {
    lua_pushvalue(L, has_others ? name : others);
    if (has_others)
      lua_rawget(L, others);
    if (!lua_rawequal(L, name + 1, name + 2))
      return push_extra_member_error(L, name, name + 2);
  }
  lua_settop(L, others - 1);
  return NULL;
}
