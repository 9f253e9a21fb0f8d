#include "json.h"

#include <string.h>

#include "number.h"
#include "plain.h"

static const char *fail(pt_json_fault *fault, const char *what,
                        const char *where) {
  fault->what = what;
  fault->where = where;
  return NULL;
}

/* {====== Strings ====== */

/* Four hexadecimal digits as a number, -1 if they are not. */
static int hex4(const char *p) {
  int value = 0, i;
  for (i = 0; i < 4; i++) {
    int c = p[i] | 0x20;
    if (p[i] >= '0' && p[i] <= '9')
      value = value * 16 + (p[i] - '0');
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + (c - 'a' + 10);
    else
      return -1;
  }
  return value;
}

static int is_high_surrogate(int u) { return u >= 0xD800 && u <= 0xDBFF; }
static int is_low_surrogate(int u) { return u >= 0xDC00 && u <= 0xDFFF; }

/* `p` stands on the backslash of a \u. */
static const char *check_unicode(const char *p, const char *end,
                                 pt_json_fault *fault) {
  int unit = end - p < 6 ? -1 : hex4(p + 2);
  if (unit < 0)
    return fail(fault, "invalid \\u escape", p);
  if (is_low_surrogate(unit))
    return fail(fault, "lone surrogate", p);
  if (!is_high_surrogate(unit))
    return p + 6;
  if (end - p < 12 || p[6] != '\\' || p[7] != 'u' ||
      !is_low_surrogate(hex4(p + 8)))
    return fail(fault, "lone surrogate", p);
  return p + 12;
}

static const char *check_escape(const char *p, const char *end,
                                pt_json_fault *fault) {
  if (end - p < 2)
    return fail(fault, "unfinished string", end);
  if (p[1] == 'u')
    return check_unicode(p, end, fault);
  if (p[1] == '\0' || strchr("\"\\/bfnrt", p[1]) == NULL)
    return fail(fault, "invalid escape", p);
  return p + 2;
}

static const char *check_special(const char *p, const char *end, int *escaped,
                                 pt_json_fault *fault) {
  const char *next;
  if (*p == '\\') {
    *escaped = 1;
    return check_escape(p, end, fault);
  }
  if ((unsigned char)*p < 0x20)
    return fail(fault, "control character in string", p);
  next = pt_json_utf8(p, end);
  return next != NULL ? next : fail(fault, "invalid UTF-8", p);
}

const char *pt_json_string(const char *p, const char *end, int *escaped,
                           pt_json_fault *fault) {
  *escaped = 0;
  for (;;) {
    p = pt_plain_end(p, end);
    if (p >= end)
      return fail(fault, "unfinished string", end);
    if (*p == '"')
      return p;
    p = check_special(p, end, escaped, fault);
    if (p == NULL)
      return NULL;
  }
}

static char *put_utf8(char *out, int code) {
  if (code < 0x80) {
    *out++ = (char)code;
  } else if (code < 0x800) {
    *out++ = (char)(0xC0 | (code >> 6));
    *out++ = (char)(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    *out++ = (char)(0xE0 | (code >> 12));
    *out++ = (char)(0x80 | ((code >> 6) & 0x3F));
    *out++ = (char)(0x80 | (code & 0x3F));
  } else {
    *out++ = (char)(0xF0 | (code >> 18));
    *out++ = (char)(0x80 | ((code >> 12) & 0x3F));
    *out++ = (char)(0x80 | ((code >> 6) & 0x3F));
    *out++ = (char)(0x80 | (code & 0x3F));
  }
  return out;
}

static const char *unescape_unicode(const char *p, char **out) {
  int unit = hex4(p + 2);
  if (is_high_surrogate(unit)) {
    int low = hex4(p + 8);
    *out = put_utf8(*out, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
    return p + 12;
  }
  *out = put_utf8(*out, unit);
  return p + 6;
}

static char unescape_letter(char c) {
  switch (c) {
  case 'b':
    return '\b';
  case 'f':
    return '\f';
  case 'n':
    return '\n';
  case 'r':
    return '\r';
  case 't':
    return '\t';
  default:
    return c;
  }
}

size_t pt_json_unescape(const char *p, const char *end, char *out) {
  char *start = out;
  while (p < end) {
    const char *slash = memchr(p, '\\', (size_t)(end - p));
    size_t run = (size_t)((slash != NULL ? slash : end) - p);
    memcpy(out, p, run);
    out += run;
    if (slash == NULL)
      break;
    if (slash[1] == 'u') {
      p = unescape_unicode(slash, &out);
    } else {
      *out++ = unescape_letter(slash[1]);
      p = slash + 2;
    }
  }
  return (size_t)(out - start);
}

/* }====== */

const char *pt_json_literal(const char *p, const char *end,
                            pt_json_fault *fault) {
  size_t left = (size_t)(end - p);
  if (left >= 4 && (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0))
    return p + 4;
  if (left >= 5 && memcmp(p, "false", 5) == 0)
    return p + 5;
  return fail(fault, "invalid value", p);
}

/* {====== Whole values, checked and not built ====== */

typedef struct checker {
  const char *end;
  pt_json_fault *fault;
  int depth;
  int most;
  unsigned char is_object[PT_JSON_MAX_DEPTH / 8]; /* a bit a level */
} checker;

static int in_object(const checker *c) {
  return c->is_object[c->depth / 8] >> (c->depth % 8) & 1;
}

static int enter(checker *c, int object) {
  unsigned char bit;
  if (c->depth + 1 >= c->most)
    return 0;
  c->depth++;
  bit = (unsigned char)(1 << (c->depth % 8));
  if (object)
    c->is_object[c->depth / 8] |= bit;
  else
    c->is_object[c->depth / 8] &= (unsigned char)~bit;
  return 1;
}

static const char *check_string(checker *c, const char *p) {
  int escaped;
  p = pt_json_string(p + 1, c->end, &escaped, c->fault);
  return p != NULL ? p + 1 : NULL;
}

static const char *check_number(checker *c, const char *p) {
  pt_number number;
  const char *next = pt_number_read(p, c->end, &number);
  return next != NULL ? next : fail(c->fault, pt_number_fault(&number), p);
}

static const char *check_scalar(checker *c, const char *p) {
  if (*p == '"')
    return check_string(c, p);
  if (*p == '-' || (*p >= '0' && *p <= '9'))
    return check_number(c, p);
  return pt_json_literal(p, c->end, c->fault);
}

/* A member's name and colon; returns the first byte of its value. */
static const char *check_name(checker *c, const char *p) {
  if (p >= c->end || *p != '"')
    return fail(c->fault, "expected a member name", p);
  p = check_string(c, p);
  if (p == NULL)
    return NULL;
  p = pt_json_space(p, c->end);
  if (p >= c->end || *p != ':')
    return fail(c->fault, "expected ':'", p);
  return pt_json_space(p + 1, c->end);
}

/* Behind a value: closes what ends here and returns where the next value
** starts, or the end of the outermost one with `depth` back at -1. */
static const char *check_after(checker *c, const char *p) {
  while (c->depth >= 0) {
    int object = in_object(c);
    p = pt_json_space(p, c->end);
    if (p >= c->end)
      return fail(c->fault, "unfinished value", p);
    if (*p == ',') {
      p = pt_json_space(p + 1, c->end);
      return object ? check_name(c, p) : p;
    }
    if (*p != (object ? '}' : ']'))
      return fail(c->fault,
                  object ? "expected ',' or '}'" : "expected ',' or ']'", p);
    c->depth--;
    p++;
  }
  return p;
}

/* Behind an opening bracket: to the first value, or past an empty container. */
static const char *check_open(checker *c, const char *p) {
  int object = *p == '{';
  if (!enter(c, object))
    return fail(c->fault, "nested too deeply", p);
  p = pt_json_space(p + 1, c->end);
  if (p < c->end && *p == (object ? '}' : ']')) {
    c->depth--;
    return check_after(c, p + 1);
  }
  return object ? check_name(c, p) : p;
}

const char *pt_json_value(const char *p, const char *end, int depth,
                          pt_json_fault *fault) {
  checker c;
  c.end = end;
  c.fault = fault;
  c.depth = -1;
  c.most = depth;
  p = pt_json_space(p, end);
  do {
    if (p >= end)
      return fail(fault, "unfinished value", p);
    if (*p == '{' || *p == '[') {
      p = check_open(&c, p);
    } else {
      p = check_scalar(&c, p);
      if (p != NULL)
        p = check_after(&c, p);
    }
  } while (p != NULL && c.depth >= 0);
  return p;
}

/* }====== */

void pt_json_place(const char *text, const char *where, size_t *line,
                   size_t *column) {
  const char *start = text, *newline;
  *line = 1;
  while (start < where &&
         (newline = memchr(start, '\n', (size_t)(where - start))) != NULL) {
    ++*line;
    start = newline + 1;
  }
  *column = (size_t)(where - start) + 1;
}
