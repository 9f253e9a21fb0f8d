/*
** Puts every text it is given, and every prefix of it, right before a page that
** cannot be read, and has it scanned: one byte too far is a fault.
**
**   guard_page < texts     each text as "LENGTH\n" and that many bytes
*/
#define _GNU_SOURCE

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../csrc/frame.h"
#include "../../csrc/json.h"
#include "../../csrc/number.h"

#define HEADER_LIMIT 128
#define BODY_LIMIT 96
#define DEPTH 1000

static const char *guard; /* the first byte that cannot be read */
static char *room;
static size_t room_size;

static void make_room(void) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  room_size = page * 16;
  room = mmap(NULL, room_size + page, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED || mprotect(room + room_size, page, PROT_NONE) != 0) {
    perror("guard_page");
    exit(1);
  }
  guard = room + room_size;
}

static void scan_frames(const char *p, pt_frame_mode mode, int at_end) {
  pt_framing f;
  pt_frame_found found;
  pt_frame_result result;
  pt_frame_init(&f, mode, HEADER_LIMIT, BODY_LIMIT);
  do {
    result = pt_frame_scan(&f, p, (size_t)(guard - p), at_end, &found);
    p += found.used;
    if (p > guard || found.len > room_size)
      abort();
  } while (p < guard && (result != PT_FRAME_MORE || found.used > 0));
}

/* The same, with one more byte to be seen at each call. */
static void scan_growing(char *p, size_t len, pt_frame_mode mode) {
  pt_framing f;
  pt_frame_found found;
  size_t start = 0, n;
  char *text = malloc(len + 1);
  if (text == NULL)
    exit(1);
  memcpy(text, p, len);
  pt_frame_init(&f, mode, HEADER_LIMIT, BODY_LIMIT);
  for (n = 1; n <= len; n++) {
    pt_frame_result result;
    do {
      char *at = room + room_size - (n - start);
      memcpy(at, text + start, n - start);
      result = pt_frame_scan(&f, at, n - start, 0, &found);
      start += found.used;
    } while (start < n && (result != PT_FRAME_MORE || found.used > 0));
  }
  memcpy(p, text, len);
  free(text);
}

static void read_json(const char *p) {
  pt_json_fault fault;
  pt_number number;
  const char *end;
  int escaped, depth;
  for (depth = 0; depth <= DEPTH; depth += DEPTH)
    pt_json_value(p, guard, depth, &fault);
  if (p < guard)
    pt_number_read(p, guard, &number);
  end = pt_json_string(p, guard, &escaped, &fault);
  if (end != NULL && escaped) {
    char *out = malloc((size_t)(end - p));
    if (out == NULL || pt_json_unescape(p, end, out) > (size_t)(end - p))
      abort();
    free(out);
  }
}

static void scan(char *p, size_t len) {
  static const pt_frame_mode modes[] = {PT_FRAME_AUTO, PT_FRAME_LINE,
                                        PT_FRAME_HEADER};
  size_t i;
  for (i = 0; i < 3; i++) {
    scan_frames(p, modes[i], 0);
    scan_frames(p, modes[i], 1);
  }
  read_json(p);
  if (len > 0)
    read_json(p + 1); /* as if behind a quote or bracket */
}

int main(void) {
  size_t len, n, texts = 0;
  make_room();
  while (scanf("%zu", &len) == 1 && getchar() == '\n') {
    char *text = malloc(len + 1);
    if (text == NULL || len > room_size || fread(text, 1, len, stdin) != len)
      return 1;
    for (n = 0; n <= len; n++) {
      char *at = room + room_size - n;
      memcpy(at, text, n);
      scan(at, n);
    }
    for (n = PT_FRAME_AUTO; n <= PT_FRAME_HEADER; n++)
      scan_growing(room + room_size - len, len, (pt_frame_mode)n);
    free(text);
    texts++;
  }
  printf("%zu texts\n", texts);
  return 0;
}
