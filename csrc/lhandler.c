/*
** Handlers of requests and notifications. A handler runs in a task, and its
** result is the answer.
*/
#include "lpeer.h"
#include "lsend.h"

/* ====== Contexts ====== */

/* Whether the handler has a second parameter. If not, no context is created for
** it, which saves time. */
static int takes_handler_context(lua_State *L, int handler) {
  lua_Debug info;
  lua_pushvalue(L, handler);
  if (!lua_isfunction(L, -1)) {
    lua_pop(L, 1);
    return 1;
  }
  lua_getinfo(L, ">u", &info);
  return info.nparams > 1 || info.isvararg;
}

/* Pushes the context of a handler. The arguments are stack indexes. */
static void push_handler_context(lua_State *L, int peer, int id, int method) {
  lua_createtable(L, 0, 4);
  lua_pushboolean(L,
                  0); /* reserves the field: bind_handler_context cannot fail */
  lua_setfield(L, -2, "task");
  lua_getiuservalue(L, peer, PT_PEER_SELF);
  lua_setfield(L, -2, "peer");
  pt_push_at(L, id);
  lua_setfield(L, -2, "id");
  lua_pushvalue(L, method);
  lua_setfield(L, -2, "method");
  lua_getiuservalue(L, peer, PT_PEER_META);
  lua_setmetatable(L, -2);
}

/* Makes the context on top represent the task. Cannot fail. */
static void bind_handler_context(lua_State *L, int task) {
  lua_pushliteral(L, "task");
  lua_pushvalue(L, task);
  lua_rawset(L, -3);
  lua_pushvalue(L, -1);
  lua_setiuservalue(L, task, PT_TASK_OBJECT);
}

void pt_handler_push_context(lua_State *L, pt_task *t) {
  int top = lua_gettop(L);
  if (t->peer == NULL) {
    lua_pushnil(L);
    return;
  }
  pt_task_push(L, t);
  pt_peer_push(L, t->peer);
  lua_getiuservalue(L, top + 1, PT_TASK_ID);
  lua_getiuservalue(L, top + 1, PT_TASK_METHOD);
  push_handler_context(L, top + 2, top + 3, top + 4);
  bind_handler_context(L, top + 1);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
}

/* ====== Running a handler ====== */

/* Adds the task to the list of running handlers of the peer. */
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
  t->peer = NULL;
  p->running--;
}

/* Stack indexes, relative to `base`, after a handler has ended. */
enum { STREAM = 1, RESULT, PROBLEM, TASK, CONTEXT, ID, NAME };

/* Moves the peer and the first two results from the task's own stack to L. */
static void take_handler_results(lua_State *L, pt_task *t, int n) {
  if (n > PROBLEM)
    lua_pop(t->thread, n - PROBLEM);
  lua_xmove(t->thread, L, n < PROBLEM ? n : PROBLEM);
}

/* Pushes the task, its context, and the id and the method of the request. The
** id comes from the context, if there is one: the policy clears it when the
** request must not be answered any more. */
static void push_handler_request(lua_State *L, pt_task *t, int base) {
  pt_task_push(L, t);
  if (lua_getiuservalue(L, base + TASK, PT_TASK_OBJECT) == LUA_TTABLE) {
    lua_pushliteral(L, "id");
    lua_rawget(L, base + CONTEXT);
  } else {
    lua_getiuservalue(L, base + TASK, PT_TASK_ID);
  }
  lua_getiuservalue(L, base + TASK, PT_TASK_METHOD);
  if (lua_isuserdata(L, base + ID)) { /* a ticket would keep its batch alive */
    lua_pushnil(L);
    lua_setiuservalue(L, base + TASK, PT_TASK_ID);
  }
}

/* Calls policy.refuse(peer, context, id, method, err), or policy.failed with an
** additional traceback. The arguments after the method are on top. */
static void call_policy_of_handler(lua_State *L, int base, const char *name,
                                   int args) {
  int i, first = lua_gettop(L) - args + 1;
  pt_peer_push_policy(L, base + STREAM, name);
  for (i = CONTEXT; i <= NAME; i++)
    lua_pushvalue(L, base + i);
  for (i = 0; i < args; i++)
    lua_pushvalue(L, first + i);
  lua_call(L, 4 + args, 0);
}

/* Answers the request after its handler has returned. */
static void answer_request(lua_State *L, pt_peer *p, int base) {
  int failed;
  if (lua_isnil(L, base + RESULT) && !lua_isnil(L, base + PROBLEM)) {
    lua_pushvalue(L, base + PROBLEM);
    call_policy_of_handler(L, base, "refuse", 1);
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

/* Everything that the answer needs is moved to the stack of L, which has room
** for it, and the task is made idle, before anything that can fail for lack of
** memory. */
static void handler_ended(lua_State *L, pt_task *t, int status, int results) {
  pt_peer *p = t->peer;
  int base = lua_gettop(L);
  remove_handler(p, t);
  p->loop->decoding = &p->to_read;
  if (status == LUA_OK)
    take_handler_results(L, t, results);
  else
    pt_peer_push(L, p);
  lua_settop(L, base + PROBLEM);
  push_handler_request(L, t, base);
  pt_task_rest(L, t, status);
  if (status == LUA_OK) {
    answer_request(L, p, base);
  } else {
    pt_task_take_failure(L, t);
    call_policy_of_handler(L, base, "failed", 2);
  }
  if (p->output.io.fd != -1 && pt_buf_len(&p->output.buf) > 0)
    pt_peer_write_soon(L, p);
  if (p->watches_activity) {
    pt_peer_push_policy(L, base + STREAM, "after_activity");
    lua_call(L, 1, 0);
  }
  p->loop->decoding = NULL;
  lua_settop(L, base);
}

void pt_handler_check_stack(lua_State *L) {
  if (!lua_checkstack(L, 3 * LUA_MINSTACK))
    luaL_error(L, "not enough memory");
}

/* Runs the handler on top, which is popped, in a task. The peer stays alive
** because it is at the bottom of the task's own stack. */
void pt_handler_run(lua_State *L, pt_peer *p, int id, int method, int params) {
  int handler = lua_gettop(L), task;
  int has_context = takes_handler_context(L, handler);
  pt_task *t;
  if (has_context)
    push_handler_context(L, 1, id, method);
  t = pt_task_take(L, p->loop);
  task = lua_gettop(L);
  pt_push_at(L, id);
  lua_setiuservalue(L, task, PT_TASK_ID);
  lua_pushvalue(L, method);
  lua_setiuservalue(L, task, PT_TASK_METHOD);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, handler);
  pt_push_at(L, params);
  if (has_context) {
    lua_pushvalue(L, task - 1);
    bind_handler_context(L, task);
  }
  lua_xmove(L, t->thread, 3 + has_context);
  lua_settop(L, handler - 1);
  t->ended = handler_ended;
  add_handler(p, t);
  pt_task_run(L, t, 1 + has_context);
}

int pt_handler_push(lua_State *L, int method) {
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
** the policy has held back; id is nil for a notification */
int pt_handler_handle(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  lua_settop(L, 5);
  pt_handler_check_stack(L);
  pt_handler_run(L, p, 2, 3, 4);
  return 0;
}

/* ====== What is at work ====== */

/* Pushes the context of the task at -1. Returns 0 if the task does not work for
** the peer any more. */
static int push_context_of_handler(lua_State *L, const pt_peer *p) {
  pt_task *t = lua_touserdata(L, -1);
  if (t->peer != p)
    return 0;
  if (lua_getiuservalue(L, -1, PT_TASK_OBJECT) == LUA_TNIL) {
    lua_pop(L, 1);
    pt_handler_push_context(L, t);
  }
  return 1;
}

/* stream:requests() -> contexts of the running handlers, the latest first. The
** tasks are collected before the contexts are created, because finalizers may
** end handlers meanwhile. */
int pt_handler_requests(lua_State *L) {
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
    if (push_context_of_handler(L, p))
      lua_rawseti(L, 2, ++found);
    lua_settop(L, 2);
  }
  return 1;
}
