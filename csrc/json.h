/*
** The grammar of JSON (RFC 8259) over a piece of memory: white space, strings,
** literals, and whole values that are checked but not built. Nothing here
** allocates, and nothing reads at or behind `end`.
**
** A function that returns a pointer returns the byte behind what it read, or
** NULL after setting `*fault` to what was wrong and where. A text that stops
** too early is a fault like any other.
*/
#ifndef PT_JSON_H
#define PT_JSON_H

#include <stddef.h>

#pragma GCC visibility push(hidden)

typedef struct pt_json_fault {
  const char *what; /* static text */
  const char *where;
} pt_json_fault;

#define PT_JSON_MAX_DEPTH 32768

/* The first byte in [p, end) that is not white space; `end` if none. */
static inline const char *pt_json_space(const char *p, const char *end) {
  while (p < end && (unsigned char)*p <= ' ' &&
         (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
    p++;
  return p;
}

/* The byte behind the one UTF-8 sequence at `p`, or NULL if it is invalid. The
** second byte's range is what rules out overlong forms, surrogates and
** everything above U+10FFFF. */
static inline const char *pt_json_utf8(const char *p, const char *end) {
  unsigned char first = (unsigned char)*p, second;
  ptrdiff_t len = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4, i;
  if (first < 0x80)
    return p + 1;
  if (first < 0xC2 || first > 0xF4 || end - p < len)
    return NULL;
  second = (unsigned char)p[1];
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
    return NULL;
  for (i = 1; i < len; i++)
    if (((unsigned char)p[i] & 0xC0) != 0x80)
      return NULL;
  return p + len;
}

/* `p` stands behind the opening quote; the closing one is returned, not the
** byte behind it. `*escaped` says whether there is anything to unescape. */
const char *pt_json_string(const char *p, const char *end, int *escaped,
                           pt_json_fault *fault);

/* Writes the text between the quotes, already read by pt_json_string, without
** its escapes to `out`, which has room for end - p bytes; returns the length.
*/
size_t pt_json_unescape(const char *p, const char *end, char *out);

/* `p` stands on the first letter of true, false or null. */
const char *pt_json_literal(const char *p, const char *end,
                            pt_json_fault *fault);

/* Checks one whole value, nested at most `depth` deep. */
const char *pt_json_value(const char *p, const char *end, int depth,
                          pt_json_fault *fault);

/* Line and column, both from 1 and counted in bytes, of `where` in `text`. */
void pt_json_place(const char *text, const char *where, size_t *line,
                   size_t *column);

#pragma GCC visibility pop

#endif
