#include "lspeak.h"

#include <string.h>

#include "core.h"
#include "header.h"
#include "lapi.h"
#include "lbuf.h"
#include "lextra.h"
#include "ljson.h"

#define HEADER "Content-Length: "
#define EXTRA_MOST 16

/* {====== Looking at what is told ====== */

/* What is told, before any of it is taken. The texts and tables that go with it
** are on the stack, in the order of the keys from PT_KEPT_HEAD on. */
typedef struct speech {
  int string_ids;
  unsigned extras;
} speech;

static int read_ids(lua_State *L, const pt_stream *s, int options) {
  int type = lua_getfield(L, options, "ids");
  const char *name = type == LUA_TSTRING ? lua_tostring(L, -1) : "";
  int is_string = strcmp(name, "string") == 0;
  if (type == LUA_TNIL)
    is_string = s->string_ids;
  else if (!is_string && strcmp(name, "integer") != 0)
    pt_stream_bad_option(L, "ids", "\"integer\" or \"string\"");
  lua_pop(L, 1);
  return is_string;
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

static void push_header(lua_State *L, int stream, int options) {
  size_t len;
  const char *text;
  if (lua_getfield(L, options, "header") == LUA_TNIL) {
    lua_pop(L, 1);
    if (pt_stream_push_kept(L, stream, PT_KEPT_HEADER) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushliteral(L, HEADER);
    }
  }
  if (lua_type(L, -1) != LUA_TSTRING)
    pt_stream_bad_option(L, "header", "string");
  text = lua_tolstring(L, -1, &len);
  if (!is_header(text, len))
    luaL_error(L, "stream option 'header': header lines that end in "
                  "\"Content-Length: \" expected");
}

/* Takes one extra member, at -2 its name and at -1 its value, into the tables
** at `values` and `bits`. */
static void take_extra(lua_State *L, speech *told, int values, int bits) {
  int type = lua_type(L, -1);
  if (lua_type(L, -2) != LUA_TSTRING ||
      (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TBOOLEAN))
    luaL_error(L, "stream option 'extra': names and plain values expected");
  if (told->extras >> (EXTRA_MOST - 1) != 0)
    luaL_error(L, "stream option 'extra': more than %d members", EXTRA_MOST);
  lua_pushvalue(L, -2);
  lua_pushinteger(L, (lua_Integer)told->extras + 1);
  lua_rawset(L, bits);
  lua_pushvalue(L, -2);
  lua_pushvalue(L, -2);
  lua_rawset(L, values);
  told->extras = told->extras * 2 + 1;
}

/* Pushes the tables of the extra members: their values and their bits. */
static void push_extra(lua_State *L, const pt_stream *s, int stream,
                       int options, speech *told) {
  int given = lua_gettop(L) + 1, values = given + 1, bits = given + 2;
  int type = lua_getfield(L, options, "extra");
  if (type == LUA_TNIL && pt_stream_push_kept(L, stream, PT_KEPT_EXTRA) !=
                              LUA_TNIL) { /* as before */
    pt_stream_push_kept(L, stream, PT_KEPT_EXTRA_BIT);
    told->extras = s->extras;
  } else {
    if (type != LUA_TNIL && type != LUA_TTABLE)
      pt_stream_bad_option(L, "extra", "table");
    lua_settop(L, given);
    lua_newtable(L);
    lua_newtable(L);
    lua_pushnil(L);
    while (type == LUA_TTABLE && lua_next(L, given)) {
      take_extra(L, told, values, bits);
      lua_pop(L, 1);
    }
    lua_settop(L, bits);
  }
  lua_remove(L, given);
}

/* }====== */

/* {====== How every message begins ====== */

/* The head is put together behind what is queued. Nothing runs but this while
** it is there, and nothing of it stays. */

static void give_up(lua_State *L, pt_stream *s, size_t mark, const char *why) {
  pt_buf_cut(&s->out, mark);
  luaL_error(L, "%s", why);
}

static void write_head(lua_State *L, pt_stream *s, size_t mark,
                       const char *text) {
  if (!pt_buf_add(L, &s->out, text, strlen(text)))
    give_up(L, s, mark, "not enough memory");
}

/* One extra member, at -2 its name and at -1 its value. */
static void write_extra(lua_State *L, pt_stream *s, size_t mark) {
  size_t len;
  const char *name = lua_tolstring(L, -2, &len);
  int status = pt_encode_string(L, &s->out, name, len);
  if (status < 0)
    give_up(L, s, mark, "stream option 'extra': a name is not UTF-8");
  if (status == 0)
    give_up(L, s, mark, "not enough memory");
  write_head(L, s, mark, ":");
  if (!lua_checkstack(L, PT_ENCODE_STACK))
    give_up(L, s, mark, "not enough memory");
  status = (int)pt_encode_value(L, -1, &s->out, mark, &s->style,
                                "stream option 'extra'");
  if (status == PT_ENCODE_MISUSE)
    luaL_error(L, "%s", lua_tostring(L, -1));
  if (status != PT_ENCODED)
    give_up(L, s, mark, "not enough memory");
  write_head(L, s, mark, ",");
}

/* Pushes the head with the extra members that are in the table at `values`. */
static void push_head(lua_State *L, pt_stream *s, int values) {
  size_t mark = pt_buf_len(&s->out), len;
  write_head(L, s, mark, "{");
  lua_pushnil(L);
  while (lua_next(L, values)) {
    write_extra(L, s, mark);
    lua_pop(L, 1);
  }
  write_head(L, s, mark, "\"jsonrpc\":\"2.0\",");
  len = pt_buf_len(&s->out) - mark;
  pt_buf_cut(&s->out, mark); /* the bytes stay until something else is added */
  lua_pushlstring(L, pt_buf_front(&s->out) + mark, len);
}

/* }====== */

/* {====== Taking it ====== */

/* The forms that the ids of pending calls may have. */
static unsigned forms_of_ids(const pt_stream *s, int string_ids) {
  unsigned form = string_ids ? PT_ID_STRING : PT_ID_INTEGER;
  return s->pending.count > 0 ? s->id_forms | form : form;
}

/* Keeps the four values from `first` on, and what points into them. */
static void take(lua_State *L, pt_stream *s, int stream, int first,
                 const speech *told) {
  s->header = lua_tolstring(L, first, &s->header_len);
  s->head = lua_tolstring(L, first + 3, &s->head_len);
  s->extras = told->extras;
  s->id_forms = forms_of_ids(s, told->string_ids);
  s->string_ids = told->string_ids;
  s->start_digits = 0; /* what messages begin with has to be made anew */
  pt_stream_keep(L, stream, PT_KEPT_HEAD);
  pt_stream_keep(L, stream, PT_KEPT_EXTRA_BIT);
  pt_stream_keep(L, stream, PT_KEPT_EXTRA);
  pt_stream_keep(L, stream, PT_KEPT_HEADER);
}

void pt_speech_set(lua_State *L, pt_stream *s, int stream, int options) {
  int first = lua_gettop(L) + 1;
  speech told = {0};
  told.string_ids = read_ids(L, s, options);
  push_header(L, stream, options);
  push_extra(L, s, stream, options, &told);
  push_head(L, s, first + 1);
  take(L, s, stream, first, &told);
}

/* }====== */

/* {====== Methods ====== */

/* stream:others() -> table | nil */
int pt_stream_others(lua_State *L) {
  pt_stream_check(L);
  lua_getiuservalue(L, 1, PT_STREAM_OTHERS);
  return 1;
}

/* stream:speak{ ids =, extra =, header = } -> true | nil, msg, kind */
int pt_stream_speak(lua_State *L) {
  static const char *const options[] = {"ids", "extra", "header", NULL};
  pt_stream *s = pt_stream_check(L);
  int is_right;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  pt_check_names(L, 2, options, "stream:speak");
  if (s->is_reading)
    return luaL_error(L, "a message is being read");
  pt_speech_set(L, s, 1, 2);
  is_right = !s->keeps_others || s->received == 0 || pt_extra_check_others(L);
  s->keeps_others = 0;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PT_STREAM_OTHERS);
  if (!is_right)
    return pt_fail(L, "invalid", "%s", lua_tostring(L, -1));
  lua_pushboolean(L, 1);
  return 1;
}

/* }====== */
