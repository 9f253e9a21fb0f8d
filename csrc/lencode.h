/*
** An encoder at work, as the files that make it up share it: lencode.c walks
** and writes, lencode_error.c says what cannot be written, and where it stands.
*/
#ifndef PT_LENCODE_H
#define PT_LENCODE_H

#include "ljson.h"
#include "lorder.h"

#pragma GCC visibility push(hidden)

/* An open table takes three slots on the Lua stack: the table, what is to be
** known of the one around it (an integer, of no use for the first levels, which
** are kept in C), and the key of the member being written. */
#define PT_ENCODER_SLOTS 3
#define PT_ENCODER_QUICK 16 /* levels of which the rest is kept in C */

/* How the members of the open table are walked; the first two by lua_next. */
typedef enum pt_walk {
  PT_WALK_OBJECT,
  PT_WALK_LIST,
  PT_WALK_ORDERED,        /* as lua_next has them, and then put in order */
  PT_WALK_ORDERED_BY_KEY, /* by pt_order_next: deep in, or with many names */
  PT_WALK_LIST_BY_INDEX,
  PT_WALK_BIGINT /* an integer of more than 64 bits, which has no members */
} pt_walk;
#define PT_WALKS 8 /* more than there are */

#define PT_PARTS 128 /* members of ordered tables in which the walk stands */

typedef struct pt_level {
  lua_Integer outer_n; /* how far the table around it has been written */
  pt_walk outer_walk;
  /* the rest is for PT_WALK_ORDERED */
  const pt_order *order;
  pt_part *parts;    /* the members that it names, as they came */
  lua_Integer named; /* how many, once all are written; -1 before */
  int is_unsorted;
  int has_others; /* members that are not named, to be written behind */
} pt_level;

typedef struct pt_encoder {
  lua_State *L;
  pt_buf *out;
  int depth;     /* open tables */
  int most;      /* nesting allowed */
  int levels;    /* that there is room for on the stack */
  int base;      /* stack index of the outermost table */
  int key;       /* stack index of the innermost table's key */
  pt_walk walk;  /* of the innermost table */
  lua_Integer n; /* members of it written so far */
  size_t mark;   /* length to which a failure cuts the buffer back */
  const char *root;
  const void *array_meta; /* the metatable that marks arrays */
  pt_encoded status;      /* of a walk that has failed */
  int parts_used;
  pt_level open[PT_ENCODER_QUICK];
  pt_part parts[PT_PARTS];
} pt_encoder;

/* Pushes a message: the path to the value being written, and what is wrong with
** it. The buffer is cut back first, because making the message may run the
** collector and so finalizers that use it. Returns PT_ENCODE_MISUSE. */
pt_encoded pt_encode_error(pt_encoder *e, const char *what);

/* The same for a value on top whose type has no JSON form. */
pt_encoded pt_encode_type_error(pt_encoder *e);

/* Whether a table among those that are open and the one on top holds itself; if
** so, the path is cut to where it does so first. Asked for every table from
** PT_ENCODER_QUICK levels on, with `has_room`; without, it looks closer. */
int pt_encode_is_cycle(pt_encoder *e, int has_room);

/* NULL if the innermost table has the keys 1..n and no others. If not, why, and
** the key that spoils it is in the key's slot. */
const char *pt_encode_list_error(pt_encoder *e);

#pragma GCC visibility pop

#endif
