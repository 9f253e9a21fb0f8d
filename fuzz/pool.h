/*
** Memory for a Lua state: most blocks are small and live for a short time, and
** the allocator of ASan takes longer for them than all of Lua. Small blocks
** come from a pool instead, with unreadable memory behind each of them and in
** all that are free; the one that has been free for longest is used next. So
** ASan still reports reading past the end and use after free. Userdata and
** large blocks, among them the buffers of the core, come from malloc.
*/
#ifndef FUZZ_POOL_H
#define FUZZ_POOL_H

#include <lua.h>
#include <sanitizer/asan_interface.h>

#include "fuzz.h"

#define POOL_SIZE ((size_t)16 << 20)
#define POOL_MOST 240 /* bytes of a block */
#define POOL_GAP 8    /* unreadable bytes behind each, at least */
#define POOL_UNIT 16
#define POOL_CLASSES ((POOL_MOST + POOL_GAP + POOL_UNIT - 1) / POOL_UNIT + 1)

typedef struct pool_block {
  struct pool_block *next;
} pool_block;

/* The free blocks of one size, oldest first. */
typedef struct pool_queue {
  pool_block *first, *last;
} pool_queue;

typedef struct fuzz_pool {
  char *start, *unused;
  size_t live; /* blocks in use */
  pool_queue queues[POOL_CLASSES];
} fuzz_pool;

/* Free blocks are unreadable for all but these functions. What they do is not
** what the fuzzer is to learn from. */
#pragma clang attribute push(                                                  \
    __attribute__((no_sanitize("address", "undefined", "coverage"))),          \
    apply_to = function)

static inline size_t pool_class(size_t size) {
  return (size + POOL_GAP + POOL_UNIT - 1) / POOL_UNIT;
}

static inline int pool_has(const fuzz_pool *pool, const void *block) {
  return (uintptr_t)block - (uintptr_t)pool->start < POOL_SIZE;
}

static inline void pool_open(fuzz_pool *pool) {
  if (pool->start != NULL)
    return;
  pool->start = pool->unused = malloc(POOL_SIZE);
  fuzz_check(pool->start != NULL);
  ASAN_POISON_MEMORY_REGION(pool->start, POOL_SIZE);
}

static inline void *pool_take(fuzz_pool *pool, size_t size) {
  size_t class = pool_class(size);
  pool_queue *queue = &pool->queues[class];
  pool_block *block = queue->first;
  if (block != NULL) {
    queue->first = block->next;
  } else {
    if (!pool_has(pool, pool->unused + class * POOL_UNIT))
      return malloc(size);
    block = (pool_block *)pool->unused;
    pool->unused += class * POOL_UNIT;
  }
  ASAN_UNPOISON_MEMORY_REGION(block, size);
  pool->live++;
  return block;
}

static inline void pool_give(fuzz_pool *pool, void *data, size_t size) {
  size_t class = pool_class(size);
  pool_queue *queue = &pool->queues[class];
  pool_block *block = data;
  fuzz_check(!__asan_address_is_poisoned(data)); /* else it is free already */
  block->next = NULL;
  if (queue->first == NULL)
    queue->first = block;
  else
    queue->last->next = block;
  queue->last = block;
  ASAN_POISON_MEMORY_REGION(block, class * POOL_UNIT);
  pool->live--;
}

static inline void *pool_new(fuzz_pool *pool, size_t type, size_t size) {
  if (size > POOL_MOST || type == LUA_TUSERDATA)
    return malloc(size);
  return pool_take(pool, size);
}

static inline void pool_free(fuzz_pool *pool, void *block, size_t size) {
  if (pool_has(pool, block))
    pool_give(pool, block, size);
  else
    free(block);
}

/* A lua_Alloc; `ud` is the pool. */
static inline void *pool_alloc(void *ud, void *block, size_t old_size,
                               size_t size) {
  fuzz_pool *pool = ud;
  void *moved;
  if (block == NULL)
    return size > 0 ? pool_new(pool, old_size, size) : NULL;
  if (size == 0) {
    pool_free(pool, block, old_size);
    return NULL;
  }
  if (!pool_has(pool, block) && size > POOL_MOST)
    return realloc(block, size);
  moved = pool_new(pool, 0, size);
  if (moved == NULL)
    return NULL;
  memcpy(moved, block, old_size < size ? old_size : size);
  pool_free(pool, block, old_size);
  return moved;
}

#pragma clang attribute pop

#endif
