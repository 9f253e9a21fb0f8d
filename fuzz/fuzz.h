/*
** What the fuzz targets share. A target is one file with one function that is
** called with every input; what it finds wrong ends the process with a message,
** and the fuzzer keeps the input.
*/
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define fuzz_check(condition)                                                  \
  do {                                                                         \
    if (!(condition)) {                                                        \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);  \
      abort();                                                                 \
    }                                                                          \
  } while (0)

/* The input is read from its front: choices first, the rest is the text. */
typedef struct fuzz_input {
  const uint8_t *data;
  size_t size;
} fuzz_input;

/* The next byte; 0 when there is none left. */
static inline uint8_t fuzz_byte(fuzz_input *in) {
  if (in->size == 0)
    return 0;
  in->size--;
  return *in->data++;
}

/* A copy of the rest with nothing readable behind it; the caller frees it. */
static inline char *fuzz_rest(const fuzz_input *in) {
  char *copy = malloc(in->size > 0 ? in->size : 1);
  fuzz_check(copy != NULL);
  if (in->size > 0)
    memcpy(copy, in->data, in->size);
  return copy;
}

#endif
