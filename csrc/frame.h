/*
** Splits a stream of bytes into frames. The scanner remembers its progress as
** offsets from the first unused byte, so the caller may move, grow and refill
** the buffer between two calls. The result does not depend on how the input is
** split into pieces.
**
**   pt_framing f;
**   pt_frame_init(&f, PT_FRAME_AUTO, 8192, 1 << 26);
**   switch (pt_frame_scan(&f, bytes, len, at_end, &found)) …
**
** The caller owns the bytes. It drops the first `found.used` of them after it
** has used the result. The pointers in `found` point into the caller's bytes or
** into the scanner.
**
** A body or line that is longer than its limit is never stored. It is skipped,
** and skimmed for its id meanwhile (skim.h). It is reported as soon as the id
** is known. A batch that is too long may be reported more than once.
*/
#ifndef PT_FRAME_H
#define PT_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "skim.h"

typedef enum pt_frame_mode {
  PT_FRAME_AUTO, /* the first bytes decide which of the other two it is */
  PT_FRAME_LINE,
  PT_FRAME_HEADER
} pt_frame_mode;

/* their names, in this order; ends with NULL */
extern const char *const pt_frame_modes[];

/* default limits, in bytes */
#define PT_FRAME_HEADER_LIMIT (8 * 1024)
#define PT_FRAME_BODY_LIMIT (64 * 1024 * 1024)

typedef enum pt_frame_result {
  PT_FRAME_MORE,    /* no complete frame yet; `used` may be more than 0 */
  PT_FRAME_MESSAGE, /* text and len are the body of a message */
  PT_FRAME_NOISE,   /* text and len are bytes outside of any message */
  PT_FRAME_BAD      /* a malformed frame or one over its limit; see `what` */
} pt_frame_result;

typedef struct pt_frame_found {
  size_t used; /* bytes that the caller drops from the front */
  const char *text;
  size_t len;
  const char *what; /* static text, for PT_FRAME_BAD */
  /* the size, limit or line number to append to `what`, or 0 */
  uint64_t number;
  size_t need; /* PT_FRAME_MORE: bytes still missing, 0 if unknown */
  /* PT_FRAME_BAD: id and kind of a message that was too long, else NULL */
  const pt_skim *skim;
  uint64_t size; /* bytes of that message, 0 if unknown */
} pt_frame_found;

/* bytes that are stored of a message over the limit */
#define PT_FRAME_START 256

typedef struct pt_framing {
  pt_frame_mode mode;
  size_t header_limit; /* bytes of a header block, and of one piece of noise */
  size_t body_limit;   /* bytes of a body or line */
  /* private to the scanner: */
  uint64_t skip;   /* bytes still to skip */
  int skip_line;   /* skip to the end of this line */
  int has_noise;   /* auto: the first line was noise */
  size_t seen;     /* bytes searched without finding an end */
  size_t block;    /* header: bytes of complete lines read */
  size_t header;   /* header: size of the complete block, 0 before */
  uint64_t length; /* header: Content-Length */
  int fields;      /* header: fields read in this block */
  int has_length;
  int refused;       /* header: the block was refused; skip its rest */
  int lines;         /* header: lines read in this block */
  const char *wrong; /* header: the first error in this block, or NULL */
  int wrong_line;    /* header: the line of that error */
  int is_skimming;   /* skipped bytes are skimmed; else the rest is unused: */
  uint64_t size;     /* bytes of the skipped message, 0 if unknown */
  pt_skim skim;
  size_t start_len;
  char start[PT_FRAME_START];
} pt_framing;

void pt_frame_init(pt_framing *f, pt_frame_mode mode, size_t header_limit,
                   size_t body_limit);

/* `at_end` says that no byte will follow these: an unfinished last line then
** counts as a line, and an unfinished frame is an error. At the end the caller
** repeats the call until nothing is used or found. */
pt_frame_result pt_frame_scan(pt_framing *f, const char *bytes, size_t len,
                              int at_end, pt_frame_found *found);

/* ====== One line of a header block ====== */

/* A name of letters and '-', a colon, optional spaces, and a value. */
typedef struct pt_header_field {
  const char *name;
  size_t name_len;
  const char *value; /* without the spaces around it */
  size_t value_len;
  int not_ascii; /* the value holds a byte that is not ASCII */
} pt_header_field;

/* Returns 1 if the line, given without its line end, is a field. */
int pt_header_parse(const char *line, size_t len, pt_header_field *field);

/* Compares the name without case; `name` is in lower case. */
int pt_header_is(const pt_header_field *field, const char *name);

#endif
