/*
** The stream as an object: flushing what is queued, closing, the calls that
** wait. Opening one is in lopen.c, writing messages in lsend.c, reading them in
** lreceive.c.
*/
#include "lstream.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core.h"
#include "lapi.h"

static const char stream_mark = 0; /* its address is in every stream */

static int is_stream(lua_State *L, int arg, const pt_stream *s) {
  return s != NULL && lua_rawlen(L, arg) >= sizeof *s &&
         s->mark == (const void *)&stream_mark;
}

pt_stream *pt_stream_check(lua_State *L) {
  pt_stream *s = lua_touserdata(L, 1);
  if (!is_stream(L, 1, s))
    s = luaL_checkudata(L, 1, PT_STREAM);
  return s;
}

pt_stream *pt_stream_test(lua_State *L, int arg) {
  pt_stream *s = lua_touserdata(L, arg);
  return is_stream(L, arg, s) ? s : NULL;
}

pt_stream *pt_stream_push(lua_State *L, size_t size) {
  pt_stream *s = lua_newuserdatauv(L, size, PT_STREAM_VALUES);
  memset(s, 0, size);
  s->mark = &stream_mark;
  s->input.fd = s->output.fd = -1;
  s->digits = 2;
  s->style.array_meta = pt_array_mark(L);
  luaL_setmetatable(L, PT_STREAM);
  lua_newtable(L);
  lua_setiuservalue(L, -2, PT_STREAM_WAITERS);
  lua_createtable(L, PT_KEPT_VALUES, 0);
  lua_setiuservalue(L, -2, PT_STREAM_KEPT);
  return s;
}

void pt_stream_keep(lua_State *L, int stream, int key) {
  lua_getiuservalue(L, stream, PT_STREAM_KEPT);
  lua_insert(L, -2);
  lua_rawseti(L, -2, key);
  lua_pop(L, 1);
}

int pt_stream_push_kept(lua_State *L, int stream, int key) {
  int type;
  lua_getiuservalue(L, stream, PT_STREAM_KEPT);
  type = lua_rawgeti(L, -1, key);
  lua_remove(L, -2);
  return type;
}

/* {====== Flushing and closing ====== */

/* Whether there is more room now than there was. */
static int find_room(pt_stream *s) {
  if ((errno != EAGAIN && errno != EWOULDBLOCK) || s->output.is_wide)
    return 0;
  pt_io_widen(&s->output, SIZE_MAX);
  return 1;
}

int pt_stream_write_out(lua_State *L, pt_stream *s) {
  s->is_full = 0;
  while (pt_buf_len(&s->out) > 0 && s->output.fd != -1) {
    ssize_t n;
    pt_io_widen(&s->output, pt_buf_len(&s->out));
    n = pt_io_write(&s->output, pt_buf_front(&s->out), pt_buf_len(&s->out));
    if (n < 0 && find_room(s))
      continue;
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
  s->is_drained = 0; /* what comes next may be an answer */
  status = pt_stream_write_out(L, s);
  if (status < 0)
    return pt_fail_errno(L, errno, "closed", "cannot write");
  lua_pushboolean(L, status);
  return 1;
}

void pt_stream_close_output(pt_stream *s) {
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
  pt_stream_close_output(s);
  close_input(s);
  pt_buf_free(L, &s->out);
  if (!s->is_reading)
    pt_buf_free(L, &s->in);
}

void pt_stream_shut_output(pt_stream *s) {
  if (s->output.fd != -1 && s->output.is_socket)
    shutdown(s->output.fd, SHUT_WR);
  pt_stream_close_output(s);
}

/* stream:close_output(): the other side sees the end of its input */
static int stream_close_output(lua_State *L) {
  pt_stream_shut_output(pt_stream_check(L));
  return 0;
}

/* stream:close() */
static int stream_close(lua_State *L) {
  pt_stream_release(L, pt_stream_check(L));
  return 0;
}

/* Also when the state is closed in the middle of a message, which then does not
** go on. */
static int stream_gc(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  void *ud;
  lua_Alloc alloc = lua_getallocf(L, &ud);
  if (s->forget != NULL)
    s->forget(s);
  s->is_reading = 0;
  pt_stream_release(L, s);
  if (s->pending.calls != NULL)
    alloc(ud, s->pending.calls, s->pending.slots * sizeof *s->pending.calls, 0);
  memset(&s->pending, 0, sizeof s->pending);
  return 0;
}

/* }====== */

/* {====== Calls that wait ====== */

void pt_stream_take_waiter(lua_State *L, pt_stream *s, size_t slot) {
  if (s->pending.calls[slot].waiter != NULL) {
    lua_pushlightuserdata(L, s->pending.calls[slot].waiter);
    pt_pending_remove(&s->pending, slot);
    return;
  }
  lua_getiuservalue(L, 1, PT_STREAM_WAITERS);
  lua_rawgeti(L, -1, (lua_Integer)slot + 1);
  lua_pushnil(L);
  lua_rawseti(L, -3, (lua_Integer)slot + 1);
  lua_replace(L, -2);
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
  while (s->pending.calls[slot].id == 0)
    slot++;
  lua_pushinteger(L, s->pending.calls[slot].id);
  pt_stream_take_waiter(L, s, slot);
  return 2;
}

/* stream:overdue(now) -> id, waiter | nil, next */
static int stream_overdue(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  double now = luaL_checknumber(L, 2), next;
  size_t slot = pt_pending_overdue(&s->pending, now, &next);
  if (slot == PT_PENDING_NONE) {
    lua_pushnil(L);
    if (next < HUGE_VAL)
      lua_pushnumber(L, next);
    else
      lua_pushnil(L);
    return 2;
  }
  lua_pushinteger(L, s->pending.calls[slot].id);
  pt_stream_take_waiter(L, s, slot);
  return 2;
}

/* stream:size() -> bytes */
static int stream_size(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pt_stream_check(L)->text_len);
  return 1;
}

/* stream:waiting() -> n */
static int stream_waiting(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)pt_stream_check(L)->pending.count);
  return 1;
}

/* }====== */

/* stream:keep_order(on): whether objects that are received keep the order of
** their members, from the next message on */
static int stream_keep_order(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  luaL_checktype(L, 2, LUA_TBOOLEAN);
  s->is_ordered = lua_toboolean(L, 2);
  return 0;
}

/* stream:keep_big_integers(on): whether integers of more than 64 bits that are
** received keep their digits, from the next message on */
static int stream_keep_big_integers(lua_State *L) {
  pt_stream *s = pt_stream_check(L);
  luaL_checktype(L, 2, LUA_TBOOLEAN);
  s->big_integers = lua_toboolean(L, 2);
  return 0;
}

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
    {"keep_order", stream_keep_order},
    {"keep_big_integers", stream_keep_big_integers},
    {"notify", pt_stream_notify},
    {"orphan", stream_orphan},
    {"others", pt_stream_others},
    {"overdue", stream_overdue},
    {"queued", stream_queued},
    {"reply", pt_stream_reply},
    {"request", pt_stream_request},
    {"speak", pt_stream_speak},
    {"size", stream_size},
    {"stats", stream_stats},
    {"waiting", stream_waiting},
    {NULL, NULL},
};

static const luaL_Reg meta[] = {
    {"__close", stream_close}, {"__gc", stream_gc}, {NULL, NULL}};

static lua_CFunction look_up(const luaL_Reg *list, const char *name) {
  while (list->name != NULL && strcmp(list->name, name) != 0)
    list++;
  return list->func;
}

static int push_method(lua_State *L, const char *name) {
  lua_CFunction function = look_up(methods, name);
  if (function != NULL)
    lua_pushcfunction(L, function);
  else if (strcmp(name, "receive") == 0)
    pt_stream_push_receive(L);
  else
    return 0;
  return 1;
}

/* Puts the method that is asked for into the table at 1: most never are. */
static int find_method(lua_State *L) {
  if (lua_type(L, 2) != LUA_TSTRING || !push_method(L, lua_tostring(L, 2)))
    return 0;
  lua_pushvalue(L, 2);
  lua_pushvalue(L, -2);
  lua_rawset(L, 1);
  return 1;
}

void pt_open_stream(lua_State *L) {
  static const luaL_Reg none[] = {{NULL, NULL}};
  pt_new_class(L, PT_STREAM, none, meta);
  luaL_getmetatable(L, PT_STREAM);
  lua_getfield(L, -1, "__index");
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, find_method);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_setfield(L, -3, "stream_methods");
  lua_pop(L, 1);
  lua_pushcfunction(L, pt_stream_open);
  lua_setfield(L, -2, "stream");
}
