#define _DEFAULT_SOURCE

#include "filter.h"

#if defined(__linux__) &&                                                      \
    (defined(__x86_64__) && !defined(__ILP32__) || defined(__aarch64__))

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* {====== Numbers of the kernel's interface, as its headers may be older ======
 */

#if defined(__x86_64__)
#define ARCHITECTURE 0xC000003EU
#else
#define ARCHITECTURE 0xC00000B7U
#endif

/* struct seccomp_data: the number of the call, the architecture, and the lower
** half of argument i. Both architectures are little-endian. */
#define NUMBER 0
#define ARCH 4
#define ARGUMENT(i) (16 + 8 * (uint32_t)(i))

#define OP_LOAD 0x20     /* BPF_LD | BPF_W | BPF_ABS */
#define OP_AND 0x54      /* BPF_ALU | BPF_AND | BPF_K */
#define OP_IF_EQUAL 0x15 /* BPF_JMP | BPF_JEQ | BPF_K */
#define OP_IF_FROM 0x35  /* BPF_JMP | BPF_JGE | BPF_K */
#define OP_IF_SET 0x45   /* BPF_JMP | BPF_JSET | BPF_K */
#define OP_RETURN 0x06   /* BPF_RET | BPF_K */
#define RETURN_ALLOW 0x7FFF0000U
#define RETURN_KILL 0x80000000U
#define RETURN_ERRNO 0x00050000U

/* Flags of clone: the namespaces (time, mount, cgroup, UTS, IPC, user, PID,
** network), and CLONE_PARENT, which would make children of the host that the
** host does not reap. */
#define CLONE_REFUSED (0x7E020080U | 0x8000U)

#define SET_DEATH_SIGNAL 1   /* PR_SET_PDEATHSIG */
#define FASTOPEN 0x20000000U /* MSG_FASTOPEN connects without connect */
#define NETLINK_FAMILY 16
#define INTERNET (PT_FILTER_TCP | PT_FILTER_UDP | PT_FILTER_INTERNET)
#define TYPE_MASK 0xFU /* of a socket, without SOCK_CLOEXEC and SOCK_NONBLOCK */

/* The first number that no kernel had when this was written. */
#define NCALLS 470

/* }====== */

/* {====== What is done with each call ====== */

typedef enum action {
  ALLOW,
  REFUSE,
  UNKNOWN,
  /* the following look at arguments */
  CHECK_CLONE,
  CHECK_IOCTL,
  CHECK_PRCTL,
  CHECK_PRIORITY,
  CHECK_SELF,
  CHECK_SENDMSG,
  CHECK_SENDTO,
  CHECK_SOCKET,
  CHECK_SOCKETPAIR,
  NACTIONS
} action;

/* Since number 424, all architectures have the same numbers. */
static const unsigned short refused[] = {
    /* other processes */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    438 /* pidfd_getfd */,
    440 /* process_madvise */,
    448 /* process_mrelease */,
    SYS_migrate_pages,
    SYS_move_pages,
    /* the session, which is how its processes are found */
    SYS_setsid,
    /* keys */
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    /* mounts and namespaces */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    428 /* open_tree */,
    429 /* move_mount */,
    430 /* fsopen */,
    431 /* fsconfig */,
    432 /* fsmount */,
    433 /* fspick */,
    442 /* mount_setattr */,
    457 /* statmount */,
    458 /* listmount */,
    467 /* open_tree_attr */,
    /* code in the kernel, and wide interfaces to it */
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    425 /* io_uring_setup */,
    426 /* io_uring_enter */,
    427 /* io_uring_register */,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
#if defined(SYS_kexec_file_load)
    SYS_kexec_file_load,
#endif
    447 /* memfd_secret */,
    460 /* lsm_set_self_attr */,
    /* the machine */
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    443 /* quotactl_fd */,
    SYS_syslog,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_vhangup,
    SYS_nfsservctl,
    /* files by handles, and what others do with files */
    SYS_name_to_handle_at,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    /* owners, permissions, times and attributes of files */
    SYS_fchmod,
    SYS_fchmodat,
    452 /* fchmodat2 */,
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    463 /* setxattrat */,
    466 /* removexattrat */,
    469 /* file_setattr */,
    /* memory and messages shared with any process of the user */
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_msgget,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_msgctl,
    SYS_semget,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_mq_open,
    SYS_mq_unlink,
#if defined(__x86_64__)
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_iopl,
    SYS_ioperm,
    SYS_uselib,
    SYS__sysctl,
    SYS_create_module,
    SYS_get_kernel_syms,
    SYS_query_module,
    SYS_modify_ldt,
#endif
};

typedef struct special {
  unsigned short number;
  unsigned short action;
} special;

/* clone3 has its flags in memory, which a filter cannot read. Without it,
** libraries use clone. */
static const special specials[] = {
    {SYS_clone, CHECK_CLONE},           {435 /* clone3 */, UNKNOWN},
    {SYS_ioctl, CHECK_IOCTL},           {SYS_setpriority, CHECK_PRIORITY},
    {SYS_ioprio_set, CHECK_PRIORITY},   {SYS_prlimit64, CHECK_SELF},
    {SYS_sched_setparam, CHECK_SELF},   {SYS_sched_setscheduler, CHECK_SELF},
    {SYS_sched_setattr, CHECK_SELF},    {SYS_sched_setaffinity, CHECK_SELF},
    {SYS_sendto, CHECK_SENDTO},         {SYS_sendmsg, CHECK_SENDMSG},
    {SYS_sendmmsg, CHECK_SENDTO},       {SYS_socket, CHECK_SOCKET},
    {SYS_socketpair, CHECK_SOCKETPAIR}, {SYS_prctl, CHECK_PRCTL},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void set_actions(unsigned char actions[NCALLS + 1], unsigned allowed) {
  const unsigned may_listen =
      PT_FILTER_LISTEN | PT_FILTER_UNIX | PT_FILTER_INTERNET;
  size_t i;
  memset(actions, ALLOW, NCALLS);
  actions[NCALLS] = UNKNOWN;
  for (i = 0; i < COUNT(refused); i++)
    actions[refused[i]] = REFUSE;
  for (i = 0; i < COUNT(specials); i++)
    actions[specials[i].number] = (unsigned char)specials[i].action;
  if ((allowed & may_listen) == 0)
    actions[SYS_listen] = REFUSE; /* without bind, the kernel chooses a port */
  if ((allowed & PT_FILTER_WATCH) == 0)
    actions[SYS_inotify_add_watch] = REFUSE; /* Landlock does not restrict it */
}

/* }====== */

/* {====== The program ====== */

/* Where a branch of the tree goes: to the next operations, or to the block of
** an action, whose place is not known yet. */
#define NO_ACTION 0xFF

typedef struct branch {
  unsigned char if_true;
  unsigned char if_false;
} branch;

typedef struct program {
  pt_filter_op *ops;
  unsigned n;
  unsigned char actions[NCALLS + 1]; /* the last one is for all others */
  unsigned short borders[NCALLS];    /* numbers where another action begins */
  branch tree[PT_FILTER_SIZE];
} program;

/* A program that is too long is refused by pt_filter_build. */
static unsigned emit_if(program *p, unsigned code, uint32_t k, unsigned skip_if,
                        unsigned skip_else) {
  if (p->n < PT_FILTER_SIZE)
    p->ops[p->n] =
        (pt_filter_op){(uint16_t)code, (uint8_t)skip_if, (uint8_t)skip_else, k};
  return p->n++;
}

static unsigned emit(program *p, unsigned code, uint32_t k) {
  return emit_if(p, code, k, 0, 0);
}

static void emit_return(program *p, action what) {
  uint32_t value = RETURN_ALLOW;
  if (what == REFUSE)
    value = RETURN_ERRNO | EPERM;
  else if (what == UNKNOWN)
    value = RETURN_ERRNO | ENOSYS;
  emit(p, OP_RETURN, value);
}

static int find_borders(program *p) {
  int i, n = 0;
  for (i = 1; i <= NCALLS; i++)
    if (p->actions[i] != p->actions[i - 1])
      p->borders[n++] = (unsigned short)i;
  return n;
}

/* A search tree over the borders from `from` to `to` - 1, of which there is at
** least one. The kernel translates the program and runs it for every number
** when it is installed, so its length and its depth count. */
static void emit_tree(program *p, int from, int to) {
  int middle = from + (to - from) / 2, number = p->borders[middle];
  unsigned at = emit(p, OP_IF_FROM, (uint32_t)number);
  branch *b = &p->tree[at < PT_FILTER_SIZE ? at : 0];
  *b = (branch){NO_ACTION, NO_ACTION};
  if (middle > from)
    emit_tree(p, from, middle);
  else
    b->if_false = p->actions[number - 1];
  if (middle + 1 == to) {
    b->if_true = p->actions[number];
    return;
  }
  if (at < PT_FILTER_SIZE)
    p->ops[at].if_true = (uint8_t)(p->n - at - 1);
  emit_tree(p, middle + 1, to);
}

/* Lets the branches from `first` to `end` - 1 that go to an action go to the
** block at p->n. Returns 0 if that is too far. */
static int join_branches(program *p, unsigned first, unsigned end,
                         action what) {
  unsigned i;
  for (i = first; i < end && i < PT_FILTER_SIZE; i++) {
    unsigned skip = p->n - i - 1;
    int is_if_true = p->tree[i].if_true == what;
    int is_if_false = p->tree[i].if_false == what;
    if ((is_if_true || is_if_false) && skip > UINT8_MAX)
      return 0;
    if (is_if_true)
      p->ops[i].if_true = (uint8_t)skip;
    if (is_if_false)
      p->ops[i].if_false = (uint8_t)skip;
  }
  return 1;
}

/* Refuses the call unless the argument has this value. */
static void require_value(program *p, int argument, uint32_t value) {
  emit(p, OP_LOAD, ARGUMENT(argument));
  emit_if(p, OP_IF_EQUAL, value, 1, 0);
  emit_return(p, REFUSE);
}

static void refuse_flags(program *p, int argument, uint32_t flags) {
  emit(p, OP_LOAD, ARGUMENT(argument));
  emit_if(p, OP_IF_SET, flags, 0, 1);
  emit_return(p, REFUSE);
  emit_return(p, ALLOW);
}

static void return_if_any(program *p, const uint32_t *values, unsigned n,
                          action what) {
  unsigned i;
  for (i = 0; i < n; i++)
    emit_if(p, OP_IF_EQUAL, values[i], n - 1 - i, i + 1 == n);
  emit_return(p, what);
}

/* Allows the requests of terminals and pipes, random devices and sockets, and
** those that copy files or read their attributes. Landlock restricts none for
** files, and file systems have some that make, change or lock files through a
** descriptor that may only read. */
static void check_ioctl(program *p) {
  static const uint32_t refused_requests[] = {
      0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */, 0x5423 /* TIOCSETD */};
  static const uint32_t requests[] = {0x2 /* FIGETBSZ */,
                                      0xC020660B /* FS_IOC_FIEMAP */,
                                      0x80086601 /* _GETFLAGS */,
                                      0x801C581F /* _FSGETXATTR */,
                                      0x40049409 /* FICLONE */,
                                      0x4020940D /* FICLONERANGE */,
                                      0xC0189436 /* FIDEDUPERANGE */};
  static const uint32_t types[] = {'T' << 8, 'R' << 8, 0x8900 /* sockets */};
  emit(p, OP_LOAD, ARGUMENT(1));
  return_if_any(p, refused_requests, COUNT(refused_requests), REFUSE);
  return_if_any(p, requests, COUNT(requests), ALLOW);
  emit(p, OP_AND, 0xFF00);
  return_if_any(p, types, COUNT(types), ALLOW);
  emit_return(p, REFUSE);
}

/* The death signal, by which a process ends with its host, must stay a signal
** that kills. */
static void check_prctl(program *p) {
  emit(p, OP_LOAD, ARGUMENT(0));
  emit_if(p, OP_IF_EQUAL, SET_DEATH_SIGNAL, 1, 0);
  emit_return(p, ALLOW);
  require_value(p, 1, SIGKILL);
  emit_return(p, ALLOW);
}

static void allow_type(program *p, uint32_t type, uint32_t protocol) {
  emit(p, OP_LOAD, ARGUMENT(1));
  emit(p, OP_AND, TYPE_MASK);
  emit_if(p, OP_IF_EQUAL, type, 0, 4);
  emit(p, OP_LOAD, ARGUMENT(2));
  emit_if(p, OP_IF_EQUAL, 0, 1, 0);
  emit_if(p, OP_IF_EQUAL, protocol, 0, 1);
  emit_return(p, ALLOW);
}

/* With MPTCP, another protocol of stream sockets, the kernel would not apply
** the rules for ports. */
static void check_family(program *p, uint32_t family, unsigned allowed) {
  unsigned skip = emit(p, OP_LOAD, ARGUMENT(0));
  skip = emit_if(p, OP_IF_EQUAL, family, 0, 0);
  if (allowed & PT_FILTER_INTERNET) {
    emit_return(p, ALLOW);
  } else {
    if (allowed & PT_FILTER_TCP)
      allow_type(p, SOCK_STREAM, 6);
    if (allowed & PT_FILTER_UDP)
      allow_type(p, SOCK_DGRAM, 17);
    emit_return(p, REFUSE);
  }
  if (skip < PT_FILTER_SIZE)
    p->ops[skip].if_false = (uint8_t)(p->n - skip - 1);
}

/* Resolving names asks for the addresses of the machine by netlink. */
static void check_socket(program *p, unsigned allowed) {
  if (allowed & PT_FILTER_UNIX) {
    emit(p, OP_LOAD, ARGUMENT(0));
    emit_if(p, OP_IF_EQUAL, AF_UNIX, 0, 1);
    emit_return(p, ALLOW);
  }
  if (allowed & INTERNET) {
    check_family(p, AF_INET, allowed);
    check_family(p, AF_INET6, allowed);
    require_value(p, 0, NETLINK_FAMILY);
    require_value(p, 2, 0);
    emit_return(p, ALLOW);
  }
  emit_return(p, REFUSE);
}

/* A datagram socket of a pair can send to any other Unix socket. */
static void check_socketpair(program *p, unsigned allowed) {
  require_value(p, 0, AF_UNIX);
  if ((allowed & PT_FILTER_UNIX) == 0) {
    emit(p, OP_LOAD, ARGUMENT(1));
    emit(p, OP_AND, TYPE_MASK);
    emit_if(p, OP_IF_EQUAL, SOCK_STREAM, 2, 0);
    emit_if(p, OP_IF_EQUAL, SOCK_SEQPACKET, 1, 0);
    emit_return(p, REFUSE);
  }
  emit_return(p, ALLOW);
}

static void emit_block(program *p, action what, unsigned allowed) {
  switch (what) {
  case CHECK_CLONE:
    refuse_flags(p, 0, CLONE_REFUSED);
    break;
  case CHECK_IOCTL:
    check_ioctl(p);
    break;
  case CHECK_PRCTL:
    check_prctl(p);
    break;
  case CHECK_PRIORITY: /* setpriority(which, who), ioprio_set(which, who) */
    require_value(p, 1, 0);
    emit(p, OP_LOAD, ARGUMENT(0));
    emit_if(p, OP_IF_FROM, 2, 0, 1);
    emit_return(p, REFUSE);
    emit_return(p, ALLOW);
    break;
  case CHECK_SELF: /* the first argument is a process; 0 is the caller */
    require_value(p, 0, 0);
    emit_return(p, ALLOW);
    break;
  case CHECK_SENDMSG:
    refuse_flags(p, 2, FASTOPEN);
    break;
  case CHECK_SENDTO:
    refuse_flags(p, 3, FASTOPEN);
    break;
  case CHECK_SOCKET:
    check_socket(p, allowed);
    break;
  case CHECK_SOCKETPAIR:
    check_socketpair(p, allowed);
    break;
  default:
    emit_return(p, what);
  }
}

/* The numbers of x32, which have a bit of their own, are above NCALLS. */
size_t pt_filter_build(pt_filter_op *ops, unsigned allowed) {
  program p;
  unsigned first, end;
  int what, is_short = 1;
  p.ops = ops;
  p.n = 0;
  set_actions(p.actions, allowed);
  emit(&p, OP_LOAD, ARCH);
  emit_if(&p, OP_IF_EQUAL, ARCHITECTURE, 1, 0);
  emit(&p, OP_RETURN, RETURN_KILL);
  first = emit(&p, OP_LOAD, NUMBER) + 1;
  emit_tree(&p, 0, find_borders(&p));
  end = p.n;
  for (what = ALLOW; what < NACTIONS; what++) {
    is_short &= join_branches(&p, first, end, (action)what);
    emit_block(&p, (action)what, allowed);
  }
  return is_short && p.n <= PT_FILTER_SIZE ? p.n : 0;
}

/* }====== */

#else

size_t pt_filter_build(pt_filter_op *ops, unsigned allowed) {
  (void)ops;
  (void)allowed;
  return 0;
}

#endif
