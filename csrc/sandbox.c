#define _GNU_SOURCE

#include "sandbox.h"

#include <errno.h>
#include <stddef.h>

#if defined(__linux__)

#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"
#include "io.h"

/* {====== Numbers of the kernel's interface, as its headers may be older ======
 */

/* All architectures have the same. */
#define NR_CREATE_RULESET 444
#define NR_ADD_RULE 445
#define NR_RESTRICT_SELF 446

#define CREATE_RULESET_VERSION 1U
#define RULE_PATH 1
#define RULE_PORT 2

typedef struct ruleset {
  uint64_t files;
  uint64_t ports;
  uint64_t scopes;
} ruleset;

typedef struct path_rule {
  uint64_t rights;
  int32_t fd;
} __attribute__((packed)) path_rule;

typedef struct port_rule {
  uint64_t rights;
  uint64_t port;
} port_rule;

enum {
  EXECUTE = 1 << 0,
  WRITE_FILE = 1 << 1,
  READ_FILE = 1 << 2,
  READ_DIR = 1 << 3,
  MAKE_CHAR = 1 << 6,
  MAKE_BLOCK = 1 << 11,
  ALL_FIRST = (1 << 13) - 1, /* of the first version */
  REFER = 1 << 13,           /* since version 2 */
  TRUNCATE = 1 << 14,        /* 3 */
  IOCTL_DEV = 1 << 15        /* 5 */
};

#define BIND 1    /* of a port; since version 4 */
#define CONNECT 2 /* 4 */
#define SCOPES 3  /* abstract sockets and signals; 6 */

/* The answer of statx. */
typedef struct file_status {
  uint32_t mask;
  uint32_t unused[6];
  uint16_t mode;
  uint16_t padding;
  uint64_t inode;
  uint64_t unused_too[12];
  uint32_t device[2]; /* major, minor */
  uint64_t mount;
  uint64_t spare[13];
} file_status;

#define STATUS_INODE 0x100U
#define STATUS_MOUNT 0x4000U /* not used for any later mount; since Linux 6.8 */

#if !defined(AT_EMPTY_PATH)
#define AT_EMPTY_PATH 0x1000
#endif

/* What each thing needs. Before version 3, any file could be truncated. */
#define FILES_SINCE 3
#define PORTS_SINCE 4
#define SCOPES_SINCE 6

/* }====== */

/* {====== Landlock ====== */

int pt_sandbox_landlock(void) {
  long version =
      syscall(NR_CREATE_RULESET, NULL, (size_t)0, CREATE_RULESET_VERSION);
  return version > 0 ? (int)version : 0;
}

static uint64_t all_rights(int version) {
  uint64_t rights = ALL_FIRST;
  if (version >= 2)
    rights |= REFER;
  if (version >= 3)
    rights |= TRUNCATE;
  if (version >= 5)
    rights |= IOCTL_DEV;
  return rights;
}

static int is_absent(int err) {
  return err == ENOENT || err == ENOTDIR || err == EACCES || err == ELOOP;
}

/* Returns the mode of the file, or 0 with errno set. */
static unsigned identify(int dir, const char *path, int flags,
                         pt_sandbox_file *file) {
  file_status st;
  *file = (pt_sandbox_file){0, 0, 0};
  if (syscall(SYS_statx, dir, path, flags, STATUS_INODE | STATUS_MOUNT, &st))
    return 0;
  if (st.mask & STATUS_MOUNT)
    *file = (pt_sandbox_file){
        st.mount, (uint64_t)st.device[0] << 32 | st.device[1], st.inode};
  return st.mode;
}

/* A file must not be given the rights of directories. Nobody makes device
** files, or controls devices. */
static uint64_t rights_for(const pt_sandbox_path *path, unsigned mode,
                           uint64_t all) {
  uint64_t rights = EXECUTE | READ_FILE | READ_DIR;
  if (path->access == PT_SANDBOX_WRITE)
    rights = all & ~(uint64_t)(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV);
  if (!S_ISDIR(mode))
    rights &= EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE;
  return rights;
}

static int add_path(int rules, int dir, const pt_sandbox_path *path,
                    uint64_t all, pt_sandbox_file *file) {
  path_rule rule;
  long result = -1;
  unsigned mode;
  int fd = openat(dir, path->path, O_PATH | O_CLOEXEC);
  *file = (pt_sandbox_file){0, 0, 0};
  if (fd == -1)
    return path->is_optional && is_absent(errno) ? 0 : -1;
  mode = identify(fd, "", AT_EMPTY_PATH, file);
  rule.rights = rights_for(path, mode, all);
  rule.fd = fd;
  if (mode != 0)
    result = syscall(NR_ADD_RULE, rules, RULE_PATH, &rule, 0U);
  pt_fd_close(&fd);
  return (int)result;
}

static int add_port(int rules, const pt_sandbox_port *port) {
  port_rule rule = {port->may_listen ? BIND : CONNECT, port->number};
  return (int)syscall(NR_ADD_RULE, rules, RULE_PORT, &rule, 0U);
}

/* Rules that are applied together. Those of one layer do not widen those of an
** earlier one: a process can do what all its layers allow. */
typedef struct layer {
  ruleset set;
  const pt_sandbox_path *paths;
  size_t npaths;
  const pt_sandbox_port *ports;
  size_t nports;
} layer;

static const char *add_rules(const layer *l, int dir, int rules,
                             pt_sandbox_file *files, const char **name) {
  size_t i;
  for (i = 0; i < l->npaths; i++)
    if (add_path(rules, dir, &l->paths[i], l->set.files, &files[i]) == -1) {
      *name = l->paths[i].path;
      return "sandbox: Landlock: cannot allow \"%s\"";
    }
  for (i = 0; i < l->nports; i++)
    if (add_port(rules, &l->ports[i]) == -1)
      return "sandbox: Landlock: cannot allow a port";
  return NULL;
}

static uint64_t limited_ports(const pt_sandbox *s) {
  return (s->limits_connect ? CONNECT : 0U) | (s->limits_listen ? BIND : 0U);
}

/* Whether this version can enforce what is asked for. */
static int is_enough(const pt_sandbox *s, int version) {
  return (!s->has_files || version >= (s->is_partial ? 1 : FILES_SINCE)) &&
         (limited_ports(s) == 0 || version >= PORTS_SINCE) &&
         (!s->is_scoped || version >= SCOPES_SINCE);
}

static int has_first_layer(const pt_sandbox *s) {
  return s->has_files || limited_ports(s) != 0 || s->is_scoped;
}

static int has_second_layer(const pt_sandbox *s) {
  return s->has_files && s->has_needs;
}

static const char *make_layer(const layer *l, int dir, int *rules,
                              pt_sandbox_file *files, const char **name) {
  *rules = pt_fd_make_private(
      (int)syscall(NR_CREATE_RULESET, &l->set, sizeof l->set, 0U));
  if (*rules == -1)
    return "sandbox: Landlock: cannot make rules";
  return add_rules(l, dir, *rules, files, name);
}

const char *pt_sandbox_make_rules(const pt_sandbox *s, int dir,
                                  pt_sandbox_rules *r, const char **name) {
  int version = pt_sandbox_landlock();
  uint64_t files = s->has_files ? all_rights(version) : 0;
  layer granted = {{files, limited_ports(s), s->is_scoped ? SCOPES : 0},
                   s->paths,
                   s->has_files ? s->npaths : 0,
                   s->ports,
                   s->nports};
  layer needed = {{files, 0, 0}, s->needs, s->nneeds, NULL, 0};
  const char *step = NULL;
  r->granted = r->needed = -1;
  r->nfiles = s->npaths + s->nneeds;
  errno = ENOTSUP;
  if (!is_enough(s, version))
    return "sandbox: Landlock: this kernel's version is too old";
  if (has_first_layer(s))
    step = make_layer(&granted, dir, &r->granted, r->files, name);
  if (step == NULL && has_second_layer(s))
    step = make_layer(&needed, dir, &r->needed, r->files + s->npaths, name);
  return step;
}

static int lead_to(const pt_sandbox_path *paths, size_t n, int dir,
                   const pt_sandbox_file *files) {
  pt_sandbox_file now;
  size_t i;
  for (i = 0; i < n; i++) {
    unsigned mode;
    if (paths[i].is_fixed)
      continue;
    mode = identify(dir, paths[i].path, 0, &now);
    if (mode != 0 ? now.mount == 0 : !is_absent(errno))
      return 0; /* this kernel cannot say */
    if (memcmp(&now, &files[i], sizeof now) != 0)
      return 0;
  }
  return 1;
}

int pt_sandbox_rules_fit(const pt_sandbox *s, int dir,
                         const pt_sandbox_rules *r) {
  return r->nfiles == s->npaths + s->nneeds &&
         lead_to(s->paths, s->npaths, dir, r->files) &&
         lead_to(s->needs, s->nneeds, dir, r->files + s->npaths);
}

void pt_sandbox_close_rules(pt_sandbox_rules *r) {
  pt_fd_close(&r->granted);
  pt_fd_close(&r->needed);
}

static int apply_layer(int rules) {
  return (int)syscall(NR_RESTRICT_SELF, rules, 0U);
}

static int apply_rules(const pt_sandbox *s) {
  if (has_first_layer(s) && apply_layer(s->rules->granted) == -1)
    return -1;
  return has_second_layer(s) ? apply_layer(s->rules->needed) : 0;
}

/* }====== */

/* {====== System calls and privileges ====== */

typedef struct filter {
  unsigned short len;
  const pt_filter_op *ops;
} filter;

/* A kernel that knows filters looks for the filter at the address. */
int pt_sandbox_has_filter(void) {
  pt_filter_op ops[PT_FILTER_SIZE];
  return pt_filter_build(ops, 0) > 0 &&
         prctl(PR_SET_SECCOMP, 2, NULL, 0, 0) == -1 && errno == EFAULT;
}

static const char *enter_filter(const pt_sandbox *s) {
  pt_filter_op ops[PT_FILTER_SIZE];
  filter f = {0, ops};
  if (!s->has_filter)
    return NULL;
  f.len = (unsigned short)pt_filter_build(ops, s->allowed);
  errno = ENOTSUP;
  if (f.len == 0)
    return "sandbox: seccomp: not for this architecture";
  if (prctl(PR_SET_SECCOMP, 2, &f, 0, 0) == -1)
    return "sandbox: seccomp: cannot install the filter";
  return NULL;
}

/* Those of root, and those of a user namespace. exec cannot bring them back. */
static int drop_capabilities(void) {
  uint32_t header[2] = {0x20080522 /* version 3 */, 0}, none[6] = {0};
  return (int)syscall(SYS_capset, header, none);
}

const char *pt_sandbox_confine(const pt_sandbox *s, const char **name) {
  (void)name;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
    return "sandbox: cannot set no_new_privs";
  if (apply_rules(s) == -1)
    return "sandbox: Landlock: cannot apply the rules";
  if (drop_capabilities() == -1)
    return "sandbox: cannot drop capabilities";
  return enter_filter(s);
}

/* }====== */

/* {====== Namespaces and control groups ====== */

static int write_file(const char *path, const char *text, size_t len) {
  int err, fd = open(path, O_WRONLY | O_CLOEXEC);
  ssize_t n;
  if (fd == -1)
    return -1;
  do {
    n = write(fd, text, len);
  } while (n == -1 && errno == EINTR);
  err = errno;
  close(fd);
  errno = err;
  return n == (ssize_t)len ? 0 : -1;
}

static char *write_number(char *end, unsigned long n) {
  do {
    *--end = (char)('0' + n % 10);
    n /= 10;
  } while (n > 0);
  return end;
}

/* Maps one number to itself: "N N 1". */
static int write_map(const char *path, unsigned long id) {
  char text[64], *end = text + sizeof text, *p = end;
  *--p = '1';
  *--p = ' ';
  p = write_number(p, id);
  *--p = ' ';
  p = write_number(p, id);
  return write_file(path, p, (size_t)(end - p));
}

static const char *make_namespaces(pt_sandbox_spaces spaces) {
  unsigned long uid = geteuid(), gid = getegid();
  int flags = CLONE_NEWUSER;
  if (spaces == PT_SANDBOX_NETWORK)
    flags |= CLONE_NEWNET | CLONE_NEWIPC;
  if (unshare(flags) == -1)
    return "sandbox: cannot make namespaces";
  if (write_file("/proc/self/setgroups", "deny", 4) == -1 ||
      write_map("/proc/self/uid_map", uid) == -1 ||
      write_map("/proc/self/gid_map", gid) == -1)
    return "sandbox: cannot set up the user namespace";
  return NULL;
}

const char *pt_sandbox_join(const pt_sandbox *s, const char **name) {
  size_t i;
  for (i = 0; i < s->ngroups; i++)
    if (write_file(s->groups[i], "0", 1) == -1) {
      *name = s->groups[i];
      return "sandbox: cannot join the control group \"%s\"";
    }
  return s->spaces != PT_SANDBOX_SHARED ? make_namespaces(s->spaces) : NULL;
}

/* }====== */

#else

#define NONE "sandbox: this system has none that pintle can use"

int pt_sandbox_landlock(void) { return 0; }

int pt_sandbox_has_filter(void) { return 0; }

const char *pt_sandbox_make_rules(const pt_sandbox *s, int dir,
                                  pt_sandbox_rules *r, const char **name) {
  (void)s;
  (void)dir;
  (void)name;
  r->granted = r->needed = -1;
  errno = ENOTSUP;
  return NONE;
}

int pt_sandbox_rules_fit(const pt_sandbox *s, int dir,
                         const pt_sandbox_rules *r) {
  (void)s;
  (void)dir;
  (void)r;
  return 0;
}

void pt_sandbox_close_rules(pt_sandbox_rules *r) { (void)r; }

const char *pt_sandbox_join(const pt_sandbox *s, const char **name) {
  (void)s;
  (void)name;
  errno = ENOTSUP;
  return NONE;
}

const char *pt_sandbox_confine(const pt_sandbox *s, const char **name) {
  return pt_sandbox_join(s, name);
}

#endif
