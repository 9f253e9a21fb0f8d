#define _GNU_SOURCE

#include "lpeer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core.h"

#define PEER "pintle.core.peer"
/* bytes of output that the other side does not read */
#define CLOGGED (1024 * 1024)

#define READ_FIRST (64 * 1024)
#define READ_LEAST (16 * 1024)
#define READ_MOST (1024 * 1024) /* or as much as the buffer holds already */

#define EARLY_LEAST (2 * 1024) /* least output that is worth an early write */

/* the first member of every peer points to this */
static const char peer_mark = 0;

/* ====== Pending calls ====== */

static size_t pending_ring_slot(const pt_pending *p, int64_t id) {
  return (size_t)id & (p->slots - 1);
}

/* Doubles the ring. */
static void grow_pending_ring(lua_State *L, pt_pending *p) {
  pt_pending_call *old = p->calls;
  size_t old_slots = p->slots;
  size_t slots = old_slots > 0 ? old_slots * 2 : 16;
  pt_pending_call *calls = pt_reallocate(L, NULL, 0, slots * sizeof *calls);
  if (calls == NULL)
    luaL_error(L, "not enough memory");
  memset(calls, 0, slots * sizeof *calls);
  p->calls = calls;
  p->slots = slots;
  for (size_t i = 0; i < old_slots; i++)
    if (old[i].id != 0)
      calls[pending_ring_slot(p, old[i].id)] = old[i];
  pt_reallocate(L, old, old_slots * sizeof *old, 0);
}

/* The ring is at most half full, so the search for a free slot is short. */
int64_t pt_pending_next(lua_State *L, pt_pending *p) {
  int64_t id = p->last;
  if (p->count >= p->slots / 2)
    grow_pending_ring(L, p);
  do
    id = id == INT64_MAX ? 1 : id + 1;
  while (p->calls[pending_ring_slot(p, id)].id != 0);
  return id;
}

void pt_pending_take(pt_pending *p, int64_t id, double due, void *waiter) {
  size_t slot = pending_ring_slot(p, id);
  p->calls[slot].waiter = waiter;
  p->calls[slot].id = p->last = id;
  p->calls[slot].due = due;
  p->count++;
}

/* A slot has its whole id, so an id that is not pending matches none. */
size_t pt_pending_find(const pt_pending *p, int64_t id) {
  size_t slot;
  if (p->slots == 0 || id <= 0)
    return PT_PENDING_NONE;
  slot = pending_ring_slot(p, id);
  return p->calls[slot].id == id ? slot : PT_PENDING_NONE;
}

void pt_pending_remove(pt_pending *p, size_t slot) {
  p->calls[slot].id = 0;
  p->count--;
}

/* ====== The userdata ====== */

pt_peer *pt_peer_check(lua_State *L, int arg) {
  return pt_check_marked(L, arg, sizeof(pt_peer), &peer_mark, PEER);
}

int pt_peer_push(lua_State *L, const pt_peer *p) {
  pt_loop_push(L, p->loop, PT_LOOP_PEERS);
  lua_rawgetp(L, -1, p);
  lua_remove(L, -2);
  return !lua_isnil(L, -1);
}

pt_peer *pt_peer_to_read(pt_link *l) {
  return PT_CONTAINER(pt_peer, to_read, l);
}

void pt_peer_push_policy(lua_State *L, int peer, const char *name) {
  peer = lua_absindex(L, peer);
  lua_getiuservalue(L, peer, PT_PEER_POLICY);
  lua_getfield(L, -1, name);
  lua_replace(L, -2);
  lua_getiuservalue(L, peer, PT_PEER_SELF);
}

/* Removes the peer from the lists and timers of the loop. */
static void remove_peer_from_loop(pt_peer *p) {
  pt_loop *lp = p->loop;
  pt_list_remove(&lp->unread, &p->to_read);
  pt_list_remove(&lp->unwritten, &p->to_write);
  if (lp->is_open)
    pt_loop_clear_alarm(lp, &p->overdue);
}

/* A collected peer must not stay in any list of the loop. This also runs when
** the state is closed while a message is decoded; that message is not
** continued. */
static int peer_gc(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  remove_peer_from_loop(p);
  if (p->loop->broken == &p->to_read)
    p->loop->broken = NULL;
  p->input.is_reading = 0;
  pt_peer_release(L, p);
  if (p->pending.calls != NULL)
    pt_reallocate(L, p->pending.calls,
                  p->pending.slots * sizeof *p->pending.calls, 0);
  memset(&p->pending, 0, sizeof p->pending);
  return 0;
}

pt_peer *pt_peer_new(lua_State *L, pt_loop *lp, const luaL_Reg *methods) {
  static const luaL_Reg meta[] = {{"__gc", peer_gc}, {NULL, NULL}};
  pt_peer *p = lua_newuserdatauv(L, sizeof *p, PT_PEER_VALUES);
  memset(p, 0, sizeof *p);
  p->mark = &peer_mark;
  p->loop = lp;
  p->to_write.run = pt_peer_write_link;
  p->input.io.fd = p->output.io.fd = -1;
  p->output.digits = 2;
  p->codec.style.array_meta = pt_array_mark(L);
  pt_set_class(L, PEER, methods, meta);
  pt_loop_push(L, lp, PT_LOOP_PEERS);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, p);
  lua_pop(L, 1);
  return p;
}

/* ====== Reading ====== */

/* Watches one descriptor for the given events; stops watching it if there are
** none. */
static int watch_peer_descriptor(lua_State *L, const pt_peer *p, int fd,
                                 int events, int peer) {
  if (events != 0)
    return pt_loop_watch(L, p->loop, fd, events, peer);
  if (fd != -1)
    pt_loop_unwatch(L, p->loop, fd);
  return 0;
}

/* One descriptor for both directions, a socket, is watched for both at once. */
void pt_peer_watch(lua_State *L, pt_peer *p, int peer) {
  int in = p->input.io.fd, out = p->output.io.fd, err;
  int reads = in != -1 && !p->is_paused && !p->is_finished ? PT_POLL_READ : 0;
  int writes = out != -1 && p->output.is_blocked ? PT_POLL_WRITE : 0;
  if (p->watched_events == (reads | writes))
    return;
  if (in == out) {
    err = watch_peer_descriptor(L, p, in, reads | writes, peer);
  } else {
    err = watch_peer_descriptor(L, p, in, reads, peer);
    if (err == 0)
      err = watch_peer_descriptor(L, p, out, writes, peer);
  }
  p->watched_events = err == 0 ? reads | writes : 0;
  if (err != 0) {
    pt_peer_push_policy(L, peer, "broken");
    lua_pushfstring(L, "cannot watch a descriptor: %s", strerror(err));
    lua_pushstring(L, err == EBADF ? "closed" : "full");
    lua_call(L, 3, 0);
  }
}

/* An announced length does not prove that so many bytes will come. At most as
** many bytes as there are already, or READ_MOST, are reserved at once. */
static size_t limit_peer_expected_bytes(const pt_input *in) {
  size_t there = pt_buf_len(&in->buf);
  size_t most = there > READ_MOST ? there : READ_MOST;
  return in->need < most ? in->need : most;
}

/* Reserves space in the input buffer for the next read. */
static void reserve_peer_input(lua_State *L, pt_peer *p) {
  pt_input *in = &p->input;
  size_t want = in->buf.cap == 0 ? READ_FIRST : READ_LEAST,
         need = limit_peer_expected_bytes(in);
  pt_io_enlarge(&in->io, in->need);
  if (!pt_buf_reserve(L, &in->buf, need > want ? need : want))
    luaL_error(L, "not enough memory");
}

static void note_peer_input(pt_input *in, size_t n) {
  in->is_drained = n < pt_buf_room(&in->buf);
  in->is_searched = 0;
  in->at_end = n == 0;
  in->buf.end += n;
}

int pt_peer_read_bytes(lua_State *L, pt_peer *p) {
  pt_input *in = &p->input;
  ssize_t n;
  int err;
  if (in->is_drained) { /* another read would only fail with EAGAIN */
    in->is_drained = 0;
    return 0;
  }
  reserve_peer_input(L, p);
  n = pt_io_read(&in->io, in->buf.data + in->buf.end, pt_buf_room(&in->buf));
  if (n >= 0) {
    note_peer_input(in, (size_t)n);
    return 1;
  }
  err = errno;
  if (err == EAGAIN || err == EWOULDBLOCK)
    return 0;
  lua_pushfstring(L, "cannot read: %s", strerror(err));
  lua_pushliteral(L, "closed");
  return -1;
}

/* Whether a message may be received without new input. */
static int has_peer_input(const pt_input *in) {
  return in->is_reading || in->at_end || in->batch > 0 ||
         (pt_buf_len(&in->buf) > 0 && !in->is_searched);
}

int pt_peer_wait(lua_State *L, pt_peer *p) {
  pt_input *in = &p->input;
  ssize_t n;
  if (!in->is_owned || !pt_io_can_block(&in->io) ||
      pt_buf_len(&p->output.buf) > 0 || has_peer_input(in))
    return 0;
  reserve_peer_input(L, p);
  n = pt_io_read_blocking(&in->io, in->buf.data + in->buf.end,
                          pt_buf_room(&in->buf));
  if (n >= 0)
    note_peer_input(in, (size_t)n);
  return n >= 0 ? 1 : errno == EINTR ? -1 : 0;
}

/* ====== Writing ====== */

/* After a write has failed: whether the pipe could be enlarged. */
static int enlarge_peer_pipe(pt_output *o) {
  if ((errno != EAGAIN && errno != EWOULDBLOCK) || o->io.is_enlarged)
    return 0;
  pt_io_enlarge(&o->io, SIZE_MAX);
  return 1;
}

/* Returns 1 if everything was written or the output is closed, 0 if the rest
** must wait, or -1 with errno set. */
static int write_peer_bytes(lua_State *L, pt_output *o) {
  o->is_full = 0;
  while (pt_buf_len(&o->buf) > 0 && o->io.fd != -1) {
    ssize_t n;
    pt_io_enlarge(&o->io, pt_buf_len(&o->buf));
    n = pt_io_write(&o->io, pt_buf_front(&o->buf), pt_buf_len(&o->buf));
    if (n < 0 && enlarge_peer_pipe(o))
      continue;
    if (n < 0)
      return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -1;
    pt_buf_consume(L, &o->buf, (size_t)n);
  }
  return 1;
}

/* Starts or stops watching the output for space. Until that has succeeded the
** peer is in the list of unwritten peers, so that an error is followed by
** another attempt. */
static void watch_peer_output(lua_State *L, pt_peer *p) {
  pt_list_add(&p->loop->unwritten, &p->to_write);
  pt_peer_watch(L, p, lua_gettop(L));
  pt_list_remove(&p->loop->unwritten, &p->to_write);
}

/* Called after a write that failed, that changes the watched events, or that
** the policy wants to know about. */
static void report_peer_write(lua_State *L, pt_peer *p, int status, int err) {
  int top = lua_gettop(L);
  if (pt_peer_push(L, p)) {
    if (p->output.is_blocked != ((p->watched_events & PT_POLL_WRITE) != 0))
      watch_peer_output(L, p);
    if (status < 0) {
      pt_peer_push_policy(L, top + 1, "lost");
      lua_pushfstring(L, "cannot write: %s", strerror(err));
      lua_call(L, 2, 0);
    }
    if (p->watches_activity) {
      pt_peer_push_policy(L, top + 1, "after_activity");
      lua_call(L, 1, 0);
    }
  }
  lua_settop(L, top);
}

void pt_peer_write(lua_State *L, pt_peer *p) {
  pt_output *o = &p->output;
  int status = write_peer_bytes(L, o), err = errno;
  p->input.is_drained = 0; /* an answer may come now */
  o->is_blocked = status == 0;
  o->is_clogged = o->is_blocked && pt_buf_len(&o->buf) > CLOGGED;
  if (status < 0 || p->watches_activity ||
      o->is_blocked != ((p->watched_events & PT_POLL_WRITE) != 0))
    report_peer_write(L, p, status, err);
}

/* While the peer is written it is the one to blame if memory runs out. */
void pt_peer_write_link(lua_State *L, pt_link *to_write) {
  pt_peer *p = PT_CONTAINER(pt_peer, to_write, to_write);
  p->loop->decoding = &p->to_read;
  pt_peer_write(L, p);
  p->loop->decoding = NULL;
}

void pt_peer_write_soon(lua_State *L, pt_peer *p) {
  if (p->loop->is_turning)
    pt_list_add(&p->loop->unwritten, &p->to_write);
  else
    pt_peer_write_link(L, &p->to_write);
}

/* Not before there is as much output as unread input. After a write has found
** no space, early writes are not tried until the next regular write. */
void pt_peer_write_early(lua_State *L, pt_peer *p) {
  pt_output *o = &p->output;
  size_t queued = pt_buf_len(&o->buf);
  if (!o->is_full && queued >= EARLY_LEAST &&
      queued >= pt_buf_len(&p->input.buf))
    o->is_full = write_peer_bytes(L, o) == 0;
}

/* ====== Closing ====== */

/* A socket for both directions stays open until the input is closed. */
static void close_peer_output(pt_peer *p) {
  int fd = p->output.io.fd;
  if (fd != -1 && p->output.is_owned && fd != p->input.io.fd)
    close(fd);
  p->output.io.fd = -1;
}

/* Pending calls are kept: the policy fails them. */
void pt_peer_release(lua_State *L, pt_peer *p) {
  close_peer_output(p);
  if (p->input.io.fd != -1 && p->input.is_owned)
    close(p->input.io.fd);
  p->input.io.fd = -1;
  pt_buf_free(L, &p->output.buf);
  if (!p->input.is_reading)
    pt_buf_free(L, &p->input.buf);
}

/* stream:finish(): closes the peer; pending calls must be failed before */
int pt_peer_finish(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  if (p->input.io.fd != -1)
    pt_loop_unwatch(L, p->loop, p->input.io.fd);
  if (p->output.io.fd != -1)
    pt_loop_unwatch(L, p->loop, p->output.io.fd);
  p->watched_events = 0;
  remove_peer_from_loop(p);
  p->is_finished = p->is_held = 1;
  pt_peer_release(L, p);
  return 0;
}

/* stream:close_output(): closes the output only; the other end of a socket also
** sees the end of its input */
int pt_peer_close_output(lua_State *L) {
  pt_peer *p = pt_peer_check(L, 1);
  int fd = p->output.io.fd;
  if (fd != -1 && fd != p->input.io.fd)
    pt_loop_unwatch(L, p->loop, fd);
  p->output.is_blocked = p->output.is_clogged = 0;
  pt_list_remove(&p->loop->unwritten, &p->to_write);
  if (fd != -1 && p->output.io.is_socket)
    shutdown(fd, SHUT_WR);
  close_peer_output(p);
  if (p->input.io.fd != -1) {
    p->watched_events = -1;
    pt_peer_watch(L, p, 1);
  }
  return 0;
}
