/*
** core.stream: opening one, which is mostly looking at its options. Misuse
** raises before anything is taken over.
*/
#include <lauxlib.h>
#include <string.h>

#include "core.h"
#include "header.h"
#include "lfd.h"
#include "ljson.h"
#include "lstream.h"

#define HEADER_LIMIT (8 * 1024)
#define MESSAGE_LIMIT (64 * 1024 * 1024)
#define QUEUE_LIMIT (64 * 1024 * 1024)
#define CALL_LIMIT (64 * 1024)
#define TEXT_LIMIT 1024

#define HEADER "Content-Length: "

/* {====== Options ====== */

static const char *const options[] = {"read",   "write", "framing", "json",
                                      "raw",    "ids",   "extra",   "header",
                                      "limits", NULL};
static const char *const limits[] = {"header", "message", "nesting", "queue",
                                     "calls",  "text",    NULL};

static void bad_option(lua_State *L, const char *name, const char *expected) {
  luaL_error(L, "stream option '%s': %s expected, got %s", name, expected,
             luaL_typename(L, -1));
}

/* The limits table is on top. */
static size_t get_limit(lua_State *L, const char *name, lua_Integer usual,
                        lua_Integer most) {
  lua_Integer value = usual;
  int is_number;
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
  if (lua_getfield(L, 1, "limits") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_newtable(L);
  }
  if (lua_type(L, -1) != LUA_TTABLE)
    bad_option(L, "limits", "table");
  pt_check_names(L, lua_gettop(L), limits, "stream limits");
  pt_frame_init(&s->framing, mode,
                get_limit(L, "header", HEADER_LIMIT, 1 << 24),
                get_limit(L, "message", MESSAGE_LIMIT, many));
  s->style.depth =
      (int)get_limit(L, "nesting", PT_JSON_DEPTH, PT_JSON_MAX_DEPTH);
  s->queue_limit = get_limit(L, "queue", QUEUE_LIMIT, many);
  s->call_limit = get_limit(L, "calls", CALL_LIMIT, 1 << 24);
  s->text_limit = get_limit(L, "text", TEXT_LIMIT, many);
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
  bad_option(L, "framing", "\"header\", \"line\" or \"auto\"");
  return PT_FRAME_AUTO;
}

/* Moves the value on top into the table of what is kept. */
static void keep(lua_State *L, int stream, int key) {
  lua_getiuservalue(L, stream, PT_STREAM_KEPT);
  lua_insert(L, -2);
  lua_rawseti(L, -2, key);
  lua_pop(L, 1);
}

/* The codec on top of the stack has a function `name`; it is kept. */
static void keep_function(lua_State *L, int stream, const char *name, int key) {
  if (lua_getfield(L, -1, name) != LUA_TFUNCTION)
    bad_option(L, "json", "a codec with the functions encode and decode");
  keep(L, stream, key);
}

static void get_codec(lua_State *L, pt_stream *s, int stream) {
  if (lua_getfield(L, 1, "json") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TTABLE)
      bad_option(L, "json", "a codec with the functions encode and decode");
    keep_function(L, stream, "decode", PT_KEPT_DECODE);
    keep_function(L, stream, "encode", PT_KEPT_ENCODE);
    s->has_codec = 1;
  }
  lua_pop(L, 1);
}

static void get_ids(lua_State *L, pt_stream *s) {
  int type = lua_getfield(L, 1, "ids");
  const char *name = type == LUA_TSTRING ? lua_tostring(L, -1) : "";
  s->string_ids = strcmp(name, "string") == 0;
  if (!s->string_ids && strcmp(name, "integer") != 0 && type != LUA_TNIL)
    bad_option(L, "ids", "\"integer\" or \"string\"");
  lua_pop(L, 1);
}

/* The text before the number must be what a reader takes for a header. */
static int is_header(const char *text, size_t len) {
  const char *line = text, *end = text + len, *newline;
  pt_header_field field;
  for (; (newline = memchr(line, '\n', (size_t)(end - line))) != NULL;
       line = newline + 1)
    if (newline - line < 2 || newline[-1] != '\r' ||
        !pt_header_parse(line, (size_t)(newline - line) - 1, &field))
      return 0;
  return pt_header_parse(line, (size_t)(end - line), &field) &&
         pt_header_is(&field, "content-length") && field.value_len == 0;
}

static void get_header(lua_State *L, pt_stream *s, int stream) {
  if (lua_getfield(L, 1, "header") == LUA_TNIL) {
    lua_pop(L, 1);
    lua_pushliteral(L, HEADER);
  }
  if (lua_type(L, -1) != LUA_TSTRING)
    bad_option(L, "header", "string");
  s->header = lua_tolstring(L, -1, &s->header_len);
  if (!is_header(s->header, s->header_len))
    luaL_error(L, "stream option 'header': header lines that end in "
                  "\"Content-Length: \" expected");
  keep(L, stream, PT_KEPT_HEADER);
}

#define EXTRA_MOST 16

/* Appends one extra member, at -2 its name and at -1 its value, to the text of
** the head. */
static void write_extra(lua_State *L, pt_stream *s) {
  size_t len;
  const char *name = lua_tolstring(L, -2, &len);
  int status = pt_encode_string(L, &s->out, name, len);
  if (status < 0)
    luaL_error(L, "stream option 'extra': a name is not UTF-8");
  if (status == 0 || !pt_buf_add(L, &s->out, ":", 1))
    luaL_error(L, "not enough memory");
  status = (int)pt_encode_value(L, -1, &s->out, 0, &s->style,
                                "stream option 'extra'");
  if (status == PT_ENCODE_MISUSE)
    luaL_error(L, "%s", lua_tostring(L, -1));
  if (status != PT_ENCODED || !pt_buf_add(L, &s->out, ",", 1))
    luaL_error(L, "not enough memory");
}

/* Takes one extra member, at -2 its name and at -1 its value, into the tables
** at `values` and `bits`. */
static void take_extra(lua_State *L, pt_stream *s, int values, int bits) {
  int type = lua_type(L, -1);
  if (lua_type(L, -2) != LUA_TSTRING ||
      (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TBOOLEAN))
    luaL_error(L, "stream option 'extra': names and plain values expected");
  if (s->extras >> (EXTRA_MOST - 1) != 0)
    luaL_error(L, "stream option 'extra': more than %d members", EXTRA_MOST);
  write_extra(L, s);
  lua_pushvalue(L, -2);
  lua_pushinteger(L, (lua_Integer)s->extras + 1);
  lua_rawset(L, bits);
  lua_pushvalue(L, -2);
  lua_pushvalue(L, -2);
  lua_rawset(L, values);
  s->extras = s->extras * 2 + 1;
}

static void get_extra(lua_State *L, pt_stream *s, int stream) {
  int values = lua_gettop(L) + 1, bits = values + 1;
  lua_newtable(L);
  lua_newtable(L);
  if (lua_getfield(L, 1, "extra") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TTABLE)
      bad_option(L, "extra", "table");
    lua_pushnil(L);
    while (lua_next(L, -2)) {
      take_extra(L, s, values, bits);
      lua_pop(L, 1);
    }
  }
  lua_pop(L, 1);
  keep(L, stream, PT_KEPT_EXTRA_BIT);
  keep(L, stream, PT_KEPT_EXTRA);
}

/* How every message begins; the output buffer is where it is put together. */
static void get_head(lua_State *L, pt_stream *s, int stream) {
  static const char version[] = "\"jsonrpc\":\"2.0\",";
  if (!pt_buf_add(L, &s->out, "{", 1))
    luaL_error(L, "not enough memory");
  get_extra(L, s, stream);
  if (!pt_buf_add(L, &s->out, version, sizeof version - 1))
    luaL_error(L, "not enough memory");
  lua_pushlstring(L, pt_buf_front(&s->out), pt_buf_len(&s->out));
  pt_buf_cut(&s->out, 0);
  s->head = lua_tolstring(L, -1, &s->head_len);
  keep(L, stream, PT_KEPT_HEAD);
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
    bad_option(L, name, "descriptor");
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

/* core.stream(options) -> stream | nil, msg, kind, errno */
int pt_stream_open(lua_State *L) {
  pt_stream *s;
  int err;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  pt_check_names(L, 1, options, "stream options");
  s = pt_stream_push(L);
  get_limits(L, s, get_framing(L));
  get_codec(L, s, 2);
  get_ids(L, s);
  get_header(L, s, 2);
  get_head(L, s, 2);
  lua_getfield(L, 1, "raw");
  s->is_raw = lua_toboolean(L, -1);
  lua_pop(L, 1);
  err = get_descriptors(L, s);
  if (err != 0)
    return pt_fail_errno(L, err, "closed", "cannot use the descriptor");
  pt_ignore_sigpipe();
  return 1;
}

/* }====== */
