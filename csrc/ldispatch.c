/*
** What comes in: messages taken from the input, told apart and sent on, and the
** handlers that they run.
*/
#define _POSIX_C_SOURCE 200809L

#include <errno.h>
#include <stddef.h>

#include "lapi.h"
#include "lclassify.h"
#include "lpeer.h"
#include "lreceive.h"

/* What a turn takes of one peer before it is the turn of others. */
#define MOST_MESSAGES 64
#define MOST_BYTES (1024 * 1024)

/* {====== Answers to our calls ====== */

static void settle_event(lua_State *L, pt_event *e) {
  pt_loop_push(L, PT_LOOP_LIVE);
  lua_rawgetp(L, -1, e);
  lua_replace(L, -2);
  lua_insert(L, -3);
  if (!e->is_owned)
    pt_loop_let_go(L, e);
  pt_event_set(L, e, lua_gettop(L) - 2);
  lua_pop(L, 1);
}

void pt_peer_settle(lua_State *L, void *waiter, int soon) {
  pt_task *t = waiter;
  if (pt_is_event(waiter)) {
    settle_event(L, waiter);
  } else if (soon) {
    pt_task_wake(L, t, 2);
  } else {
    if (!lua_checkstack(t->thread, 2))
      luaL_error(L, "not enough memory");
    t->withdraw = NULL;
    lua_xmove(L, t->thread, 2);
    pt_task_run(L, t, 2);
  }
}

/* In a protected call: (peer, what it has said) -> error */
static int make_error(lua_State *L) {
  lua_getiuservalue(L, 1, PT_STREAM_POLICY);
  lua_getfield(L, -1, "remote_error");
  lua_pushvalue(L, 2);
  lua_call(L, 1, 1);
  return 1;
}

/* A result or an error, which is on top as the peer has said it. What waits for
** it must not wait for ever because an error cannot be made of it. */
static void give_answer(lua_State *L, pt_peer *p, void *waiter, int soon) {
  if (p->s.pending.count == 0)
    pt_loop_clear_alarm(p->loop, &p->overdue);
  if (p->s.kind == PT_ERROR) {
    lua_pushnil(L);
    lua_insert(L, -2);
    lua_pushcfunction(L, make_error);
    lua_insert(L, -2);
    lua_pushvalue(L, 1);
    lua_insert(L, -2);
    lua_pcall(L, 2, 1, 0);
  } else {
    lua_pushnil(L);
  }
  pt_peer_settle(L, waiter, soon);
}

/* }====== */

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

/* Pushes the context of a handler. The peer, the id and the method are on the
** stack. */
static void push_context(lua_State *L, int peer, int id, int method) {
  lua_createtable(L, 0, 4);
  lua_pushboolean(L, 0); /* so that there is a place for it */
  lua_setfield(L, -2, "task");
  lua_getiuservalue(L, peer, PT_STREAM_PEER);
  lua_setfield(L, -2, "peer");
  lua_pushvalue(L, id);
  lua_setfield(L, -2, "id");
  lua_pushvalue(L, method);
  lua_setfield(L, -2, "method");
  lua_getiuservalue(L, peer, PT_STREAM_META);
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
void pt_peer_describe(lua_State *L, pt_task *t) {
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
  failed = pt_stream_answer(L, &p->s, base + STREAM, base + ID, base + RESULT);
  if (!lua_toboolean(L, -failed)) {
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
  if (p->s.output.fd != -1 && pt_buf_len(&p->s.out) > 0)
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
  lua_pushvalue(L, params);
  if (has_context) {
    lua_pushvalue(L, task - 1);
    bind_context(L, task);
  } else {
    lua_pushvalue(L, id);
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
  lua_getiuservalue(L, 1, PT_STREAM_HANDLERS);
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
int pt_peer_handle(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_settop(L, 5);
  check_stack(L);
  run_handler(L, p, 2, 3, 4);
  return 0;
}

/* }====== */

/* {====== One message ====== */

int pt_peer_has_room(const pt_peer *p) {
  return !p->is_clogged &&
         p->running - (lua_Integer)p->s.pending.count < p->bound;
}

/* The results of stream:receive that say what a message is, behind `base`. */
enum { KIND = 1, FROM, WHAT, PAYLOAD, MORE, RESULTS = MORE };

static void tell_of_message(lua_State *L, int base, const char *name) {
  int i;
  pt_peer_push_policy(L, 1, name);
  for (i = KIND; i <= PAYLOAD; i++)
    lua_pushvalue(L, base + i);
  lua_call(L, 5, 0);
}

/* Whether it was a notification that must not wait for its turn. */
static int is_control(lua_State *L, int base) {
  int is;
  lua_getiuservalue(L, 1, PT_STREAM_CONTROLS);
  lua_pushvalue(L, base + WHAT);
  if (lua_rawget(L, -2) == LUA_TNIL) {
    lua_pop(L, 2);
    return 0;
  }
  lua_getiuservalue(L, 1, PT_STREAM_PEER);
  lua_pushvalue(L, base + PAYLOAD);
  lua_call(L, 2, 1);
  is = lua_toboolean(L, -1);
  lua_pop(L, 2);
  return is;
}

static void begin_request(lua_State *L, pt_peer *p, int base) {
  if (!p->is_held && pt_peer_has_room(p) && push_handler(L, base + WHAT))
    run_handler(L, p, base + FROM, base + WHAT, base + PAYLOAD);
  else
    tell_of_message(L, base, "request");
}

/* The results of stream:receive are on top. While a handler computes nothing is
** run. */
static void dispatch(lua_State *L, pt_peer *p, int is_computing) {
  int base = lua_gettop(L) - RESULTS;
  switch (p->s.kind) {
  case PT_RESULT:
  case PT_ERROR:
    lua_settop(L, base + PAYLOAD);
    give_answer(L, p, lua_touserdata(L, base + WHAT), is_computing);
    break;
  case PT_NOTIFICATION:
    if (is_control(L, base))
      break;
    /* fall through */
  case PT_REQUEST:
    if (is_computing)
      tell_of_message(L, base, "keep");
    else
      begin_request(L, p, base);
    break;
  case PT_STRAY:
    break;
  default:
    tell_of_message(L, base, "invalid");
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

/* One message, the results of stream:receive. Memory may be short for it, or
** for what comes of it. */
static int receive(lua_State *L, pt_peer *p) {
  int results;
  p->loop->decoding = &p->to_read;
  results = pt_stream_receive(L, &p->s, 0);
  if (p->s.arrears != NULL)
    p->loop->arrears = p->s.arrears;
  return results;
}

static int may_read(const pt_peer *p) {
  return p->s.input.fd != -1 && !p->is_paused && !p->is_finished;
}

/* While there may be more it is among those that are to be read, so that a turn
** inside of this one goes on where this is. */
static void read_messages(lua_State *L, pt_peer *p) {
  int left = MOST_MESSAGES;
  size_t bytes = 0;
  for (; left > 0 && bytes < MOST_BYTES && may_read(p); left--) {
    int results;
    lua_settop(L, 1);
    results = receive(L, p);
    if (results == 1) {
      pt_list_remove(&p->loop->unread, &p->to_read);
      if (p->is_orphaned)
        end_orphan(L, p);
      break;
    }
    if (results < RESULTS) {
      lua_settop(L, lua_gettop(L) - results + 3); /* less the error number */
      end_input(L, p);
      break;
    }
    bytes += p->s.text_len;
    if (!lua_toboolean(L, -1))
      pt_list_remove(&p->loop->unread, &p->to_read);
    else
      pt_list_add(&p->loop->unread, &p->to_read);
    dispatch(L, p, 0);
  }
}

/* (peer, readable, writable) */
static int read_peer(lua_State *L) {
  pt_peer *p = lua_touserdata(L, 1);
  int readable = lua_toboolean(L, 2), writable = lua_toboolean(L, 3);
  lua_settop(L, 1);
  p->loop->decoding = &p->to_read;
  check_stack(L);
  if (writable && p->is_blocked)
    pt_peer_queued(L, p);
  if (readable && may_read(p)) {
    if (pt_buf_len(&p->s.in) == 0 || p->s.is_searched)
      p->s.is_drained = 0; /* there is something to be read */
    read_messages(L, p);
  }
  if (!may_read(p))
    pt_list_remove(&p->loop->unread, &p->to_read);
  p->loop->decoding = NULL;
  return 0;
}

void pt_peer_push_reader(lua_State *L) {
  pt_stream_push_receive_upvalues(L);
  lua_pushcclosure(L, read_peer, PT_RECEIVE_UPVALUES);
}

/* In a protected call: (peer) -> boolean */
static int listen_protected(lua_State *L) {
  pt_peer *p = lua_touserdata(L, 1);
  int left = MOST_MESSAGES;
  for (; left > 0 && may_read(p); left--) {
    int results;
    lua_settop(L, 1);
    results = receive(L, p);
    if (results == 1)
      break;
    if (results < RESULTS) {
      lua_pushboolean(L, 0);
      return 1;
    }
    dispatch(L, p, 1);
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* stream:listen() -> boolean: takes in what has come while a handler computes,
** without running anything; false if nothing will come any more. If memory is
** short for a message the next turn gives the peer up. */
static int peer_listen(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  pt_loop *lp = p->loop;
  pt_link *before = lp->decoding;
  int status;
  lua_settop(L, 1);
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  status = lua_pcall(L, 1, 1, 0);
  lp->decoding = before;
  if (status == LUA_OK)
    return 1;
  if (status != LUA_ERRMEM || lp->broken != NULL)
    return lua_error(L);
  lp->broken = &p->to_read;
  lua_pushboolean(L, 1);
  return 1;
}

void pt_peer_push_listen(lua_State *L) {
  pt_stream_push_receive_upvalues(L);
  lua_pushcclosure(L, listen_protected, PT_RECEIVE_UPVALUES);
  lua_pushcclosure(L, peer_listen, 1);
}

void pt_peer_give_up(lua_State *L, pt_link *l) {
  pt_peer *p = (pt_peer *)(void *)((char *)l - offsetof(pt_peer, to_read));
  if (!pt_peer_push(L, p)) {
    lua_pop(L, 1);
    return;
  }
  lua_insert(L, 1);
  p->s.is_reading = 0;
  p->s.batch = 0;
  pt_buf_free(L, &p->s.in);
  finish(L, p);
  pt_peer_push_policy(L, 1, "ended");
  lua_pushliteral(L, "not enough memory for a message");
  lua_pushliteral(L, "full");
  lua_call(L, 3, 0);
  lua_remove(L, 1);
}

int pt_peer_wait_reading(lua_State *L, int watcher) {
  pt_peer *p = lua_touserdata(L, watcher);
  int found = pt_stream_wait_reading(L, &p->s);
  if (found == 1)
    pt_list_add(&p->loop->unread, &p->to_read);
  return found;
}

/* }====== */

/* {====== What is at work ====== */

/* Pushes the context of a task. */
static void push_context_of(lua_State *L, pt_task *t) {
  pt_task_push(L, t);
  if (lua_getiuservalue(L, -1, PT_TASK_OBJECT) == LUA_TNIL) {
    lua_pop(L, 2);
    pt_peer_describe(L, t);
  } else {
    lua_remove(L, -2);
  }
}

/* stream:requests() -> contexts of the handlers at work, the latest first */
int pt_peer_requests(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_Integer n = 0;
  pt_task *t;
  lua_createtable(L, (int)p->running, 0);
  for (t = p->handlers; t != NULL; t = t->next_handler) {
    push_context_of(L, t);
    lua_rawseti(L, -2, ++n);
  }
  return 1;
}

/* }====== */
