/*
** Messages that go straight to the threads they are for: ldeliver.c hands them
** out, lserve.c has the thread that requests are for, lattend.c waits for them.
*/
#ifndef PT_LDELIVER_H
#define PT_LDELIVER_H

#include "lapi.h"
#include "lreceive.h"
#include "lstream.h"

#pragma GCC visibility push(hidden)

/* Methods that hand messages out. Each is a closure of its own, and has the
** stream alone on its stack while it does. */
#define PT_DELIVER_UPVALUES (PT_RECEIVE_UPVALUES + 1)
void pt_stream_push_delivering(lua_State *L, lua_CFunction function);
void pt_stream_push_deliver_upvalues(lua_State *L);
int pt_call_alone(lua_State *L);
int pt_stream_attend(lua_State *L);
int pt_stream_deliver(lua_State *L);
int pt_stream_serve(lua_State *L);

int pt_stream_admit(lua_State *L);
int pt_stream_dismiss(lua_State *L);
int pt_stream_disturb(lua_State *L);

/* Hands out results until there is a message that is not for a thread, whose
** results are then pushed; so also when there is none, or others should have
** their turn first. 0 if it is a request that can be served: then kind, id,
** method, params and the handler are on top. `count` is of what was handed out,
** that request included. */
int pt_stream_hand_out(lua_State *L, pt_stream *s, double spin, int *count,
                       int is_server);

/* The same, with requests given to the server: the results of stream:deliver.
*/
int pt_stream_hand_over(lua_State *L, pt_stream *s, double spin);

/* Pushes the results that say that so many messages were handed out. */
int pt_stream_push_handed_out(lua_State *L, int count, int more);

/* A request that was made, and how long its answer is waited for. */
typedef struct pt_asked {
  const void *waiter;
  lua_Integer id;
  double due;   /* its deadline, huge if there is none */
  double until; /* when there is something else to do */
  int is_over;  /* the poller has something already */
  pt_wait wait; /* beside the poller; its deadline is the earlier of the two */
} pt_asked;

/* Attends until its answer is there: 0 with the result on top if that is all
** there is to tell; else what is on top is its id and deadline, and behind that
** the results of stream:attend, so many in all. */
int pt_stream_await_answer(lua_State *L, pt_stream *s, pt_asked *asked);

/* Puts nil behind the results until there are so many. */
void pt_stream_fill_up(lua_State *L, int results, int wanted);

/* Says what runs in the thread that is on top, which is taken off: a user value
** of the stream. */
void pt_server_set_owner(lua_State *L, int value);

#pragma GCC visibility pop

#endif
