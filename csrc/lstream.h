/*
** One end of a conversation, as the files that make up the stream share it:
** lopen.c opens it, lspeak.c and lextra.c say how it speaks, lstream.c flushes
** and closes, lsend.c and lwriter.c write messages, lreceive.c reads them,
** lenvelope.c and lclassify.c tell them apart, lbatch.c gathers the answers to
** a batch.
*/
#ifndef PT_LSTREAM_H
#define PT_LSTREAM_H

#include "early.h"
#include "frame.h"
#include "guard.h"
#include "io.h"
#include "lapi.h"
#include "lbuf.h"
#include "ljson.h"
#include "pending.h"

#pragma GCC visibility push(hidden)

#define PT_STREAM "pintle.stream"

#define PT_PARSE_ERROR (-32700)
#define PT_INVALID_REQUEST (-32600)

#define PT_STREAM_START 64

/* The user values of the userdata. */
enum {
  PT_STREAM_WAITERS = 1, /* table: slot + 1 to waiter */
  PT_STREAM_KEPT,        /* table: what the fields below point into */
  PT_STREAM_BATCH,       /* the batch being read */
  PT_STREAM_READER,      /* the thread that `reader` is */
  PT_STREAM_WAITING,     /* the thread that `waiting` is */
  PT_STREAM_OTHERS,      /* table: other members of the last message, or nil */
  PT_STREAM_SERVER,      /* the thread that `server` is; what it was given: */
  PT_STREAM_PEER,        /* table */
  PT_STREAM_HANDLERS,    /* table: method to function */
  PT_STREAM_OWNERS,      /* table: thread to what runs in it */
  PT_STREAM_REST,        /* what runs in the server while it handles nothing */
  PT_STREAM_META,        /* the metatable of what a handler is given */
  PT_STREAM_ANSWER,      /* function that answers where that is not simple */
  PT_STREAM_REQUEST, /* what the handler was given that is at work, or was */
  PT_STREAM_VALUES = PT_STREAM_REQUEST
};

/* Keys of the table PT_STREAM_KEPT. */
enum {
  PT_KEPT_HEAD = 1,
  PT_KEPT_HEADER,
  PT_KEPT_DECODE,
  PT_KEPT_ENCODE,
  PT_KEPT_EXTRA, /* table: name to value of the members that must be there */
  PT_KEPT_EXTRA_BIT, /* table: name to its bit in `extras` */
  PT_KEPT_VALUES = PT_KEPT_EXTRA_BIT
};

/* The forms of own ids that may come back. */
#define PT_ID_INTEGER 1u
#define PT_ID_STRING 2u

typedef struct pt_stream {
  const void *mark; /* see pt_check_self */
  pt_io input;
  pt_io output;
  int owns_input; /* closed with the stream */
  int owns_output;
  pt_framing framing;
  pt_framing before; /* as it was before the message being decoded */
  pt_buf in;
  pt_buf out;
  pt_pending pending;
  pt_early early;

  const char *head; /* how every message begins: {"jsonrpc":"2.0", */
  size_t head_len;
  const char *header; /* what stands before the length: Content-Length: */
  size_t header_len;
  int has_codec;     /* payloads go through another codec */
  int is_raw;        /* payloads received are kept as text */
  int is_ordered;    /* objects received keep the order of their members */
  int big_integers;  /* integers received keep all their digits */
  int string_ids;    /* own ids are sent as strings */
  unsigned id_forms; /* how calls that are pending may have been sent */
  unsigned extras;   /* a bit for each member that every message must have */
  int keeps_others;  /* members that are not JSON-RPC's are kept for a look */

  pt_encode_style style; /* and `depth` of it for what is received, too */
  size_t queue_limit;
  size_t call_limit;
  size_t text_limit;

  int digits; /* of the last length written: the next one's guess */
  char start[PT_STREAM_START]; /* the frame and head that this guess gives */
  size_t start_len;            /* 0 if it does not fit */
  int start_digits;            /* what it was made for */
  pt_frame_mode start_mode;

  int is_full;         /* it was tried to send while there is more to read, and
                      ** there was no room; not tried since */
  int at_end;          /* the input has ended */
  int is_drained;      /* the last read took all there was */
  int is_searched;     /* there is no whole message in the input */
  size_t need;         /* bytes that are missing of the next one, if known */
  size_t largest;      /* that ever was */
  pt_arrears *arrears; /* the state's; NULL before any large message */
  int is_reading;      /* a message is being decoded: the input must stay put */
  lua_State *reader;   /* the thread that last began to */
  int kind;            /* of the message that was received last */
  size_t batch;        /* offset of the next member of a batch; 0 if in none */
  size_t batch_used;   /* bytes the whole batch takes */
  const char *text;    /* the message being decoded */
  size_t text_len;
  size_t text_used;

  lua_State *server;   /* the thread in stream:serve; NULL if there is none */
  lua_State *waiting;  /* the thread that waits for it, or did */
  lua_Hook hook;       /* that it had before */
  int is_alone;        /* it has nothing else to wait for */
  double call_timeout; /* of calls that go the short way; negative: none do */
  double alarm;        /* when it is looked for what is overdue */
  int is_marked;       /* stream:flush will be called */

  int is_disturbed; /* stream:attend is to return */
  int is_open;      /* requests may be begun */
  int is_busy;      /* it was given one and has not come to rest */
  int is_handed;    /* it is being resumed with one */
  int is_resting;   /* it has just yielded, and comes to rest with that */
  int is_handling;  /* a handler is at work in it that nobody took note of */
  int is_kept;      /* somebody may have PT_STREAM_REQUEST */
  int is_fetching;  /* it reads the next one itself */
  int has_answered; /* which stream:deliver has not told yet */

  lua_Integer received, sent, noise, noise_bytes, stray, invalid;
} pt_stream;

/* Pushes a new one, born closed. */
pt_stream *pt_stream_push(lua_State *L);

/* The stream at `arg`, or NULL. */
pt_stream *pt_stream_test(lua_State *L, int arg);

/* The stream at 1; called once, and first of all, by every method. */
pt_stream *pt_stream_check(lua_State *L);

/* core.stream, in lopen.c. */
int pt_stream_open(lua_State *L);

/* Raises; the value that is not as expected is on top. */
void pt_stream_bad_option(lua_State *L, const char *name, const char *expected);

/* Moves the value on top into the table of what is kept; pushes what is there
** under `key`, and returns its type. */
void pt_stream_keep(lua_State *L, int stream, int key);
int pt_stream_push_kept(lua_State *L, int stream, int key);

/* Drops the memory and descriptors; what is being decoded is kept until done.
*/
void pt_stream_release(lua_State *L, pt_stream *s);

/* Nothing more is sent; the descriptor is closed if it is the stream's own. */
void pt_stream_close_output(pt_stream *s);

/* Writes what is queued: 1 if all is out that can ever be, 0 if the rest would
** have to wait, or -1 with errno set. */
int pt_stream_write_out(lua_State *L, pt_stream *s);

/* Takes the waiter of `slot` out and pushes it. */
void pt_stream_take_waiter(lua_State *L, pt_stream *s, size_t slot);

/* {====== lsend.c ====== */

int pt_stream_request(lua_State *L);

/* The stream, the waiter, the method and the params are all that is on the
** stack. 1 with the id on top; else 0, with why not. */
int pt_stream_request_until(lua_State *L, pt_stream *s, double due);

int pt_stream_notify(lua_State *L);
int pt_stream_reply(lua_State *L);
int pt_stream_fail(lua_State *L);

/* Answers the id at one index with the result at another: the results of
** stream:reply. */
int pt_stream_answer(lua_State *L, pt_stream *s, int id, int result);

/* }====== */

/* Queues a whole message made elsewhere; 0 when memory is short. In lwriter.c.
*/
int pt_stream_send_text(lua_State *L, pt_stream *s, const char *text,
                        size_t len);

/* {====== lreceive.c ====== */

/* Pushes stream:receive. */
void pt_stream_push_receive(lua_State *L);

/* For a method that finds is_reading set. Either a finalizer called it, in the
** middle of a message, and then all stays as it is. Or an error broke off
** reading: then the message is still there, to be read again. */
void pt_stream_stop_reading(lua_State *L, pt_stream *s);

/* Makes room for reading, and takes note of what a read gave, the end of input
** included. */
void pt_stream_make_room(lua_State *L, pt_stream *s);
void pt_stream_took(pt_stream *s, size_t n);

/* }====== */

/* {====== lcall.c ====== */

int pt_stream_alarm(lua_State *L);
int pt_stream_plan(lua_State *L);

/* }====== */

/* {====== lwait.c ====== */

int pt_stream_wait(lua_State *L);

/* The time at 2 as a deadline, negative for none. */
double pt_stream_check_deadline(lua_State *L);

/* Who is going to wait for the stream at 1, the hook it had when it began to,
** and whether it does nothing else: then the server may wait in its stead. A
** signal that wants to stop the program sets the hook of the thread that the
** program is in, not the server's. */
void pt_stream_begin_waiting(lua_State *L, pt_stream *s, lua_Hook before,
                             int is_alone);

/* What a stream is waited for with. */
typedef struct pt_wait {
  double deadline;    /* negative for none */
  int other;          /* a descriptor that ends it as well, or -1 */
  pt_guard *guard;    /* under which both may be looked at late, or NULL */
  double begun;       /* with a guard: when it did, or shortly before */
  int is_other_ready; /* as far as it was looked at */
} pt_wait;

#define PT_WAIT_ALONE                                                          \
  { .deadline = -1, .other = -1 }

/* Waits for input, sending what is queued meanwhile: 1 if there is something to
** receive, 0 if not (the time is over, the other is ready, or the program is to
** stop), -1 with errno set. */
int pt_stream_await(lua_State *L, pt_stream *s, pt_wait *w);

/* }====== */

/* {====== lbatch.c ====== */

/* An id that cannot be told by a Lua number or string alone: one of another
** form, or one whose answer belongs to a batch. */
typedef struct pt_ticket pt_ticket;

typedef struct pt_batch {
  pt_buf out;      /* the answers so far: "[a,b" */
  size_t open;     /* members that will be answered and are not yet */
  int is_complete; /* every member has been handed out */
} pt_batch;

/* Starts one for the stream at index 1. */
void pt_batch_begin(lua_State *L);

/* Pushes a ticket for the id `text`, in the stream's batch if `in_batch`. */
void pt_ticket_push(lua_State *L, const char *text, size_t len, int in_batch);

/* The ticket at `arg`, or NULL. */
pt_ticket *pt_ticket_test(lua_State *L, int arg);

const char *pt_ticket_text(const pt_ticket *t, size_t *len);

/* Where its answer goes, or NULL for the stream itself; the batch is kept alive
** by being pushed. Raises if it was answered already. */
pt_batch *pt_ticket_batch(lua_State *L, int arg);

/* Counts the answer; sends the batch if that was the last. 0 when memory is
** short, and then it does not count. */
int pt_ticket_answered(lua_State *L, pt_stream *s, int arg, pt_batch *b);

/* Makes sure that a batch of which all is answered can be sent once its last
** member was handed out, for that cannot be undone; 0 when memory is short. */
int pt_batch_reserve(lua_State *L, pt_stream *s);

/* All members were handed out; sends the batch if nothing is open. */
int pt_batch_complete(lua_State *L, pt_stream *s);

/* }====== */

#pragma GCC visibility pop

#endif
