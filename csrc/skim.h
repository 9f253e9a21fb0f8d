/*
** Reads the envelope of a JSON-RPC message that is skipped because it is too
** long: which id it has, and whether it is a request or an answer. The text is
** read byte by byte and never stored. The result does not depend on how the
** text is split.
**
**   pt_skim k;
**   pt_skim_begin(&k);
**   used = pt_skim_read(&k, bytes, len);  if (k.has_report) …
**   pt_skim_end(&k);                      if (k.has_report) …
**
** Only members of the envelope itself count, not those of a payload: nesting
** and strings are followed to the end. A closing bracket closes whatever was
** opened last. Of a member that occurs twice before the
** report, the last one counts.
**
** A message is reported once: as soon as it has both an id and a method, result
** or error that is not null; otherwise at the end of its object, or where its
** text turns out not to be a JSON-RPC message. In a batch every answer is
** reported, and all other members together once, without an id.
*/
#ifndef PT_SKIM_H
#define PT_SKIM_H

#include <stddef.h>
#include <stdint.h>

/* maximum bytes of an id; a longer id counts as unknown */
#define PT_SKIM_ID 128
/* bytes of "result" with every letter escaped, and its closing quote */
#define PT_SKIM_NAME 37

typedef struct pt_skim {
  int has_report;  /* the next three fields are a report */
  size_t id_len;   /* bytes of `id`, quotes included; 0 if it is unknown */
  int has_method;  /* the message is a request or notification */
  int has_outcome; /* the message has a result or an error */
  int is_done;     /* nothing more will be reported */
  char id[PT_SKIM_ID];
  /* private to the scanner: */
  int state;
  int after; /* the state after the string or nested value being read */
  int member;
  int is_in_envelope; /* inside of an envelope; else in a batch or at the top */
  int has_id;
  int has_nonnull_outcome; /* a result or error that is not null */
  int is_batch;
  int is_item_reported;
  int has_reported; /* anything was reported */
  /* the members of a batch that are not answers were reported */
  int has_reported_rest;
  int is_escaped; /* the next byte of a string is part of an escape */
  uint64_t depth; /* nesting levels inside of a value */
  size_t name_len;
  char name[PT_SKIM_NAME];
} pt_skim;

void pt_skim_begin(pt_skim *k);

/* Reads up to the next report, and returns the number of bytes read. */
size_t pt_skim_read(pt_skim *k, const char *bytes, size_t len);

/* Ends the text. */
void pt_skim_end(pt_skim *k);

#endif
