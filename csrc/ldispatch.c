#include "ldispatch.h"

#include "lcall.h"
#include "lreceive.h"
#include "lsend.h"

/* What a turn takes of one peer before it is the turn of others. */
#define MOST_MESSAGES 64
#define MOST_BYTES (1024 * 1024)

/* {====== Handlers ====== */

/* Whether the handler takes a second parameter. */
static int takes_context(lua_State *L, int handler) {
  lua_Debug info;
  lua_pushvalue(L, handler);
  if (!lua_isfunction(L, -1)) {
    lua_pop(L, 1);
    return 1;
  }
  lua_getinfo(L, ">u", &info);
  return info.nparams > 1 || info.isvararg;
}

/* Pushes the value at a place on the stack that may be none. */
static void push_at(lua_State *L, int at) {
  if (at > 0)
    lua_pushvalue(L, at);
  else
    lua_pushnil(L);
}

/* Pushes the context of a handler. The peer, the id and the method are on the
** stack. */
static void push_context(lua_State *L, int peer, int id, int method) {
  lua_createtable(L, 0, 4);
  lua_pushboolean(L, 0); /* so that there is a place for it */
  lua_setfield(L, -2, "task");
  lua_getiuservalue(L, peer, PT_PEER_SELF);
  lua_setfield(L, -2, "peer");
  push_at(L, id);
  lua_setfield(L, -2, "id");
  lua_pushvalue(L, method);
  lua_setfield(L, -2, "method");
  lua_getiuservalue(L, peer, PT_PEER_META);
  lua_setmetatable(L, -2);
}

/* The context on top stands for the task from here on. Cannot fail. */
static void bind_context(lua_State *L, int task) {
  lua_pushliteral(L, "task");
  lua_pushvalue(L, task);
  lua_rawset(L, -3);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, task, PT_TASK_OBJECT);
}

/* Pushes the context of a handler that was called without one. */
static void describe(lua_State *L, pt_task *t) {
  int top = lua_gettop(L);
  pt_task_push(L, t);
  if (lua_getiuservalue(L, -1, PT_TASK_PEER) == LUA_TUSERDATA) {
    lua_getiuservalue(L, -2, PT_TASK_ID);
    lua_getiuservalue(L, -3, PT_TASK_METHOD);
    push_context(L, top + 2, top + 3, top + 4);
    bind_context(L, top + 1);
  } else {
    lua_pushnil(L);
  }
  lua_insert(L, top + 1);
  lua_settop(L, top + 1);
}

static void add_handler(pt_peer *p, pt_task *t) {
  t->peer = p;
  t->previous_handler = NULL;
  t->next_handler = p->handlers;
  if (p->handlers != NULL)
    p->handlers->previous_handler = t;
  p->handlers = t;
  p->running++;
}

static void remove_handler(pt_peer *p, pt_task *t) {
  if (t->previous_handler != NULL)
    t->previous_handler->next_handler = t->next_handler;
  else
    p->handlers = t->next_handler;
  if (t->next_handler != NULL)
    t->next_handler->previous_handler = t->previous_handler;
  p->running--;
}

/* What is on the stack behind `base` when a handler has ended. */
enum { TASK = 1, STREAM, CONTEXT, ID, NAME, RESULT, PROBLEM };

/* The id and the method are those of the context, if there is one. */
static void read_context(lua_State *L, int base) {
  if (!lua_istable(L, base + CONTEXT))
    return;
  lua_pushliteral(L, "id");
  lua_rawget(L, base + CONTEXT);
  lua_replace(L, base + ID);
  lua_pushliteral(L, "method");
  lua_rawget(L, base + CONTEXT);
  lua_replace(L, base + NAME);
}

/* policy.refuse(peer, context, id, method, err) or .failed, with a traceback */
static void tell_policy(lua_State *L, int base, const char *name, int last) {
  int i;
  pt_peer_push_policy(L, base + STREAM, name);
  for (i = CONTEXT; i <= NAME; i++)
    lua_pushvalue(L, base + i);
  for (i = base + RESULT; i <= last; i++)
    lua_pushvalue(L, i);
  lua_call(L, 4 + last - base - NAME, 0);
}

/* The first two of so many values that are on the task's own stack. */
static void take_results(lua_State *L, pt_task *t, int base, int n) {
  if (n > 2)
    lua_pop(t->thread, n - 2);
  lua_xmove(t->thread, L, n < 2 ? n : 2);
  lua_settop(L, base + PROBLEM);
}

/* The handler has returned. */
static void answer(lua_State *L, pt_peer *p, int base) {
  int failed;
  if (lua_isnil(L, base + RESULT) && !lua_isnil(L, base + PROBLEM)) {
    lua_remove(L, base + RESULT);
    tell_policy(L, base, "refuse", base + RESULT);
    return;
  }
  if (lua_isnil(L, base + ID))
    return;
  failed = pt_send_result(L, p, base + STREAM, base + ID, base + RESULT);
  if (failed) {
    pt_peer_push_policy(L, base + STREAM, "unsent");
    lua_pushvalue(L, base + ID);
    lua_pushvalue(L, base + NAME);
    lua_pushvalue(L, -failed - 3);
    lua_pushvalue(L, -failed - 3);
    lua_call(L, 5, 0);
  }
}

static void forget_request(lua_State *L, int task) {
  lua_pushnil(L);
  lua_setiuservalue(L, task, PT_TASK_PEER);
  lua_pushnil(L);
  lua_setiuservalue(L, task, PT_TASK_ID);
}

/* What is needed to answer is moved to the stack of L, which has room for it,
** and the task is at rest, before there can be any trouble with memory. */
static void handler_ended(lua_State *L, pt_task *t, int status, int results) {
  pt_peer *p = t->peer;
  int base = lua_gettop(L);
  remove_handler(p, t);
  p->loop->decoding = &p->to_read;
  pt_task_push(L, t);
  lua_getiuservalue(L, base + TASK, PT_TASK_PEER);
  lua_getiuservalue(L, base + TASK, PT_TASK_OBJECT);
  lua_getiuservalue(L, base + TASK, PT_TASK_ID);
  lua_getiuservalue(L, base + TASK, PT_TASK_METHOD);
  forget_request(L, base + TASK);
  if (status == LUA_OK)
    take_results(L, t, base, results);
  pt_task_rest(L, t, status);
  read_context(L, base);
  if (status == LUA_OK) {
    answer(L, p, base);
  } else {
    pt_task_take_failure(L, t);
    tell_policy(L, base, "failed", base + PROBLEM);
  }
  if (p->output.io.fd != -1 && pt_buf_len(&p->output.buf) > 0)
    pt_peer_queued(L, p);
  if (p->is_reporting) {
    pt_peer_push_policy(L, base + STREAM, "moved");
    lua_call(L, 1, 0);
  }
  p->loop->decoding = NULL;
  lua_settop(L, base);
}

/* Before a handler is run, and something has changed for which the stack would
** have to grow. */
static void check_stack(lua_State *L) {
  if (!lua_checkstack(L, 3 * LUA_MINSTACK))
    luaL_error(L, "not enough memory");
}

/* Runs the handler on top, which is taken off, in a task. */
static void run_handler(lua_State *L, pt_peer *p, int id, int method,
                        int params) {
  int handler = lua_gettop(L), task;
  int has_context = takes_context(L, handler);
  pt_task *t;
  if (has_context)
    push_context(L, 1, id, method);
  t = pt_task_take(L, p->loop);
  task = lua_gettop(L);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, task, PT_TASK_PEER);
  lua_pushvalue(L, handler);
  push_at(L, params);
  if (has_context) {
    lua_pushvalue(L, task - 1);
    bind_context(L, task);
  } else {
    push_at(L, id);
    lua_setiuservalue(L, task, PT_TASK_ID);
    lua_pushvalue(L, method);
    lua_setiuservalue(L, task, PT_TASK_METHOD);
  }
  lua_xmove(L, t->thread, 2 + has_context);
  lua_settop(L, handler - 1);
  t->ended = handler_ended;
  add_handler(p, t);
  pt_task_run(L, t, 1 + has_context);
}

/* Pushes the handler of the method; 0 if there is none. */
static int push_handler(lua_State *L, int method) {
  lua_getiuservalue(L, 1, PT_PEER_HANDLERS);
  lua_pushvalue(L, method);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 2);
    return 0;
  }
  lua_remove(L, -2);
  return 1;
}

/* stream:handle(id, method, params, handler): runs a handler for a request that
** the policy has held back; nil is no id */
int pt_dispatch_handle(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_settop(L, 5);
  check_stack(L);
  run_handler(L, p, 2, 3, 4);
  return 0;
}

/* }====== */

/* {====== One message ====== */

/* In a protected call: (peer, what it has said) -> error */
static int make_error(lua_State *L) {
  lua_getiuservalue(L, 1, PT_PEER_POLICY);
  lua_getfield(L, -1, "remote_error");
  lua_pushvalue(L, 2);
  lua_call(L, 1, 1);
  return 1;
}

/* What waits for an answer must not wait for ever because an error cannot be
** made of what the other side has said. */
static void give_answer(lua_State *L, pt_peer *p, const pt_message *m,
                        int soon) {
  if (p->pending.count == 0)
    pt_loop_clear_alarm(p->loop, &p->overdue);
  if (m->kind == PT_ERROR) {
    lua_pushnil(L);
    lua_pushcfunction(L, make_error);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, m->payload);
    lua_pcall(L, 2, 1, 0);
  } else {
    lua_pushvalue(L, m->payload);
    lua_pushnil(L);
  }
  pt_call_settle(L, m->waiter, soon);
}

/* policy.request(peer, kind, id, method, params), .keep or .invalid */
static void tell_of_message(lua_State *L, const pt_message *m,
                            const char *name) {
  static const char *const kinds[] = {"request", "notification", "result",
                                      "error",   "stray",        "invalid",
                                      "noise"};
  pt_peer_push_policy(L, 1, name);
  lua_pushstring(L, kinds[m->kind]);
  push_at(L, m->id);
  if (m->call != 0)
    lua_pushinteger(L, m->call);
  else
    push_at(L, m->method);
  push_at(L, m->payload);
  lua_call(L, 5, 0);
}

/* Whether it was a notification that must not wait for its turn. */
static int is_control(lua_State *L, const pt_message *m) {
  int is;
  lua_getiuservalue(L, 1, PT_PEER_CONTROLS);
  lua_pushvalue(L, m->method);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 2);
    return 0;
  }
  lua_getiuservalue(L, 1, PT_PEER_SELF);
  push_at(L, m->payload);
  lua_call(L, 2, 1);
  is = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return is;
}

int pt_dispatch_has_room(const pt_peer *p) {
  return !p->output.is_clogged &&
         p->running - (lua_Integer)p->pending.count < p->bound;
}

static void begin_request(lua_State *L, pt_peer *p, const pt_message *m) {
  if (!p->is_held && pt_dispatch_has_room(p) && push_handler(L, m->method))
    run_handler(L, p, m->id, m->method, m->payload);
  else
    tell_of_message(L, m, "request");
}

/* While a handler computes nothing is run. */
static void dispatch(lua_State *L, pt_peer *p, const pt_message *m,
                     int is_computing) {
  switch (m->kind) {
  case PT_RESULT:
  case PT_ERROR:
    give_answer(L, p, m, is_computing);
    break;
  case PT_NOTIFICATION:
    if (is_control(L, m))
      break;
    /* fall through */
  case PT_REQUEST:
    if (is_computing)
      tell_of_message(L, m, "keep");
    else
      begin_request(L, p, m);
    break;
  case PT_STRAY:
    break;
  default:
    tell_of_message(L, m, "invalid");
  }
}

/* }====== */

/* {====== Many in a row ====== */

static void finish(lua_State *L, pt_peer *p) {
  p->is_finished = 1;
  pt_list_remove(&p->loop->unread, &p->to_read);
  pt_peer_watch(L, p, 1);
}

/* The input has ended: message and kind are on top. */
static void end_input(lua_State *L, pt_peer *p) {
  int message = lua_gettop(L) - 1;
  finish(L, p);
  pt_peer_push_policy(L, 1, "ended");
  lua_pushvalue(L, message);
  lua_pushvalue(L, message + 1);
  lua_call(L, 3, 0);
}

static void end_orphan(lua_State *L, pt_peer *p) {
  lua_pushliteral(L, "the program at the other end is gone");
  lua_pushliteral(L, "closed");
  end_input(L, p);
}

static int may_read(const pt_peer *p) {
  return p->input.io.fd != -1 && !p->is_paused && !p->is_finished;
}

/* One message, as pt_receive. Memory may be short for it, or for what comes of
** it. */
static int receive(lua_State *L, pt_peer *p, pt_message *m) {
  lua_settop(L, 1);
  p->loop->decoding = &p->to_read;
  return pt_receive(L, p, m);
}

/* While there may be more it is among those that are to be read, so that a turn
** inside of this one goes on where this is. */
static void read_messages(lua_State *L, pt_peer *p) {
  int left = MOST_MESSAGES, status = 1;
  size_t bytes = 0;
  pt_message m;
  p->to_read.turn = p->loop->turns;
  for (; left > 0 && bytes < MOST_BYTES && may_read(p); left--) {
    status = receive(L, p, &m);
    if (status != 1)
      break;
    bytes += p->input.text_len;
    if (pt_receive_has_more(p))
      pt_list_add(&p->loop->unread, &p->to_read);
    else
      pt_list_remove(&p->loop->unread, &p->to_read);
    dispatch(L, p, &m, 0);
  }
  if (status == -1) {
    end_input(L, p);
  } else if (status == 0) {
    pt_list_remove(&p->loop->unread, &p->to_read);
    if (p->is_orphaned)
      end_orphan(L, p);
  }
}

static void read_ready(lua_State *L, pt_peer *p, int ready) {
  if ((ready & PT_POLL_WRITE) && p->output.is_blocked)
    pt_peer_queued(L, p);
  if ((ready & PT_POLL_READ) && may_read(p)) {
    if (pt_buf_len(&p->input.buf) == 0 || p->input.is_searched)
      p->input.is_drained = 0; /* there is something to be read */
    read_messages(L, p);
  }
  if (!may_read(p))
    pt_list_remove(&p->loop->unread, &p->to_read);
  p->loop->decoding = NULL;
}

/* What has come while a handler computes: 0 if nothing will come any more. */
static int listen(lua_State *L, pt_peer *p) {
  int left = MOST_MESSAGES, status = 1;
  pt_message m;
  for (; left > 0 && status == 1 && may_read(p); left--) {
    status = receive(L, p, &m);
    if (status == 1)
      dispatch(L, p, &m, 1);
  }
  return status != -1;
}

#define LISTEN 0 /* nothing is ready, but may have come */

/* PT_LOOP_READ: (peer, ready) -> boolean */
static int read_peer(lua_State *L) {
  pt_peer *p = lua_touserdata(L, 1);
  int ready = (int)lua_tointeger(L, 2), goes_on = 1;
  lua_settop(L, 1);
  p->loop->decoding = &p->to_read;
  check_stack(L);
  if (ready == LISTEN)
    goes_on = listen(L, p);
  else
    read_ready(L, p, ready);
  lua_pushboolean(L, goes_on);
  return 1;
}

/* stream:listen() -> boolean: takes in what has come while a handler computes,
** without running anything; false if nothing will come any more. If memory is
** short for a message the next turn gives the peer up. */
int pt_dispatch_listen(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_loop *lp = p->loop;
  pt_link *before = lp->decoding;
  int status;
  lua_settop(L, 1);
  pt_loop_push(L, lp, PT_LOOP_READ);
  lua_insert(L, 1);
  lua_pushinteger(L, LISTEN);
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

static void give_up(lua_State *L, pt_link *to_read) {
  pt_peer *p = pt_peer_to_read(to_read);
  if (!pt_peer_push(L, p)) {
    lua_pop(L, 1);
    return;
  }
  lua_insert(L, 1);
  p->input.is_reading = 0;
  p->input.batch = 0;
  pt_buf_free(L, &p->input.buf);
  finish(L, p);
  pt_peer_push_policy(L, 1, "ended");
  lua_pushliteral(L, "not enough memory for a message");
  lua_pushliteral(L, "full");
  lua_call(L, 3, 0);
  lua_remove(L, 1);
}

static int wait_reading(lua_State *L, int watcher) {
  pt_peer *p = lua_touserdata(L, watcher);
  int found = pt_receive_wait(L, p);
  if (found == 1)
    pt_list_add(&p->loop->unread, &p->to_read);
  return found;
}

/* For the loop: reads what is left, unless the peer is being collected. */
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

/* }====== */

/* {====== What is at work ====== */

/* Pushes the context of the task at -1 if it still works for the peer at 1. */
static int push_context_of(lua_State *L) {
  int task = lua_gettop(L), is_own;
  lua_getiuservalue(L, task, PT_TASK_PEER);
  is_own = lua_rawequal(L, -1, 1);
  lua_pop(L, 1);
  if (!is_own)
    return 0;
  if (lua_getiuservalue(L, task, PT_TASK_OBJECT) == LUA_TNIL) {
    lua_pop(L, 1);
    describe(L, lua_touserdata(L, task));
  }
  return 1;
}

/* stream:requests() -> contexts of the handlers at work, the latest first. The
** tasks come first: finalizers may end handlers while contexts are made. */
int pt_dispatch_requests(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_Integer room = p->running, n = 0, i, found = 0;
  const pt_task *t;
  lua_settop(L, 1);
  lua_createtable(L, (int)room, 0);
  for (t = p->handlers; t != NULL && n < room; t = t->next_handler) {
    pt_task_push(L, t);
    lua_rawseti(L, 2, ++n);
  }
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, 2, i);
    lua_pushnil(L);
    lua_rawseti(L, 2, i);
    if (push_context_of(L))
      lua_rawseti(L, 2, ++found);
    lua_settop(L, 2);
  }
  return 1;
}

/* }====== */

void pt_dispatch_set_hooks(lua_State *L, pt_loop *lp) {
  lp->give_up = give_up;
  lp->wait_reading = wait_reading;
  lp->describe = describe;
  pt_receive_push_upvalues(L);
  lua_pushcclosure(L, read_peer, PT_RECEIVE_UPVALUES);
  pt_loop_set(L, lp, PT_LOOP_READ);
}
