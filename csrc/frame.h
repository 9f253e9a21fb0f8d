/*
** One frame out of a stream of bytes. The scanner keeps what it has seen so far
** as offsets from the first byte that was not yet used up, so the caller may
** move, grow and refill the buffer between two calls; any way of splitting the
** input gives the same frames.
**
**   pt_framing f;
**   pt_frame_init(&f, PT_FRAME_AUTO, 8192, 1 << 26);
**   switch (pt_frame_scan(&f, bytes, len, at_end, &found)) …
**
** The caller owns the bytes, and drops the first `found.used` of them after it
** has looked at what was found; the spans of `found` point into them, or into
** the scanner.
**
** A body or line over its bound is never kept: it is skimmed for its id while
** it is skipped (skim.h), and reported as soon as the id is known. It may be
** reported more than once if it is a batch.
*/
#ifndef PT_FRAME_H
#define PT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "skim.h"

#pragma GCC visibility push(hidden)

typedef enum pt_frame_mode {
  PT_FRAME_AUTO, /* until the first bytes tell which of the others it is */
  PT_FRAME_LINE,
  PT_FRAME_HEADER
} pt_frame_mode;

typedef enum pt_frame_result {
  PT_FRAME_MORE,    /* nothing whole yet; `used` may still be more than 0 */
  PT_FRAME_MESSAGE, /* text and len are a message's body */
  PT_FRAME_NOISE,   /* text and len are bytes outside of any message */
  PT_FRAME_BAD      /* a frame that is refused; `what` says why */
} pt_frame_result;

typedef struct pt_frame_found {
  size_t used; /* bytes the caller drops from the front */
  const char *text;
  size_t len;
  const char *what; /* static text, for PT_FRAME_BAD */
  uint64_t number;  /* the size, limit or line that `what` ends with, if any */
  size_t need;      /* PT_FRAME_MORE: bytes that are missing, if known */
  const pt_skim *skim; /* PT_FRAME_BAD: its id and kind, if it was too long */
  uint64_t size;       /* and the bytes it has, if known */
} pt_frame_found;

#define PT_FRAME_START 256 /* bytes that are kept of what is too long */

typedef struct pt_framing {
  pt_frame_mode mode;
  size_t header_limit; /* bytes of a header block, and of one piece of noise */
  size_t body_limit;   /* bytes of a body or line */
  /* the rest is the scanner's own */
  uint64_t skip;   /* bytes still to be dropped unread */
  int skip_line;   /* drop up to the end of this line */
  int has_noise;   /* auto: a line of noise came first */
  size_t seen;     /* bytes looked at without finding an end */
  size_t block;    /* header: bytes of whole lines read */
  size_t header;   /* header: size of the finished block, 0 before */
  uint64_t length; /* header: Content-Length */
  int fields;      /* header: fields read in this block */
  int has_length;
  int refused;       /* header: the rest of this block is only dropped */
  int lines;         /* header: lines read in this block */
  const char *wrong; /* header: first thing that is wrong with this block */
  int wrong_line;    /* header: the line that is */
  int is_skimming;   /* what is dropped is looked at; else these are unused: */
  uint64_t size;     /* bytes it has, 0 if that is not known */
  pt_skim skim;
  size_t start_len;
  char start[PT_FRAME_START];
} pt_framing;

void pt_frame_init(pt_framing *f, pt_frame_mode mode, size_t header_limit,
                   size_t body_limit);

/* `at_end` says that no byte will follow these: an unfinished last line then
** counts as one, and an unfinished frame is bad. It then has to be asked again
** until nothing is used or found. */
pt_frame_result pt_frame_scan(pt_framing *f, const char *bytes, size_t len,
                              int at_end, pt_frame_found *found);

/* {====== One line of a header block ====== */

/* A name of letters and '-', a colon, optional spaces, a value. */
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

/* }====== */

#pragma GCC visibility pop

#endif
