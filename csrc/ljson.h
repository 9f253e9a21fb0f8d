/*
** JSON to Lua values and back. Integers and floats stay apart, null is the
** light userdata NULL (as cjson.null is), an array is a table with the array
** metatable, and JSON text that is passed on undecoded is a pintle.raw.
*/
#ifndef PT_LJSON_H
#define PT_LJSON_H

#include "core.h"
#include "json.h"
#include "lbuf.h"

#pragma GCC visibility push(hidden)

#define PT_JSON_DEPTH 1000 /* default nesting limit */

/* After lua_checkstack has failed: whether memory was short. If not, the stack
** has reached Lua's limit. */
int pt_stack_is_small(lua_State *L);

/* {====== Names of members (ldecode.c) ====== */

/* A cache of the last names, with their Lua strings: most names are found by
** comparing a few words, instead of being hashed, interned and collected with
** every message.
**
** One cache serves a whole Lua state. A function that decodes has three
** upvalues: the cache, its table of strings, and the array metatable. */
#define PT_NAMES_UPVALUES 3

/* Pushes the metatable that marks arrays. */
void pt_array_metatable(lua_State *L);

#define PT_NAMES_SLOT_BITS 8
#define PT_NAMES_SLOTS (1 << PT_NAMES_SLOT_BITS)
#define PT_NAMES_LONGEST 22
#define PT_NAMES_MOST_WATCHED 8

/* The bytes of a name as numbers. Those of a long one overlap: `last` are its
** last eight bytes, if it has as many. */
typedef struct pt_name {
  uint64_t first, middle, last;
  unsigned char len;
  unsigned char is_watched;
} pt_name;

/* Work that the collector has missed, in kilobytes: see pt_call_gc_paused. */
typedef struct pt_gc_debt {
  int owed;     /* still to be made up for */
  int deferred; /* allocations for which it was told not to start by itself */
} pt_gc_debt;

#define PT_ORDERS_KEPT 128 /* a power of two */
struct pt_order;

typedef struct pt_names {
  pt_name slots[PT_NAMES_SLOTS];
  pt_gc_debt gc_debt;
  pt_name watched[PT_NAMES_MOST_WATCHED];
  int watched_count;
  struct pt_order *orders[PT_ORDERS_KEPT]; /* to be shared: see lorder.c */
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

/* Pushes the name as a Lua string; up to `end` may be read behind it. */
void pt_names_push_name(lua_State *L, const pt_vocabulary *v, const char *text,
                        size_t len, const char *end);

/* json.watch(names) -> trail; with the upvalues above. The decoder notes
** objects with a watched name, and everything around them, in the trail, so
** that they are found without a walk over the whole value. */
int pt_names_watch(lua_State *L);

/* }====== */

/* {====== Integers of more than 64 bits (ljson.c) ====== */

/* Such an integer is a table with its decimal text at 1, and with a metatable
** that is pushed here. */
void pt_bigint_metatable(lua_State *L);

/* Pushes the integer whose text this is. */
void pt_bigint_push(lua_State *L, const char *text, size_t len);

/* The text of the table at -2, whose metatable is at -1, if it is such an
** integer; NULL if it is not. The stack is left as it was, nothing is
** allocated. */
const char *pt_bigint_test(lua_State *L, size_t *len);

/* }====== */

/* {====== Decoding (ldecode.c) ====== */

typedef struct pt_decoder {
  const char *p; /* next byte; behind the value after success */
  const char *end;
  int depth;        /* nesting allowed */
  size_t values;    /* how many more there may be */
  int ordered;      /* objects take note of the order of their members */
  int big_integers; /* integers of more than 64 bits keep their digits */
  pt_vocabulary words;
  pt_json_fault fault;
} pt_decoder;

/* Pushes the value at d->p and returns 1; or returns 0 with the fault set and
** an unspecified number of values pushed. Raises only when memory is short.
** May run the collector, and with it finalizers: the text must stay put. */
int pt_decode_value(lua_State *L, pt_decoder *d);

/* Texts from this size on are worth decoding with the collector stopped. */
#define PT_DECODE_LARGE (64 * 1024)

/* As lua_pcall with all results, with the collector stopped if it was running.
** A stopped collector takes no notice of what is allocated, and garbage would
** pile up from call to call. So it makes up for that later, when most of the
** memory may be garbage: in parts while the loop waits, and the rest before the
** next such call. */
int pt_call_gc_paused(lua_State *L, const pt_vocabulary *words, int args);

/* Has the collector make up for a part. A generational one does all its work
** with the first part. Both functions may run finalizers. */
void pt_repay_gc_debt(lua_State *L, pt_gc_debt *a);

/* }====== */

/* {====== Encoding (lencode.c) ====== */

typedef enum pt_encoded {
  PT_ENCODED,
  PT_ENCODE_MEMORY, /* the buffer could not grow */
  PT_ENCODE_MISUSE  /* the value has no JSON form: a message was pushed */
} pt_encoded;

typedef struct pt_encode_style {
  int depth;              /* nesting allowed */
  const void *array_meta; /* the metatable that marks arrays, as a pointer */
} pt_encode_style;

/* The metatable as an encoder wants it. */
const void *pt_array_mark(lua_State *L);

/* Appends the value at `index`; `root` names it in messages. Runs neither the
** collector nor Lua code, unless it fails: then the buffer is first cut back to
** the length `mark`. The stack is left as it was, except for the message. It
** must have PT_ENCODE_STACK free slots, which a C function has if it has not
** pushed much: so the stacks of most threads need not grow. */
#define PT_ENCODE_STACK 16
pt_encoded pt_encode_value(lua_State *L, int index, pt_buf *out, size_t mark,
                           const pt_encode_style *style, const char *root);

/* Appends `text` with its quotes; 0 when memory is short, -1 when the text is
** not UTF-8. */
int pt_encode_string(lua_State *L, pt_buf *out, const char *text, size_t len);

int pt_encode_integer(lua_State *L, pt_buf *out, lua_Integer value);

/* }====== */

/* json.order(names) -> metatable (lorder.c) */
int pt_order_new(lua_State *L);

/* {====== Undecoded text (ljson.c) ====== */

/* Pushes a pintle.raw. The text must be valid JSON. */
void pt_raw_push(lua_State *L, const char *text, size_t len);

/* The text of the pintle.raw at `index`, or NULL if it is none. */
const char *pt_raw_test(lua_State *L, int index, size_t *len);

/* }====== */

#pragma GCC visibility pop

#endif
