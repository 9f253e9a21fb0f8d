/*
** Frames. However the bytes are split, the same frames come out of them;
** nothing is read behind what was fed, and no call that asks to be called
** again does so without having used something up.
**
** Input: framing, bound of a header, bound of a body, how many sizes of
** pieces follow, those sizes, the bytes.
*/
#include "../csrc/frame.h"

#include <sanitizer/asan_interface.h>

#include "fuzz.h"

typedef struct frames {
  char *log; /* everything found, as text that can be compared */
  size_t len;
  size_t cap;
} frames;

static void add(frames *f, const void *bytes, size_t len) {
  if (len > f->cap - f->len) {
    f->cap = (f->cap + len) * 2;
    f->log = realloc(f->log, f->cap);
    fuzz_check(f->log != NULL);
  }
  if (len > 0)
    memcpy(f->log + f->len, bytes, len);
  f->len += len;
}

/* The report on a refused frame does not depend on the split. How
** much of it is shown does, unless it is skimmed. */
static void note(frames *f, pt_frame_result result,
                 const pt_frame_found *found) {
  char line[200];
  int n = snprintf(line, sizeof line, "%d %s %llu ", (int)result,
                   found->what != NULL ? found->what : "",
                   (unsigned long long)found->number);
  add(f, line, (size_t)n);
  if (found->skim != NULL) {
    n = snprintf(line, sizeof line, "%llu %d%d ",
                 (unsigned long long)found->size, found->skim->has_method,
                 found->skim->has_outcome);
    add(f, line, (size_t)n);
    add(f, found->skim->id, found->skim->id_len);
    add(f, " ", 1);
  }
  if (result != PT_FRAME_BAD || found->skim != NULL)
    add(f, found->text, found->len);
  add(f, "\n", 1);
}

/* Scans until more bytes are needed; how many are used up. */
static size_t scan(pt_framing *framing, const char *bytes, size_t len,
                   int at_end, frames *out) {
  size_t used = 0;
  for (;;) {
    pt_frame_found found;
    pt_frame_result result =
        pt_frame_scan(framing, bytes + used, len - used, at_end, &found);
    fuzz_check(found.used <= len - used);
    if (result != PT_FRAME_MORE && found.skim == NULL) {
      fuzz_check(found.used > 0);
      fuzz_check(found.text >= bytes + used);
      fuzz_check(found.text + found.len <= bytes + used + found.used);
    }
    if (result != PT_FRAME_MORE) {
      fuzz_check((result == PT_FRAME_BAD) == (found.what != NULL));
      note(out, result, &found);
    }
    used += found.used;
    if (result == PT_FRAME_MORE && (found.used == 0 || used == len)) {
      fuzz_check(!at_end || used == len);
      return used;
    }
  }
}

/* Feeds the bytes in pieces of these sizes, one after the other and over again.
** Whoever drops bytes late finds the same. */
static frames feed(const pt_framing *start, const char *bytes, size_t len,
                   const uint8_t *sizes, size_t count) {
  frames out = {0};
  pt_framing framing = *start;
  size_t used = 0, fed = 0, i;
  for (i = 0; fed < len; i++) {
    size_t piece = count > 0 ? sizes[i % count] : len;
    fed += piece == 0 ? 1 : piece;
    if (fed > len)
      fed = len;
    ASAN_UNPOISON_MEMORY_REGION(bytes, len);
    ASAN_POISON_MEMORY_REGION(bytes + fed, len - fed);
    used += scan(&framing, bytes + used, fed - used, 0, &out);
  }
  ASAN_UNPOISON_MEMORY_REGION(bytes, len);
  used += scan(&framing, bytes + used, len - used, 1, &out);
  fuzz_check(used == len);
  return out;
}

static void same(const frames *a, const frames *b) {
  if (a->len == b->len && (a->len == 0 || memcmp(a->log, b->log, a->len) == 0))
    return;
  fprintf(stderr, "whole:\n%.*s\nin pieces:\n%.*s\n", (int)a->len, a->log,
          (int)b->len, b->log);
  fuzz_check(!"the same frames however the bytes are split");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const uint8_t one = 1;
  fuzz_input in = {data, size};
  pt_framing start;
  uint8_t mode = fuzz_byte(&in), header = fuzz_byte(&in);
  uint8_t body = fuzz_byte(&in), count = fuzz_byte(&in) % 8;
  uint8_t sizes[8];
  frames whole, pieces, bytewise;
  char *bytes;
  size_t i;
  for (i = 0; i < count; i++)
    sizes[i] = fuzz_byte(&in);
  pt_frame_init(&start, (pt_frame_mode)(mode % 3), (size_t)header + 1,
                (size_t)body + 1);
  bytes = fuzz_rest(&in);
  whole = feed(&start, bytes, in.size, NULL, 0);
  pieces = feed(&start, bytes, in.size, sizes, count);
  same(&whole, &pieces);
  bytewise = feed(&start, bytes, in.size, &one, 1);
  same(&whole, &bytewise);
  free(whole.log);
  free(pieces.log);
  free(bytewise.log);
  free(bytes);
  return 0;
}
