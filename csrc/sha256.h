/*
** SHA-256, as FIPS 180-4 has it: for telling whether a file is the one that was
** meant.
*/
#ifndef PT_SHA256_H
#define PT_SHA256_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

#define PT_SHA256_SIZE 32
#define PT_SHA256_BLOCK 64

typedef struct pt_sha256 {
  uint32_t hash[8];
  uint64_t bytes;                       /* taken in so far */
  unsigned char block[PT_SHA256_BLOCK]; /* the last of them, if not a whole */
} pt_sha256;

void pt_sha256_begin(pt_sha256 *s);
void pt_sha256_add(pt_sha256 *s, const unsigned char *data, size_t len);
void pt_sha256_end(pt_sha256 *s, unsigned char digest[PT_SHA256_SIZE]);

/* Of a whole file. 0, or an error number: EINVAL if it is no regular file,
** which might never end. */
int pt_sha256_file(const char *path, unsigned char digest[PT_SHA256_SIZE]);

#pragma GCC visibility pop

#endif
