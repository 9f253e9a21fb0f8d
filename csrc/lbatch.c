#include "lbatch.h"

#include <string.h>

#include "core.h"
#include "lwriter.h"

#define TICKET "pintle.ticket"
#define BATCH "pintle.batch"

#define FRAME_ROOM 64 /* for all of a frame but what stands before the length */

struct pt_ticket {
  int is_answered;
  size_t len;
  char text[];
};

static const luaL_Reg no_methods[] = {{NULL, NULL}};

/* {====== Tickets ====== */

pt_ticket *pt_ticket_test(lua_State *L, int arg) {
  return lua_type(L, arg) == LUA_TUSERDATA ? luaL_testudata(L, arg, TICKET)
                                           : NULL;
}

const char *pt_ticket_text(const pt_ticket *t, size_t *len) {
  *len = t->len;
  return t->text;
}

pt_batch *pt_ticket_batch(lua_State *L, int arg) {
  pt_ticket *t = lua_touserdata(L, arg);
  luaL_argcheck(L, !t->is_answered, arg, "was answered already");
  lua_getiuservalue(L, arg, 1);
  return lua_touserdata(L, -1);
}

static int ticket_tostring(lua_State *L) {
  pt_ticket *t = luaL_checkudata(L, 1, TICKET);
  lua_pushlstring(L, t->text, t->len);
  return 1;
}

static const luaL_Reg ticket_meta[] = {{"__tostring", ticket_tostring},
                                       {NULL, NULL}};

void pt_ticket_push(lua_State *L, const char *text, size_t len, int in_batch) {
  pt_ticket *t = lua_newuserdatauv(L, sizeof *t + len, 1);
  t->is_answered = 0;
  t->len = len;
  memcpy(t->text, text, len);
  pt_set_class(L, TICKET, no_methods, ticket_meta);
  if (in_batch) {
    pt_batch *b;
    lua_getiuservalue(L, 1, PT_PEER_BATCH);
    b = lua_touserdata(L, -1);
    b->open++;
    lua_setiuservalue(L, -2, 1);
  }
}

/* }====== */

/* {====== Batches ====== */

static int batch_gc(lua_State *L) {
  pt_batch *b = luaL_checkudata(L, 1, BATCH);
  pt_buf_free(L, &b->out);
  return 0;
}

static const luaL_Reg batch_meta[] = {{"__gc", batch_gc}, {NULL, NULL}};

void pt_batch_begin(lua_State *L) {
  memset(lua_newuserdatauv(L, sizeof(pt_batch), 0), 0, sizeof(pt_batch));
  pt_set_class(L, BATCH, no_methods, batch_meta);
  lua_setiuservalue(L, 1, PT_PEER_BATCH);
}

/* A batch that asks for no answer gets none. `open` members are to be answered
** yet. Answers that would outgrow a message are sent in several: a few bytes of
** a batch may ask for many. If it fails, nothing has changed. */
static int send_if_due(lua_State *L, pt_peer *p, pt_batch *b, size_t open) {
  size_t len = pt_buf_len(&b->out);
  int is_done = open == 0 && b->is_complete;
  if (len == 0 || (!is_done && len <= p->input.framing.body_limit / 2))
    return 1;
  if (!pt_buf_add(L, &b->out, "]", 1) ||
      !pt_writer_send(L, p, pt_buf_front(&b->out), len + 1)) {
    pt_buf_cut(&b->out, len);
    return 0;
  }
  pt_buf_free(L, &b->out);
  return 1;
}

int pt_ticket_answered(lua_State *L, pt_peer *p, int arg, pt_batch *b) {
  pt_ticket *t = lua_touserdata(L, arg);
  if (b != NULL) {
    if (!send_if_due(L, p, b, b->open - 1))
      return 0;
    b->open--;
  }
  t->is_answered = 1;
  return 1;
}

int pt_batch_reserve(lua_State *L, pt_peer *p) {
  pt_batch *b;
  size_t len;
  lua_getiuservalue(L, 1, PT_PEER_BATCH);
  b = lua_touserdata(L, -1);
  lua_pop(L, 1);
  len = pt_buf_len(&b->out);
  return b->open > 0 || len == 0 ||
         (pt_buf_reserve(L, &b->out, 1) &&
          pt_buf_reserve(L, &p->output.buf,
                         p->form.header_len + len + FRAME_ROOM));
}

int pt_batch_complete(lua_State *L, pt_peer *p) {
  pt_batch *b;
  int ok;
  lua_getiuservalue(L, 1, PT_PEER_BATCH);
  b = lua_touserdata(L, -1);
  b->is_complete = 1;
  ok = send_if_due(L, p, b, b->open);
  lua_pushnil(L);
  lua_setiuservalue(L, 1, PT_PEER_BATCH);
  lua_pop(L, 1);
  return ok;
}

/* }====== */
