/*
** Reading follows Eisel and Lemire ("Number Parsing at a Gigabyte per Second"),
** writing follows Giulietti ("The Schubfach way to render doubles"). Both need
** one or two multiplications with a 128-bit power of ten. strtod reads the rare
** decimals that Eisel-Lemire cannot decide.
*/
#include "number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MANTISSA_BITS 52
#define HIDDEN_BIT (UINT64_C(1) << MANTISSA_BITS)
#define EXPONENT_BIAS 1023
#define MAX_DIGITS 19 /* every number of so many digits fits into 64 bits */

typedef struct wide {
  uint64_t high, low;
} wide;

static wide multiply_wide(uint64_t a, uint64_t b) {
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

static double double_from_bits(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

/* ====== Powers of ten ====== */

/* A power of ten is 10^(28 i) times 5^j, apart from its exponent of two. Both
** factors are stored as a mantissa whose highest bit is set: 5^j is exact in 64
** bits, and 192 bits of the other factor are enough for the first 128 bits of
** every product. Ordinary numbers need no product: their powers are 5^j. */
#define LOWEST_POWER (-342)
#define STEP 28
#define FIRST_STEP (-13)

/* clang-format off */
static const uint64_t powers_of_five[STEP] = { /* 5^0 to 5^27 */
    0x8000000000000000, 0xa000000000000000, 0xc800000000000000,
    0xfa00000000000000, 0x9c40000000000000, 0xc350000000000000,
    0xf424000000000000, 0x9896800000000000, 0xbebc200000000000,
    0xee6b280000000000, 0x9502f90000000000, 0xba43b74000000000,
    0xe8d4a51000000000, 0x9184e72a00000000, 0xb5e620f480000000,
    0xe35fa931a0000000, 0x8e1bc9bf04000000, 0xb1a2bc2ec5000000,
    0xde0b6b3a76400000, 0x8ac7230489e80000, 0xad78ebc5ac620000,
    0xd8d726b7177a8000, 0x878678326eac9000, 0xa968163f0a57b400,
    0xd3c21bcecceda100, 0x84595161401484a0, 0xa56fa5b99019a5c8,
    0xcecb8f27f4200f3a,
};

static const uint64_t steps[][3] = { /* 10^-364 to 10^308, truncated */
    {0xe1afa13afbd14d6d, 0x82189c09a3a1ec21, 0x7a43516213c7e04c},
    {0xe3e27a444d8d98b7, 0xfd1b1b2308169b25, 0x363b1f2c568dc3e2},
    {0xe61acf033d1a45df, 0x6fb92487298e33bd, 0xadd7728c20b99bd1},
    {0xe858ad248f5c22c9, 0xd1b3400f8f9cff68, 0xf910f9f648232f14},
    {0xea9c227723ee8bcb, 0x465e15a979c1cadc, 0x0a0ce827eac11f2d},
    {0xece53cec4a314ebd, 0xa4f8bf5635246428, 0x4609ac5c7899ca36},
    {0xef340a98172aace4, 0x86fb897116c87c34, 0x9c39c1da4c49278d},
    {0xf18899b1bc3f8ca1, 0xdc44e6c3cb279ac1, 0xf80f36174730ca34},
    {0xf3e2f893dec3f126, 0x5a89dba3c3efccfa, 0xd8ecb58659be9c90},
    {0xf64335bcf065d37d, 0x4d4617b5ff4a16d5, 0xaa09501d5954a559},
    {0xf8a95fcf88747d94, 0x75a44c6397ce912a, 0x33cca6c06b07b74d},
    {0xfb158592be068d2e, 0xeed6e2f0f0d56712, 0xac2e4f162cfad40a},
    {0xfd87b5f28300ca0d, 0x8bca9d6e188853fc, 0x76dcb60081ce0fa5},
    {0x8000000000000000, 0x0000000000000000, 0x0000000000000000},
    {0x813f3978f8940984, 0x4000000000000000, 0x0000000000000000},
    {0x82818f1281ed449f, 0xbff8f10e7a8921a4, 0x2000000000000000},
    {0x83c7088e1aab65db, 0x792667c6da79e0fa, 0x0861d3ee22d1cc53},
    {0x850fadc09923329e, 0x03e2cf6bc604ddb0, 0x74a7ef0198791097},
    {0x865b86925b9bc5c2, 0x0b8a2392ba45a9b2, 0x5c6658d409fb8bf7},
    {0x87aa9aff79042286, 0x90fb44d2f05d0842, 0xfb118fc9c217a1d2},
    {0x88fcf317f22241e2, 0x441fece3bdf81f03, 0x12f274928400100d},
    {0x8a5296ffe33cc92f, 0x82bd6b70d99aaa6f, 0xbc10c5c5cda97c8d},
    {0x8bab8eefb6409c1a, 0x1ad089b6c2f7548e, 0x25c7b885ba466e37},
    {0x8d07e33455637eb2, 0xdb0b487b6423e1e8, 0x7ec63730f500b406},
    {0x8e679c2f5e44ff8f, 0x570f09eaa7ea7648, 0x5961db50c6d2b886},
};
/* clang-format on */

static wide multiply_by_power_of_ten(int k) {
  unsigned place = (unsigned)(k - FIRST_STEP * STEP);
  const uint64_t *step = steps[place / STEP];
  uint64_t five = powers_of_five[place % STEP];
  uint64_t carry = multiply_wide(step[2], five).high;
  wide middle = multiply_wide(step[1], five),
       power = multiply_wide(step[0], five);
  middle.low += carry;
  middle.high += middle.low < carry;
  power.low += middle.high;
  power.high += power.low < middle.high;
  if (power.high >> 63 == 0) {
    power.high = power.high << 1 | power.low >> 63;
    power.low = power.low << 1 | middle.low >> 63;
  }
  power.low += k < 0;
  power.high += k < 0 && power.low == 0;
  return power;
}

/* Returns the first 128 bits of 10^k, for k from LOWEST_POWER to 324: truncated
** for k >= 0, rounded up for k < 0. */
static inline wide power_of_ten(int k) {
  if (k >= 0 && k < STEP)
    return (wide){powers_of_five[k], 0};
  return multiply_by_power_of_ten(k);
}

/* ====== Reading ====== */

typedef struct decimal {
  uint64_t digits; /* the first MAX_DIGITS significant digits */
  int exponent;    /* of ten, for `digits` */
  int negative;
  int truncated; /* there were more digits than fit */
} decimal;

static double assemble_double(uint64_t mantissa, int exponent) {
  return double_from_bits((uint64_t)exponent << MANTISSA_BITS |
                          (mantissa & (HIDDEN_BIT - 1)));
}

static double round_subnormal_double(uint64_t mantissa, int exponent) {
  if (1 - exponent >= 64)
    return 0.0;
  mantissa >>= 1 - exponent;
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  return assemble_double(mantissa, mantissa >= HIDDEN_BIT);
}

/* Returns the double nearest to w * 10^q, infinity if that is too large, -1 if
** the algorithm cannot decide. */
static double eisel_lemire(uint64_t w, int q) {
  int zeros, upper, exponent;
  wide power, x;
  uint64_t mantissa;
  if (w == 0 || q < LOWEST_POWER)
    return 0.0;
  if (q > 308)
    return HUGE_VAL;
  zeros = __builtin_clzll(w);
  w <<= zeros;
  power = power_of_ten(q);
  x = multiply_wide(w, power.high);
  if ((x.high & 0x1FF) == 0x1FF) {
    uint64_t carry = multiply_wide(w, power.low).high;
    x.low += carry;
    x.high += x.low < carry;
  }
  if (x.low == UINT64_MAX && (q < -27 || q > 55))
    return -1.0;
  upper = (int)(x.high >> 63);
  mantissa = x.high >> (upper + 64 - MANTISSA_BITS - 3);
  exponent = ((217706 * q) >> 16) + 63 + upper - zeros + EXPONENT_BIAS;
  if (exponent <= 0)
    return round_subnormal_double(mantissa, exponent);
  if (x.low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 &&
      mantissa << (upper + 64 - MANTISSA_BITS - 3) == x.high)
    mantissa &= ~UINT64_C(1); /* a tie is rounded to even */
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  if (mantissa == HIDDEN_BIT << 1) {
    mantissa = HIDDEN_BIT;
    exponent++;
  }
  return exponent >= 2 * EXPONENT_BIAS + 1
             ? HUGE_VAL
             : assemble_double(mantissa, exponent);
}

/* Copies at most `most` significant digits. If digits other than zero are left
** out, one more digit that is not zero is appended: rounding needs no more than
** that. */
static int copy_number_digits(char *out, int most, const char *p,
                              const char *end) {
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

/* A value halfway between two doubles has at most 767 significant digits. The
** text given to strtod has no decimal point, so that the locale does not
** matter. */
static double read_number_with_strtod(const decimal *d, const char *text,
                                      const char *end) {
  char copy[800 + 16];
  int n = copy_number_digits(copy, 780, text, end);
  int exponent = d->exponent - (n > MAX_DIGITS ? n - MAX_DIGITS : 0);
  copy[n] = 'e';
  copy[(size_t)n + 1 + pt_number_write_integer(copy + n + 1, exponent)] = '\0';
  return strtod(copy, NULL);
}

static const char *read_number_digits(const char *p, const char *end,
                                      decimal *d, int *count) {
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

static const char *read_number_fraction(const char *p, const char *end,
                                        decimal *d, int *count) {
  const char *start = ++p;
  p = read_number_digits(p, end, d, count);
  d->exponent -= (int)(p - start);
  return p > start ? p : NULL;
}

static const char *read_number_exponent(const char *p, const char *end,
                                        decimal *d) {
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

/* Exact without a table if both the digits and the power of ten are exact
** doubles. */
static double decimal_to_double(const decimal *d, const char *text,
                                const char *end) {
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
    value = read_number_with_strtod(d, text, end);
  return value;
}

static int fits_integer_number(const decimal *d) {
  uint64_t most = (uint64_t)INT64_MAX + (uint64_t)d->negative;
  return !d->truncated && d->exponent == 0 && d->digits <= most &&
         !(d->negative && d->digits == 0);
}

static int set_integer_number(const decimal *d, pt_number *out) {
  out->is_integer = 1;
  out->integer = (int64_t)(d->negative ? 0 - d->digits : d->digits);
  return 1;
}

static int set_real_number(const decimal *d, const char *text, const char *end,
                           pt_number *out) {
  double value = decimal_to_double(d, text, end);
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
  p = read_number_digits(p, end, &d, &count);
  if (p == first || (*first == '0' && p > first + 1))
    return NULL;
  if (p < end && *p == '.') {
    whole = 0;
    p = read_number_fraction(p, end, &d, &count);
  }
  if (p != NULL && p < end && (*p | 0x20) == 'e') {
    whole = 0;
    p = read_number_exponent(p, end, &d);
  }
  if (p == NULL)
    return NULL;
  if (whole && fits_integer_number(&d) && set_integer_number(&d, out))
    return p;
  if (whole && d.digits != 0)
    out->big_end = p;
  return set_real_number(&d, text, p, out) ? p : NULL;
}

const char *pt_number_fault(const pt_number *out) {
  return isinf(out->real) ? "number too large" : "invalid number";
}

/* ====== Writing ====== */

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

/* Writes the digits directly before `end`. */
static char *write_number_digits_before(char *end, uint64_t value) {
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
  write_number_digits_before(out + len, magnitude);
  return len;
}

static int floor_log2_power10(int e) { return (e * 1741647) >> 19; }

static uint64_t round_number_to_odd(wide power, uint64_t cp) {
  uint64_t x = multiply_wide(power.low, cp).high;
  wide y = multiply_wide(power.high, cp);
  y.low += x;
  y.high += y.low < x;
  return y.high | (y.low > 1);
}

/* Returns the shortest decimal that lies between the neighbours of c * 2^q; *k
** is its exponent. `closer` says that the lower neighbour is only half as far
** away. */
static uint64_t schubfach(uint64_t c, int q, int closer, int *k) {
  int odd = (int)(c & 1), h;
  uint64_t lower, upper, v, s, tens;
  wide power;
  *k = (q * 1262611 - (closer ? 524031 : 0)) >> 22;
  h = q + floor_log2_power10(-*k) + 1;
  power = power_of_ten(-*k);
  power.low +=
      /* the table truncates these powers; they must be rounded up here */
      -*k > 55;
  lower = round_number_to_odd(power, (4 * c - 2 + (uint64_t)closer) << h);
  v = round_number_to_odd(power, (4 * c) << h);
  upper = round_number_to_odd(power, (4 * c + 2) << h);
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

static uint64_t shortest_decimal(double value, int *k) {
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

/* Digits are copied in blocks of a fixed size, which the compiler does inline.
** So a block after the last digit must be readable in the source and writable
** in `out`. */
#define BLOCK 18

static size_t write_scientific_number(char *out, const char *digits, size_t n,
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

/* `point` digits come before the decimal point; it may be 0 or less. */
static size_t write_fixed_number(char *out, const char *digits, size_t n,
                                 int point) {
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
  first = write_number_digits_before(end, shortest_decimal(fabs(value), &k));
  for (; end[-1] == '0' && end > first + 1; k++)
    end--;
  n = (size_t)(end - first);
  point = (int)n + k;
  if (point < -5 || point > 17)
    return sign + write_scientific_number(out, first, n, point - 1);
  return sign + write_fixed_number(out, first, n, point);
}
