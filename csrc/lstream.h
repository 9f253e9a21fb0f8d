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
  PT_STREAM_OTHERS,      /* table: other members of the last message, or nil */
  PT_STREAM_PEER,        /* of a peer: the Lua table that it is, */
  PT_STREAM_POLICY,      /* table: name to function */
  PT_STREAM_HANDLERS,    /* table: method to function */
  PT_STREAM_CONTROLS,    /* table: method to function, which is never held */
  PT_STREAM_META,        /* the metatable of what a handler is given */
  PT_STREAM_VALUES = PT_STREAM_META
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
  int is_peer;      /* it is the beginning of a pt_peer */
  /* Called when it is collected; or NULL. */
  void (*forget)(struct pt_stream *s);
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
  size_t value_limit;

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
  int kind;            /* of the message that was received last */
  size_t batch;        /* offset of the next member of a batch; 0 if in none */
  size_t batch_used;   /* bytes the whole batch takes */
  const char *text;    /* the message being decoded */
  size_t text_len;
  size_t text_used;

  lua_Integer received, sent, noise, noise_bytes, stray, invalid;
} pt_stream;

/* Pushes a new one, born closed, of so many bytes: a struct that begins with
** it. */
pt_stream *pt_stream_push(lua_State *L, size_t size);

/* The stream at `arg`, or NULL. */
pt_stream *pt_stream_test(lua_State *L, int arg);

/* The stream at 1; called once, and first of all, by every method. */
pt_stream *pt_stream_check(lua_State *L);

/* core.stream, in lopen.c. */
int pt_stream_open(lua_State *L);

/* Opens a new one with the options at 1, of so many bytes, and pushes it: 0, or
** what the Lua function returns. `prepare` is called before the descriptors are
** taken over, after which nothing raises; it may be NULL. */
int pt_stream_open_with(lua_State *L, size_t size,
                        void (*prepare)(lua_State *L, pt_stream *s,
                                        int stream));

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

/* The same, and the other side of a socket sees the end of its input. */
void pt_stream_shut_output(pt_stream *s);

/* Writes what is queued: 1 if all is out that can ever be, 0 if the rest would
** have to wait, or -1 with errno set. */
int pt_stream_write_out(lua_State *L, pt_stream *s);

/* Takes the waiter of `slot` out and pushes it. */
void pt_stream_take_waiter(lua_State *L, pt_stream *s, size_t slot);

/* {====== lsend.c ====== */

int pt_stream_request(lua_State *L);

/* A request to be made: where its parts are on the stack, and what waits for
** the answer. */
typedef struct pt_ask {
  int stream, method, params;
  void *waiter;
  double due;
  int64_t id;  /* what it was sent with, */
  size_t slot; /* and its place among those that wait */
} pt_ask;

/* 0 if it was queued; else the results of stream:request, so many. */
int pt_stream_ask(lua_State *L, pt_stream *s, pt_ask *a);

/* The same for a notification, whose parts are told in the same way. */
int pt_stream_tell(lua_State *L, pt_stream *s, const pt_ask *a);

int pt_stream_notify(lua_State *L);
int pt_stream_reply(lua_State *L);
int pt_stream_fail(lua_State *L);

/* Answers the id at one index with the result at another: the results of
** stream:reply. */
int pt_stream_answer(lua_State *L, pt_stream *s, int stream, int id,
                     int result);

/* }====== */

/* Queues a whole message made elsewhere; 0 when memory is short. In lwriter.c.
*/
int pt_stream_send_text(lua_State *L, pt_stream *s, const char *text,
                        size_t len);

/* {====== lreceive.c ====== */

/* Pushes stream:receive. */
void pt_stream_push_receive(lua_State *L);

/* Waits for input by reading it, where nothing else is to be waited for: 1 if
** something came, or the end; 0 if it cannot be done so; -1 if a signal came.
*/
int pt_stream_wait_reading(lua_State *L, pt_stream *s);

/* }====== */

/* {====== lspeak.c ====== */

/* stream:speak and stream:others. */
int pt_stream_speak(lua_State *L);
int pt_stream_others(lua_State *L);

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
