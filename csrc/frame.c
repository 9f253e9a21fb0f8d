/*
** Four layers, bottom-up: the fields of a header line, refused input that is
** skipped, the two framings (lines and header blocks), and the detection of the
** framing in auto mode.
**
** A scan function returns PT_FRAME_MORE with found->used > 0 if it has consumed
** bytes without finding a frame; the caller scans again.
*/
#include "frame.h"

#include <string.h>

#define USUAL_DIGITS                                                           \
  12 /* digits of a length that read_usual_content_length accepts */

const char *const pt_frame_modes[] = {"auto", "line", "header", NULL};

/* The input of one call. */
typedef struct input {
  const char *bytes;
  size_t len;
  int at_end;
} input;

void pt_frame_init(pt_framing *f, pt_frame_mode mode, size_t header_limit,
                   size_t body_limit) {
  memset(f, 0, sizeof *f);
  f->mode = mode;
  f->header_limit = header_limit;
  f->body_limit = body_limit;
}

static pt_frame_result need_more_frame_bytes(pt_frame_found *found, size_t used,
                                             size_t need) {
  found->used = used;
  found->need = need;
  return PT_FRAME_MORE;
}

static pt_frame_result set_found_frame(pt_frame_found *found,
                                       pt_frame_result result, const char *text,
                                       size_t len, size_t used) {
  found->text = text;
  found->len = len;
  found->used = used;
  return result;
}

static pt_frame_result set_bad_frame(pt_frame_found *found, const char *what,
                                     uint64_t number, const input *in,
                                     size_t used) {
  found->what = what;
  found->number = number;
  return set_found_frame(found, PT_FRAME_BAD, in->bytes, used, used);
}

/* ====== Header fields ====== */

static char lower_header_byte(char c) {
  return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static int is_header_name_byte(char c) {
  return (lower_header_byte(c) >= 'a' && lower_header_byte(c) <= 'z') ||
         c == '-';
}

/* Counts how many of the first bytes equal `word`, which is in lower case; case
** is ignored. */
static size_t matching_prefix(const char *text, size_t len, const char *word) {
  size_t i = 0;
  while (i < len && word[i] != '\0' && lower_header_byte(text[i]) == word[i])
    i++;
  return i;
}

static int equals_header_word(const char *text, size_t len, const char *word) {
  return matching_prefix(text, len, word) == len && word[len] == '\0';
}

static void trim_header_spaces(const char **text, size_t *len) {
  while (*len > 0 && (**text == ' ' || **text == '\t')) {
    ++*text;
    --*len;
  }
  while (*len > 0 && ((*text)[*len - 1] == ' ' || (*text)[*len - 1] == '\t'))
    --*len;
}

static const char length_name[] = "content-length:";

/* Whether a name is like helloContent-Length: text that was printed without a
** line end, directly followed by a field. */
static int has_glued_prefix(const char *name, size_t len) {
  size_t own = sizeof length_name - 2;
  return len > own && name[len - own - 1] != '-' &&
         matching_prefix(name + len - own, own, length_name) == own;
}

int pt_header_parse(const char *line, size_t len, pt_header_field *field) {
  size_t n = 0;
  while (n < len && is_header_name_byte(line[n]))
    n++;
  if (n == 0 || n == len || line[n] != ':' || has_glued_prefix(line, n))
    return 0;
  field->name = line;
  field->name_len = n;
  field->value = line + n + 1;
  field->value_len = len - n - 1;
  field->not_ascii = 0;
  for (size_t i = 0; i < field->value_len; i++)
    field->not_ascii |= (unsigned char)field->value[i] >= 0x80;
  trim_header_spaces(&field->value, &field->value_len);
  return 1;
}

int pt_header_is(const pt_header_field *field, const char *name) {
  return equals_header_word(field->name, field->name_len, name);
}

/* Reads the value as a length. Returns NULL, or the reason why it is not one.
*/
static const char *parse_content_length(const pt_header_field *field,
                                        uint64_t *length) {
  size_t i;
  *length = 0;
  for (i = 0; i < field->value_len; i++) {
    char c = field->value[i];
    if (c < '0' || c > '9')
      return "Content-Length is not a plain decimal number, header line";
    if (*length > (INT64_MAX - 9) / 10)
      return "Content-Length is too large, header line";
    *length = *length * 10 + (uint64_t)(c - '0');
  }
  return i > 0 ? NULL : "Content-Length is empty, header line";
}

/* Whether a Content-Type has no charset, or utf-8 in any spelling: the value
** after "charset=", up to the next ';'. Some peers quote the whole content type
** or the charset. */
static int has_utf8_charset(const pt_header_field *field) {
  const char *p = field->value, *end = p + field->value_len, *stop;
  while (p < end && matching_prefix(p, (size_t)(end - p), "charset=") < 8)
    p++;
  if (p == end)
    return 1;
  p += 8;
  while (p < end && *p == '"')
    p++;
  for (stop = p; stop < end && *stop != ';' && *stop != '"' && *stop != ' ';)
    stop++;
  return equals_header_word(p, (size_t)(stop - p), "utf-8") ||
         equals_header_word(p, (size_t)(stop - p), "utf8");
}

/* Whether the line begins like a header that a peer would send. */
static int opens_header(const char *line, size_t len) {
  return matching_prefix(line, len, "content-") == 8;
}

/* Returns the offset of "Content-Length:" inside of a line, after junk; 0 if it
** is not there. */
static size_t find_content_length(const char *line, size_t len) {
  size_t at;
  for (at = 1; at + sizeof length_name - 1 <= len; at++)
    if (matching_prefix(line + at, len - at, length_name) ==
        sizeof length_name - 1)
      return at;
  return 0;
}

/* Returns where to cut junk of `len` bytes so that no "Content-Length:" is lost
** that is in it or that begins at its end. */
static size_t cut_header_junk(const char *junk, size_t len) {
  size_t tail, at = find_content_length(junk, len);
  if (at > 0)
    return at;
  for (tail = sizeof length_name - 2; tail > 0; tail--)
    if (tail < len &&
        matching_prefix(junk + len - tail, tail, length_name) == tail)
      return len - tail;
  return len;
}

/* ====== Refused input ====== */

static size_t smaller_size(size_t a, size_t b) { return a < b ? a : b; }

/* Stores the beginning of a message over the limit, for its report. */
static void keep_message_start(pt_framing *f, const char *bytes, size_t len) {
  size_t n = smaller_size(len, sizeof f->start - f->start_len);
  memcpy(f->start + f->start_len, bytes, n);
  f->start_len += n;
}

static void start_skimming(pt_framing *f, uint64_t size) {
  f->is_skimming = 1;
  f->size = size;
  f->start_len = 0;
  pt_skim_begin(&f->skim);
}

static pt_frame_result report_too_long_frame(pt_framing *f,
                                             pt_frame_found *found, int is_line,
                                             size_t used) {
  found->what = is_line ? "line is longer than the limit of"
                        : "message is longer than the limit of";
  found->number = f->body_limit;
  found->size = f->size;
  found->skim = &f->skim;
  return set_found_frame(found, PT_FRAME_BAD, f->start, f->start_len, used);
}

/* Counts how many of these bytes belong to the refused message. Sets `*ends` if
** they are its rest. */
static size_t count_refused_frame_bytes(const pt_framing *f, const input *in,
                                        int *ends) {
  const char *newline;
  if (!f->skip_line) {
    *ends = f->skip <= in->len;
    return *ends ? (size_t)f->skip : in->len;
  }
  newline = in->len > 0 ? memchr(in->bytes, '\n', in->len) : NULL;
  *ends = newline != NULL;
  return newline != NULL ? (size_t)(newline - in->bytes) + 1 : in->len;
}

/* Skims the skipped bytes, up to the next report. */
static size_t skim_skipped_frame(pt_framing *f, const input *in, size_t len,
                                 int is_last) {
  size_t used = len > 0 ? pt_skim_read(&f->skim, in->bytes, len) : 0;
  if (!f->skip_line && used > 0)
    keep_message_start(f, in->bytes, used);
  if (used == len && is_last && (len == 0 || !f->skim.has_report))
    pt_skim_end(&f->skim);
  f->is_skimming = !f->skim.is_done && !(used == len && is_last);
  return used;
}

/* Skips bytes of a message that was refused already. */
static pt_frame_result skip_refused_frame(pt_framing *f, const input *in,
                                          pt_frame_found *found) {
  int ends, was_skimming = f->is_skimming, is_line = f->skip_line;
  size_t len = count_refused_frame_bytes(f, in, &ends), used = len;
  if (was_skimming)
    used = skim_skipped_frame(f, in, len, ends || in->at_end);
  if (is_line)
    f->skip_line = !(ends && used == len);
  else
    f->skip -= used;
  if (was_skimming && f->skim.has_report)
    return report_too_long_frame(f, found, is_line, used);
  return need_more_frame_bytes(found, used, 0);
}

/* ====== Lines ====== */

/* Returns the length of the first line without its line end; at the end of
** input, of everything there is. `*used` is the length with the line end, 0 if
** the line is unfinished. */
static size_t find_frame_line(pt_framing *f, const input *in, size_t *used) {
  const char *newline = memchr(in->bytes + f->seen, '\n', in->len - f->seen);
  size_t len = in->len;
  *used = in->at_end ? in->len : 0;
  f->seen = in->len;
  if (newline != NULL) {
    len = (size_t)(newline - in->bytes);
    *used = len + 1;
  }
  if (*used > 0) {
    f->seen = 0;
    if (len > 0 && in->bytes[len - 1] == '\r')
      len--;
  }
  return len;
}

static int is_blank_line(const char *text, size_t len) {
  while (len > 0 && (text[len - 1] == ' ' || text[len - 1] == '\t'))
    len--;
  return len == 0;
}

static pt_frame_result scan_line_frame(pt_framing *f, const input *in,
                                       pt_frame_found *found) {
  size_t used, len = find_frame_line(f, in, &used);
  /* the last byte may be the CR of a CR LF */
  size_t most = f->body_limit + (used == 0);
  if (len > most) {
    f->skip_line = 1;
    f->seen = 0;
    start_skimming(f, 0);
    /* at most the limit, so that the result does not depend on the split */
    keep_message_start(f, in->bytes, f->body_limit);
    return skip_refused_frame(f, in, found);
  }
  if (used == 0)
    return need_more_frame_bytes(found, 0, 0);
  if (is_blank_line(in->bytes, len))
    return need_more_frame_bytes(found, used, 0);
  return set_found_frame(found, PT_FRAME_MESSAGE, in->bytes, len, used);
}

/* ====== Header blocks ====== */

static void forget_header_block(pt_framing *f) {
  f->seen = f->block = f->header = 0;
  f->lines = f->fields = f->has_length = f->refused = 0;
  f->wrong = NULL;
}

/* Reports the bytes up to `used` as noise. */
static pt_frame_result set_noise_frame(pt_framing *f, const input *in,
                                       size_t used, pt_frame_found *found) {
  size_t len = used;
  while (len > 0 && (in->bytes[len - 1] == '\n' || in->bytes[len - 1] == '\r'))
    len--;
  forget_header_block(f);
  return set_found_frame(found, PT_FRAME_NOISE, in->bytes, len, used);
}

/* Records an error of the block. The first one is reported. */
static void note_header_error(pt_framing *f, const char *what) {
  if (f->wrong == NULL) {
    f->wrong = what;
    f->wrong_line = f->lines;
  }
}

static void read_content_length(pt_framing *f, const pt_header_field *field) {
  uint64_t length;
  const char *wrong = parse_content_length(field, &length);
  if (wrong != NULL)
    note_header_error(f, wrong);
  else if (f->has_length && f->length != length)
    note_header_error(f,
                      "Content-Length is given twice and differs, header line");
  else
    f->length = length;
  f->has_length = f->has_length || wrong == NULL;
}

static void read_header_field(pt_framing *f, const pt_header_field *field) {
  f->fields++;
  if (field->not_ascii)
    note_header_error(f, "a byte that is not ASCII, header line");
  else if (pt_header_is(field, "content-length"))
    read_content_length(f, field);
  else if (pt_header_is(field, "content-type") && !has_utf8_charset(field))
    note_header_error(
        f, "Content-Type has a charset other than utf-8, header line");
}

/* Drops a refused block and, if its length is known, its body. */
static void drop_header_block(pt_framing *f) {
  uint64_t length = f->has_length ? f->length : 0;
  forget_header_block(f);
  f->skip = length;
}

/* Handles the end of a block: its body follows, or the block is refused. */
static pt_frame_result end_header_block(pt_framing *f, const input *in,
                                        size_t used, pt_frame_found *found) {
  const char *wrong = f->wrong;
  uint64_t line = wrong != NULL ? (uint64_t)f->wrong_line : 0;
  if (f->refused) {
    drop_header_block(f);
    return need_more_frame_bytes(found, used, 0);
  }
  if (wrong == NULL && !f->has_length)
    wrong = "header has no Content-Length";
  if (wrong != NULL) {
    drop_header_block(f);
    return set_bad_frame(found, wrong, line, in, used);
  }
  if (f->length > f->body_limit) {
    drop_header_block(f);
    start_skimming(f, f->skip);
    return need_more_frame_bytes(found, used, 0);
  }
  f->header = used;
  return PT_FRAME_MESSAGE;
}

/* Handles a line that is not a field. Noise may come before a block, with or
** without its own line end. Inside of a block such a line makes the block
** invalid. */
static pt_frame_result handle_junk_line(pt_framing *f, const input *in,
                                        size_t start, size_t used,
                                        pt_frame_found *found) {
  size_t glued;
  if (f->has_length && !f->refused) {
    note_header_error(f, "not \"name: value\", header line");
    f->block = used;
    return PT_FRAME_MORE;
  }
  glued = find_content_length(in->bytes + start, used - start);
  return set_noise_frame(f, in, glued > 0 ? start + glued : used, found);
}

/* Handles one complete line, from `start` to `used`. PT_FRAME_MORE with nothing
** used means: continue with the next line. */
static pt_frame_result read_header_line(pt_framing *f, const input *in,
                                        size_t start, size_t used,
                                        pt_frame_found *found) {
  pt_header_field field;
  size_t len = used - 1 - start;
  if (len > 0 && in->bytes[start + len - 1] == '\r')
    len--;
  f->lines++;
  if (len == 0 && (f->fields > 0 || f->refused))
    return end_header_block(f, in, used, found);
  if (len == 0) { /* some peers write a newline after a body */
    forget_header_block(f);
    return need_more_frame_bytes(found, used, 0);
  }
  if (!pt_header_parse(in->bytes + start, len, &field))
    return handle_junk_line(f, in, start, used, found);
  read_header_field(f, &field);
  if (f->refused) { /* the block was reported: its lines need not be kept */
    f->seen = 0;
    return need_more_frame_bytes(found, used, 0);
  }
  f->block = used;
  return PT_FRAME_MORE;
}

/* Handles a block or a line of junk that is longer than the limit. The rest of
** a block is dropped line by line. */
static pt_frame_result refuse_frame_over_limit(pt_framing *f, const input *in,
                                               pt_frame_found *found) {
  size_t used = f->block;
  int again = f->refused;
  pt_header_field field;
  if (used == 0) {
    used = cut_header_junk(in->bytes, f->header_limit);
    if (!again &&
        (f->mode == PT_FRAME_AUTO || !pt_header_parse(in->bytes, used, &field)))
      return set_noise_frame(f, in, used, found);
    f->skip_line = 1;
  }
  f->refused = 1;
  f->seen = f->block = 0;
  if (again)
    return need_more_frame_bytes(found, used, 0);
  return set_bad_frame(found, "header is longer than the limit of",
                       f->header_limit, in, used);
}

/* Handles input without a complete line. */
static pt_frame_result handle_partial_header_line(pt_framing *f,
                                                  const input *in,
                                                  pt_frame_found *found) {
  if (in->len > f->header_limit)
    return refuse_frame_over_limit(f, in, found);
  f->seen = in->len;
  if (!in->at_end)
    return need_more_frame_bytes(found, 0, 0);
  if (f->fields == 0)
    return set_noise_frame(f, in, in->len, found);
  forget_header_block(f);
  return set_bad_frame(found, "input ends inside a header", 0, in, in->len);
}

static pt_frame_result scan_header_block(pt_framing *f, const input *in,
                                         pt_frame_found *found) {
  for (;;) {
    size_t start = f->block;
    size_t from = f->seen > start ? f->seen : start;
    const char *newline = memchr(in->bytes + from, '\n', in->len - from);
    pt_frame_result result;
    if (newline == NULL || (size_t)(newline - in->bytes) >= f->header_limit)
      return handle_partial_header_line(f, in, found);
    result = read_header_line(f, in, start, (size_t)(newline - in->bytes) + 1,
                              found);
    if (result != PT_FRAME_MORE || found->used > 0)
      return result;
  }
}

static pt_frame_result scan_frame_body(pt_framing *f, const input *in,
                                       pt_frame_found *found) {
  size_t header = f->header, length = (size_t)f->length;
  if (in->len - header >= length) {
    forget_header_block(f);
    return set_found_frame(found, PT_FRAME_MESSAGE, in->bytes + header, length,
                           header + length);
  }
  if (!in->at_end)
    return need_more_frame_bytes(found, 0, length - (in->len - header));
  forget_header_block(f);
  return set_bad_frame(found, "input ends inside a message, bytes missing:",
                       length - (in->len - header), in, in->len);
}

/* Reads a header that is only "Content-Length: N", as nearly all are. Leaves
** any other header to scan_header_block. */
static void read_usual_content_length(pt_framing *f, const input *in) {
  static const char usual[] = "Content-Length: ";
  size_t i = sizeof usual - 1;
  uint64_t length = 0;
  if (f->block > 0 || f->refused || in->len < i + 5 + USUAL_DIGITS ||
      memcmp(in->bytes, usual, i) != 0)
    return;
  for (; in->bytes[i] >= '0' && in->bytes[i] <= '9'; i++) {
    if (i == sizeof usual - 1 + USUAL_DIGITS)
      return;
    length = length * 10 + (uint64_t)(in->bytes[i] - '0');
  }
  if (i == sizeof usual - 1 || memcmp(in->bytes + i, "\r\n\r\n", 4) != 0 ||
      length > f->body_limit || i + 4 > f->header_limit)
    return;
  f->length = length;
  f->header = i + 4;
}

static pt_frame_result scan_header_frame(pt_framing *f, const input *in,
                                         pt_frame_found *found) {
  if (f->header == 0)
    read_usual_content_length(f, in);
  if (f->header == 0) {
    pt_frame_result result = scan_header_block(f, in, found);
    if (result != PT_FRAME_MESSAGE)
      return result;
  }
  return scan_frame_body(f, in, found);
}

/* ====== Detecting the framing ====== */

static int starts_json_frame(const char *text, size_t len) {
  while (len > 0 && (*text == ' ' || *text == '\t')) {
    text++;
    len--;
  }
  return len > 0 && (*text == '{' || *text == '[');
}

typedef enum block_answer { NO_BLOCK, MAYBE_BLOCK, IS_BLOCK } block_answer;

/* Whether the fields at the beginning lead to a Content-Length: hosts of
** Reginald may send other fields before it. All lines of a block have the same
** line end; a printed line such as "INFO: ready" ends in LF alone. */
static block_answer opens_header_block(const input *in) {
  size_t start = 0;
  int has_cr = -1;
  for (;;) {
    pt_header_field field;
    const char *line = in->bytes + start;
    const char *newline = memchr(line, '\n', in->len - start);
    size_t len;
    int ends_in_cr;
    if (newline == NULL)
      return in->at_end ? NO_BLOCK : MAYBE_BLOCK;
    len = (size_t)(newline - line);
    ends_in_cr = len > 0 && line[len - 1] == '\r';
    if (has_cr >= 0 && ends_in_cr != has_cr)
      return NO_BLOCK;
    if (!pt_header_parse(line, len - (size_t)ends_in_cr, &field))
      return NO_BLOCK;
    if (pt_header_is(&field, "content-length"))
      return IS_BLOCK;
    has_cr = ends_in_cr;
    start += len + 1;
  }
}

static pt_frame_result scan_first_header_block(pt_framing *f, const input *in,
                                               pt_frame_found *found) {
  f->mode = PT_FRAME_HEADER;
  f->seen = 0;
  return scan_header_frame(f, in, found);
}

/* Detects the framing. A first line that begins neither kind of frame is noise.
** Bytes after the header limit are ignored: a caller that reads in small pieces
** would not see them, and the result must not depend on the split. */
static pt_frame_result scan_auto_framing(pt_framing *f, const input *in,
                                         pt_frame_found *found) {
  size_t most = f->header_limit + 1, used, len;
  block_answer block;
  input near = {in->bytes, smaller_size(in->len, most), 0};
  near.at_end = in->at_end && in->len < most;
  if (starts_json_frame(near.bytes, near.len)) {
    f->mode = PT_FRAME_LINE;
    return scan_line_frame(f, in, found);
  }
  len = find_frame_line(f, &near, &used);
  if (opens_header(in->bytes, len) || find_content_length(in->bytes, len) > 0)
    return scan_first_header_block(f, in, found);
  if (used == 0)
    return handle_partial_header_line(f, in, found);
  block = f->has_noise ? NO_BLOCK : opens_header_block(&near);
  if (block == IS_BLOCK)
    return scan_first_header_block(f, in, found);
  if (block == MAYBE_BLOCK && near.len < most)
    return need_more_frame_bytes(found, 0, 0);
  if (is_blank_line(in->bytes, len))
    return need_more_frame_bytes(found, used, 0);
  f->has_noise = 1;
  return set_noise_frame(f, in, used, found);
}

/* ====== Scanning ====== */

pt_frame_result pt_frame_scan(pt_framing *f, const char *bytes, size_t len,
                              int at_end, pt_frame_found *found) {
  input in = {bytes, len, at_end};
  memset(found, 0, sizeof *found);
  if (len == 0 && !(at_end && f->is_skimming))
    return need_more_frame_bytes(found, 0, 0);
  if (f->skip > 0 || f->skip_line)
    return skip_refused_frame(f, &in, found);
  switch (f->mode) {
  case PT_FRAME_LINE:
    return scan_line_frame(f, &in, found);
  case PT_FRAME_HEADER:
    return scan_header_frame(f, &in, found);
  default:
    return scan_auto_framing(f, &in, found);
  }
}
