#define _GNU_SOURCE

#include "lsha256.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"
#include "io.h"

#define BLOCK 64

typedef struct sha256 {
  uint32_t hash[8];
  uint64_t bytes;             /* hashed so far */
  unsigned char block[BLOCK]; /* the last bytes, until the block is full */
} sha256;

/* The fractions of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* The fractions of the square roots of the first 8 primes. */
static const sha256 initial = {.hash = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                        0xa54ff53a, 0x510e527f, 0x9b05688c,
                                        0x1f83d9ab, 0x5be0cd19}};

static uint32_t sha256_rotate_right(uint32_t x, int n) {
  return x >> n | x << (32 - n);
}

static uint32_t sha256_load_big_endian(const unsigned char *p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 |
         p[3];
}

/* The 16 words of a block, and 48 that are computed from them. */
static void expand_sha256_block(uint32_t w[64], const unsigned char *block) {
  int i;
  for (i = 0; i < 16; i++)
    w[i] = sha256_load_big_endian(block + 4 * i);
  for (; i < 64; i++) {
    uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] +
           (sha256_rotate_right(a, 7) ^ sha256_rotate_right(a, 18) ^ a >> 3) +
           w[i - 7] +
           (sha256_rotate_right(b, 17) ^ sha256_rotate_right(b, 19) ^ b >> 10);
  }
}

/* One of the 64 rounds; v is a to h. */
static void mix_sha256_round(uint32_t v[8], uint32_t word) {
  uint32_t a = v[0], e = v[4];
  uint32_t one = v[7] +
                 (sha256_rotate_right(e, 6) ^ sha256_rotate_right(e, 11) ^
                  sha256_rotate_right(e, 25)) +
                 ((e & v[5]) ^ (~e & v[6])) + word;
  uint32_t two = (sha256_rotate_right(a, 2) ^ sha256_rotate_right(a, 13) ^
                  sha256_rotate_right(a, 22)) +
                 ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
  v[7] = v[6], v[6] = v[5], v[5] = v[4], v[4] = v[3] + one;
  v[3] = v[2], v[2] = v[1], v[1] = v[0], v[0] = one + two;
}

static void sha256_hash_block(sha256 *s, const unsigned char *block) {
  uint32_t w[64], v[8];
  expand_sha256_block(w, block);
  memcpy(v, s->hash, sizeof v);
  for (int i = 0; i < 64; i++)
    mix_sha256_round(v, constants[i] + w[i]);
  for (int i = 0; i < 8; i++)
    s->hash[i] += v[i];
}

static void sha256_hash_data(sha256 *s, const unsigned char *data, size_t len) {
  while (len > 0) {
    size_t at = s->bytes % BLOCK, n = BLOCK - at;
    if (n > len)
      n = len;
    memcpy(s->block + at, data, n);
    if (at + n == BLOCK)
      sha256_hash_block(s, s->block);
    s->bytes += n;
    data += n;
    len -= n;
  }
}

/* A one bit, zeros up to eight bytes before the end of a block, and there the
** length in bits. */
static void finish_sha256_digest(sha256 *s) {
  static const unsigned char padding[BLOCK] = {0x80};
  uint64_t bits = s->bytes * 8;
  unsigned char length[8];
  for (int i = 0; i < 8; i++)
    length[i] = (unsigned char)(bits >> (56 - 8 * i));
  sha256_hash_data(s, padding, 1 + (119 - s->bytes % 64) % 64);
  sha256_hash_data(s, length, sizeof length);
}

/* EINVAL if it is not a regular file, which might never end. */
static int sha256_hash_descriptor(sha256 *s, int fd) {
  unsigned char data[64 * 1024];
  struct stat st;
  ssize_t n;
  if (fstat(fd, &st) == -1)
    return errno;
  if (!S_ISREG(st.st_mode))
    return EINVAL;
  while ((n = read(fd, data, sizeof data)) != 0) {
    if (n > 0)
      sha256_hash_data(s, data, (size_t)n);
    else if (errno != EINTR)
      return errno;
  }
  return 0;
}

int pt_sha256_file(int fd, char hex[PT_SHA256_SIZE]) {
  sha256 s = initial;
  int i, err = sha256_hash_descriptor(&s, fd);
  finish_sha256_digest(&s);
  for (i = 0; i < 8; i++)
    snprintf(hex + 8 * i, 9, "%08" PRIx32, s.hash[i]);
  return err;
}

/* core.sha256(path) -> hex | nil, msg, kind, errno
** O_NONBLOCK keeps the opening of a pipe from waiting for its writer. */
static int core_sha256(lua_State *L) {
  const char *path = pt_check_text(L, 1);
  char hex[PT_SHA256_SIZE];
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  int err = fd == -1 ? errno : pt_sha256_file(fd, hex);
  pt_fd_close(&fd);
  if (err != 0)
    return pt_fail_errno(L, err, "invalid", "cannot read \"%s\"", path);
  lua_pushstring(L, hex);
  return 1;
}

static const luaL_Reg functions[] = {{"sha256", core_sha256}, {NULL, NULL}};

void pt_open_sha256(lua_State *L) { luaL_setfuncs(L, functions, 0); }
