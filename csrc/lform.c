#include "lform.h"

#include <string.h>

#include "core.h"
#include "frame.h"
#include "lbuf.h"
#include "lenvelope.h"
#include "ljson.h"

#define HEADER "Content-Length: "
#define EXTRA_MOST 16

void pt_form_bad_option(lua_State *L, const char *name, const char *expected) {
  luaL_error(L, "stream option '%s': %s expected, got %s", name, expected,
             luaL_typename(L, -1));
}

/* {====== The form of messages ======
** All of it is looked at before any of it is taken. The texts and tables that
** go with it are on the stack, in the order of the keys from PT_KEPT_HEADER on
** and the head behind them. */

static int read_ids(lua_State *L, const pt_peer *p, int options) {
  int type = lua_getfield(L, options, "ids");
  const char *name = type == LUA_TSTRING ? lua_tostring(L, -1) : "";
  int is_string = strcmp(name, "string") == 0;
  if (type == LUA_TNIL)
    is_string = p->form.string_ids;
  else if (!is_string && strcmp(name, "integer") != 0)
    pt_form_bad_option(L, "ids", "\"integer\" or \"string\"");
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

static void push_header(lua_State *L, int peer, int options) {
  size_t len;
  const char *text;
  if (lua_getfield(L, options, "header") == LUA_TNIL) {
    lua_pop(L, 1);
    if (pt_peer_push_kept(L, peer, PT_KEPT_HEADER) == LUA_TNIL) {
      lua_pop(L, 1);
      lua_pushliteral(L, HEADER);
    }
  }
  if (lua_type(L, -1) != LUA_TSTRING)
    pt_form_bad_option(L, "header", "string");
  text = lua_tolstring(L, -1, &len);
  if (!is_header(text, len))
    luaL_error(L, "stream option 'header': header lines that end in "
                  "\"Content-Length: \" expected");
}

/* Takes one extra member, at -2 its name and at -1 its value, into the tables
** at `values` and `bits`. */
static void take_extra(lua_State *L, pt_form *form, int values, int bits) {
  int type = lua_type(L, -1);
  if (lua_type(L, -2) != LUA_TSTRING ||
      (type != LUA_TSTRING && type != LUA_TNUMBER && type != LUA_TBOOLEAN))
    luaL_error(L, "stream option 'extra': names and plain values expected");
  if (form->extras >> (EXTRA_MOST - 1) != 0)
    luaL_error(L, "stream option 'extra': more than %d members", EXTRA_MOST);
  lua_pushvalue(L, -2);
  lua_pushinteger(L, (lua_Integer)form->extras + 1);
  lua_rawset(L, bits);
  lua_pushvalue(L, -2);
  lua_pushvalue(L, -2);
  lua_rawset(L, values);
  form->extras = form->extras * 2 + 1;
}

/* Pushes the tables of the extra members: their values and their bits. */
static void push_extra(lua_State *L, const pt_peer *p, int peer, int options,
                       pt_form *form) {
  int given = lua_gettop(L) + 1, values = given + 1, bits = given + 2;
  int type = lua_getfield(L, options, "extra");
  if (type == LUA_TNIL &&
      pt_peer_push_kept(L, peer, PT_KEPT_EXTRA) != LUA_TNIL) { /* as before */
    pt_peer_push_kept(L, peer, PT_KEPT_EXTRA_BIT);
    form->extras = p->form.extras;
  } else {
    if (type != LUA_TNIL && type != LUA_TTABLE)
      pt_form_bad_option(L, "extra", "table");
    lua_settop(L, given);
    lua_newtable(L);
    lua_newtable(L);
    lua_pushnil(L);
    while (type == LUA_TTABLE && lua_next(L, given)) {
      take_extra(L, form, values, bits);
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

static void give_up(lua_State *L, pt_peer *p, size_t mark, const char *why) {
  pt_buf_cut(&p->output.buf, mark);
  luaL_error(L, "%s", why);
}

static void write_head(lua_State *L, pt_peer *p, size_t mark,
                       const char *text) {
  if (!pt_buf_add(L, &p->output.buf, text, strlen(text)))
    give_up(L, p, mark, "not enough memory");
}

/* One extra member, at -2 its name and at -1 its value. */
static void write_extra(lua_State *L, pt_peer *p, size_t mark) {
  size_t len;
  const char *name = lua_tolstring(L, -2, &len);
  int status = pt_encode_string(L, &p->output.buf, name, len);
  if (status < 0)
    give_up(L, p, mark, "stream option 'extra': a name is not UTF-8");
  if (status == 0)
    give_up(L, p, mark, "not enough memory");
  write_head(L, p, mark, ":");
  if (!lua_checkstack(L, PT_ENCODE_STACK))
    give_up(L, p, mark, "not enough memory");
  status = (int)pt_encode_value(L, -1, &p->output.buf, mark, &p->codec.style,
                                "stream option 'extra'");
  if (status == PT_ENCODE_MISUSE)
    luaL_error(L, "%s", lua_tostring(L, -1));
  if (status != PT_ENCODED)
    give_up(L, p, mark, "not enough memory");
  write_head(L, p, mark, ",");
}

/* Pushes the head with the extra members that are in the table at `values`. */
static void push_head(lua_State *L, pt_peer *p, int values) {
  size_t mark = pt_buf_len(&p->output.buf), len;
  write_head(L, p, mark, "{");
  lua_pushnil(L);
  while (lua_next(L, values)) {
    write_extra(L, p, mark);
    lua_pop(L, 1);
  }
  write_head(L, p, mark, "\"jsonrpc\":\"2.0\",");
  len = pt_buf_len(&p->output.buf) - mark;
  pt_buf_cut(&p->output.buf,
             mark); /* the bytes stay until something else is added */
  lua_pushlstring(L, pt_buf_front(&p->output.buf) + mark, len);
}

/* }====== */

/* {====== Taking it ====== */

/* The forms that the ids of pending calls may have. */
static unsigned forms_of_ids(const pt_peer *p, int string_ids) {
  unsigned form = string_ids ? PT_ID_STRING : PT_ID_INTEGER;
  return p->pending.count > 0 ? p->form.id_forms | form : form;
}

void pt_form_set(lua_State *L, pt_peer *p, int peer, int options) {
  int first = lua_gettop(L) + 1;
  pt_form form = p->form;
  form.extras = 0;
  form.string_ids = read_ids(L, p, options);
  form.id_forms = forms_of_ids(p, form.string_ids);
  push_header(L, peer, options);
  push_extra(L, p, peer, options, &form);
  push_head(L, p, first + 1);
  form.header = lua_tolstring(L, first, &form.header_len);
  form.head = lua_tolstring(L, first + 3, &form.head_len);
  p->form = form;
  p->output.start_digits = 0; /* what messages begin with has to be made anew */
  pt_peer_keep(L, peer, PT_KEPT_HEAD);
  pt_peer_keep(L, peer, PT_KEPT_EXTRA_BIT);
  pt_peer_keep(L, peer, PT_KEPT_EXTRA);
  pt_peer_keep(L, peer, PT_KEPT_HEADER);
}

/* stream:others() -> table | nil */
int pt_form_others(lua_State *L) {
  pt_peer_check(L, 1);
  lua_getiuservalue(L, 1, PT_PEER_OTHERS);
  return 1;
}

/* stream:speak{ ids =, extra =, header = } -> true | nil, msg, kind */
int pt_form_speak(lua_State *L) {
  static const char *const names[] = {"ids", "extra", "header", NULL};
  pt_peer *p = pt_peer_check(L, 1);
  int is_right;
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 2);
  pt_check_names(L, 2, names, "stream:speak");
  if (p->input.is_reading)
    return luaL_error(L, "a message is being read");
  pt_form_set(L, p, 1, 2);
  is_right = !p->form.keeps_others || p->counts.received == 0 ||
             pt_envelope_check_others(L);
  p->form.keeps_others = 0;
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PT_PEER_OTHERS);
  if (!is_right)
    return pt_fail(L, "invalid", "%s", lua_tostring(L, -1));
  lua_pushboolean(L, 1);
  return 1;
}

/* }====== */
