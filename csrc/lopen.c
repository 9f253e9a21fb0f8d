/*
** core.stream: opening one, which is mostly looking at its options. Misuse
** raises before anything is taken over.
*/
#include <string.h>

#include "core.h"
#include "lapi.h"
#include "lfd.h"
#include "ljson.h"
#include "lspeak.h"
#include "lstream.h"

#define HEADER_LIMIT (8 * 1024)
#define MESSAGE_LIMIT (64 * 1024 * 1024)
#define QUEUE_LIMIT (64 * 1024 * 1024)
#define CALL_LIMIT (64 * 1024)
#define TEXT_LIMIT 1024
#define VALUE_LIMIT (4 * 1024 * 1024)

/* {====== Options ====== */

static const char *const options[] = {"read",   "write",  "framing", "json",
                                      "raw",    "ids",    "extra",   "header",
                                      "others", "limits", NULL};
static const char *const limits[] = {"header", "message", "nesting", "queue",
                                     "calls",  "text",    "values",  NULL};

void pt_stream_bad_option(lua_State *L, const char *name,
                          const char *expected) {
  luaL_error(L, "stream option '%s': %s expected, got %s", name, expected,
             luaL_typename(L, -1));
}

/* The limits table is on top, or nil. */
static size_t get_limit(lua_State *L, const char *name, lua_Integer usual,
                        lua_Integer most) {
  lua_Integer value = usual;
  int is_number;
  if (lua_isnil(L, -1))
    return (size_t)usual;
  if (lua_getfield(L, -1, name) != LUA_TNIL) {
    value = lua_tointegerx(L, -1, &is_number);
    if (!is_number || value < 1 || value > most)
      luaL_error(L, "stream limit '%s': integer from 1 to %I expected", name,
                 (LUAI_UACINT)most);
  }
  lua_pop(L, 1);
  return (size_t)value;
}

static void get_limits(lua_State *L, pt_stream *s, pt_frame_mode mode) {
  lua_Integer many = INT32_MAX;
  if (lua_getfield(L, 1, "limits") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TTABLE)
      pt_stream_bad_option(L, "limits", "table");
    pt_check_names(L, lua_gettop(L), limits, "stream limits");
  }
  pt_frame_init(&s->framing, mode,
                get_limit(L, "header", HEADER_LIMIT, 1 << 24),
                get_limit(L, "message", MESSAGE_LIMIT, many));
  s->style.depth =
      (int)get_limit(L, "nesting", PT_JSON_DEPTH, PT_JSON_MAX_DEPTH);
  s->queue_limit = get_limit(L, "queue", QUEUE_LIMIT, many);
  s->call_limit = get_limit(L, "calls", CALL_LIMIT, 1 << 24);
  s->text_limit = get_limit(L, "text", TEXT_LIMIT, many);
  s->value_limit = get_limit(L, "values", VALUE_LIMIT, many);
  lua_pop(L, 1);
}

static pt_frame_mode get_framing(lua_State *L) {
  static const char *const names[] = {"auto", "line", "header"};
  const char *name;
  int i;
  lua_getfield(L, 1, "framing");
  name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  for (i = 0; i < 3; i++)
    if (strcmp(name, names[i]) == 0) {
      lua_pop(L, 1);
      return (pt_frame_mode)i;
    }
  pt_stream_bad_option(L, "framing", "\"header\", \"line\" or \"auto\"");
  return PT_FRAME_AUTO;
}

/* The codec on top of the stack has a function `name`; it is kept. */
static void keep_function(lua_State *L, int stream, const char *name, int key) {
  if (lua_getfield(L, -1, name) != LUA_TFUNCTION)
    pt_stream_bad_option(L, "json",
                         "a codec with the functions encode and decode");
  pt_stream_keep(L, stream, key);
}

static int get_boolean(lua_State *L, const char *name) {
  int value;
  lua_getfield(L, 1, name);
  value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

static void get_codec(lua_State *L, pt_stream *s, int stream) {
  if (lua_getfield(L, 1, "json") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TTABLE)
      pt_stream_bad_option(L, "json",
                           "a codec with the functions encode and decode");
    keep_function(L, stream, "decode", PT_KEPT_DECODE);
    keep_function(L, stream, "encode", PT_KEPT_ENCODE);
    s->has_codec = 1;
  }
  lua_pop(L, 1);
}

/* }====== */

/* {====== Opening ====== */

/* Looks at the descriptor that is the option `name`: 0, or an error number. */
static int get_descriptor(lua_State *L, const char *name, pt_io *io) {
  const pt_fd *f;
  lua_Integer fd;
  lua_getfield(L, 1, name);
  f = pt_fd_test(L, -1);
  if (f == NULL && !lua_isinteger(L, -1))
    pt_stream_bad_option(L, name, "descriptor");
  fd = f != NULL ? f->fd : lua_tointeger(L, -1);
  if (fd < 0 || fd > INT_MAX)
    luaL_error(L, "stream option '%s': %s", name,
               f != NULL ? "the descriptor is closed"
                         : "no descriptor has this number");
  return pt_io_init(io, (int)fd);
}

/* The descriptor object on top, if it is one, is the stream's from now on. */
static int take_descriptor(lua_State *L, int index) {
  pt_fd *f = pt_fd_test(L, index);
  if (f == NULL)
    return 0;
  f->fd = -1;
  return 1;
}

/* Both descriptors are taken over at once, or none is. */
static int get_descriptors(lua_State *L, pt_stream *s) {
  int input = lua_gettop(L) + 1, err = get_descriptor(L, "read", &s->input);
  if (err == 0)
    err = get_descriptor(L, "write", &s->output);
  if (err != 0) {
    s->input.fd = s->output.fd = -1;
    return err;
  }
  s->owns_output = take_descriptor(L, input + 1);
  s->owns_input = take_descriptor(L, input);
  if (s->input.fd == s->output.fd)
    s->owns_input = s->owns_input || s->owns_output;
  lua_settop(L, input - 1);
  return 0;
}

int pt_stream_open_with(lua_State *L, size_t size,
                        void (*prepare)(lua_State *L, pt_stream *s,
                                        int stream)) {
  pt_stream *s;
  int stream, err;
  luaL_checktype(L, 1, LUA_TTABLE);
  pt_check_names(L, 1, options, "stream options");
  s = pt_stream_push(L, size);
  stream = lua_gettop(L);
  get_limits(L, s, get_framing(L));
  get_codec(L, s, stream);
  pt_speech_set(L, s, stream, 1);
  s->is_raw = get_boolean(L, "raw");
  s->keeps_others = get_boolean(L, "others");
  if (prepare != NULL)
    prepare(L, s, stream);
  err = get_descriptors(L, s);
  if (err != 0)
    return pt_fail_errno(L, err, "closed", "cannot use the descriptor");
  pt_ignore_sigpipe();
  return 0;
}

/* core.stream(options) -> stream | nil, msg, kind, errno */
int pt_stream_open(lua_State *L) {
  int failed;
  lua_settop(L, 1);
  failed = pt_stream_open_with(L, sizeof(pt_stream), NULL);
  return failed ? failed : 1;
}

/* }====== */
