/*
** Conversion between numbers and their JSON text: exact in both directions and
** independent of the locale. Integers of 64 bits stay integers; every other
** number becomes the nearest double. A double is written with the fewest digits
** that read back as the same double.
*/
#ifndef PT_NUMBER_H
#define PT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

typedef struct pt_number {
  int is_integer;
  int64_t integer;
  double real;
  /* the byte after an integer of more than 64 bits, whose value `real`
  ** approximates; NULL for any other number */
  const char *big_end;
} pt_number;

/* Reads an unsigned integer of up to 18 digits, the most frequent kind of
** number. Returns NULL if anything else is at `p`. `p` must be before `end`. */
static inline const char *pt_number_short(const char *p, const char *end,
                                          int64_t *value) {
  const char *first = p;
  uint64_t v = (unsigned char)(*p - '0');
  unsigned char digit = 0;
  if (v > 9)
    return NULL;
  while (++p < end && (digit = (unsigned char)(*p - '0')) < 10)
    v = v * 10 + digit;
  if (p - first > 1 && (*first == '0' || p - first > 18))
    return NULL;
  if (p < end && (*p == '.' || (*p | 0x20) == 'e'))
    return NULL;
  *value = (int64_t)v;
  return p;
}

/* Reads the number at `p` and returns the byte after it, or NULL if it is
** malformed or too large for a double. "-0" is the float -0.0. */
const char *pt_number_read(const char *p, const char *end, pt_number *out);

/* Returns the reason, after pt_number_read has returned NULL. */
const char *pt_number_fault(const pt_number *out);

#define PT_NUMBER_MAX 48 /* buffer size that the next two functions need */

/* Both return the number of bytes written. Nothing is written after the last
** digit of an integer. The text of a double always shows that it is a double
** ("1.0", "1e300"). The double must be finite. */
size_t pt_number_write_integer(char *out, int64_t value);
size_t pt_number_write_real(char *out, double value);

#endif
