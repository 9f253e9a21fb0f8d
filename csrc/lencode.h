/*
** The encoder's state, shared by lencode.c, which walks and writes, and
** lencode_error.c, which explains why a value cannot be written.
*/
#ifndef PT_LENCODE_H
#define PT_LENCODE_H

#include "ljson.h"
#include "lorder.h"

#pragma GCC visibility push(hidden)

/* An open table takes three slots on the Lua stack: the table, the state of the
** enclosing level (an integer, unused for the first levels, whose state is kept
** in C), and the key of the member being written. */
#define PT_ENCODER_SLOTS 3
#define PT_ENCODER_LEVELS 16 /* levels whose state is kept in C */
#define PT_ENCODER_PARTS 128

/* How the members of a table are walked. The first two use lua_next only. */
typedef enum pt_walk {
  PT_WALK_OBJECT,
  PT_WALK_LIST,
  PT_WALK_ORDERED, /* by lua_next; the text is sorted when the table closes */
  PT_WALK_ORDERED_BY_KEY, /* by pt_order_next: for deep or large tables */
  PT_WALK_LIST_BY_INDEX
} pt_walk;
#define PT_WALKS 8 /* more than there are */

/* The text of a member that its table's order names. */
typedef struct pt_part {
  size_t start; /* offset from the front of the buffer */
  size_t size;  /* with the comma behind it */
  int place;    /* in the order */
} pt_part;

typedef struct pt_level {
  lua_Integer outer_n; /* members of the enclosing table written so far */
  pt_walk outer_walk;
  /* the rest is for PT_WALK_ORDERED */
  int first_part;
  int place;        /* of the member being written, in the order */
  int is_unsorted;  /* parts did not come in the order of their places */
  int has_others;   /* there are members that the order does not name */
  size_t named_end; /* one behind the last named member; 0 before that */
  const pt_order *order;
} pt_level;

typedef struct pt_encoder {
  lua_State *L;
  pt_buf *out;
  int depth;     /* open tables */
  int most;      /* nesting allowed */
  int levels;    /* levels that the Lua stack has room for */
  int base;      /* stack index of the outermost table */
  int key;       /* stack index of the innermost table's key */
  pt_walk walk;  /* of the innermost table */
  lua_Integer n; /* members of it written so far */
  size_t mark;   /* length to which a failure cuts the buffer back */
  const char *root;
  const void *array_meta; /* the metatable that marks arrays */
  int parts_used;
  pt_level open[PT_ENCODER_LEVELS];
  pt_part parts[PT_ENCODER_PARTS]; /* a stack, shared by the open tables */
} pt_encoder;

/* Pushes a message: the path to the value being written, and what is wrong with
** it. The buffer is cut back first, because making the message may run the
** collector, and with it finalizers that use the buffer. Returns
** PT_ENCODE_MISUSE. */
pt_encoded pt_encode_error(pt_encoder *e, const char *what);

/* The same for a value on top whose type has no JSON form. */
pt_encoded pt_encode_type_error(pt_encoder *e);

/* Whether the table on top, or one around it, contains itself. If so, the path
** is cut to the first such table. From PT_ENCODER_LEVELS on this is called for
** every table, so that the tables around are known to be no cycle; if the one
** on top may not be opened, the first levels are checked, too. */
int pt_encode_is_cycle(pt_encoder *e, int may_open);

/* NULL if the innermost table has the keys 1..n and no others. If it has
** others, says why, and puts the offending key into the key's slot. */
const char *pt_encode_list_error(pt_encoder *e);

#pragma GCC visibility pop

#endif
