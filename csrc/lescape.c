/*
** The scalars of the encoder, straight into the buffer: strings with what must
** be escaped in them, integers, and text that was made elsewhere.
*/
#include <string.h>

#include "lapi.h"
#include "ljson.h"
#include "number.h"
#include "plain.h"

static char *put_escape(char *out, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  static const char letters[] = "btn\0fr";
  *out++ = '\\';
  if (c == '"' || c == '\\') {
    *out++ = (char)c;
  } else if (c >= '\b' && c <= '\r' && c != '\v') {
    *out++ = letters[c - '\b'];
  } else {
    memcpy(out, "u00", 3);
    out[3] = hex[c >> 4];
    out[4] = hex[c & 15];
    out += 5;
  }
  return out;
}

#define ESCAPE_MAX 6

/* Copies a run of UTF-8 sequences that are not ASCII, and returns what follows
** it; NULL if one is invalid. There is room for four bytes more than it has. */
static const char *copy_utf8(char *out, const char *p, const char *end) {
  do {
    const char *next = pt_json_utf8(p, end);
    if (next == NULL)
      return NULL;
    if (end - p >= 4)
      memcpy(out, p, 4);
    else
      memcpy(out, p, (size_t)(next - p));
    out += next - p;
    p = next;
  } while (p < end && (unsigned char)*p >= 0x80);
  return p;
}

/* Writes as much of [p, end) as it can while `spare` bytes are enough for what
** escapes add; *at is moved on. NULL if it is not UTF-8. */
static const char *put_text(char **at, const char *p, const char *end,
                            ptrdiff_t spare) {
  char *out = *at;
  while (p < end && spare >= ESCAPE_MAX) {
    const char *from = p;
    p = pt_plain_copy(out, p, end);
    out += p - from;
    if (p == end)
      break;
    if ((unsigned char)*p >= 0x80) {
      from = p;
      p = copy_utf8(out, p, end);
      if (p == NULL)
        return NULL;
      out += p - from;
    } else {
      char *next = put_escape(out, (unsigned char)*p++);
      spare -= next - out - 1;
      out = next;
    }
  }
  *at = out;
  return p;
}

#define SPARE 64

/* A string from `p` on, and the closing quote. */
static int encode_rest(lua_State *L, pt_buf *out, const char *p,
                       const char *end) {
  while (p < end) {
    char *at;
    if (!pt_buf_reserve(L, out, (size_t)(end - p) + SPARE))
      return 0;
    at = out->data + out->end;
    p = put_text(&at, p, end, (ptrdiff_t)pt_buf_room(out) - (end - p));
    if (p == NULL)
      return -1;
    out->end = (size_t)(at - out->data);
  }
  return pt_buf_add(L, out, "\"", 1);
}

int pt_encode_string(lua_State *L, pt_buf *out, const char *text, size_t len) {
  char *p;
  if (!pt_buf_reserve(L, out, len + 2))
    return 0;
  p = out->data + out->end;
  if (pt_plain_quote(p, text, len)) {
    out->end += len + 2;
    return 1;
  }
  *p = '"';
  out->end++;
  return encode_rest(L, out, text, text + len);
}

int pt_encode_integer(lua_State *L, pt_buf *out, lua_Integer value) {
  if (!pt_buf_reserve(L, out, PT_NUMBER_MAX))
    return 0;
  out->end += pt_number_write_integer(out->data + out->end, value);
  return 1;
}

int pt_encode_text(lua_State *L, pt_buf *out, const char *text, size_t len) {
  char *p, *end;
  if (!pt_buf_add(L, out, text, len))
    return 0;
  end = out->data + out->end;
  for (p = end - len; p < end; p++) /* white space by the grammar of JSON */
    if (*p == '\n' || *p == '\r')
      *p = ' ';
  return 1;
}
