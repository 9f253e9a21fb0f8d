/*
** Telling messages apart: what the text of one frame amounts to, handed over as
** the four results of stream:receive.
*/
#ifndef PT_LCLASSIFY_H
#define PT_LCLASSIFY_H

#include "lapi.h"
#include "lnames.h"
#include "lstream.h"

#pragma GCC visibility push(hidden)

/* What a message turned out to be; the names are upvalues of whatever hands
** one over. */
enum {
  PT_REQUEST = 1,
  PT_NOTIFICATION,
  PT_RESULT,
  PT_ERROR,
  PT_INVALID,
  PT_NOISE,
  PT_STRAY,
  PT_KINDS = PT_STRAY
};

/* A function that calls these has the stream alone on its stack, and as its
** first upvalues what is pushed here: the names of the kinds and the vocabulary
** of the decoder. */
#define PT_CLASSIFY_UPVALUES (PT_KINDS + PT_NAMES_UPVALUES)
void pt_classify_push_upvalues(lua_State *L);

/* Each pushes the four results, notes the kind in the stream, and returns how
** many they are. The text is in
** the stream's fields text and text_len; all of it must stay put meanwhile, and
** finalizers may run. Raises only when memory is short. */

/* A whole message, or the next member of a batch that was begun. */
int pt_classify_message(lua_State *L, pt_stream *s);

/* Bytes outside of any message. */
int pt_classify_noise(lua_State *L, pt_stream *s);

/* A frame that is refused. */
int pt_classify_refused(lua_State *L, pt_stream *s,
                        const pt_frame_found *found);

#pragma GCC visibility pop

#endif
