/*
** Reading follows Eisel and Lemire ("Number Parsing at a Gigabyte per Second"),
** writing follows Giulietti ("The Schubfach way to render doubles"). Both are
** one or two multiplications with a 128-bit power of ten; the rare decimal that
** Eisel-Lemire cannot decide is left to strtod.
*/
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MANTISSA_BITS 52
#define HIDDEN_BIT (UINT64_C(1) << MANTISSA_BITS)
#define EXPONENT_BIAS 1023
#define MAX_DIGITS 19 /* as many as always fit into 64 bits */

typedef struct wide {
  uint64_t high, low;
} wide;

static wide multiply(uint64_t a, uint64_t b) {
  wide r;
#ifdef __SIZEOF_INT128__
  __extension__ typedef unsigned __int128 u128;
  u128 product = (u128)a * b;
  r.high = (uint64_t)(product >> 64);
  r.low = (uint64_t)product;
#else
  uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
  uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32);
  uint64_t mid2 = a0 * b1 + (uint32_t)mid;
  r.high = a1 * b1 + (mid >> 32) + (mid2 >> 32);
  r.low = (mid2 << 32) | (uint32_t)low;
#endif
  return r;
}

static double from_bits(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static const uint64_t *power_of_ten(int k) {
  return pt_powers[k - PT_POWERS_LOW];
}

/* {====== Reading ====== */

typedef struct decimal {
  uint64_t digits; /* the first MAX_DIGITS significant ones */
  int exponent;    /* of ten, for `digits` */
  int negative;
  int truncated; /* more digits than fit were there */
} decimal;

static double assemble(uint64_t mantissa, int exponent) {
  return from_bits((uint64_t)exponent << MANTISSA_BITS |
                   (mantissa & (HIDDEN_BIT - 1)));
}

static double round_subnormal(uint64_t mantissa, int exponent) {
  if (1 - exponent >= 64)
    return 0.0;
  mantissa >>= 1 - exponent;
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  return assemble(mantissa, mantissa >= HIDDEN_BIT);
}

/* w * 10^q to the nearest double, infinity if too large; -1 if undecided. */
static double eisel_lemire(uint64_t w, int q) {
  int zeros, upper, exponent;
  const uint64_t *power;
  wide x;
  uint64_t mantissa;
  if (w == 0 || q < PT_POWERS_LOW)
    return 0.0;
  if (q > 308)
    return HUGE_VAL;
  zeros = __builtin_clzll(w);
  w <<= zeros;
  power = power_of_ten(q);
  x = multiply(w, power[0]);
  if ((x.high & 0x1FF) == 0x1FF) {
    uint64_t carry = multiply(w, power[1]).high;
    x.low += carry;
    x.high += x.low < carry;
  }
  if (x.low == UINT64_MAX && (q < -27 || q > 55))
    return -1.0;
  upper = (int)(x.high >> 63);
  mantissa = x.high >> (upper + 64 - MANTISSA_BITS - 3);
  exponent = ((217706 * q) >> 16) + 63 + upper - zeros + EXPONENT_BIAS;
  if (exponent <= 0)
    return round_subnormal(mantissa, exponent);
  if (x.low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 &&
      mantissa << (upper + 64 - MANTISSA_BITS - 3) == x.high)
    mantissa &= ~UINT64_C(1); /* a tie goes to the even one */
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  if (mantissa == HIDDEN_BIT << 1) {
    mantissa = HIDDEN_BIT;
    exponent++;
  }
  return exponent >= 2 * EXPONENT_BIAS + 1 ? HUGE_VAL
                                           : assemble(mantissa, exponent);
}

/* Copies significant digits until `most` are there; any that had to be left out
** become one more that is not zero, which is all that rounding asks of them. */
static int copy_digits(char *out, int most, const char *p, const char *end) {
  int n = 0, rest = 0;
  for (; p < end && (*p | 0x20) != 'e'; p++) {
    if (*p < '0' || *p > '9' || (n == 0 && *p == '0'))
      continue;
    if (n < most)
      out[n++] = *p;
    else
      rest |= *p != '0';
  }
  if (rest)
    out[n++] = '1';
  return n;
}

/* No halfway case between doubles has more than 767 significant digits. The
** text given to strtod has no decimal point, so that no locale matters. */
static double slow_read(const decimal *d, const char *text, const char *end) {
  char copy[800 + 16];
  int n = copy_digits(copy, 780, text, end);
  int exponent = d->exponent - (n > MAX_DIGITS ? n - MAX_DIGITS : 0);
  copy[n] = 'e';
  copy[(size_t)n + 1 + pt_number_write_integer(copy + n + 1, exponent)] = '\0';
  return strtod(copy, NULL);
}

static const char *read_digits(const char *p, const char *end, decimal *d,
                               int *count) {
  for (; p < end && *p >= '0' && *p <= '9'; p++) {
    if (*count < MAX_DIGITS) {
      d->digits = d->digits * 10 + (uint64_t)(*p - '0');
      *count += d->digits != 0;
    } else {
      d->truncated |= *p != '0';
      d->exponent++;
    }
  }
  return p;
}

static const char *read_fraction(const char *p, const char *end, decimal *d,
                                 int *count) {
  const char *start = ++p;
  p = read_digits(p, end, d, count);
  d->exponent -= (int)(p - start);
  return p > start ? p : NULL;
}

static const char *read_exponent(const char *p, const char *end, decimal *d) {
  int negative = 0, value = 0;
  const char *start;
  p++;
  if (p < end && (*p == '+' || *p == '-'))
    negative = *p++ == '-';
  for (start = p; p < end && *p >= '0' && *p <= '9'; p++)
    if (value < 100000000)
      value = value * 10 + (*p - '0');
  d->exponent += negative ? -value : value;
  return p > start ? p : NULL;
}

/* Exact without any table when digits and power both fit a double. */
static double to_double(const decimal *d, const char *text, const char *end) {
  static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  double value;
  if (d->digits < HIDDEN_BIT * 2 && !d->truncated && d->exponent >= -22 &&
      d->exponent <= 22)
    return d->exponent < 0 ? (double)d->digits / exact[-d->exponent]
                           : (double)d->digits * exact[d->exponent];
  value = eisel_lemire(d->digits, d->exponent);
  if (value < 0 ||
      (d->truncated && value != eisel_lemire(d->digits + 1, d->exponent)))
    value = slow_read(d, text, end);
  return value;
}

static int fits_integer(const decimal *d) {
  uint64_t most = (uint64_t)INT64_MAX + (uint64_t)d->negative;
  return !d->truncated && d->exponent == 0 && d->digits <= most &&
         !(d->negative && d->digits == 0);
}

static int set_integer(const decimal *d, pt_number *out) {
  out->is_integer = 1;
  out->integer = (int64_t)(d->negative ? 0 - d->digits : d->digits);
  return 1;
}

static int set_real(const decimal *d, const char *text, const char *end,
                    pt_number *out) {
  double value = to_double(d, text, end);
  out->is_integer = 0;
  out->real = d->negative ? -value : value;
  return isfinite(value);
}

const char *pt_number_read(const char *p, const char *end, pt_number *out) {
  decimal d = {0, 0, 0, 0};
  const char *text = p, *first;
  int count = 0, whole = 1;
  out->real = 0;
  out->big_end = NULL;
  if (p < end && *p == '-') {
    d.negative = 1;
    p++;
  }
  first = p;
  p = read_digits(p, end, &d, &count);
  if (p == first || (*first == '0' && p > first + 1))
    return NULL;
  if (p < end && *p == '.') {
    whole = 0;
    p = read_fraction(p, end, &d, &count);
  }
  if (p != NULL && p < end && (*p | 0x20) == 'e') {
    whole = 0;
    p = read_exponent(p, end, &d);
  }
  if (p == NULL)
    return NULL;
  if (whole && fits_integer(&d) && set_integer(&d, out))
    return p;
  if (whole && d.digits != 0)
    out->big_end = p;
  return set_real(&d, text, p, out) ? p : NULL;
}

const char *pt_number_fault(const pt_number *out) {
  return isinf(out->real) ? "number too large" : "invalid number";
}

/* }====== */

/* {====== Writing ====== */

static const char digit_pairs[] = "00010203040506070809"
                                  "10111213141516171819"
                                  "20212223242526272829"
                                  "30313233343536373839"
                                  "40414243444546474849"
                                  "50515253545556575859"
                                  "60616263646566676869"
                                  "70717273747576777879"
                                  "80818283848586878889"
                                  "90919293949596979899";

/* Writes the digits so that they end right before `end`. */
static char *digits_before(char *end, uint64_t value) {
  uint32_t rest;
  for (; value >= 10000; value /= 10000) {
    rest = (uint32_t)(value % 10000);
    end -= 4;
    memcpy(end, digit_pairs + rest / 100 * 2, 2);
    memcpy(end + 2, digit_pairs + rest % 100 * 2, 2);
  }
  rest = (uint32_t)value;
  if (rest >= 100) {
    end -= 2;
    memcpy(end, digit_pairs + rest % 100 * 2, 2);
    rest /= 100;
  }
  if (rest >= 10) {
    end -= 2;
    memcpy(end, digit_pairs + rest * 2, 2);
  } else {
    *--end = (char)('0' + rest);
  }
  return end;
}

static size_t count_digits(uint64_t value) {
  size_t n = 1;
  if (value < 10)
    return n;
  for (; value >= 10000; value /= 10000)
    n += 4;
  return n + (value >= 10) + (value >= 100) + (value >= 1000);
}

size_t pt_number_write_integer(char *out, int64_t value) {
  size_t sign = value < 0, len;
  uint64_t magnitude = sign ? 0 - (uint64_t)value : (uint64_t)value;
  len = sign + count_digits(magnitude);
  *out = '-';
  digits_before(out + len, magnitude);
  return len;
}

static int floor_log2_power10(int e) { return (e * 1741647) >> 19; }

static uint64_t round_to_odd(const uint64_t power[2], uint64_t cp) {
  uint64_t x = multiply(power[1], cp).high;
  wide y = multiply(power[0], cp);
  y.low += x;
  y.high += y.low < x;
  return y.high | (y.low > 1);
}

/* c * 2^q as the shortest decimal between its neighbours: *k is its exponent.
** `closer` says that the neighbour below is only half as far away. */
static uint64_t schubfach(uint64_t c, int q, int closer, int *k) {
  int odd = (int)(c & 1), h;
  uint64_t power[2], lower, upper, v, s, tens;
  *k = (q * 1262611 - (closer ? 524031 : 0)) >> 22;
  h = q + floor_log2_power10(-*k) + 1;
  memcpy(power, power_of_ten(-*k), sizeof power);
  power[1] += -*k > 55; /* the table cuts those off; here they round up */
  lower = round_to_odd(power, (4 * c - 2 + (uint64_t)closer) << h);
  v = round_to_odd(power, (4 * c) << h);
  upper = round_to_odd(power, (4 * c + 2) << h);
  lower += (uint64_t)odd;
  upper -= (uint64_t)odd;
  s = v / 4;
  tens = s / 10;
  if (s >= 10 && (lower <= 40 * tens) != (40 * tens + 40 <= upper)) {
    ++*k;
    return tens + (40 * tens + 40 <= upper);
  }
  if ((lower <= 4 * s) != (4 * s + 4 <= upper))
    return s + (4 * s + 4 <= upper);
  return s + (v > 4 * s + 2 || (v == 4 * s + 2 && (s & 1)));
}

static uint64_t shortest(double value, int *k) {
  uint64_t bits, mantissa;
  int exponent;
  memcpy(&bits, &value, sizeof bits);
  mantissa = bits & (HIDDEN_BIT - 1);
  exponent = (int)(bits >> MANTISSA_BITS) & 0x7FF;
  if (exponent == 0)
    return schubfach(mantissa, 1 - EXPONENT_BIAS - MANTISSA_BITS, 0, k);
  return schubfach(mantissa | HIDDEN_BIT,
                   exponent - EXPONENT_BIAS - MANTISSA_BITS,
                   mantissa == 0 && exponent > 1, k);
}

/* Digits are copied in blocks of one size, which the compiler does in place: a
** block behind the last digit is there to be read, and room to be written. */
#define BLOCK 18

static size_t write_scientific(char *out, const char *digits, size_t n,
                               int exponent) {
  char *p = out;
  *p++ = digits[0];
  if (n > 1) {
    *p++ = '.';
    memcpy(p, digits + 1, BLOCK);
    p += n - 1;
  }
  *p++ = 'e';
  return (size_t)(p - out) + pt_number_write_integer(p, exponent);
}

/* `point` digits stand before the decimal point; it may be 0 or less. */
static size_t write_fixed(char *out, const char *digits, size_t n, int point) {
  char *p = out;
  if (point <= 0) {
    memcpy(p, "0.00000000", 10);
    p += 2 - point;
    memcpy(p, digits, BLOCK);
    return (size_t)(p - out) + n;
  }
  memcpy(p, digits, BLOCK);
  if (n <= (size_t)point) {
    memset(p + n, '0', (size_t)point - n);
    memcpy(p + point, ".0", 2);
    return (size_t)point + 2;
  }
  p[point] = '.';
  memcpy(p + point + 1, digits + point, BLOCK);
  return n + 1;
}

size_t pt_number_write_real(char *out, double value) {
  char digits[20 + BLOCK] = {0}, *end = digits + 20, *first;
  size_t sign = signbit(value) != 0, n;
  int k = 0, point;
  *out = '-';
  out += sign;
  if (value == 0.0) {
    memcpy(out, "0.0", 3);
    return sign + 3;
  }
  first = digits_before(end, shortest(fabs(value), &k));
  for (; end[-1] == '0' && end > first + 1; k++)
    end--;
  n = (size_t)(end - first);
  point = (int)n + k;
  if (point < -5 || point > 17)
    return sign + write_scientific(out, first, n, point - 1);
  return sign + write_fixed(out, first, n, point);
}

/* }====== */
