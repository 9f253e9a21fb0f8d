#include "scan.h"

#include <string.h>

/* Each of these takes where something should begin and returns what follows it,
** or NULL when it is not there. */
static const char *skip_value(const char *p, const char *end);

static const char *skip_space(const char *p, const char *end) {
  while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r'))
    p++;
  return p;
}

static const char *skip_string(const char *p, const char *end) {
  if (p >= end || *p++ != '"')
    return NULL;
  for (; p < end && *p != '"'; p++) {
    if ((unsigned char)*p < ' ')
      return NULL;
    if (*p == '\\')
      p++;
  }
  return p < end ? p + 1 : NULL;
}

static const char *skip_digits(const char *p, const char *end) {
  const char *first = p;
  while (p < end && *p >= '0' && *p <= '9')
    p++;
  return p > first ? p : NULL;
}

static const char *skip_number(const char *p, const char *end) {
  p = skip_digits(*p == '-' ? p + 1 : p, end);
  if (p != NULL && p < end && *p == '.')
    p = skip_digits(p + 1, end);
  if (p != NULL && p < end && (*p == 'e' || *p == 'E')) {
    p++;
    p = skip_digits(p < end && (*p == '+' || *p == '-') ? p + 1 : p, end);
  }
  return p;
}

static const char *skip_word(const char *p, const char *end, const char *word) {
  size_t n = strlen(word);
  return (size_t)(end - p) >= n && memcmp(p, word, n) == 0 ? p + n : NULL;
}

static const char *skip_key(const char *p, const char *end) {
  p = skip_string(p, end);
  if (p == NULL)
    return NULL;
  p = skip_space(p, end);
  return p < end && *p == ':' ? skip_space(p + 1, end) : NULL;
}

static const char *skip_list(const char *p, const char *end, char close) {
  p = skip_space(p + 1, end);
  if (p < end && *p == close)
    return p + 1;
  for (;;) {
    if (close == '}' && (p = skip_key(p, end)) == NULL)
      return NULL;
    if ((p = skip_value(p, end)) == NULL)
      return NULL;
    p = skip_space(p, end);
    if (p < end && *p == close)
      return p + 1;
    if (p >= end || *p != ',')
      return NULL;
    p = skip_space(p + 1, end);
  }
}

static const char *skip_value(const char *p, const char *end) {
  if (p >= end)
    return NULL;
  switch (*p) {
  case '"':
    return skip_string(p, end);
  case '{':
    return skip_list(p, end, '}');
  case '[':
    return skip_list(p, end, ']');
  case 't':
    return skip_word(p, end, "true");
  case 'f':
    return skip_word(p, end, "false");
  case 'n':
    return skip_word(p, end, "null");
  default:
    return skip_number(p, end);
  }
}

static void note(scanned *found, const char *key, const char *value,
                 const char *after) {
  size_t n = (size_t)(after - value);
  if (strncmp(key, "\"id\"", 4) == 0) {
    found->id = value;
    found->id_len = n;
  } else if (strncmp(key, "\"params\"", 8) == 0 ||
             strncmp(key, "\"result\"", 8) == 0) {
    found->payload = value;
    found->payload_len = n;
  }
}

int scan(const char *body, size_t n, scanned *found) {
  const char *p = body, *end = body + n;
  found->id = found->payload = NULL;
  if (n == 0 || *p != '{')
    return 0;
  do {
    const char *key = skip_space(p + 1, end), *value = skip_key(key, end);
    if (value == NULL || (p = skip_value(value, end)) == NULL)
      return 0;
    note(found, key, value, p);
    p = skip_space(p, end);
  } while (p < end && *p == ',');
  return p == end - 1 && *p == '}' && found->id != NULL &&
         found->payload != NULL;
}
