#define _GNU_SOURCE

#include "lsandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter.h"
#include "io.h"

#define RULES "pintle.sandbox_rules"

/* {====== The description ======
** lua/pintle/process/sandbox.lua makes it from what the user has given. Its
** parts stay on the stack, and its strings in tables that are on the stack. */

/* Pushes the member `name` of the description and returns its type. */
static int push_member(lua_State *L, int description, const char *name) {
  lua_pushstring(L, name);
  return lua_rawget(L, description);
}

static int read_flag(lua_State *L, int description, const char *name) {
  int value;
  push_member(L, description, name);
  value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

/* Pushes the list `name`, copied if it has strings, because a finalizer may
** change it; returns its length. 0 if there is none. */
static size_t push_list(lua_State *L, int description, const char *name) {
  size_t i, n;
  if (push_member(L, description, name) == LUA_TNIL)
    return 0;
  if (lua_type(L, -1) != LUA_TTABLE)
    pt_refuse_type(L, -1, name, "table");
  n = lua_rawlen(L, -1);
  lua_createtable(L, (int)n, 0);
  for (i = 1; i <= n; i++) {
    lua_rawgeti(L, -2, (lua_Integer)i);
    lua_rawseti(L, -2, (lua_Integer)i);
  }
  lua_remove(L, -2);
  return n;
}

/* The string at `i` of the list at `list`. */
static const char *item_text(lua_State *L, int list, size_t i,
                             const char *name) {
  const char *text;
  lua_rawgeti(L, list, (lua_Integer)i);
  text = pt_check_option(L, -1, name);
  lua_pop(L, 1);
  return text;
}

static void add_paths(lua_State *L, int list, pt_sandbox_path *paths,
                      const char *name, pt_sandbox_path kind) {
  size_t i, n = lua_istable(L, list) ? lua_rawlen(L, list) : 0;
  for (i = 0; i < n; i++) {
    kind.path = item_text(L, list, i + 1, name);
    paths[i] = kind;
  }
}

#define NLISTS 6

/* The lists of paths in the table `lists`, and the files of the program, which
** are in the description itself. Sets their number. */
static const pt_sandbox_path *read_paths(lua_State *L, int description,
                                         int lists, size_t *total) {
  static const struct {
    const char *name;
    pt_sandbox_path kind;
  } kinds[NLISTS] = {{"code", {NULL, PT_SANDBOX_READ, 1, 0}},
                     {"read", {NULL, PT_SANDBOX_READ, 0, 0}},
                     {"read_optional", {NULL, PT_SANDBOX_READ, 1, 0}},
                     {"read_fixed", {NULL, PT_SANDBOX_READ, 1, 1}},
                     {"write", {NULL, PT_SANDBOX_WRITE, 0, 0}},
                     {"write_optional", {NULL, PT_SANDBOX_WRITE, 1, 0}}};
  int i, first = lua_gettop(L) + 1;
  pt_sandbox_path *paths, *next;
  size_t n[NLISTS];
  *total = 0;
  for (i = 0; i < NLISTS; i++)
    *total += n[i] = push_list(L, i > 0 ? lists : description, kinds[i].name);
  paths = next = lua_newuserdatauv(L, (*total + 1) * sizeof *paths, 0);
  for (i = 0; i < NLISTS; i++) {
    add_paths(L, first + i, next, kinds[i].name, kinds[i].kind);
    next += n[i];
  }
  return paths;
}

static void read_files(lua_State *L, int description, pt_sandbox *s) {
  s->paths = read_paths(L, description, description, &s->npaths);
  s->has_needs = push_member(L, description, "needs") != LUA_TNIL;
  if (s->has_needs && lua_type(L, -1) != LUA_TTABLE)
    pt_refuse_type(L, -1, "needs", "table");
  if (s->has_needs)
    s->needs = read_paths(L, description, lua_gettop(L), &s->nneeds);
}

/* A list limits its kind of access, also if it is empty. */
static int has_list(lua_State *L, int description, const char *name) {
  int type = push_member(L, description, name);
  lua_pop(L, 1);
  return type != LUA_TNIL;
}

static void read_ports(lua_State *L, int description, pt_sandbox *s) {
  size_t i, nconnect = push_list(L, description, "connect");
  size_t nlisten = push_list(L, description, "listen");
  int lists = lua_gettop(L) - 1;
  pt_sandbox_port *ports =
      lua_newuserdatauv(L, (nconnect + nlisten + 1) * sizeof *ports, 0);
  s->limits_connect = has_list(L, description, "connect");
  s->limits_listen = has_list(L, description, "listen");
  s->nports = nconnect + nlisten;
  s->ports = ports;
  for (i = 0; i < s->nports; i++) {
    int may_listen = i >= nconnect, is_integer;
    lua_Integer port;
    lua_rawgeti(L, lists + may_listen,
                (lua_Integer)(may_listen ? i - nconnect : i) + 1);
    port = lua_tointegerx(L, -1, &is_integer);
    lua_pop(L, 1);
    if (!is_integer || port < 0 || port > 65535)
      pt_refuse_option(L, "sandbox", "a port is a number from 0 to 65535");
    ports[i] = (pt_sandbox_port){(unsigned short)port, may_listen};
  }
}

static void read_groups(lua_State *L, int description, pt_sandbox *s) {
  size_t i, n = push_list(L, description, "groups");
  int list = lua_gettop(L);
  const char **groups = lua_newuserdatauv(L, (n + 1) * sizeof *groups, 0);
  for (i = 0; i < n; i++)
    groups[i] = item_text(L, list, i + 1, "groups");
  s->groups = groups;
  s->ngroups = n;
}

static void read_sockets(lua_State *L, int description, pt_sandbox *s) {
  static const char *const names[] = {"tcp", "udp", "unix", "internet",
                                      "listen"};
  static const unsigned values[] = {PT_FILTER_TCP, PT_FILTER_UDP,
                                    PT_FILTER_UNIX, PT_FILTER_INTERNET,
                                    PT_FILTER_LISTEN};
  size_t i, j, n = push_list(L, description, "sockets");
  int list = lua_gettop(L);
  for (i = 1; i <= n; i++) {
    const char *name = item_text(L, list, i, "sockets");
    for (j = 0; j < 5 && strcmp(names[j], name) != 0; j++)
      continue;
    if (j == 5)
      pt_refuse_option(L, "sockets", "unknown kind '%s'", name);
    s->allowed |= values[j];
  }
  lua_pop(L, 1);
}

static void read_spaces(lua_State *L, int description, pt_sandbox *s) {
  if (push_member(L, description, "namespaces") != LUA_TNIL) {
    const char *name = pt_check_option(L, -1, "namespaces");
    s->spaces =
        strcmp(name, "network") == 0 ? PT_SANDBOX_NETWORK : PT_SANDBOX_USER;
  }
  lua_pop(L, 1);
}

pt_sandbox *pt_sandbox_read(lua_State *L) {
  static const char *const known[] = {
      "files",         "scoped",     "filter",         "partial", "read",
      "read_optional", "write",      "connect",        "listen",  "groups",
      "sockets",       "namespaces", "write_optional", "needs",   "code",
      "kept",          "read_fixed", "watch",          NULL};
  int description, type = pt_push_option(L, "sandbox");
  pt_sandbox *s;
  if (type == LUA_TNIL) {
    lua_pop(L, 1);
    return NULL;
  }
  if (type != LUA_TTABLE)
    pt_refuse_type(L, -1, "sandbox", "table");
  description = lua_gettop(L);
  pt_check_names(L, description, known, "the sandbox");
  if (!lua_checkstack(L, 40))
    luaL_error(L, "not enough memory");
  s = lua_newuserdatauv(L, sizeof *s, 0);
  memset(s, 0, sizeof *s);
  s->has_files = read_flag(L, description, "files");
  s->is_scoped = read_flag(L, description, "scoped");
  s->has_filter = read_flag(L, description, "filter");
  s->is_partial = read_flag(L, description, "partial");
  s->allowed = read_flag(L, description, "watch") ? PT_FILTER_WATCH : 0;
  read_files(L, description, s);
  read_ports(L, description, s);
  read_groups(L, description, s);
  read_sockets(L, description, s);
  read_spaces(L, description, s);
  return s;
}

/* }====== */

/* {====== Rules of Landlock ======
** They belong to a userdata. One start after another of the same program uses
** them, which saves the time to make them. */

typedef struct rules {
  pt_sandbox_rules made; /* the first member, which the sandbox points to */
  int is_complete;
  int is_busy; /* a start uses them, in which a finalizer may start a child */
  int is_kept; /* they are in the table `kept` */
  pt_sandbox_file files[];
} rules;

static void close_rules(rules *r) {
  pt_sandbox_close_rules(&r->made);
  r->is_complete = 0;
}

static int rules_gc(lua_State *L) {
  close_rules(lua_touserdata(L, 1));
  return 0;
}

static rules *push_rules(lua_State *L, const pt_sandbox *s) {
  size_t size = (s->npaths + s->nneeds) * sizeof(pt_sandbox_file);
  rules *r = lua_newuserdatauv(L, sizeof *r + size, 0);
  memset(r, 0, sizeof *r + size);
  r->made.granted = r->made.needed = -1;
  r->made.files = r->files;
  luaL_setmetatable(L, RULES);
  return r;
}

/* Pushes what is in the table `kept`. Returns NULL if it is not to be used. */
static rules *push_kept(lua_State *L, int kept) {
  rules *r;
  lua_rawgeti(L, kept, 1);
  r = luaL_testudata(L, -1, RULES);
  return r != NULL && !r->is_busy ? r : NULL;
}

/* Puts the rules on top into the table, unless a start uses those in it. */
static void keep_rules(lua_State *L, int kept, rules *r) {
  rules *old = push_kept(L, kept);
  int is_free = old != NULL || lua_isnil(L, -1);
  lua_pop(L, 1);
  if (old != NULL)
    close_rules(old);
  if (is_free) {
    lua_pushvalue(L, -1);
    lua_rawseti(L, kept, 1);
    r->is_kept = 1;
  }
}

/* Relative paths are relative to the directory of the child. */
static int open_child_directory(const char *cwd) {
  if (cwd == NULL)
    return AT_FDCWD;
  return pt_fd_make_private(open(cwd, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

static int still_fit(const pt_sandbox *s, const char *cwd, const rules *r) {
  int result, dir = open_child_directory(cwd);
  result = r->is_complete && pt_sandbox_rules_fit(s, dir, &r->made);
  if (cwd != NULL)
    pt_fd_close(&dir);
  return result;
}

static int make_rules(lua_State *L, const pt_sandbox *s, const char *cwd,
                      rules *r) {
  const char *name = cwd, *step = "cannot enter \"%s\"";
  int err, dir = open_child_directory(cwd);
  if (dir != -1)
    step = pt_sandbox_make_rules(s, dir, &r->made, &name);
  err = errno;
  if (cwd != NULL)
    pt_fd_close(&dir);
  r->is_complete = step == NULL;
  if (r->is_complete)
    return 0;
  pt_sandbox_release_rules(s, 0);
  return pt_fail_errno(L, err, "spawn", step, name);
}

int pt_sandbox_take_rules(lua_State *L, pt_sandbox *s, const char *cwd) {
  int kept = 0, description;
  rules *r = NULL;
  pt_push_option(L, "sandbox");
  description = lua_gettop(L);
  if (push_member(L, description, "kept") == LUA_TTABLE) {
    kept = lua_gettop(L);
    r = push_kept(L, kept);
  }
  if (r == NULL || !still_fit(s, cwd, r)) {
    r = push_rules(L, s);
    if (kept != 0)
      keep_rules(L, kept, r);
  }
  s->rules = &r->made;
  r->is_busy = 1;
  return r->is_complete ? 0 : make_rules(L, s, cwd, r);
}

void pt_sandbox_release_rules(const pt_sandbox *s, int has_started) {
  rules *r = (rules *)(void *)s->rules;
  r->is_busy = 0;
  if (!r->is_kept || !has_started)
    close_rules(r);
}

/* }====== */

/* core.sandbox() -> landlock, has_filter, is_root */
static int core_sandbox(lua_State *L) {
  lua_pushinteger(L, pt_sandbox_landlock());
  lua_pushboolean(L, pt_sandbox_has_filter());
  lua_pushboolean(L, geteuid() == 0);
  return 3;
}

/* core.realpath(path) -> path | nil, msg, kind, errno */
static int core_realpath(lua_State *L) {
  const char *path = pt_check_text(L, 1);
  char *real = lua_newuserdatauv(L, PATH_MAX, 0);
  if (realpath(path, real) == NULL)
    return pt_fail_errno(L, errno, "invalid", "cannot resolve \"%s\"", path);
  lua_pushstring(L, real);
  return 1;
}

static const luaL_Reg functions[] = {
    {"sandbox", core_sandbox}, {"realpath", core_realpath}, {NULL, NULL}};

void pt_open_sandbox(lua_State *L) {
  luaL_newmetatable(L, RULES);
  lua_pushcfunction(L, rules_gc);
  lua_setfield(L, -2, "__gc");
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
