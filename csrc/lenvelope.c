#include "lenvelope.h"

#include <math.h>
#include <string.h>

#include "number.h"

/* {====== The members of a message ====== */

/* Another codec gets the text of the payload; 0 if it refuses. */
static int decode_with_codec(lua_State *L, pt_decoder *d, const char *text) {
  lua_getiuservalue(L, PT_AT_STREAM, PT_STREAM_KEPT);
  lua_rawgeti(L, -1, PT_KEPT_DECODE);
  lua_remove(L, -2);
  lua_pushlstring(L, text, (size_t)(d->p - text));
  if (lua_pcall(L, 1, 1, 0) == LUA_OK && !lua_isnil(L, -1))
    return 1;
  d->fault.what = "the codec cannot read the payload";
  d->fault.where = text;
  return 0;
}

/* Pushes the value at d->p as the stream wants it. */
static int read_payload(lua_State *L, pt_stream *s, pt_decoder *d) {
  const char *text = d->p;
  if (!s->is_raw && !s->has_codec)
    return pt_decode_value(L, d);
  d->p = pt_json_value(text, d->end, d->depth, &d->fault);
  if (d->p == NULL)
    return 0;
  if (s->has_codec)
    return decode_with_codec(L, d, text);
  pt_raw_push(L, text, (size_t)(d->p - text));
  return 1;
}

static int read_into(lua_State *L, pt_stream *s, pt_decoder *d, int slot,
                     pt_presence *seen) {
  *seen = *d->p == 'n' ? PT_NULL : PT_PRESENT;
  if (!read_payload(L, s, d))
    return 0;
  lua_replace(L, slot);
  return 1;
}

static int read_params(lua_State *L, pt_stream *s, pt_decoder *d,
                       pt_envelope *e) {
  char first = *d->p;
  if (!read_into(L, s, d, PT_AT_PAYLOAD, &e->params))
    return 0;
  if (e->params == PT_NULL) {
    lua_pushnil(L);
    lua_replace(L, PT_AT_PAYLOAD);
  } else if (first != '{' && first != '[') {
    e->params = PT_WRONG;
  }
  return 1;
}

static int read_method(lua_State *L, pt_decoder *d, pt_envelope *e) {
  e->method = *d->p == '"' ? PT_PRESENT : PT_WRONG;
  if (!pt_decode_value(L, d))
    return 0;
  lua_replace(L, PT_AT_METHOD);
  return 1;
}

static int read_id(pt_decoder *d, pt_envelope *e) {
  const char *text = d->p;
  d->p = pt_json_value(text, d->end, d->depth, &d->fault);
  if (d->p == NULL)
    return 0;
  e->id = *text == 'n' ? PT_NULL : PT_PRESENT;
  if (strchr("{[tf", *text) != NULL)
    e->id = PT_WRONG;
  e->id_text = text;
  e->id_len = (size_t)(d->p - text);
  return 1;
}

static int read_version(lua_State *L, pt_decoder *d, pt_envelope *e) {
  if (!pt_decode_value(L, d))
    return 0;
  lua_pushliteral(L, "2.0");
  e->jsonrpc = lua_rawequal(L, -1, -2) ? PT_PRESENT : PT_WRONG;
  lua_pop(L, 2);
  return 1;
}

/* Any other member: dropped, unless it is one that must be there. */
static int read_other(lua_State *L, pt_stream *s, pt_decoder *d, pt_envelope *e,
                      const char *name, size_t len) {
  if (s->extra_count > 0) {
    lua_getiuservalue(L, PT_AT_STREAM, PT_STREAM_KEPT);
    lua_rawgeti(L, -1, PT_KEPT_EXTRA);
    lua_pushlstring(L, name, len);
    if (lua_rawget(L, -2) != LUA_TNIL) {
      if (!pt_decode_value(L, d))
        return 0;
      e->extras += lua_rawequal(L, -1, -2);
      lua_settop(L, PT_AT_TOP);
      return 1;
    }
    lua_settop(L, PT_AT_TOP);
  }
  d->p = pt_json_value(d->p, d->end, d->depth, &d->fault);
  return d->p != NULL;
}

static int is(const char *name, size_t len, const char *word) {
  return len == strlen(word) && memcmp(name, word, len) == 0;
}

static int read_member(lua_State *L, pt_stream *s, pt_decoder *d,
                       pt_envelope *e, const char *name, size_t len) {
  if (is(name, len, "jsonrpc"))
    return read_version(L, d, e);
  if (is(name, len, "id"))
    return read_id(d, e);
  if (is(name, len, "method"))
    return read_method(L, d, e);
  if (is(name, len, "params"))
    return read_params(L, s, d, e);
  if (is(name, len, "result"))
    return read_into(L, s, d, PT_AT_PAYLOAD, &e->result);
  if (is(name, len, "error"))
    return read_into(L, s, d, PT_AT_ERROR, &e->error);
  return read_other(L, s, d, e, name, len);
}

static int expect(pt_decoder *d, char c, const char *what) {
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

/* One name, colon and value. */
static int read_pair(lua_State *L, pt_stream *s, pt_decoder *d,
                     pt_envelope *e) {
  char plain[NAME_MAX_LEN];
  const char *name = d->p + 1, *close;
  size_t len;
  int escaped;
  if (*d->p != '"') {
    d->fault.what = "expected a member name";
    d->fault.where = d->p;
    return 0;
  }
  close = pt_json_string(name, d->end, &escaped, &d->fault);
  if (close == NULL)
    return 0;
  len = (size_t)(close - name);
  if (escaped && len <= sizeof plain) {
    len = pt_json_unescape(name, close, plain);
    name = plain;
  }
  d->p = close + 1;
  return expect(d, ':', "expected ':'") && read_member(L, s, d, e, name, len);
}

int pt_envelope_read(lua_State *L, pt_stream *s, pt_decoder *d,
                     pt_envelope *e) {
  d->depth = s->depth - 1;
  d->p = pt_json_space(d->p + 1, d->end);
  if (d->p < d->end && *d->p == '}') {
    d->p++;
    return 1;
  }
  do {
    if (d->p >= d->end) {
      d->fault.what = "unfinished value";
      d->fault.where = d->p;
      return 0;
    }
    if (!read_pair(L, s, d, e))
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

/* The number of an own id that came back; 0 if it is none. */
static int64_t own_id(const pt_stream *s, const pt_envelope *e) {
  const char *text = e->id_text, *end;
  pt_number number;
  if (e->id != PT_PRESENT || (*text == '"') != s->string_ids)
    return 0;
  end = text + e->id_len;
  if (*text == '"') {
    text++;
    end--;
  }
  if (pt_number_read(text, end, &number) != end)
    return 0;
  if (number.is_integer)
    return number.integer;
  return number.real >= 1 && number.real < 9e15 &&
                 floor(number.real) == number.real
             ? (int64_t)number.real
             : 0;
}

size_t pt_envelope_slot(const pt_stream *s, const pt_envelope *e) {
  return pt_pending_find(&s->pending, own_id(s, e));
}

/* Whether the encoder would write this integer just as it stands. */
static int is_canonical(const pt_number *number, const char *text, size_t len) {
  char again[PT_NUMBER_MAX];
  return number->is_integer &&
         pt_number_write_integer(again, number->integer) == len &&
         memcmp(again, text, len) == 0;
}

void pt_envelope_push_id(lua_State *L, const pt_envelope *e, int in_batch) {
  pt_number number;
  const char *text = e->id_text;
  size_t len = e->id_len;
  if (in_batch)
    pt_ticket_push(L, text, len, 1);
  else if (*text == 'n')
    lua_pushlightuserdata(L, NULL);
  else if (*text == '"' && memchr(text, '\\', len) == NULL)
    lua_pushlstring(L, text + 1, len - 2);
  else if (*text != '"' && pt_number_read(text, text + len, &number) &&
           is_canonical(&number, text, len))
    lua_pushinteger(L, number.integer);
  else
    pt_ticket_push(L, text, len, 0);
}

/* }====== */
