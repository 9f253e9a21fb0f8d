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

/* How the members of a table are visited. */
typedef enum pt_walk {
  PT_WALK_OBJECT, /* by lua_next */
  /* by index; the key's slot is set only for an item that is a table */
  PT_WALK_LIST,
  PT_WALK_ORDERED /* by pt_order_next */
} pt_walk;
#define PT_WALKS 4 /* greater than any pt_walk; packs one with a count */

typedef struct pt_level {
  lua_Integer outer_n; /* members of the enclosing table written so far */
  pt_walk outer_walk;
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
  pt_level open[PT_ENCODER_LEVELS];
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

/* Returns NULL if the innermost table, a list, has the keys 1..n and no others.
** Otherwise returns the reason. Puts the offending key, or n, into the key's
** slot. */
const char *pt_encode_list_error(pt_encoder *e);

#pragma GCC visibility pop

#endif
