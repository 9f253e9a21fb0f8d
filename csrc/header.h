/*
** One line of a header block: a name of letters and '-', a colon, optional
** spaces, a value. All of it works on memory of the caller's.
*/
#ifndef PT_HEADER_H
#define PT_HEADER_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

typedef struct pt_header_field {
  const char *name;
  size_t name_len;
  const char *value; /* without the spaces around it */
  size_t value_len;
  int not_ascii; /* the value holds a byte that is not ASCII */
} pt_header_field;

/* 1 if the line, given without its end, is a field. */
int pt_header_parse(const char *line, size_t len, pt_header_field *field);

/* Compares the name without case; `name` is in lower case. */
int pt_header_is(const pt_header_field *field, const char *name);

/* The value as a length; or why it is none. */
const char *pt_header_length(const pt_header_field *field, uint64_t *length);

/* Whether a Content-Type names no charset, or utf-8 by any of its spellings. */
int pt_header_is_utf8(const pt_header_field *field);

/* Whether these first bytes of a line open a block that a peer would send. */
int pt_header_opens(const char *line, size_t len);

/* Where "Content-Length:" stands inside of a line behind junk; 0 if nowhere. */
size_t pt_header_find(const char *line, size_t len);

/* Where to cut junk of `len` bytes so that no "Content-Length:" that stands in
** it or may follow is lost. */
size_t pt_header_cut(const char *junk, size_t len);

#pragma GCC visibility pop

#endif
