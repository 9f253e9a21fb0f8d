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
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#pragma GCC visibility push(hidden)

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

#define PT_ESCAPE_MAX 6 /* bytes of an escape */

/* Writes as much of the text [p, end) with escapes as it can while `spare`
** bytes are enough for what they add, and returns how far it came; *at is moved
** on. NULL if it is not UTF-8. */
const char *pt_json_escape(char **at, const char *p, const char *end,
                           ptrdiff_t spare);

/* `p` stands on the first letter of true, false or null. */
const char *pt_json_literal(const char *p, const char *end,
                            pt_json_fault *fault);

/* Checks one whole value, nested at most `depth` deep. */
const char *pt_json_value(const char *p, const char *end, int depth,
                          pt_json_fault *fault);

/* Line and column, both from 1 and counted in bytes, of `where` in `text`. */
void pt_json_place(const char *text, const char *where, size_t *line,
                   size_t *column);

/* {====== Plain text ====== */

/* Bytes that a string holds as they are: everything but control characters,
** quotes, backslashes and what is not ASCII. Most text is nothing else, so runs
** of it are searched and copied in words and blocks, inline. */

static inline int pt_plain_is(char byte) {
  unsigned char c = (unsigned char)byte;
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

#define PT_EACH_BYTE(b) (UINT64_C(0x0101010101010101) * (b))

/* The high bit of every byte that may not be plain; the lowest such one is not.
*/
static inline uint64_t pt_plain_specials(uint64_t word) {
  uint64_t quote = word ^ PT_EACH_BYTE('"');
  uint64_t slash = word ^ PT_EACH_BYTE('\\');
  uint64_t below = (word - PT_EACH_BYTE(0x20)) & ~word;
  uint64_t equal = ((quote - PT_EACH_BYTE(1)) & ~quote) |
                   ((slash - PT_EACH_BYTE(1)) & ~slash);
  return (word | below | equal) & PT_EACH_BYTE(0x80);
}

static inline uint64_t pt_load8(const char *p) {
  uint64_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static inline uint32_t pt_plain_load4(const char *p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

#ifdef __SSE2__
/* A bit for each of the sixteen bytes that is not plain. */
static inline unsigned pt_plain_specials16(__m128i bytes) {
  __m128i found = _mm_cmplt_epi8(bytes, _mm_set1_epi8(0x20)); /* or negative */
  found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
  found = _mm_or_si128(found, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
  return (unsigned)_mm_movemask_epi8(found);
}

static inline __m128i pt_plain_load16(const char *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* A bit for each of sixteen bytes in which the two differ. */
static inline unsigned pt_plain_differ16(const char *a, const char *b) {
  __m128i same = _mm_cmpeq_epi8(pt_plain_load16(a), pt_plain_load16(b));
  return (unsigned)_mm_movemask_epi8(same) ^ 0xFFFFU;
}
#endif

/* Whether both words hold nothing but plain bytes. */
static inline int pt_plain_are(uint64_t a, uint64_t b) {
#ifdef __SSE2__
  return pt_plain_specials16(_mm_set_epi64x((int64_t)a, (int64_t)b)) == 0;
#else
  return (pt_plain_specials(a) | pt_plain_specials(b)) == 0;
#endif
}

/* How many bytes of a word are plain before the first that is not, if that can
** be told by its specials, which are not 0. */
static inline int pt_plain_before(uint64_t specials) {
#ifdef __SSE2__ /* hence little-endian */
  return __builtin_ctzll(specials) / 8;
#else
  (void)specials;
  return 0;
#endif
}

/* The first byte of [p, end) that is not plain; `end` if none. */
static inline const char *pt_plain_end(const char *p, const char *end) {
#ifdef __SSE2__
  for (; end - p >= 16; p += 16) {
    unsigned bits = pt_plain_specials16(pt_plain_load16(p));
    if (bits != 0)
      return p + __builtin_ctz(bits);
  }
#endif
  for (; end - p >= 8; p += 8) {
    uint64_t specials = pt_plain_specials(pt_load8(p));
    if (specials != 0) {
      p += pt_plain_before(specials);
      break;
    }
  }
  while (p < end && pt_plain_is(*p))
    p++;
  return p;
}

/* Too large for a compiler to inline twice by itself, and called for nearly
** every name and string that is written. */
#define PT_ALWAYS_INLINE __attribute__((always_inline))

/* What pt_plain_copy_short takes at the most. */
#ifdef __SSE2__
#define PT_PLAIN_SHORT 32
#else
#define PT_PLAIN_SHORT 16
#endif

/* Copies a short run and says whether all of it is plain: its first and last
** block overlap in the middle. */
static inline PT_ALWAYS_INLINE int
pt_plain_copy_short(char *out, const char *text, size_t len) {
#ifdef __SSE2__
  if (len > 16) {
    __m128i first = pt_plain_load16(text);
    __m128i last = pt_plain_load16(text + len - 16);
    _mm_storeu_si128((__m128i *)(void *)out, first);
    _mm_storeu_si128((__m128i *)(void *)(out + len - 16), last);
    return (pt_plain_specials16(first) | pt_plain_specials16(last)) == 0;
  }
#endif
  if (len >= 8) {
    uint64_t first = pt_load8(text);
    uint64_t last = pt_load8(text + len - 8);
    memcpy(out, &first, 8);
    memcpy(out + len - 8, &last, 8);
    return pt_plain_are(first, last);
  }
  if (len >= 4) {
    uint32_t first = pt_plain_load4(text);
    uint32_t last = pt_plain_load4(text + len - 4);
    memcpy(out, &first, 4);
    memcpy(out + len - 4, &last, 4);
    return pt_plain_specials((uint64_t)last << 32 | first) == 0;
  }
  for (; len > 0; len--) {
    if (!pt_plain_is(*text))
      return 0;
    *out++ = *text++;
  }
  return 1;
}

/* Writes a string and its quotes to where there is room for len + 2 bytes, if
** it is short and plain; 0 if it is not. */
static inline PT_ALWAYS_INLINE int pt_plain_quote(char *out, const char *text,
                                                  size_t len) {
  if (len > PT_PLAIN_SHORT || !pt_plain_copy_short(out + 1, text, len))
    return 0;
  out[0] = out[len + 1] = '"';
  return 1;
}

/* }====== */

#pragma GCC visibility pop

#endif
