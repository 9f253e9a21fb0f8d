#include "header.h"

static char lower(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static int is_name_byte(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || c == '-';
}

/* How many of the first bytes agree with `word`, which is in lower case. */
static size_t agrees(const char *text, size_t len, const char *word) {
  size_t i = 0;
  while (i < len && word[i] != '\0' && lower(text[i]) == word[i])
    i++;
  return i;
}

static int equals(const char *text, size_t len, const char *word) {
  return agrees(text, len, word) == len && word[len] == '\0';
}

static void trim(const char **text, size_t *len) {
  while (*len > 0 && (**text == ' ' || **text == '\t')) {
    ++*text;
    --*len;
  }
  while (*len > 0 && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
    --*len;
}

static const char length_name[] = "content-length:";

/* A name such as helloContent-Length: what was printed without an end of line,
** and the field behind it. */
static int is_glued(const char *name, size_t len) {
  size_t own = sizeof length_name - 2;
  return len > own && name[len - own - 1] != '-' &&
         agrees(name + len - own, own, length_name) == own;
}

int pt_header_parse(const char *line, size_t len, pt_header_field *field) {
  size_t n = 0, i;
  while (n < len && is_name_byte(line[n]))
    n++;
  if (n == 0 || n == len || line[n] != ':' || is_glued(line, n))
    return 0;
  field->name = line;
  field->name_len = n;
  field->value = line + n + 1;
  field->value_len = len - n - 1;
  field->not_ascii = 0;
  for (i = 0; i < field->value_len; i++)
    field->not_ascii |= (unsigned char)field->value[i] >= 0x80;
  trim(&field->value, &field->value_len);
  return 1;
}

int pt_header_is(const pt_header_field *field, const char *name) {
  return equals(field->name, field->name_len, name);
}

const char *pt_header_length(const pt_header_field *field, uint64_t *length) {
  size_t i;
  *length = 0;
  for (i = 0; i < field->value_len; i++) {
    char c = field->value[i];
    if (c < '0' || c > '9')
      return "Content-Length is not a plain decimal number, header line";
    if (*length > (INT64_MAX - 9) / 10)
      return "Content-Length is too large a number, header line";
    *length = *length * 10 + (uint64_t)(c - '0');
  }
  return i > 0 ? NULL : "Content-Length is empty, header line";
}

/* The value behind "charset=", up to the next ';'; whole content types and
** charsets come in quotes from some. */
int pt_header_is_utf8(const pt_header_field *field) {
  const char *p = field->value, *end = p + field->value_len, *stop;
  while (p < end && agrees(p, (size_t)(end - p), "charset=") < 8)
    p++;
  if (p == end)
    return 1;
  p += 8;
  while (p < end && *p == '"')
    p++;
  for (stop = p; stop < end && *stop != ';' && *stop != '"' && *stop != ' ';)
    stop++;
  return equals(p, (size_t)(stop - p), "utf-8") ||
         equals(p, (size_t)(stop - p), "utf8");
}

int pt_header_opens(const char *line, size_t len) {
  return agrees(line, len, "content-") == 8;
}

size_t pt_header_find(const char *line, size_t len) {
  size_t at;
  for (at = 1; at + sizeof length_name - 1 <= len; at++)
    if (agrees(line + at, len - at, length_name) == sizeof length_name - 1)
      return at;
  return 0;
}

size_t pt_header_cut(const char *junk, size_t len) {
  size_t tail, at = pt_header_find(junk, len);
  if (at > 0)
    return at;
  for (tail = sizeof length_name - 2; tail > 0; tail--)
    if (tail < len && agrees(junk + len - tail, tail, length_name) == tail)
      return len - tail;
  return len;
}
