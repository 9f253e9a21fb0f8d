/*
** A state machine over the bytes of a message. It stores only the current name
** and the id. skim_in_state passes the bytes to the function for the current
** state.
** Strings and nested values are skipped in runs, so that long payloads are
** skimmed fast.
*/
#include "skim.h"

#include <string.h>

#include "json.h"

enum {
  AT_START,
  AT_FIRST_ITEM, /* first member of a batch */
  AT_ITEM,
  AT_FIRST_NAME,
  AT_NAME,
  AT_COLON,
  AT_VALUE,
  IN_STRING,
  IN_SCALAR,
  IN_NEST, /* a nested value, such as a payload */
  AFTER_VALUE,
  AFTER_ITEM,
  AT_END
};

enum { OTHER, ID, METHOD, OUTCOME };

void pt_skim_begin(pt_skim *k) { memset(k, 0, sizeof *k); }

/* ====== Reporting ====== */

/* Forgets the members of the last envelope of a batch. */
static void forget_skimmed_envelope(pt_skim *k) {
  k->id_len = 0;
  k->has_id = k->has_method = k->has_outcome = k->has_nonnull_outcome = 0;
}

static void report_skimmed_message(pt_skim *k) {
  k->has_report = k->has_reported = k->is_item_reported = 1;
  k->is_done = !k->is_batch;
}

/* Reports the members of a batch that are not answers. They are refused
** together because they are answered together. */
static void report_rest_of_skimmed_batch(pt_skim *k) {
  k->is_item_reported = 1;
  if (k->has_reported_rest)
    return;
  k->has_reported_rest = 1;
  forget_skimmed_envelope(k);
  report_skimmed_message(k);
}

static void report_skimmed_envelope(pt_skim *k) {
  if (k->is_batch && (k->has_method || !(k->has_outcome || k->has_id)))
    report_rest_of_skimmed_batch(k);
  else
    report_skimmed_message(k);
}

/* Reports the envelope as soon as its kind is certain. A null result does not
** make a message an answer before all members are known: a method may follow.
*/
static void report_skimmed_if_known(pt_skim *k) {
  if (!k->is_item_reported && k->has_id &&
      (k->has_method || k->has_nonnull_outcome))
    report_skimmed_envelope(k);
}

/* Ends the scan. An id alone is not reported: it does not show whose id it is.
*/
static void give_up_skimming(pt_skim *k) {
  k->state = AT_END;
  k->id_len = 0;
  if (k->is_batch && !k->has_reported)
    report_rest_of_skimmed_batch(k);
  else if (!k->has_reported)
    report_skimmed_message(k);
  k->is_done = 1;
}

/* ====== Strings ====== */

/* Appends the text of a name or an id. If it is longer than `room`, *len
** becomes greater than `room`. */
static void keep_skimmed_bytes(const char *from, const char *to, char *out,
                               size_t *len, size_t room) {
  size_t n = (size_t)(to - from), left = room + 1 - *len;
  if (n > left)
    n = left;
  if (*len + n <= room)
    memcpy(out + *len, from, n);
  *len += n;
}

static void keep_skimmed_name_or_id(pt_skim *k, const char *from,
                                    const char *to) {
  if (k->state == IN_STRING && k->after == AT_COLON)
    keep_skimmed_bytes(from, to, k->name, &k->name_len, sizeof k->name);
  else if (k->depth == 0 && k->member == ID)
    keep_skimmed_bytes(from, to, k->id, &k->id_len, sizeof k->id);
}

/* Skips a string including its closing quote. Sets `*closed` if the quote was
** reached. */
static const char *skip_skimmed_string(pt_skim *k, const char *p,
                                       const char *end, int *closed) {
  for (*closed = 0; p < end && !*closed; p++) {
    if (k->is_escaped) {
      k->is_escaped = 0;
      continue;
    }
    p = pt_plain_end(p, end);
    if (p == end)
      break;
    k->is_escaped = *p == '\\';
    *closed = *p == '"';
  }
  return p;
}

#define NAME_IS(word)                                                          \
  (len == sizeof(word) - 1 && memcmp(name, word, sizeof(word) - 1) == 0)

static int member_by_name(const char *name, size_t len) {
  if (NAME_IS("id"))
    return ID;
  if (NAME_IS("method"))
    return METHOD;
  return NAME_IS("result") || NAME_IS("error") ? OUTCOME : OTHER;
}

/* Returns the member for the name that was read. The name includes its closing
** quote; letters may be escaped. */
static int skimmed_member_of_name(const pt_skim *k) {
  char plain[PT_SKIM_NAME];
  const char *close;
  pt_json_fault fault;
  int escaped;
  if (k->name_len > sizeof k->name)
    return OTHER;
  close = pt_json_string(k->name, k->name + k->name_len, &escaped, &fault);
  if (close == NULL)
    return OTHER;
  if (!escaped)
    return member_by_name(k->name, k->name_len - 1);
  return member_by_name(plain, pt_json_unescape(k->name, close, plain));
}

/* ====== Values ====== */

/* Checks the id: only a complete string, number or null is an id. */
static void end_skimmed_id(pt_skim *k) {
  pt_json_fault fault;
  size_t len = k->id_len <= sizeof k->id ? k->id_len : 0;
  k->has_id = 1;
  if (*k->id == 't' || *k->id == 'f' ||
      pt_json_value(k->id, k->id + len, 1, &fault) != k->id + len)
    len = 0;
  k->id_len = len;
}

static void end_skimmed_value(pt_skim *k) {
  k->state = k->is_in_envelope ? AFTER_VALUE : AFTER_ITEM;
  if (k->member != ID)
    return;
  k->member = OTHER;
  end_skimmed_id(k);
  report_skimmed_if_known(k);
}

static const char *skim_string(pt_skim *k, const char *p, const char *end) {
  int closed;
  const char *next = skip_skimmed_string(k, p, end, &closed);
  keep_skimmed_name_or_id(k, p, next);
  if (!closed)
    return next;
  k->state = k->after;
  if (k->state == AT_COLON)
    k->member = skimmed_member_of_name(k);
  else if (k->state != IN_NEST)
    end_skimmed_value(k);
  return next;
}

/* Bytes of numbers, true, false and null. end_skimmed_id checks the text of an
** id. */
static int is_skimmed_scalar(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' ||
         c == '+' || c == '.' || c == 'E';
}

static const char *skim_scalar(pt_skim *k, const char *p, const char *end) {
  const char *next = p;
  while (next < end && is_skimmed_scalar(*next))
    next++;
  keep_skimmed_name_or_id(k, p, next);
  if (next < end)
    end_skimmed_value(k);
  return next;
}

static const char *skim_nest(pt_skim *k, const char *p, const char *end) {
  while (p < end && k->state == IN_NEST) {
    char c = *p++;
    if (c == '"') {
      k->state = IN_STRING;
      k->after = IN_NEST;
    } else if (c == '{' || c == '[') {
      k->depth++;
    } else if ((c == '}' || c == ']') && --k->depth == 0) {
      end_skimmed_value(k);
    }
  }
  return p;
}

/* Records that a member has a value; `first` is the first byte of that value.
*/
static void note_skimmed_member(pt_skim *k, char first) {
  if (k->member == METHOD)
    k->has_method = 1;
  if (k->member == OUTCOME) {
    k->has_outcome = 1;
    k->has_nonnull_outcome = k->has_nonnull_outcome || first != 'n';
  }
  if (k->member == ID)
    k->id_len = 0;
  else
    report_skimmed_if_known(k);
}

static void begin_skimmed_value(pt_skim *k, char c) {
  if (c != '{' && c != '[' && c != '"' && !is_skimmed_scalar(c)) {
    give_up_skimming(k);
    return;
  }
  if (k->is_in_envelope)
    note_skimmed_member(k, c);
  if (c == '{' || c == '[') {
    k->state = IN_NEST;
    k->depth = 1;
    return;
  }
  k->state = c == '"' ? IN_STRING : IN_SCALAR;
  k->after = k->is_in_envelope ? AFTER_VALUE : AFTER_ITEM;
  keep_skimmed_name_or_id(k, &c, &c + 1);
}

/* ====== The envelope, and batches of them ====== */

static void begin_skimmed_envelope(pt_skim *k) {
  forget_skimmed_envelope(k);
  k->is_in_envelope = 1;
  k->is_item_reported = 0;
  k->state = AT_FIRST_NAME;
}

static void end_skimmed_envelope(pt_skim *k) {
  k->is_in_envelope = 0;
  k->state = k->is_batch ? AFTER_ITEM : AT_END;
  if (!k->is_item_reported)
    report_skimmed_envelope(k);
}

static void begin_skimmed_name(pt_skim *k) {
  k->state = IN_STRING;
  k->after = AT_COLON;
  k->name_len = 0;
}

static void begin_skimmed_batch(pt_skim *k) {
  k->is_batch = 1;
  k->state = AT_FIRST_ITEM;
}

static void end_skimmed_batch(pt_skim *k) {
  k->state = AT_END;
  if (!k->has_reported)
    report_rest_of_skimmed_batch(k);
  k->is_done = 1;
}

static void begin_skimmed_item(pt_skim *k, char c) {
  if (c == '{') {
    begin_skimmed_envelope(k);
    return;
  }
  k->member = OTHER;
  begin_skimmed_value(k, c);
  if (!k->is_done)
    report_rest_of_skimmed_batch(k);
}

/* Handles a byte between names and values. Returns 0 if the byte is not allowed
** there. */
static int skim_punctuation(pt_skim *k, char c) {
  int state = k->state;
  if (state == AT_START && c == '{')
    begin_skimmed_envelope(k);
  else if (state == AT_START && c == '[')
    begin_skimmed_batch(k);
  else if ((state == AT_FIRST_ITEM || state == AFTER_ITEM) && c == ']')
    end_skimmed_batch(k);
  else if (state == AT_FIRST_ITEM || state == AT_ITEM)
    begin_skimmed_item(k, c);
  else if (state == AFTER_ITEM && c == ',')
    k->state = AT_ITEM;
  else if ((state == AT_FIRST_NAME || state == AFTER_VALUE) && c == '}')
    end_skimmed_envelope(k);
  else if ((state == AT_FIRST_NAME || state == AT_NAME) && c == '"')
    begin_skimmed_name(k);
  else if (state == AT_COLON && c == ':')
    k->state = AT_VALUE;
  else if (state == AT_VALUE)
    begin_skimmed_value(k, c);
  else if (state == AFTER_VALUE && c == ',')
    k->state = AT_NAME;
  else
    return 0;
  return 1;
}

static const char *skim_next_punctuation(pt_skim *k, const char *p,
                                         const char *end) {
  p = pt_json_space(p, end);
  if (p == end)
    return p;
  if (!skim_punctuation(k, *p))
    give_up_skimming(k);
  return p + 1;
}

/* ====== Reading ====== */

static const char *skim_in_state(pt_skim *k, const char *p, const char *end) {
  switch (k->state) {
  case IN_STRING:
    return skim_string(k, p, end);
  case IN_SCALAR:
    return skim_scalar(k, p, end);
  case IN_NEST:
    return skim_nest(k, p, end);
  default:
    return skim_next_punctuation(k, p, end);
  }
}

size_t pt_skim_read(pt_skim *k, const char *bytes, size_t len) {
  const char *p = bytes, *end = bytes + len;
  k->has_report = 0;
  while (p < end && !k->has_report && !k->is_done)
    p = skim_in_state(k, p, end);
  return k->has_report ? (size_t)(p - bytes) : len;
}

void pt_skim_end(pt_skim *k) {
  k->has_report = 0;
  if (!k->is_done)
    give_up_skimming(k);
}
