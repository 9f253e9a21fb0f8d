#include "json.h"

#include <string.h>

#include "number.h"

/* ====== Strings ====== */

/* Returns four hexadecimal digits as a number, -1 if they are not digits. */
static int parse_json_hex4(const char *p) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    int c = p[i] | 0x20; /* a letter in lower case */
    if (p[i] >= '0' && p[i] <= '9')
      value = value * 16 + (p[i] - '0');
    else if (c >= 'a' && c <= 'f')
      value = value * 16 + (c - 'a' + 10);
    else
      return -1;
  }
  return value;
}

static int is_high_json_surrogate(int u) { return u >= 0xD800 && u <= 0xDBFF; }
static int is_low_json_surrogate(int u) { return u >= 0xDC00 && u <= 0xDFFF; }

/* `p` is the backslash of a \u. The escapes of a high and a low surrogate are
** one character; a surrogate alone is none. */
static const char *check_json_unicode(const char *p, const char *end,
                                      pt_json_fault *fault) {
  int unit = end - p < 6 ? -1 : parse_json_hex4(p + 2);
  if (unit < 0)
    return pt_json_fail(fault, "invalid \\u escape", p);
  if (is_low_json_surrogate(unit))
    return pt_json_fail(fault, "lone surrogate", p);
  if (!is_high_json_surrogate(unit))
    return p + 6;
  if (end - p < 12 || p[6] != '\\' || p[7] != 'u' ||
      !is_low_json_surrogate(parse_json_hex4(p + 8)))
    return pt_json_fail(fault, "lone surrogate", p);
  return p + 12;
}

static const char *check_json_escape(const char *p, const char *end,
                                     pt_json_fault *fault) {
  if (end - p < 2)
    return pt_json_fail(fault, "unfinished string", end);
  if (p[1] == 'u')
    return check_json_unicode(p, end, fault);
  if (p[1] == '\0' || strchr("\"\\/bfnrt", p[1]) == NULL)
    return pt_json_fail(fault, "invalid escape", p);
  return p + 2;
}

/* Checks the byte that ended a run of plain bytes, with what belongs to it. */
static const char *check_json_special(const char *p, const char *end,
                                      int *escaped, pt_json_fault *fault) {
  const char *next;
  if (*p == '\\') {
    *escaped = 1;
    return check_json_escape(p, end, fault);
  }
  if ((unsigned char)*p < 0x20)
    return pt_json_fail(fault, "control character in string", p);
  next = pt_json_utf8(p, end);
  return next != NULL ? next : pt_json_fail(fault, "invalid UTF-8", p);
}

const char *pt_json_string(const char *p, const char *end, int *escaped,
                           pt_json_fault *fault) {
  *escaped = 0;
  for (;;) {
    p = pt_plain_end(p, end);
    if (p >= end)
      return pt_json_fail(fault, "unfinished string", end);
    if (*p == '"')
      return p;
    p = check_json_special(p, end, escaped, fault);
    if (p == NULL)
      return NULL;
  }
}

static char *put_json_utf8(char *out, int code) {
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

/* The escape is valid: pt_json_string has checked it. */
static const char *unescape_json_unicode(const char *p, char **out) {
  int unit = parse_json_hex4(p + 2);
  if (is_high_json_surrogate(unit)) {
    int low = parse_json_hex4(p + 8);
    *out =
        put_json_utf8(*out, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
    return p + 12;
  }
  *out = put_json_utf8(*out, unit);
  return p + 6;
}

static char unescape_json_letter(char c) {
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
      p = unescape_json_unicode(slash, &out);
    } else {
      *out++ = unescape_json_letter(slash[1]);
      p = slash + 2;
    }
  }
  return (size_t)(out - start);
}

/* The short form of an escape, if it has one: fewer bytes, easier to read. */
static char *put_json_escape(char *out, unsigned char c) {
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

/* Copies the plain bytes at the front of [p, end) and returns the first byte
** that is not plain. `out` has room for all of [p, end); its bytes after the
** copy become undefined. */
static inline const char *copy_plain_json(char *out, const char *p,
                                          const char *end) {
  for (; end - p >= 16; p += 16, out += 16) {
    pt_block block = pt_load16(p);
    int n = pt_plain_count(block);
    memcpy(out, &block, 16);
    if (n < 16)
      return p + n;
  }
  while (p < end && pt_plain_is(*p))
    *out++ = *p++;
  return p;
}

/* Copies a run of UTF-8 sequences that are not ASCII, and returns the byte
** after it; NULL if one is invalid. `out` has room for four more bytes. */
static const char *copy_json_utf8(char *out, const char *p, const char *end) {
  do {
    const char *next = pt_json_utf8(p, end);
    if (next == NULL)
      return NULL;
    if (end - p >= 4) /* a copy of constant size is inline */
      memcpy(out, p, 4);
    else
      memcpy(out, p, (size_t)(next - p));
    out += next - p;
    p = next;
  } while (p < end && (unsigned char)*p >= 0x80);
  return p;
}

const char *pt_json_escape(char **at, const char *p, const char *end,
                           ptrdiff_t spare) {
  char *out = *at;
  while (p < end && spare >= PT_ESCAPE_MAX) {
    const char *from = p;
    p = copy_plain_json(out, p, end);
    out += p - from;
    if (p == end)
      break;
    if ((unsigned char)*p < 0x80) {
      char *escape = out;
      out = put_json_escape(out, (unsigned char)*p++);
      spare -= out - escape - 1;
      continue;
    }
    from = p;
    p = copy_json_utf8(out, p, end);
    if (p == NULL)
      return NULL;
    out += p - from;
  }
  *at = out;
  return p;
}

/* ====== Whole values, checked and not built ====== */

const char *pt_json_literal(const char *p, const char *end,
                            pt_json_fault *fault) {
  size_t left = (size_t)(end - p);
  if (left >= 4 && (memcmp(p, "true", 4) == 0 || memcmp(p, "null", 4) == 0))
    return p + 4;
  if (left >= 5 && memcmp(p, "false", 5) == 0)
    return p + 5;
  return pt_json_fail(fault, "invalid value", p);
}

static const char *check_json_string(const char *p, const char *end,
                                     pt_json_fault *fault) {
  int escaped;
  p = pt_json_string(p + 1, end, &escaped, fault);
  return p != NULL ? p + 1 : NULL;
}

static const char *check_json_scalar(const char *p, const char *end,
                                     pt_json_fault *fault) {
  pt_number number;
  const char *next;
  if (*p == '"')
    return check_json_string(p, end, fault);
  if (*p != '-' && (*p < '0' || *p > '9'))
    return pt_json_literal(p, end, fault);
  next = pt_number_read(p, end, &number);
  return next != NULL ? next : pt_json_fail(fault, pt_number_fault(&number), p);
}

/* Checks a member's name and colon; returns the byte after the colon. */
static const char *check_json_name(const char *p, const char *end,
                                   pt_json_fault *fault) {
  p = pt_json_space(p, end);
  if (p == end || *p != '"')
    return pt_json_fail(fault, "expected a member name", p);
  p = check_json_string(p, end, fault);
  if (p == NULL)
    return NULL;
  p = pt_json_space(p, end);
  if (p == end || *p != ':')
    return pt_json_fail(fault, "expected ':'", p);
  return p + 1;
}

/* Without recursion: the stack of C must not depend on the nesting of input. */
const char *pt_json_value(const char *p, const char *end, int depth,
                          pt_json_fault *fault) {
  /* the closing bracket of each open container */
  char closes[PT_JSON_MAX_DEPTH];
  int open = 0;
  for (;;) { /* p is at the beginning of a value or of a member's name */
    if (open > 0 && closes[open - 1] == '}') {
      p = check_json_name(p, end, fault);
      if (p == NULL)
        return NULL;
    }
    p = pt_json_space(p, end);
    if (p == end)
      return pt_json_fail(fault, "unfinished value", p);
    if (*p == '{' || *p == '[') {
      if (open >= depth)
        return pt_json_fail(fault, "nested too deeply", p);
      closes[open++] = (char)(*p + 2); /* in ASCII two places behind */
      p = pt_json_space(p + 1, end);
      if (p == end || *p != closes[open - 1])
        continue;
    } else {
      p = check_json_scalar(p, end, fault);
      if (p == NULL)
        return NULL;
    }
    for (;; open--, p++) { /* p is after a value, or at a closing bracket */
      if (open == 0)
        return p;
      p = pt_json_space(p, end);
      if (p == end)
        return pt_json_fail(fault, "unfinished value", p);
      if (*p == ',')
        break;
      if (*p != closes[open - 1])
        return pt_json_fail(fault,
                            closes[open - 1] == '}' ? "expected ',' or '}'"
                                                    : "expected ',' or ']'",
                            p);
    }
    p++;
  }
}

/* ====== Positions ====== */

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
