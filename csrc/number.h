/*
** Numbers as JSON writes them, exact in both directions and independent of the
** locale. Integers that fit stay integers; everything else is the nearest
** double, and a double is written with the fewest digits that read back as it.
*/
#ifndef PT_NUMBER_H
#define PT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct pt_number {
  int is_integer;
  int64_t integer;
  double real;
  const char *big_end; /* the byte behind an integer of more than 64 bits, which
                       ** `real` stands for; NULL for any other number */
} pt_number;

/* Reads an integer of up to 18 digits without a sign, as most numbers are. NULL
** if there is anything else at `p`, which is before `end`. */
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

/* Reads the number that starts at `p` and returns the byte behind it, or NULL
** if it is malformed or too large for a double. "-0" is the float -0.0. */
const char *pt_number_read(const char *p, const char *end, pt_number *out);

/* What is wrong, after a NULL. */
const char *pt_number_fault(const pt_number *out);

#define PT_NUMBER_MAX 48 /* room that either of these needs */

/* Both return how many bytes they wrote; behind an integer none is touched. A
** double always shows that it is one ("1.0", "1e300"); it must be finite. */
size_t pt_number_write_integer(char *out, int64_t value);
size_t pt_number_write_real(char *out, double value);

#pragma GCC visibility pop

#endif
