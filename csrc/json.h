/*
** The grammar of JSON (RFC 8259) over a block of memory: white space, strings,
** literals, and whole values that are checked but not built. No function
** allocates, and none reads at or beyond `end`.
**
** A function that returns a pointer returns the byte after the text that it has
** read. On failure it returns NULL and sets `*fault` to the error and its
** position. A text that ends too early is a fault like any other.
*/
#ifndef PT_JSON_H
#define PT_JSON_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef struct pt_json_fault {
  const char *what; /* static text */
  const char *where;
} pt_json_fault;

static inline const char *pt_json_fail(pt_json_fault *fault, const char *what,
                                       const char *where) {
  fault->what = what;
  fault->where = where;
  return NULL;
}

#define PT_JSON_MAX_DEPTH 32768

/* Returns the first byte in [p, end) that is not white space, or `end`. */
static inline const char *pt_json_space(const char *p, const char *end) {
  while (p < end && (unsigned char)*p <= ' ' &&
         (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
    p++;
  return p;
}

/* Returns the byte after the UTF-8 sequence at `p`, or NULL if the sequence is
** invalid. The range of the second byte excludes overlong forms, surrogates and
** code points above U+10FFFF. */
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

/* `p` is the byte after the opening quote. Returns the closing quote, not the
** byte after it. Sets `*escaped` if the string has escapes. */
const char *pt_json_string(const char *p, const char *end, int *escaped,
                           pt_json_fault *fault);

/* Writes the text between the quotes, already checked by pt_json_string,
** without its escapes to `out`, which has room for end - p bytes. Returns the
** length. */
size_t pt_json_unescape(const char *p, const char *end, char *out);

#define PT_ESCAPE_MAX 6 /* bytes of the longest escape */

/* Writes the text [p, end) with escapes, as far as `spare` extra bytes for the
** escapes allow. Returns the first byte that was not written, and advances *at.
** Returns NULL if the text is not UTF-8. */
const char *pt_json_escape(char **at, const char *p, const char *end,
                           ptrdiff_t spare);

/* `p` is the first letter of true, false or null. */
const char *pt_json_literal(const char *p, const char *end,
                            pt_json_fault *fault);

/* Checks one complete value, nested at most `depth` deep. */
const char *pt_json_value(const char *p, const char *end, int depth,
                          pt_json_fault *fault);

/* Sets the line and column of `where` in `text`. Both start at 1; columns are
** counted in bytes. */
void pt_json_place(const char *text, const char *where, size_t *line,
                   size_t *column);

/* ====== Plain text ====== */

/* Plain bytes are copied into a JSON string unchanged: all bytes but control
** characters, quotes, backslashes and bytes that are not ASCII. Most text is
** plain, so runs of plain bytes are searched and copied in blocks, inline. */

#define PT_ALWAYS_INLINE __attribute__((always_inline))

static inline int pt_plain_is(char byte) {
  unsigned char c = (unsigned char)byte;
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

static inline uint64_t pt_load8(const char *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static inline uint32_t pt_load4(const char *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

#define PT_EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* Whether all eight bytes are plain. Each term sets the top bit of a byte that
** is below 0x20, a quote or a backslash; bytes that are not ASCII have it set
** already. */
static inline int pt_plain_are8(uint64_t word) {
  uint64_t quote = word ^ PT_EACH_BYTE('"');
  uint64_t slash = word ^ PT_EACH_BYTE('\\');
  uint64_t below = (word - PT_EACH_BYTE(0x20)) & ~word;
  uint64_t equal = ((quote - PT_EACH_BYTE(1)) & ~quote) |
                   ((slash - PT_EACH_BYTE(1)) & ~slash);
  return ((word | below | equal) & PT_EACH_BYTE(0x80)) == 0;
}

typedef signed char pt_block __attribute__((vector_size(16)));

static inline pt_block pt_load16(const char *p) {
  pt_block block;
  memcpy(&block, p, sizeof block);
  return block;
}

/* Counts the plain bytes before the first of sixteen that is not plain. */
static inline int pt_plain_count(pt_block b) {
  pt_block special = (b < 0x20) | (b == '"') | (b == '\\');
#ifdef __SSE2__
  return __builtin_ctz((unsigned)_mm_movemask_epi8((__m128i)special) | 1 << 16);
#else
  uint64_t half[2];
  int n = 0;
  memcpy(half, &special, sizeof half);
  if ((half[0] | half[1]) == 0)
    return 16;
  while (special[n] == 0)
    n++;
  return n;
#endif
}

/* Returns the first byte of [p, end) that is not plain, or `end`. */
static inline const char *pt_plain_end(const char *p, const char *end) {
  for (; end - p >= 16; p += 16) {
    int n = pt_plain_count(pt_load16(p));
    if (n < 16)
      return p + n;
  }
  while (p < end && pt_plain_is(*p))
    p++;
  return p;
}

#define PT_PLAIN_SHORT 32

/* Copies up to PT_PLAIN_SHORT bytes and returns whether all of them are plain.
** The first and the last block overlap in the middle, so no loop is needed. */
static inline PT_ALWAYS_INLINE int
pt_plain_copy_short(char *out, const char *text, size_t len) {
  if (len > 16) {
    pt_block first = pt_load16(text), last = pt_load16(text + len - 16);
    memcpy(out, &first, 16);
    memcpy(out + len - 16, &last, 16);
    return pt_plain_count(first) + pt_plain_count(last) == 32;
  }
  if (len >= 8) {
    uint64_t first = pt_load8(text), last = pt_load8(text + len - 8);
    memcpy(out, &first, 8);
    memcpy(out + len - 8, &last, 8);
    return pt_plain_are8(first) && pt_plain_are8(last);
  }
  if (len >= 4) {
    uint32_t first = pt_load4(text), last = pt_load4(text + len - 4);
    memcpy(out, &first, 4);
    memcpy(out + len - 4, &last, 4);
    return pt_plain_are8((uint64_t)last << 32 | first);
  }
  for (; len > 0; len--) {
    if (!pt_plain_is(*text))
      return 0;
    *out++ = *text++;
  }
  return 1;
}

/* Writes a string and its quotes if the string is short and plain; returns 0 if
** it is not. `out` has room for len + 2 bytes. */
static inline PT_ALWAYS_INLINE int pt_plain_quote(char *out, const char *text,
                                                  size_t len) {
  if (len > PT_PLAIN_SHORT || !pt_plain_copy_short(out + 1, text, len))
    return 0;
  out[0] = out[len + 1] = '"';
  return 1;
}

#endif
