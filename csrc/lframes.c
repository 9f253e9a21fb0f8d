/*
** core.frames: the frame scanner as a Lua object, for programs that watch a
** conversation without taking part in it.
**
** The bytes of a result are dropped when the object is used next, because
** creating the result string may run a finalizer that uses the same object.
*/
#include <stdint.h>
#include <string.h>

#include "core.h"
#include "frame.h"
#include "lbuf.h"

#define CLASS "pintle.frames"

typedef struct frames {
  pt_framing framing;
  pt_buf in;
  size_t used; /* bytes of the last result */
  int at_end;
} frames;

static frames *check_frames(lua_State *L) {
  return luaL_checkudata(L, 1, CLASS);
}

static void drop_used_frames(lua_State *L, frames *f) {
  pt_buf_consume(L, &f->in, f->used);
  f->used = 0;
}

/* frames:feed(bytes) */
static int frames_feed(lua_State *L) {
  frames *f = check_frames(L);
  size_t len;
  const char *bytes = luaL_checklstring(L, 2, &len);
  if (f->at_end)
    return luaL_error(L, "the input has ended already");
  drop_used_frames(L, f);
  if (!pt_buf_add(L, &f->in, bytes, len))
    return luaL_error(L, "not enough memory");
  return 0;
}

/* frames:finish() */
static int frames_finish(lua_State *L) {
  check_frames(L)->at_end = 1;
  return 0;
}

static pt_frame_result scan_frames(lua_State *L, frames *f,
                                   pt_frame_found *found) {
  pt_frame_result result;
  do {
    drop_used_frames(L, f);
    result = pt_frame_scan(&f->framing, pt_buf_front(&f->in),
                           pt_buf_len(&f->in), f->at_end, found);
    f->used = found->used;
  } while (result == PT_FRAME_MORE && found->used > 0);
  return result;
}

static int push_found_frame(lua_State *L, const char *kind,
                            const pt_frame_found *found) {
  lua_pushlstring(L, found->text, found->len);
  lua_pushstring(L, kind);
  lua_insert(L, -2);
  return 2;
}

static int push_bad_frame(lua_State *L, const pt_frame_found *found) {
  push_found_frame(L, "bad", found);
  if (found->number > 0)
    lua_pushfstring(L, "%s %I", found->what, (LUAI_UACINT)found->number);
  else
    lua_pushstring(L, found->what);
  return 3;
}

/* frames:next() -> kind, text, what | nil */
static int frames_next(lua_State *L) {
  pt_frame_found found;
  switch (scan_frames(L, check_frames(L), &found)) {
  case PT_FRAME_MESSAGE:
    return push_found_frame(L, "message", &found);
  case PT_FRAME_NOISE:
    return push_found_frame(L, "noise", &found);
  case PT_FRAME_BAD:
    return push_bad_frame(L, &found);
  default:
    lua_pushnil(L);
    return 1;
  }
}

/* frames:framing() -> string */
static int frames_framing(lua_State *L) {
  lua_pushstring(L, pt_frame_modes[check_frames(L)->framing.mode]);
  return 1;
}

static int frames_free(lua_State *L) {
  frames *f = check_frames(L);
  pt_buf_free(L, &f->in);
  f->used = 0;
  f->at_end = 1;
  return 0;
}

static size_t opt_frames_limit(lua_State *L, int arg, lua_Integer usual) {
  lua_Integer limit = luaL_optinteger(L, arg, usual);
  luaL_argcheck(L, limit >= 1 && limit <= INT32_MAX, arg,
                "a number of bytes expected");
  return (size_t)limit;
}

/* core.frames(framing, message_limit, header_limit) -> frames */
static int core_frames(lua_State *L) {
  int mode = luaL_checkoption(L, 1, NULL, pt_frame_modes);
  size_t message = opt_frames_limit(L, 2, PT_FRAME_BODY_LIMIT);
  size_t header = opt_frames_limit(L, 3, PT_FRAME_HEADER_LIMIT);
  frames *f = lua_newuserdatauv(L, sizeof *f, 0);
  memset(f, 0, sizeof *f);
  pt_frame_init(&f->framing, (pt_frame_mode)mode, header, message);
  luaL_setmetatable(L, CLASS);
  return 1;
}

static const luaL_Reg methods[] = {{"feed", frames_feed},
                                   {"finish", frames_finish},
                                   {"framing", frames_framing},
                                   {"next", frames_next},
                                   {NULL, NULL}};

static const luaL_Reg meta[] = {{"__gc", frames_free}, {NULL, NULL}};

static const luaL_Reg functions[] = {{"frames", core_frames}, {NULL, NULL}};

void pt_open_frames(lua_State *L) {
  pt_new_class(L, CLASS, methods, meta);
  luaL_setfuncs(L, functions, 0);
}
