/*
** core.stream: one end of a conversation. Opening one, flushing what is queued,
** closing, and the calls that wait. Writing messages is in lsend.c, reading
** them in lreceive.c.
*/
#include "lstream.h"

#include <errno.h>
#include <lauxlib.h>
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core.h"
#include "header.h"
#include "lfd.h"
#include "ljson.h"

#define HEADER_LIMIT (8 * 1024)
#define MESSAGE_LIMIT (64 * 1024 * 1024)
#define QUEUE_LIMIT (64 * 1024 * 1024)
#define CALL_LIMIT (64 * 1024)
#define TEXT_LIMIT 1024

#define HEADER "Content-Length: "

static const char stream_mark = 0; /* its address is in every stream */

pt_stream *pt_stream_check(lua_State *L) {
  return pt_check_self(L, sizeof(pt_stream), &stream_mark, PT_STREAM);
}

/* {====== Options ====== */

static const char *const options[] = {"read",   "write", "framing", "json",
                                      "raw",    "ids",   "extra",   "header",
                                      "limits", NULL};
static const char *const limits[] = {"header", "message", "nesting", "queue",
                                     "calls",  "text",    NULL};

/* Raises if the table at `index` has a key that is not in `names`. */
static void check_names(lua_State *L, int index, const char *const names[],
                        const char *what) {
  lua_pushnil(L);
  while (lua_next(L, index)) {
    int i = 0;
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "%s: every key must be a name", what);
    while (names[i] != NULL && strcmp(names[i], lua_tostring(L, -1)) != 0)
      i++;
    if (names[i] == NULL)
      luaL_error(L, "%s: there is no '%s'", what, lua_tostring(L, -1));
  }
}

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
  check_names(L, lua_gettop(L), limits, "stream limits");
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

/* Takes one extra member, at -2 its name and at -1 its value, into the tables at
** `values` and `bits`. */
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

static pt_stream *push_closed(lua_State *L) {
  pt_stream *s = lua_newuserdatauv(L, sizeof *s, PT_STREAM_VALUES);
  memset(s, 0, sizeof *s);
  s->mark = &stream_mark;
  s->input.fd = s->output.fd = -1;
  s->digits = 2;
  s->style.array_meta = pt_array_mark(L);
  luaL_setmetatable(L, PT_STREAM);
  lua_newtable(L);
  lua_setiuservalue(L, -2, PT_STREAM_WAITERS);
  lua_newtable(L);
  lua_setiuservalue(L, -2, PT_STREAM_KEPT);
  return s;
}

/* core.stream(options) -> stream | nil, msg, kind, errno */
static int core_stream(lua_State *L) {
  pt_stream *s;
  int err;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  check_names(L, 1, options, "stream options");
  s = push_closed(L);
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

/* {====== Flushing and closing ====== */

int pt_stream_write_out(lua_State *L, pt_stream *s) {
  while (pt_buf_len(&s->out) > 0) {
    ssize_t n;
    pt_io_widen(&s->output, pt_buf_len(&s->out));
    n = pt_io_write(&s->output, pt_buf_front(&s->out), pt_buf_len(&s->out));
    if (n < 0)
      return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    pt_buf_consume(L, &s->out, (size_t)n);
  }
  return 1;
}

/* stream:flush() -> true | false | nil, msg, kind, errno */
static int stream_flush(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  int status;
  if (pt_buf_len(&s->out) > 0 && s->output.fd == -1)
    return pt_fail(L, "closed", "the stream is closed");
  status = pt_stream_write_out(L, s);
  if (status < 0)
    return pt_fail_errno(L, errno, "closed", "cannot write");
  lua_pushboolean(L, status);
  return 1;
}

static void close_output(pt_stream *s) {
  if (s->output.fd != -1 && s->owns_output && s->output.fd != s->input.fd)
    close(s->output.fd);
  s->output.fd = -1;
}

static void close_input(pt_stream *s) {
  if (s->input.fd != -1 && s->owns_input)
    close(s->input.fd);
  s->input.fd = -1;
}

/* What waits for an answer is kept, to be told that none will come. */
void pt_stream_release(lua_State *L, pt_stream *s) {
  close_output(s);
  close_input(s);
  pt_buf_free(L, &s->out);
  if (!s->is_reading)
    pt_buf_free(L, &s->in);
}

/* stream:close_output(): the other side sees the end of its input */
static int stream_close_output(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  if (s->output.fd != -1 && s->output.is_socket)
    shutdown(s->output.fd, SHUT_WR);
  close_output(s);
  return 0;
}

/* stream:close() */
static int stream_close(lua_State *L) {
  pt_stream_release(L, pt_stream_check(L));
  return 0;
}

static int stream_gc(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  void *ud;
  lua_Alloc alloc = lua_getallocf(L, &ud);
  pt_stream_release(L, s);
  if (s->pending.ids != NULL)
    alloc(ud, s->pending.ids, s->pending.slots * sizeof *s->pending.ids, 0);
  memset(&s->pending, 0, sizeof s->pending);
  return 0;
}

/* }====== */

/* {====== Calls that wait ====== */

void pt_stream_take_waiter(lua_State *L, pt_stream *s, size_t slot) {
  lua_getiuservalue(L, 1, PT_STREAM_WAITERS);
  lua_rawgeti(L, -1, (lua_Integer)slot + 1);
  lua_pushnil(L);
  lua_rawseti(L, -3, (lua_Integer)slot + 1);
  lua_remove(L, -2);
  pt_pending_remove(&s->pending, slot);
}

/* stream:abandon(id) -> waiter | nil */
static int stream_abandon(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  size_t slot = pt_pending_find(&s->pending, luaL_checkinteger(L, 2));
  if (slot == PT_PENDING_NONE)
    lua_pushnil(L);
  else
    pt_stream_take_waiter(L, s, slot);
  return 1;
}

/* stream:orphan() -> id, waiter | nil */
static int stream_orphan(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  size_t slot = 0;
  if (s->pending.count == 0) {
    lua_pushnil(L);
    return 1;
  }
  while (s->pending.ids[slot] == 0)
    slot++;
  lua_pushinteger(L, s->pending.ids[slot]);
  pt_stream_take_waiter(L, s, slot);
  return 2;
}

/* stream:waiting() -> n */
static int stream_waiting(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pt_stream_check(L)->pending.count);
  return 1;
}

/* }====== */

/* {====== Looking at it ====== */

/* stream:queued() -> bytes */
static int stream_queued(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pt_buf_len(&pt_stream_check(L)->out));
  return 1;
}

static void push_descriptor(lua_State *L, int fd) {
  if (fd == -1)
    lua_pushnil(L);
  else
    lua_pushinteger(L, fd);
}

/* stream:fds() -> read, write; nil where it is closed */
static int stream_fds(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  push_descriptor(L, s->input.fd);
  push_descriptor(L, s->output.fd);
  return 2;
}

/* stream:framing() -> "header" | "line" | "auto" */
static int stream_framing(lua_State *L) {
  static const char *const names[] = {"auto", "line", "header"};
  lua_pushstring(L, names[pt_stream_check(L)->framing.mode]);
  return 1;
}

/* stream:stats() -> table */
static int stream_stats(lua_State *L) {
  const pt_stream *s = pt_stream_check(L);
  const struct {
    const char *name;
    lua_Integer value;
  } counts[] = {
      {"received", s->received}, {"sent", s->sent},
      {"noise", s->noise},       {"noise_bytes", s->noise_bytes},
      {"stray", s->stray},       {"invalid", s->invalid},
  };
  size_t i;
  lua_createtable(L, 0, sizeof counts / sizeof *counts);
  for (i = 0; i < sizeof counts / sizeof *counts; i++) {
    lua_pushinteger(L, counts[i].value);
    lua_setfield(L, -2, counts[i].name);
  }
  return 1;
}

/* }====== */

static const luaL_Reg methods[] = {
    {"abandon", stream_abandon},
    {"close", stream_close},
    {"close_output", stream_close_output},
    {"fail", pt_stream_fail},
    {"fds", stream_fds},
    {"flush", stream_flush},
    {"framing", stream_framing},
    {"notify", pt_stream_notify},
    {"orphan", stream_orphan},
    {"queued", stream_queued},
    {"reply", pt_stream_reply},
    {"request", pt_stream_request},
    {"stats", stream_stats},
    {"waiting", stream_waiting},
    {NULL, NULL},
};

static const luaL_Reg meta[] = {
    {"__close", stream_close}, {"__gc", stream_gc}, {NULL, NULL}};

void pt_open_stream(lua_State *L) {
  pt_batch_open(L);
  pt_new_class(L, PT_STREAM, methods, meta);
  luaL_getmetatable(L, PT_STREAM);
  lua_getfield(L, -1, "__index");
  pt_stream_push_receive(L);
  lua_setfield(L, -2, "receive");
  lua_pop(L, 2);
  lua_pushcfunction(L, core_stream);
  lua_setfield(L, -2, "stream");
}
