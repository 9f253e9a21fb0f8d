/*
** The state of the encoder, shared by lencode.c, which walks and writes values,
** and lencode_error.c, which explains why a value cannot be written.
*/
#ifndef PT_LENCODE_H
#define PT_LENCODE_H

#include "ljson.h"
#include "lorder.h"

#pragma GCC visibility push(hidden)

/* An open table takes three slots on the Lua stack: the table, the state of the
** enclosing level (an integer; unused for the first levels, whose state is in
** C), and the key of the member being written. */
#define PT_ENCODER_SLOTS 3
#define PT_ENCODER_LEVELS 16 /* levels whose state is stored in C */
#define PT_ENCODER_PARTS 128

/* How the members of a table are visited. The first two use lua_next only. */
typedef enum pt_walk {
  PT_WALK_OBJECT,
  PT_WALK_LIST,
  /* by lua_next; the text is sorted when the table is closed */
  PT_WALK_ORDERED,
  PT_WALK_ORDERED_BY_KEY, /* by pt_order_next: for deep or large tables */
  PT_WALK_LIST_BY_INDEX
} pt_walk;
#define PT_WALKS 8 /* greater than any pt_walk; packs one with a count */

/* The text of a member that the order of its table names. */
typedef struct pt_part {
  size_t start; /* offset from the front of the buffer */
  size_t size;  /* including the comma after it */
  int place;    /* in the order */
} pt_part;

typedef struct pt_level {
  lua_Integer outer_n; /* members of the enclosing table written so far */
  pt_walk outer_walk;
  /* used by PT_WALK_ORDERED only: */
  int first_part;
  int place;       /* of the member being written, in the order */
  int is_unsorted; /* the parts were not written in the order of their places */
  int has_others;  /* the table has members that the order does not name */
  size_t named_end; /* one past the last named member; 0 before that */
  const pt_order *order;
} pt_level;

typedef struct pt_encoder {
  lua_State *L;
  pt_buf *out;
  int depth;     /* open tables */
  int most;      /* maximum nesting */
  int levels;    /* levels for which the Lua stack has room */
  int base;      /* stack index of the outermost table */
  int key;       /* stack index of the innermost table's key */
  pt_walk walk;  /* of the innermost table */
  lua_Integer n; /* members of that table written so far */
  size_t mark;   /* a failure truncates the buffer to this length */
  const char *root;
  const void *array_meta; /* the metatable that marks arrays */
  int parts_used;
  pt_level open[PT_ENCODER_LEVELS];
  pt_part parts[PT_ENCODER_PARTS]; /* a stack, shared by the open tables */
} pt_encoder;

/* Pushes a message: the path to the value being written and the reason.
** Truncates the buffer first: creating the message may run the garbage
** collector and finalizers that use the buffer. Returns PT_ENCODE_MISUSE. */
pt_encoded pt_encode_error(pt_encoder *e, const char *what);

/* The same for the value on top, whose type has no JSON form. */
pt_encoded pt_encode_type_error(pt_encoder *e);

/* Whether the table on top, or a table around it, contains itself. If so, the
** path is cut to the first such table. From PT_ENCODER_LEVELS on this is called
** for every table, so the tables around it are known not to form a cycle. If
** the one on top may not be opened, the first levels are checked too. */
int pt_encode_is_cycle(pt_encoder *e, int may_open);

/* Returns NULL if the innermost table has the keys 1..n and no others.
** Otherwise returns the reason, and puts the offending key into the key's slot.
*/
const char *pt_encode_list_error(pt_encoder *e);

#pragma GCC visibility pop

#endif
