#include "lpeer.h"

#include "ljson.h"
#include "lmessage.h"
#include "lsend.h"

/* The most that a turn reads from one peer before it reads the others. */
#define MOST_MESSAGES 64
#define MOST_BYTES (1024 * 1024)

/* The upvalues of read_peer: the cache of names, and decode_large_message. */
#define UPVALUES (PT_NAMES_UPVALUES + 1)

/* ====== Receiving ======
** A payload is decoded directly from the input buffer, which must not move
** meanwhile (is_reading). Decoding raises if there is not enough memory, and
** then is_reading stays set: the peer is closed. */

/* Drops the message from the buffer. The last message of a batch may complete
** the answer to the batch. */
static void consume_message(lua_State *L, pt_peer *p) {
  pt_input *in = &p->input;
  if (in->text_used == 0) /* the batch has more members */
    return;
  pt_buf_consume(L, &in->buf, in->text_used);
  if (in->batch > 0) {
    in->batch = 0;
    if (!pt_batch_complete(L, p))
      luaL_error(L, "not enough memory");
  }
}

/* A finalizer or handler may have closed the peer meanwhile; then its buffer is
** freed now. */
static int finish_reading_message(lua_State *L, pt_peer *p) {
  p->input.is_reading = 0;
  consume_message(L, p);
  if (p->input.io.fd == -1)
    pt_peer_release(L, p);
  return 1;
}

/* Called with the garbage collector paused: (peer, message) -> id, method,
** payload */
static int decode_large_message(lua_State *L) {
  pt_peer *p = lua_touserdata(L, 1);
  pt_message *m = lua_touserdata(L, 2);
  pt_decode_env env = pt_names_get(L, 1);
  lua_settop(L, 1);
  pt_message_read(L, p, &env, m);
  luaL_checkstack(L, 3, NULL);
  pt_push_at(L, m->id);
  pt_push_at(L, m->method);
  pt_push_at(L, m->payload);
  return 3;
}

/* Decodes a large message with the garbage collector paused. */
static void receive_large_message(lua_State *L, pt_peer *p,
                                  const pt_decode_env *env, pt_message *m) {
  p->loop->gc_debt = &env->names->gc_debt;
  lua_pushvalue(L, lua_upvalueindex(UPVALUES));
  lua_pushvalue(L, 1);
  lua_pushlightuserdata(L, m);
  if (pt_call_gc_paused(L, env, 2) != LUA_OK)
    lua_error(L);
  m->id = m->id > 0 ? 2 : 0;
  m->method = m->method > 0 ? 3 : 0;
  m->payload = m->payload > 0 ? 4 : 0;
}

static int receive_message(lua_State *L, pt_peer *p, pt_message *m) {
  pt_decode_env env = pt_names_get(L, 1);
  p->input.is_reading = 1;
  if (p->input.text_len < PT_DECODE_LARGE)
    pt_message_read(L, p, &env, m);
  else
    receive_large_message(L, p, &env, m);
  return finish_reading_message(L, p);
}

/* There is no complete frame yet. Returns as receive_next_message does; 1 means
** that the caller must scan again. */
static int read_more_of_message(lua_State *L, pt_peer *p,
                                const pt_frame_found *found) {
  pt_input *in = &p->input;
  pt_buf_consume(L, &in->buf, found->used);
  if (found->used > 0 && pt_buf_len(&in->buf) > 0)
    return 1;
  if (in->at_end) {
    lua_pushliteral(L, "the other side has closed the stream");
    lua_pushliteral(L, "closed");
    return -1;
  }
  in->is_searched = 1;
  in->need = found->need;
  return pt_peer_read_bytes(L, p);
}

/* Receives the next frame. Returns as receive_next_message does. */
static int receive_frame(lua_State *L, pt_peer *p, pt_message *m) {
  pt_input *in = &p->input;
  pt_frame_found found;
  pt_frame_result result;
  int status = 1;
  do {
    result = pt_frame_scan(&in->framing, pt_buf_front(&in->buf),
                           pt_buf_len(&in->buf), in->at_end, &found);
    if (result == PT_FRAME_MORE)
      status = read_more_of_message(L, p, &found);
  } while (result == PT_FRAME_MORE && status == 1);
  if (result == PT_FRAME_MORE)
    return status;
  in->text = found.text;
  in->text_len = found.len;
  in->text_used = found.used;
  if (result == PT_FRAME_MESSAGE)
    return receive_message(L, p, m);
  in->is_reading = 1;
  if (result == PT_FRAME_NOISE)
    pt_message_noise(L, p, m);
  else
    pt_message_refused(L, p, &found, m);
  return finish_reading_message(L, p);
}

/* Receives one message. Returns 1 if there is one, its parts on the stack above
** the peer; 0 if there is none yet; -1 if none will come, with the message and
** the kind on top. Raises if there is not enough memory. */
static int receive_next_message(lua_State *L, pt_peer *p, pt_message *m) {
  static const pt_message none = {.id = 0};
  *m = none;
  lua_settop(L, 1);
  p->loop->decoding = &p->to_read;
  /* a finalizer calls this while a message is decoded */
  if (p->input.is_reading)
    return 0;
  pt_peer_write_early(L, p);
  if (p->input.batch == 0)
    return receive_frame(L, p, m);
  if (!pt_batch_reserve(L, p))
    return luaL_error(L, "not enough memory");
  return receive_message(L, p, m);
}

/* Whether another message may be available without waiting. */
static int has_more_input(const pt_input *in) {
  return pt_buf_len(&in->buf) > 0 || !in->is_drained || in->at_end ||
         in->io.fd == -1;
}

/* ====== One message ====== */

/* In a protected call: (peer, JSON-RPC error) -> error */
static int make_remote_error(lua_State *L) {
  lua_getiuservalue(L, 1, PT_PEER_POLICY);
  lua_getfield(L, -1, "remote_error");
  lua_pushvalue(L, 2);
  lua_call(L, 1, 1);
  return 1;
}

/* Completes the call. If policy.remote_error raises, the call fails with that
** error: its waiter must not wait forever. */
static void complete_call(lua_State *L, pt_peer *p, const pt_message *m,
                          int soon) {
  if (p->pending.count == 0)
    pt_loop_clear_alarm(p->loop, &p->overdue);
  if (m->kind == PT_ERROR) {
    lua_pushnil(L);
    lua_pushcfunction(L, make_remote_error);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, m->payload);
    lua_pcall(L, 2, 1, 0);
  } else {
    lua_pushvalue(L, m->payload);
    lua_pushnil(L);
  }
  pt_call_complete(L, m->waiter, soon);
}

/* Calls policy.request(peer, kind, id, method, params), policy.keep or
** policy.invalid. */
static void call_policy_with(lua_State *L, const pt_message *m,
                             const char *name) {
  static const char *const kinds[] = {"request", "notification", "result",
                                      "error",   "stray",        "invalid",
                                      "noise"};
  pt_peer_push_policy(L, 1, name);
  lua_pushstring(L, kinds[m->kind]);
  pt_push_at(L, m->id);
  if (m->call != 0)
    lua_pushinteger(L, m->call);
  else
    pt_push_at(L, m->method);
  pt_push_at(L, m->payload);
  lua_call(L, 5, 0);
}

/* Runs the control of a notification that must not wait behind requests.
** Returns 0 if there is none, or if it leaves the notification to its handler.
*/
static int run_control_message(lua_State *L, const pt_message *m) {
  int is;
  lua_getiuservalue(L, 1, PT_PEER_CONTROLS);
  lua_pushvalue(L, m->method);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 2);
    return 0;
  }
  lua_getiuservalue(L, 1, PT_PEER_SELF);
  pt_push_at(L, m->payload);
  lua_call(L, 2, 1);
  is = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return is;
}

int pt_dispatch_has_room(const pt_peer *p) {
  return !p->output.is_clogged &&
         p->running - (lua_Integer)p->pending.count < p->max_handlers;
}

/* Starts the handler of a request if the limits allow that; otherwise the
** policy decides. */
static void begin_request(lua_State *L, pt_peer *p, const pt_message *m) {
  if (!p->is_held && pt_dispatch_has_room(p) && pt_handler_push(L, m->method))
    pt_handler_run(L, p, m->id, m->method, m->payload);
  else
    call_policy_with(L, m, "request");
}

/* Passes a message on. While a handler computes, no handler is started and
** answers wake their tasks in the next turn. */
static void dispatch_message(lua_State *L, pt_peer *p, const pt_message *m,
                             int is_computing) {
  switch (m->kind) {
  case PT_RESULT:
  case PT_ERROR:
    complete_call(L, p, m, is_computing);
    break;
  case PT_NOTIFICATION:
    if (run_control_message(L, m))
      break;
    /* fall through */
  case PT_REQUEST:
    if (is_computing)
      call_policy_with(L, m, "keep");
    else
      begin_request(L, p, m);
    break;
  case PT_STRAY:
    break;
  default:
    call_policy_with(L, m, "invalid");
  }
}

/* ====== Many in a row ====== */

static void finish_input(lua_State *L, pt_peer *p) {
  p->is_finished = 1;
  pt_list_remove(&p->loop->unread, &p->to_read);
  pt_peer_watch(L, p, 1);
}

/* Ends the input: the message and the kind are on top. */
static void end_input(lua_State *L, pt_peer *p) {
  int message = lua_gettop(L) - 1;
  finish_input(L, p);
  pt_peer_push_policy(L, 1, "ended");
  lua_pushvalue(L, message);
  lua_pushvalue(L, message + 1);
  lua_call(L, 3, 0);
}

static void end_expected_input(lua_State *L, pt_peer *p) {
  lua_pushliteral(L, "the program at the other end has ended");
  lua_pushliteral(L, "closed");
  end_input(L, p);
}

/* Whether messages may be read from the peer. */
static int may_read_peer(const pt_peer *p) {
  return p->input.io.fd != -1 && !p->is_paused && !p->is_finished;
}

/* Reads messages, up to a limit. While there may be more input, the peer is in
** the list of unread peers, so a nested turn continues where this one is. */
static void read_messages(lua_State *L, pt_peer *p) {
  int left = MOST_MESSAGES, status = 1;
  size_t bytes = 0;
  pt_message m;
  p->to_read.turn = p->loop->turns;
  for (; left > 0 && bytes < MOST_BYTES && may_read_peer(p); left--) {
    status = receive_next_message(L, p, &m);
    if (status != 1)
      break;
    bytes += p->input.text_len;
    if (has_more_input(&p->input))
      pt_list_add(&p->loop->unread, &p->to_read);
    else
      pt_list_remove(&p->loop->unread, &p->to_read);
    dispatch_message(L, p, &m, 0);
  }
  if (status == -1) {
    end_input(L, p);
  } else if (status == 0) {
    pt_list_remove(&p->loop->unread, &p->to_read);
    if (p->expects_end)
      end_expected_input(L, p);
  }
}

/* Handles a ready descriptor of the peer: writes, then reads. */
static void handle_ready_peer(lua_State *L, pt_peer *p, int ready) {
  if ((ready & PT_POLL_WRITE) && p->output.is_blocked)
    pt_peer_write_soon(L, p);
  if ((ready & PT_POLL_READ) && may_read_peer(p)) {
    if (pt_buf_len(&p->input.buf) == 0 || p->input.is_searched)
      p->input.is_drained = 0; /* input has arrived */
    read_messages(L, p);
  }
  if (!may_read_peer(p))
    pt_list_remove(&p->loop->unread, &p->to_read);
  p->loop->decoding = NULL;
}

/* Receives messages while a handler computes. Returns 0 if no more will come.
*/
static int receive_only_peer(lua_State *L, pt_peer *p) {
  int left = MOST_MESSAGES, status = 1;
  pt_message m;
  for (; left > 0 && status == 1 && may_read_peer(p); left--) {
    status = receive_next_message(L, p, &m);
    if (status == 1)
      dispatch_message(L, p, &m, 1);
  }
  return status != -1;
}

#define RECEIVE_ONLY                                                           \
  0 /* receive_only_peer: no descriptor is known to be ready */

/* PT_LOOP_READ: (peer, ready) -> boolean */
static int read_peer(lua_State *L) {
  pt_peer *p = lua_touserdata(L, 1);
  int ready = (int)lua_tointeger(L, 2), goes_on = 1;
  lua_settop(L, 1);
  p->loop->decoding = &p->to_read;
  pt_handler_check_stack(L);
  if (ready == RECEIVE_ONLY)
    goes_on = receive_only_peer(L, p);
  else
    handle_ready_peer(L, p, ready);
  lua_pushboolean(L, goes_on);
  return 1;
}

/* stream:receive_only() -> boolean: receives messages while a handler computes,
** without running handlers; false if no more will come. If there is not enough
** memory for a message, the next turn closes the peer. */
int pt_dispatch_receive_only(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_loop *lp = p->loop;
  pt_link *before = lp->decoding;
  int status;
  lua_settop(L, 1);
  pt_loop_push(L, lp, PT_LOOP_READ);
  lua_insert(L, 1);
  lua_pushinteger(L, RECEIVE_ONLY);
  status = lua_pcall(L, 2, 1, 0);
  lp->decoding = before;
  if (status == LUA_OK)
    return 1;
  if (status != LUA_ERRMEM || lp->broken != NULL)
    return lua_error(L);
  lp->broken = &p->to_read;
  lua_pushboolean(L, 1);
  return 1;
}

/* Closes a peer whose message did not fit into memory. */
static void close_broken_peer(lua_State *L, pt_link *to_read) {
  pt_peer *p = pt_peer_to_read(to_read);
  if (!pt_peer_push(L, p)) {
    lua_pop(L, 1);
    return;
  }
  lua_insert(L, 1);
  p->input.is_reading = 0;
  p->input.batch = 0;
  pt_buf_free(L, &p->input.buf);
  finish_input(L, p);
  pt_peer_push_policy(L, 1, "ended");
  lua_pushliteral(L, "not enough memory for a message");
  lua_pushliteral(L, "full");
  lua_call(L, 3, 0);
  lua_remove(L, 1);
}

static int wait_reading_peer(lua_State *L, int watcher) {
  pt_peer *p = lua_touserdata(L, watcher);
  int found = pt_peer_wait(L, p);
  if (found == 1)
    pt_list_add(&p->loop->unread, &p->to_read);
  return found;
}

/* Called by the loop: reads the remaining input, unless the peer is being
** collected. */
void pt_dispatch_read_link(lua_State *L, pt_link *to_read) {
  pt_peer *p = pt_peer_to_read(to_read);
  p->loop->decoding = to_read;
  pt_loop_push(L, p->loop, PT_LOOP_READ);
  if (pt_peer_push(L, p)) {
    lua_pushinteger(L, PT_POLL_READ);
    lua_call(L, 2, 0);
  } else {
    pt_list_remove(&p->loop->unread, to_read);
    lua_pop(L, 2);
  }
}

void pt_dispatch_set_hooks(lua_State *L, pt_loop *lp) {
  lp->give_up = close_broken_peer;
  lp->wait_reading = wait_reading_peer;
  lp->push_handler_context = pt_handler_push_context;
  pt_names_push(L);
  pt_names_push(L);
  lua_pushcclosure(L, decode_large_message, PT_NAMES_UPVALUES);
  lua_pushcclosure(L, read_peer, UPVALUES);
  pt_loop_set(L, lp, PT_LOOP_READ);
}
