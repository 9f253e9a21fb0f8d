/*
** The envelope of a JSON-RPC message that is skipped because it is too long:
** which id it has, and whether it is a request or an answer. The text is read
** byte by byte and never kept; any way of splitting it gives the same.
**
**   pt_skim k;
**   pt_skim_begin(&k);
**   used = pt_skim_read(&k, bytes, len);  if (k.has_report) …
**   pt_skim_end(&k);                      if (k.has_report) …
**
** Only members of the envelope itself count, never those of a payload: levels
** and strings are followed to the end. Of a member that is given twice before
** it is told, the last counts.
**
** A message is told once: as soon as it has both an id and a method, result or
** error that is not null; else at the end of its object, or where its text
** turns out to be no JSON-RPC message. Of a batch every answer is told, and
** all that is not an answer together once, without an id.
*/
#ifndef PT_SKIM_H
#define PT_SKIM_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define PT_SKIM_ID 128  /* bytes of an id; a longer one is not known */
#define PT_SKIM_NAME 37 /* bytes of "result" with every letter escaped, and " */

typedef struct pt_skim {
  int has_report;  /* the three below are to be looked at now */
  size_t id_len;   /* bytes of `id`, quotes included; 0 if it is not known */
  int has_method;  /* it is a request or notification */
  int has_outcome; /* it has a result or an error */
  int is_done;     /* nothing more will be told */
  char id[PT_SKIM_ID];
  /* the rest is the scanner's own */
  int state;
  int after; /* the state behind the string or nested value being read */
  int member;
  int is_inside; /* of an envelope; else in a batch, or in nothing */
  int has_id;
  int has_nonnull_outcome; /* one that is not null */
  int is_batch;
  int is_item_reported;
  int has_reported;      /* something */
  int has_reported_rest; /* what is not an answer, of a batch */
  int is_escaped;        /* the next byte of a string belongs to an escape */
  uint64_t depth;        /* levels inside of a value */
  uint64_t unknown;      /* the outer ones of them whose bit was pushed out */
  uint64_t arrays; /* a bit for each of the others, the innermost lowest */
  size_t name_len;
  char name[PT_SKIM_NAME];
} pt_skim;

void pt_skim_begin(pt_skim *k);

/* Reads up to the next report, and returns how many bytes that is. */
size_t pt_skim_read(pt_skim *k, const char *bytes, size_t len);

/* The text is over. */
void pt_skim_end(pt_skim *k);

#pragma GCC visibility pop

#endif
