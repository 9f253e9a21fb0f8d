/*
** Names of members come again and again. The last of them are kept, with the
** Lua strings they became, so that most names are looked up by a few bytes
** instead of being hashed, interned and collected with every message.
**
** One cache serves a whole Lua state. A function that decodes has it as three
** upvalues, in this order, from some index on.
*/
#ifndef PT_LNAMES_H
#define PT_LNAMES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lapi.h"
#include "plain.h"

#pragma GCC visibility push(hidden)

#define PT_NAMES_UPVALUES 3

/* Pushes the metatable that marks arrays, which is the third. */
void pt_array_metatable(lua_State *L);

#define PT_NAMES_SLOTS 128 /* a power of two */
#define PT_NAMES_LONGEST 22
#define PT_NAMES_MOST_WATCHED 8

typedef struct pt_name {
  unsigned char len;
  unsigned char is_watched;
  char text[PT_NAMES_LONGEST];
} pt_name;

/* What the collector has missed, in kilobytes: see pt_call_paused. */
typedef struct pt_arrears {
  int owed;     /* that it has yet to make up for */
  int deferred; /* for which it has been told not to begin by itself */
} pt_arrears;

struct pt_orders;

typedef struct pt_names {
  pt_name slots[PT_NAMES_SLOTS];
  pt_arrears arrears;
  pt_name watched[PT_NAMES_MOST_WATCHED];
  int watched_count;
  struct pt_orders *orders; /* NULL until there is one to share: see lorder.c */
} pt_names;

/* Places in the table of strings, behind those. */
#define PT_NAMES_TRAIL (PT_NAMES_SLOTS + 1)  /* what json.watch returns */
#define PT_NAMES_ORDERS (PT_NAMES_SLOTS + 2) /* the first place of lorder.c */

/* What a decoder takes from its function's upvalues. */
typedef struct pt_vocabulary {
  pt_names *names;
  int strings;    /* index of the table of strings */
  int array_meta; /* index of the metatable that marks arrays */
} pt_vocabulary;

/* Pushes the three upvalues. */
void pt_names_push(lua_State *L);

/* Finds them in the running function, from its upvalue `first` on. */
pt_vocabulary pt_names_get(lua_State *L, int first);

#define PT_NAMES_NO_SLOT (-1)

/* The slot for the name, or PT_NAMES_NO_SLOT if it is none to keep. */
static inline int pt_names_slot(const char *text, size_t len) {
  uint32_t mixed;
  if (len == 0 || len > PT_NAMES_LONGEST)
    return PT_NAMES_NO_SLOT;
  mixed = (uint32_t)len | (uint32_t)(unsigned char)text[0] << 8 |
          (uint32_t)(unsigned char)text[len / 2] << 16 |
          (uint32_t)(unsigned char)text[len - 1] << 24;
  return (int)(mixed * UINT32_C(2654435769) >> 16 & (PT_NAMES_SLOTS - 1));
}

/* `end` is how far behind the text may be read. */
static inline int pt_names_is(const pt_name *kept, const char *text, size_t len,
                              const char *end) {
  if (kept->len != len)
    return 0;
#ifdef __SSE2__
  if (len <= 16 && end - text >= 16)
    return (pt_plain_differ16(kept->text, text) & ((1U << len) - 1)) == 0;
#endif
  (void)end;
  return memcmp(kept->text, text, len) == 0;
}

/* As pt_names_push, for a name that is not kept yet. */
void pt_names_push_new(lua_State *L, const pt_vocabulary *v, const char *text,
                       size_t len, int slot);

/* Pushes the name as a Lua string, and returns its slot: equal names have equal
** slots. */
static inline int pt_names_push_name(lua_State *L, const pt_vocabulary *v,
                                     const char *text, size_t len,
                                     const char *end) {
  int slot = pt_names_slot(text, len);
  if (slot >= 0 && pt_names_is(&v->names->slots[slot], text, len, end))
    lua_rawgeti(L, v->strings, slot + 1);
  else
    pt_names_push_new(L, v, text, len, slot);
  return slot;
}

/* {====== Watching ====== */

/* Objects with a name that is watched are found without a walk over all that
** was decoded: they are noted, with all that is around them. Shorter texts are
** not worth that. */
#define PT_WATCH_FROM 4096

/* json.watch(names) -> trail; with the upvalues above */
int pt_names_watch(lua_State *L);

/* Whether the string on top is such a name. */
int pt_names_is_watched(lua_State *L, const pt_names *names);

/* Notes in the trail whether the table on top is on it. */
void pt_names_note(lua_State *L, const pt_vocabulary *v, int is_on_trail);

/* }====== */

#pragma GCC visibility pop

#endif
