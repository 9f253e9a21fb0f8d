/*
** core.peer, which opens a peer after checking its options, and the methods of
** the userdata. Misuse raises before the peer takes ownership of anything.
*/
#include <limits.h>
#include <math.h>
#include <string.h>

#include "core.h"
#include "lenvelope.h"
#include "lfd.h"
#include "lsend.h"

#define QUEUE_LIMIT (64 * 1024 * 1024)
#define CALL_LIMIT (64 * 1024)
#define TEXT_LIMIT 1024
#define VALUE_LIMIT (4 * 1024 * 1024)

#define HEADER "Content-Length: "

/* ====== Options ====== */

/* The wrong value is on top. */
static void bad_peer_option(lua_State *L, const char *name,
                            const char *expected) {
  luaL_error(L, "stream option '%s': %s expected, got %s", name, expected,
             luaL_typename(L, -1));
}

/* Returns a limit of the table on top, or its default if that is nil. */
static size_t get_peer_limit(lua_State *L, const char *name, lua_Integer usual,
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

static void get_peer_limits(lua_State *L, pt_peer *p, pt_frame_mode mode) {
  lua_Integer many = INT32_MAX;
  int type = lua_getfield(L, 1, "limits");
  if (type != LUA_TNIL && type != LUA_TTABLE)
    bad_peer_option(L, "limits", "table");
  pt_frame_init(&p->input.framing, mode,
                get_peer_limit(L, "header", PT_FRAME_HEADER_LIMIT, 1 << 24),
                get_peer_limit(L, "message", PT_FRAME_BODY_LIMIT, many));
  p->codec.style.depth =
      (int)get_peer_limit(L, "nesting", PT_JSON_DEPTH, PT_JSON_MAX_DEPTH);
  p->limits.queue = get_peer_limit(L, "queue", QUEUE_LIMIT, many);
  p->limits.calls = get_peer_limit(L, "calls", CALL_LIMIT, 1 << 24);
  p->limits.text = get_peer_limit(L, "text", TEXT_LIMIT, many);
  p->limits.values = get_peer_limit(L, "values", VALUE_LIMIT, many);
  lua_pop(L, 1);
}

static pt_frame_mode get_peer_framing(lua_State *L) {
  const char *name;
  int i = 0;
  lua_getfield(L, 1, "framing");
  name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
  while (pt_frame_modes[i] != NULL && strcmp(name, pt_frame_modes[i]) != 0)
    i++;
  if (pt_frame_modes[i] == NULL)
    bad_peer_option(L, "framing", "\"header\", \"line\" or \"auto\"");
  lua_pop(L, 1);
  return (pt_frame_mode)i;
}

/* Stores the function `name` of the codec on top. */
static void keep_codec_function(lua_State *L, int peer, const char *name,
                                int key) {
  if (lua_getfield(L, -1, name) != LUA_TFUNCTION)
    bad_peer_option(L, "json", "a codec with the functions encode and decode");
  lua_setiuservalue(L, peer, key);
}

static int get_peer_boolean(lua_State *L, int options, const char *name,
                            int usual) {
  int value = usual;
  if (lua_getfield(L, options, name) != LUA_TNIL)
    value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

/* The member that repeats, of 1 to PT_NAMES_LONGEST bytes, so that its name is
** interned. */
static void set_peer_repeated(lua_State *L, pt_peer *p, int peer, int options) {
  pt_repeat *r = &p->codec.repeat;
  const char *name;
  r->len = 0;
  if (lua_getfield(L, options, "repeated") == LUA_TNIL) {
    lua_pop(L, 1);
    return;
  }
  if (lua_type(L, -1) != LUA_TSTRING ||
      lua_rawlen(L, -1) - 1 >= PT_NAMES_LONGEST)
    bad_peer_option(L, "repeated", "a name of 1 to 22 bytes");
  name = lua_tostring(L, -1);
  lua_setiuservalue(L, peer, PT_PEER_REPEATED_NAME);
  r->name = name;
  r->text_at = PT_PEER_REPEATED_TEXT;
  r->value_at = PT_PEER_REPEATED;
}

/* Sets how values are decoded from now on. */
static void set_peer_decoding(lua_State *L, pt_peer *p, int peer, int options) {
  set_peer_repeated(L, p, peer, options);
  p->codec.is_ordered =
      get_peer_boolean(L, options, "ordered", p->codec.is_ordered);
  p->codec.big_integers =
      get_peer_boolean(L, options, "big_integers", p->codec.big_integers);
}

static void get_peer_codec(lua_State *L, pt_peer *p, int peer) {
  if (lua_getfield(L, 1, "json") != LUA_TNIL) {
    if (lua_type(L, -1) != LUA_TTABLE)
      bad_peer_option(L, "json",
                      "a codec with the functions encode and decode");
    keep_codec_function(L, peer, "decode", PT_PEER_DECODE);
    keep_codec_function(L, peer, "encode", PT_PEER_ENCODE);
    p->codec.is_foreign = 1;
  }
  lua_pop(L, 1);
}

/* ====== The form of messages ======
** The form of our ids, the members that every message has besides jsonrpc, and
** the text before a length. It is set when a peer is opened, and again when the
** protocol is known. All options are checked before any of them takes effect.
*/

static int read_peer_ids(lua_State *L, const pt_peer *p, int options) {
  int type = lua_getfield(L, options, "ids");
  const char *name = type == LUA_TSTRING ? lua_tostring(L, -1) : "";
  int is_string = strcmp(name, "string") == 0;
  if (type == LUA_TNIL)
    is_string = p->form.string_ids;
  else if (!is_string && strcmp(name, "integer") != 0)
    bad_peer_option(L, "ids", "\"integer\" or \"string\"");
  lua_pop(L, 1);
  return is_string;
}

/* Whether a frame scanner would accept the text before the length. */
static int is_peer_header(const char *text, size_t len) {
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

static void push_peer_header(lua_State *L, int peer, int options) {
  size_t len;
  const char *text;
  if (lua_getfield(L, options, "header") == LUA_TNIL) {
    lua_pop(L, 1);
    if (lua_getiuservalue(L, peer, PT_PEER_HEADER) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushliteral(L, HEADER);
    }
  }
  if (lua_type(L, -1) != LUA_TSTRING)
    bad_peer_option(L, "header", "string");
  text = lua_tolstring(L, -1, &len);
  if (!is_peer_header(text, len))
    luaL_error(L, "stream option 'header': header lines that end in "
                  "\"Content-Length: \" expected");
}

/* Pushes a copy of the table of the extra members, or the former table if the
** option is missing. */
static void push_peer_extra(lua_State *L, int peer, int options) {
  int type = lua_getfield(L, options, "extra"), given = lua_gettop(L);
  if (type == LUA_TNIL &&
      lua_getiuservalue(L, peer, PT_PEER_EXTRA) == LUA_TTABLE) {
    lua_remove(L, given);
    return;
  }
  if (type != LUA_TNIL && type != LUA_TTABLE)
    bad_peer_option(L, "extra", "table");
  lua_settop(L, given);
  lua_newtable(L);
  for (lua_pushnil(L); type == LUA_TTABLE && lua_next(L, given);) {
    int value = lua_type(L, -1);
    if (lua_type(L, -2) != LUA_TSTRING ||
        (value != LUA_TSTRING && value != LUA_TNUMBER && value != LUA_TBOOLEAN))
      luaL_error(L, "stream option 'extra': names and plain values expected");
    lua_pushvalue(L, -2);
    lua_insert(L, -2);
    lua_rawset(L, given + 1);
  }
  lua_settop(L, given + 1);
  lua_remove(L, given);
}

/* Pushes the head of messages: the members of the table on top, and jsonrpc.
** The members are encoded after the queued output, and then removed from there.
** Their bytes stay valid until more are added. */
static void push_peer_message_head(lua_State *L, pt_peer *p, pt_form *form) {
  pt_buf *out = &p->output.buf;
  size_t mark = pt_buf_len(out), len;
  pt_encoded status;
  luaL_checkstack(L, PT_ENCODE_STACK, NULL);
  status = pt_encode_value(L, lua_gettop(L), out, mark, &p->codec.style,
                           "stream option 'extra'");
  if (status != PT_ENCODED)
    luaL_error(L, "%s",
               status == PT_ENCODE_MISUSE ? lua_tostring(L, -1)
                                          : "not enough memory");
  len = pt_buf_len(out) - mark - 1; /* without the closing brace */
  pt_buf_cut(out, mark);
  lua_pushlstring(L, pt_buf_front(out) + mark, len);
  form->has_extra = len > 1;
  lua_pushfstring(L, "\r\n\r\n%s%s\"jsonrpc\":\"2.0\",", lua_tostring(L, -1),
                  form->has_extra ? "," : "");
  lua_remove(L, -2);
}

/* Returns the forms that the ids of pending calls may have. */
static unsigned forms_of_peer_ids(const pt_peer *p, int string_ids) {
  unsigned form = string_ids ? PT_ID_STRING : PT_ID_INTEGER;
  return p->pending.count > 0 ? p->form.id_forms | form : form;
}

/* Sets the form of messages from the table at `options`. An option that is
** missing keeps its value. If this raises, nothing has changed. */
static void set_peer_form(lua_State *L, pt_peer *p, int peer, int options) {
  pt_form form = p->form;
  form.string_ids = read_peer_ids(L, p, options);
  form.id_forms = forms_of_peer_ids(p, form.string_ids);
  push_peer_header(L, peer, options);
  push_peer_extra(L, peer, options);
  push_peer_message_head(L, p, &form);
  form.header = lua_tolstring(L, -3, &form.header_len);
  form.head = lua_tolstring(L, -1, &form.head_len);
  p->form = form;
  lua_setiuservalue(L, peer, PT_PEER_HEAD);
  lua_setiuservalue(L, peer, PT_PEER_EXTRA);
  lua_setiuservalue(L, peer, PT_PEER_HEADER);
}

/* stream:others() -> table | nil */
static int peer_others(lua_State *L) {
  pt_peer_check(L, 1);
  lua_getiuservalue(L, 1, PT_PEER_OTHERS);
  return 1;
}

/* stream:set_envelope{ ids, extra, header, ordered, big_integers, repeated }
** -> true | nil, msg, kind */
static int peer_set_envelope(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  const char *wrong = NULL;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  if (p->input.is_reading)
    return luaL_error(L, "a message is being read");
  set_peer_form(L, p, 1, 2);
  set_peer_decoding(L, p, 1, 2);
  if (p->form.keeps_others && p->counts.received > 0)
    wrong = pt_envelope_check_extra(L);
  p->form.keeps_others = 0;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PT_PEER_OTHERS);
  if (wrong != NULL)
    return pt_fail(L, "invalid", "%s", wrong);
  lua_pushboolean(L, 1);
  return 1;
}

/* ====== State ====== */

/* stream:begin(): starts reading */
static int peer_begin(lua_State *L) {
  pt_peer_watch(L, pt_peer_check(L, 1), 1);
  return 0;
}

/* stream:hold(is_held): requests and notifications go to policy.request */
static int peer_hold(lua_State *L) {
  pt_peer_check(L, 1)->is_held = lua_toboolean(L, 2);
  return 0;
}

/* stream:watch_activity(is_on): whether policy.after_activity is called after
** every handler and every write */
static int peer_watch_activity(lua_State *L) {
  pt_peer_check(L, 1)->watches_activity = lua_toboolean(L, 2);
  return 0;
}

/* stream:pause(is_paused): stops or continues reading */
static int peer_pause(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  p->is_paused = lua_toboolean(L, 2);
  if (!p->is_paused && p->input.io.fd != -1 && !p->is_finished)
    pt_list_add(&p->loop->unread, &p->to_read);
  pt_peer_watch(L, p, 1);
  return 0;
}

/* stream:expect_end(): the other side has ended; the input ends after what it
** has already sent */
static int peer_expect_end(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  p->expects_end = 1;
  p->input.is_drained = 0; /* more input may have arrived since the last read */
  if (p->input.io.fd != -1 && !p->is_finished)
    pt_list_add(&p->loop->unread, &p->to_read);
  return 0;
}

/* stream:write(): writes the queued output now */
static int peer_write(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_list_remove(&p->loop->unwritten, &p->to_write);
  if (p->output.io.fd != -1)
    pt_peer_write(L, p);
  return 0;
}

/* stream:write_soon(): writes the queued output before the loop waits, or now
** if the loop is not turning */
static int peer_write_soon(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  if (p->output.io.fd != -1)
    pt_peer_write_soon(L, p);
  return 0;
}

/* stream:has_room() -> boolean: whether one more request may be started */
static int peer_has_room(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_pushboolean(L, pt_dispatch_has_room(p));
  return 1;
}

/* stream:running() -> integer, boolean: number of running handlers, and whether
** too much output waits to be read */
static int peer_running(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_pushinteger(L, p->running);
  lua_pushboolean(L, p->output.is_clogged);
  return 2;
}

/* stream:size() -> bytes of the last message received */
static int peer_size(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pt_peer_check(L, 1)->input.text_len);
  return 1;
}

/* stream:waiting() -> number of pending calls */
static int peer_waiting(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pt_peer_check(L, 1)->pending.count);
  return 1;
}

/* stream:queued() -> bytes of queued output */
static int peer_queued(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pt_buf_len(&pt_peer_check(L, 1)->output.buf));
  return 1;
}

static void push_peer_descriptor(lua_State *L, int fd) {
  if (fd == -1)
    lua_pushnil(L);
  else
    lua_pushinteger(L, fd);
}

/* stream:fds() -> read, write; nil for one that is closed */
static int peer_fds(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  push_peer_descriptor(L, p->input.io.fd);
  push_peer_descriptor(L, p->output.io.fd);
  return 2;
}

/* stream:framing() -> "header" | "line" | "auto" */
static int peer_framing(lua_State *L) {
  lua_pushstring(L, pt_frame_modes[pt_peer_check(L, 1)->input.framing.mode]);
  return 1;
}

/* stream:stats() -> table */
static int peer_stats(lua_State *L) {
  const pt_peer *p = pt_peer_check(L, 1);
  const struct {
    const char *name;
    lua_Integer value;
  } counts[] = {
      {"received", p->counts.received}, {"sent", p->counts.sent},
      {"noise", p->counts.noise},       {"noise_bytes", p->counts.noise_bytes},
      {"stray", p->counts.stray},       {"invalid", p->counts.invalid},
  };
  lua_createtable(L, 0, sizeof counts / sizeof *counts);
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    lua_pushinteger(L, counts[i].value);
    lua_setfield(L, -2, counts[i].name);
  }
  return 1;
}

static const luaL_Reg methods[] = {
    {"ask", pt_call_ask},
    {"begin", peer_begin},
    {"close_output", pt_peer_close_output},
    {"complete_call", pt_call_complete_id},
    {"expect_end", peer_expect_end},
    {"fail", pt_send_fail},
    {"fail_calls", pt_call_fail_all},
    {"fds", peer_fds},
    {"finish", pt_peer_finish},
    {"framing", peer_framing},
    {"handle", pt_handler_handle},
    {"has_room", peer_has_room},
    {"hold", peer_hold},
    {"others", peer_others},
    {"pause", peer_pause},
    {"queued", peer_queued},
    {"receive_only", pt_dispatch_receive_only},
    {"requests", pt_handler_requests},
    {"running", peer_running},
    {"set_envelope", peer_set_envelope},
    {"size", peer_size},
    {"stats", peer_stats},
    {"waiting", peer_waiting},
    {"watch_activity", peer_watch_activity},
    {"write", peer_write},
    {"write_soon", peer_write_soon},
    {NULL, NULL},
};

/* ====== Opening ====== */

/* Reads the descriptor of the option `name`. Returns 0 or an error number. */
static int get_peer_descriptor(lua_State *L, const char *name, pt_io *io) {
  const pt_fd *f;
  lua_Integer fd;
  lua_getfield(L, 1, name);
  f = pt_fd_test(L, -1);
  if (f == NULL && !lua_isinteger(L, -1))
    bad_peer_option(L, name, "descriptor");
  fd = f != NULL ? f->fd : lua_tointeger(L, -1);
  if (fd < 0 || fd > INT_MAX)
    luaL_error(L, "stream option '%s': %s", name,
               f != NULL ? "the descriptor is closed"
                         : "no descriptor has this number");
  return pt_io_init(io, (int)fd);
}

/* Takes ownership of the descriptor object at `index`, if it is one. */
static int take_peer_descriptor(lua_State *L, int index) {
  pt_fd *f = pt_fd_test(L, index);
  if (f == NULL)
    return 0;
  f->fd = -1;
  return 1;
}

/* Takes ownership of both descriptors, or of neither. */
static int get_peer_descriptors(lua_State *L, pt_peer *p) {
  int input = lua_gettop(L) + 1, err;
  err = get_peer_descriptor(L, "read", &p->input.io);
  if (err == 0)
    err = get_peer_descriptor(L, "write", &p->output.io);
  if (err != 0) {
    p->input.io.fd = p->output.io.fd = -1;
    return err;
  }
  p->output.is_owned = take_peer_descriptor(L, input + 1);
  p->input.is_owned = take_peer_descriptor(L, input);
  if (p->input.io.fd == p->output.io.fd)
    p->input.is_owned = p->input.is_owned || p->output.is_owned;
  lua_settop(L, input - 1);
  return 0;
}

static double get_peer_seconds(lua_State *L, const char *name, double usual) {
  double seconds = usual;
  if (lua_getfield(L, 3, name) == LUA_TNUMBER)
    seconds = lua_tonumber(L, -1);
  else if (lua_isboolean(L, -1) && !lua_toboolean(L, -1))
    seconds = HUGE_VAL;
  lua_pop(L, 1);
  return seconds;
}

static void keep_peer_setting(lua_State *L, int peer, int value,
                              const char *name) {
  lua_getfield(L, 3, name);
  lua_setiuservalue(L, peer, value);
}

/* The settings are at index 3. */
static void get_peer_settings(lua_State *L, pt_peer *p, int peer) {
  p->timeout = get_peer_seconds(L, "timeout", HUGE_VAL);
  p->spin = get_peer_seconds(L, "spin", 0);
  if (p->spin == HUGE_VAL)
    p->spin = 0;
  lua_getfield(L, 3, "requests");
  p->max_handlers = luaL_checkinteger(L, -1);
  lua_pop(L, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, peer, PT_PEER_SELF);
  keep_peer_setting(L, peer, PT_PEER_POLICY, "policy");
  keep_peer_setting(L, peer, PT_PEER_HANDLERS, "handlers");
  keep_peer_setting(L, peer, PT_PEER_CONTROLS, "controls");
  keep_peer_setting(L, peer, PT_PEER_META, "context");
}

/* core.peer(options, peer, settings) -> stream | nil, msg, kind, errno */
static int core_peer(lua_State *L) {
  pt_peer *p;
  int err;
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TTABLE);
  lua_settop(L, 3);
  p = pt_peer_new(L, lua_touserdata(L, lua_upvalueindex(1)), methods);
  pt_call_init(p);
  p->to_read.run = pt_dispatch_read_link;
  get_peer_limits(L, p, get_peer_framing(L));
  get_peer_codec(L, p, 4);
  set_peer_form(L, p, 4, 1);
  set_peer_decoding(L, p, 4, 1);
  p->codec.is_raw = get_peer_boolean(L, 1, "raw", 0);
  p->form.keeps_others = get_peer_boolean(L, 1, "others", 0);
  get_peer_settings(L, p, 4);
  err = get_peer_descriptors(L, p);
  if (err != 0)
    return pt_fail_errno(L, err, "closed", "cannot use the descriptor");
  pt_ignore_sigpipe();
  return 1;
}

void pt_open_peer(lua_State *L) {
  pt_loop *lp = pt_loop_get(L);
  pt_dispatch_set_hooks(L, lp);
  pt_call_add(L);
  pt_loop_push(L, lp, PT_LOOP_SELF);
  lua_pushcclosure(L, core_peer, 1);
  lua_setfield(L, -2, "peer");
}
