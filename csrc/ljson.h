/*
** Conversion between JSON and Lua values. Integers and floats stay distinct.
** null is the light userdata NULL, as cjson.null is. An array is a table with
** the array metatable. JSON text that is passed on without decoding is a
** pintle.raw.
*/
#ifndef PT_LJSON_H
#define PT_LJSON_H

#include "core.h"
#include "json.h"
#include "lbuf.h"

#define PT_JSON_DEPTH 1000 /* default nesting limit */

/* After lua_checkstack has failed: whether there was not enough memory. If not,
** the stack has reached Lua's limit. */
int pt_stack_is_small(lua_State *L);

/* ====== Names of members (ldecode.c) ====== */

/* A cache of recently read names and their Lua strings. Most names are found by
** comparing a few words; so they are not hashed, interned and collected again
** for every message. One cache serves a whole Lua state. A function that
** decodes has three upvalues: the cache, its table of strings, and the array
** metatable. */
#define PT_NAMES_UPVALUES 3

/* Pushes the metatable that marks arrays. */
void pt_array_metatable(lua_State *L);

#define PT_NAMES_SLOT_BITS 8
#define PT_NAMES_SLOTS (1 << PT_NAMES_SLOT_BITS)
#define PT_NAMES_LONGEST 22
#define PT_NAMES_MOST_WATCHED 8

/* The bytes of a name as numbers. For a name of eight bytes or more, `last`
** holds its last eight bytes, so the numbers may overlap. */
typedef struct pt_name {
  uint64_t first, middle, last;
  unsigned char len;
  unsigned char is_watched;
} pt_name;

/* Work that the garbage collector has not done yet, in kilobytes: see
** pt_call_gc_paused. */
typedef struct pt_gc_debt {
  int owed;     /* still to be done */
  int deferred; /* allocations for which the collector was delayed */
} pt_gc_debt;

#define PT_ORDERS_KEPT 128 /* a power of two */
struct pt_order;

typedef struct pt_names {
  pt_name slots[PT_NAMES_SLOTS];
  pt_gc_debt gc_debt;
  pt_name watched[PT_NAMES_MOST_WATCHED];
  int watched_count;
  struct pt_order *orders[PT_ORDERS_KEPT]; /* shared orders: see lorder.c */
} pt_names;

/* Indexes of the table of strings that follow those of the cache. */
/* the table that json.watch returns */
#define PT_NAMES_TRAIL (PT_NAMES_SLOTS + 1)
/* the first index used by lorder.c */
#define PT_NAMES_ORDERS (PT_NAMES_SLOTS + 2)

/* The upvalues of the running function, for a decoder. */
typedef struct pt_decode_env {
  pt_names *names;
  int strings;    /* stack index of the table of strings */
  int array_meta; /* stack index of the metatable that marks arrays */
} pt_decode_env;

/* Pushes the three upvalues. */
void pt_names_push(lua_State *L);

/* Returns them for the running function, whose upvalues begin at `first`. */
pt_decode_env pt_names_get(lua_State *L, int first);

/* Pushes the name as a Lua string. Bytes after the name may be read, up to
** `end`. */
void pt_names_push_name(lua_State *L, const pt_decode_env *v, const char *text,
                        size_t len, const char *end);

/* json.watch(names) -> trail; needs the upvalues above. The decoder records in
** the trail every object with a watched name and everything that contains it.
** So these objects are found without a walk over the whole value. */
int pt_names_watch(lua_State *L);

/* ====== Integers of more than 64 bits (ljson.c) ====== */

/* Such an integer is a table with its decimal text at index 1. Pushes the
** metatable of these tables. */
void pt_bigint_metatable(lua_State *L);

/* Pushes the integer with this text. */
void pt_bigint_push(lua_State *L, const char *text, size_t len);

/* Returns the text of the table at -2, whose metatable is at -1, or NULL if the
** table is not such an integer. Leaves the stack unchanged and allocates
** nothing. */
const char *pt_bigint_test(lua_State *L, size_t *len);

/* ====== Decoding (ldecode.c) ====== */

/* A member that most messages repeat. While its text stays the same, its table
** is shared instead of decoded again. It is an object, and a member of the
** decoded object itself. The userdata at index 1 of the stack keeps the text
** and the table as user values. */
typedef struct pt_repeat {
  const char *name;      /* of the member, an interned string; NULL if none */
  const char *text;      /* the last one */
  size_t len, values;    /* bytes and values in it; 0 bytes if none is kept */
  int text_at, value_at; /* the user values */
  const char *from;      /* the text that is being decoded, or NULL */
  size_t values_before;  /* how many more there could be then */
} pt_repeat;

#define PT_REPEAT_LONGEST 4096 /* bytes of a text that is kept */

typedef struct pt_decoder {
  const char *p; /* next byte; after success, the byte after the value */
  const char *end;
  int depth;         /* nesting allowed */
  size_t values;     /* how many more values may be decoded */
  int ordered;       /* objects remember the order of their members */
  int big_integers;  /* integers of more than 64 bits keep their digits */
  pt_repeat *repeat; /* NULL if no member is expected to repeat */
  pt_decode_env env;
  pt_json_fault fault;
} pt_decoder;

/* Pushes the value at d->p and returns 1. On failure returns 0 with the fault
** set and an unspecified number of values pushed. Raises only if there is not
** enough memory. May run the garbage collector and finalizers: the text must
** not move meanwhile. */
int pt_decode_value(lua_State *L, pt_decoder *d);

/* A text of at least this size is decoded with the garbage collector paused. */
#define PT_DECODE_LARGE (64 * 1024)

/* As lua_pcall with all results, with the garbage collector paused if it was
** running. A paused collector does not notice allocations, so garbage would
** accumulate from call to call. Therefore the collector does this work later,
** when most of the memory may be garbage: in steps while the loop waits, and
** the rest before the next such call. */
int pt_call_gc_paused(lua_State *L, const pt_decode_env *env, int args);

/* Lets the collector do one step of that work. A generational collector does
** all of it in the first step. Both functions may run finalizers. */
void pt_repay_gc_debt(lua_State *L, pt_gc_debt *a);

/* ====== Encoding (lencode.c) ====== */

typedef enum pt_encoded {
  PT_ENCODED,
  PT_ENCODE_MEMORY, /* the buffer could not grow */
  PT_ENCODE_MISUSE  /* the value has no JSON form; a message was pushed */
} pt_encoded;

typedef struct pt_encode_style {
  int depth;              /* nesting allowed */
  const void *array_meta; /* the metatable that marks arrays, as a pointer */
} pt_encode_style;

/* Returns the array metatable as a pointer, for pt_encode_style. */
const void *pt_array_mark(lua_State *L);

/* Appends the value at `index`; `root` names it in messages. Runs neither the
** garbage collector nor Lua code, unless it fails: then it first truncates the
** buffer to the length `mark`. Leaves the stack unchanged, except for the
** message. The stack must have PT_ENCODE_STACK free slots, which a C function
** has if it has not pushed much; so the stacks of most threads need not grow.
*/
#define PT_ENCODE_STACK 16
pt_encoded pt_encode_value(lua_State *L, int index, pt_buf *out, size_t mark,
                           const pt_encode_style *style, const char *root);

/* Appends `text` in quotes. Returns 0 if there is not enough memory, -1 if the
** text is not UTF-8. */
int pt_encode_string(lua_State *L, pt_buf *out, const char *text, size_t len);

/* ====== Faults ====== */

/* Pushes the error and its position in the text (ljson.c). */
void pt_json_push_fault(lua_State *L, const char *text,
                        const pt_json_fault *fault);

/* ====== Orders (lorder.c) ====== */

/* An order is a metatable: in that order the members of an object are written,
** and pairs visits them. The members that it names come first, then all others.
*/

#define PT_ORDER_SHARED 64 /* maximum number of names of a shared order */

typedef struct pt_order {
  int count; /* names of a shared order, -1 for any other */
  const void *names[];
} pt_order;

/* json.order(names) -> metatable */
int pt_order_new(lua_State *L);

/* Gives the table at `table` the order of the names above it on the stack, each
** followed by its value: at most PT_ORDER_SHARED names. The table has no
** metatable yet and gets no more members. It shares the metatable of recent
** tables with the same names in the same order. Uses at most eight stack slots.
*/
void pt_order_share(lua_State *L, const pt_decode_env *v, int table,
                    int members);

/* The same for a table that gets its members in several parts. */
void pt_order_append(lua_State *L, int table, int members);

/* The following functions do not raise and do not allocate. */

/* Whether the metatable on top has an order. */
int pt_has_order(lua_State *L);

/* As lua_next with the key on top, in the order of the table at `table`. Uses
** at most four stack slots. */
int pt_order_next(lua_State *L, int table);

/* ====== Undecoded text (ljson.c) ====== */

/* Pushes a pintle.raw. The text must be valid JSON. */
void pt_raw_push(lua_State *L, const char *text, size_t len);

/* Returns the text of the pintle.raw at `index`, or NULL if it is not one. */
const char *pt_raw_test(lua_State *L, int index, size_t *len);

#endif
