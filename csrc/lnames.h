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

#include <lua.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

#define PT_NAMES_UPVALUES 3

typedef struct pt_names pt_names;

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

/* What is owed to the collector, in KiB; see pt_call_paused. */
int *pt_names_owed(const pt_vocabulary *v);

/* Pushes the name as a Lua string. */
void pt_names_push_name(lua_State *L, const pt_vocabulary *v, const char *text,
                        size_t len);

#pragma GCC visibility pop

#endif
