/*
** Numbers. Text: what is read agrees with strtod, and what is refused is no
** number of JSON. Eight bytes as a double: its text reads back bit for bit,
** here and by strtod, and no shorter text would.
*/
#include "../csrc/number.h"

#include <math.h>

#include "fuzz.h"

#define MAX_TEXT 2000

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* The byte behind the number by the grammar of RFC 8259, or NULL. */
static const char *by_grammar(const char *p, int *is_whole) {
  *is_whole = 1;
  p += *p == '-';
  if (*p < '0' || *p > '9')
    return NULL;
  if (*p == '0' && p[1] >= '0' && p[1] <= '9')
    return NULL;
  p += strspn(p, "0123456789");
  if (*p == '.') {
    size_t n = strspn(++p, "0123456789");
    *is_whole = 0;
    p += n;
    if (n == 0)
      return NULL;
  }
  if (*p == 'e' || *p == 'E') {
    size_t n;
    *is_whole = 0;
    p++;
    p += *p == '+' || *p == '-';
    n = strspn(p, "0123456789");
    p += n;
    if (n == 0)
      return NULL;
  }
  return p;
}

static void check_text(const fuzz_input *in) {
  char text[MAX_TEXT + 1], *exact = fuzz_rest(in), *ignored;
  size_t len = in->size < MAX_TEXT ? in->size : MAX_TEXT;
  const char *end, *expected;
  pt_number number;
  double real;
  int is_whole;
  memcpy(text, exact, len);
  text[len] = '\0';
  end = pt_number_read(exact, exact + len, &number);
  expected = by_grammar(text, &is_whole);
  if (expected != NULL) /* strtod would read "0x1" as one number */
    text[expected - text] = '\0';
  real = expected != NULL ? strtod(text, &ignored) : 0;
  if (expected == NULL || isinf(real)) {
    fuzz_check(end == NULL);
  } else {
    fuzz_check(end == exact + (expected - text));
    if (number.is_integer) {
      char again[PT_NUMBER_MAX];
      size_t n = pt_number_write_integer(again, number.integer);
      fuzz_check(is_whole);
      fuzz_check(n == (size_t)(end - exact) && memcmp(again, exact, n) == 0);
    } else {
      fuzz_check(bits_of(number.real) == bits_of(real));
      fuzz_check(!is_whole || fabs(real) >= 0x1p63 || bits_of(real) >> 63);
    }
  }
  free(exact);
}

static int count_digits(const char *text) {
  int n = 0, zeros = 0;
  for (; *text != '\0' && *text != 'e'; text++) {
    if (*text == '0' && n > 0)
      zeros++;
    else if (*text >= '1' && *text <= '9') {
      n += zeros + 1;
      zeros = 0;
    }
  }
  return n;
}

static int fewest_digits(double value) {
  char text[64];
  int digits;
  for (digits = 1; digits < 17; digits++) {
    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    if (strtod(text, NULL) == value)
      break;
  }
  return digits;
}

static void check_double(const fuzz_input *in) {
  char *text = malloc(PT_NUMBER_MAX + 1);
  double value = 0;
  pt_number number;
  size_t len;
  memcpy(&value, in->data, in->size < sizeof value ? in->size : sizeof value);
  if (isfinite(value)) {
    len = pt_number_write_real(text, value);
    fuzz_check(len <= PT_NUMBER_MAX);
    text[len] = '\0';
    fuzz_check(pt_number_read(text, text + len, &number) == text + len);
    fuzz_check(!number.is_integer);
    fuzz_check(bits_of(number.real) == bits_of(value));
    fuzz_check(bits_of(strtod(text, NULL)) == bits_of(value));
    fuzz_check(count_digits(text) <= fewest_digits(value));
  }
  free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_input in = {data, size};
  if (fuzz_byte(&in) == '=')
    check_double(&in);
  else if (size <= MAX_TEXT)
    check_text(&in);
  return 0;
}
