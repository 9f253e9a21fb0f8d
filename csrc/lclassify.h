/*
** Telling messages apart: what the text of one frame amounts to, handed over as
** the four results of stream:receive.
*/
#ifndef PT_LCLASSIFY_H
#define PT_LCLASSIFY_H

#include <lua.h>

#pragma GCC visibility push(hidden)

/* Each pushes a function for a protected call with the stream as its argument.
** The text is in the stream's fields text and text_len; all of it stays put
** while the function runs. */

/* A whole message, or the next member of a batch that was begun. */
void pt_classify_push_message(lua_State *L);

/* Bytes outside of any message. */
void pt_classify_push_noise(lua_State *L);

/* A frame that is refused; the second argument is a light userdata, the
** pt_frame_found that says why. */
void pt_classify_push_refused(lua_State *L);

#pragma GCC visibility pop

#endif
