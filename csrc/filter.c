#define _DEFAULT_SOURCE

#include "filter.h"

#if defined(__linux__) &&                                                      \
    (defined(__x86_64__) && !defined(__ILP32__) || defined(__aarch64__))

#include <errno.h>
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

#define OP_LOAD 0x20      /* BPF_LD | BPF_W | BPF_ABS */
#define OP_AND 0x54       /* BPF_ALU | BPF_AND | BPF_K */
#define OP_JUMP 0x05      /* BPF_JMP | BPF_JA */
#define OP_IF_EQUAL 0x15  /* BPF_JMP | BPF_JEQ | BPF_K */
#define OP_IF_FROM 0x35   /* BPF_JMP | BPF_JGE | BPF_K */
#define OP_IF_SET 0x45    /* BPF_JMP | BPF_JSET | BPF_K */
#define OP_RETURN 0x06    /* BPF_RET | BPF_K */
#define OP_PENDING 0xFFFF /* a jump to a check that is not emitted yet */
#define RETURN_ALLOW 0x7FFF0000U
#define RETURN_KILL 0x80000000U
#define RETURN_ERRNO 0x00050000U

/* The namespaces of clone: time, mount, cgroup, UTS, IPC, user, PID, network.
*/
#define NAMESPACES 0x7E020080U

#define FASTOPEN 0x20000000U /* MSG_FASTOPEN connects without connect */
#define NETLINK_FAMILY 16
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
    {SYS_socketpair, CHECK_SOCKETPAIR},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void set_actions(unsigned char actions[NCALLS]) {
  size_t i;
  memset(actions, ALLOW, NCALLS);
  for (i = 0; i < COUNT(refused); i++)
    actions[refused[i]] = REFUSE;
  for (i = 0; i < COUNT(specials); i++)
    actions[specials[i].number] = (unsigned char)specials[i].action;
}

/* }====== */

/* {====== The program ====== */

typedef struct program {
  pt_filter_op *ops;
  unsigned n;
  unsigned char actions[NCALLS];
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

/* A call whose arguments are checked jumps to its check, after the tree. */
static void emit_leaf(program *p, action what) {
  if (what >= CHECK_CLONE)
    emit(p, OP_PENDING, what);
  else
    emit_return(p, what);
}

static int count_borders(const program *p, int from, int to) {
  int i, n = 0;
  for (i = from + 1; i < to; i++)
    n += p->actions[i] != p->actions[i - 1];
  return n;
}

static int find_border(const program *p, int from, int n) {
  int i = from;
  do {
    i++;
    n -= p->actions[i] != p->actions[i - 1];
  } while (n >= 0);
  return i;
}

/* A search tree over the numbers from `from` to `to` - 1. The kernel runs the
** program for every number when it is installed, so its depth counts. */
static void emit_tree(program *p, int from, int to) {
  int borders = count_borders(p, from, to), middle;
  unsigned branch;
  if (borders == 0) {
    emit_leaf(p, (action)p->actions[from]);
    return;
  }
  middle = find_border(p, from, borders / 2);
  branch = emit(p, OP_IF_FROM, (uint32_t)middle);
  emit_tree(p, from, middle);
  if (branch < PT_FILTER_SIZE)
    p->ops[branch].if_true = (uint8_t)(p->n - branch - 1);
  emit_tree(p, middle, to);
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

/* Input for a terminal, and attributes of files. */
static void check_ioctl(program *p) {
  static const uint32_t requests[] = {
      0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */,
      0x40086602 /* FS_IOC_SETFLAGS */, 0x401C5820 /* FS_IOC_FSSETXATTR */};
  size_t i;
  emit(p, OP_LOAD, ARGUMENT(1));
  for (i = 0; i < COUNT(requests); i++) {
    emit_if(p, OP_IF_EQUAL, requests[i], 0, 1);
    emit_return(p, REFUSE);
  }
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
static void check_family(program *p, uint32_t family, unsigned sockets) {
  unsigned skip = emit(p, OP_LOAD, ARGUMENT(0));
  skip = emit_if(p, OP_IF_EQUAL, family, 0, 0);
  if (sockets & PT_FILTER_INTERNET) {
    emit_return(p, ALLOW);
  } else {
    if (sockets & PT_FILTER_TCP)
      allow_type(p, SOCK_STREAM, 6);
    if (sockets & PT_FILTER_UDP)
      allow_type(p, SOCK_DGRAM, 17);
    emit_return(p, REFUSE);
  }
  if (skip < PT_FILTER_SIZE)
    p->ops[skip].if_false = (uint8_t)(p->n - skip - 1);
}

/* Resolving names asks for the addresses of the machine by netlink. */
static void check_socket(program *p, unsigned sockets) {
  if (sockets & PT_FILTER_UNIX) {
    emit(p, OP_LOAD, ARGUMENT(0));
    emit_if(p, OP_IF_EQUAL, AF_UNIX, 0, 1);
    emit_return(p, ALLOW);
  }
  if (sockets & ~(unsigned)PT_FILTER_UNIX) {
    check_family(p, AF_INET, sockets);
    check_family(p, AF_INET6, sockets);
    require_value(p, 0, NETLINK_FAMILY);
    require_value(p, 2, 0);
    emit_return(p, ALLOW);
  }
  emit_return(p, REFUSE);
}

/* A datagram socket of a pair can send to any other Unix socket. */
static void check_socketpair(program *p, unsigned sockets) {
  require_value(p, 0, AF_UNIX);
  if ((sockets & PT_FILTER_UNIX) == 0) {
    emit(p, OP_LOAD, ARGUMENT(1));
    emit(p, OP_AND, TYPE_MASK);
    emit_if(p, OP_IF_EQUAL, SOCK_STREAM, 2, 0);
    emit_if(p, OP_IF_EQUAL, SOCK_SEQPACKET, 1, 0);
    emit_return(p, REFUSE);
  }
  emit_return(p, ALLOW);
}

static void emit_check(program *p, action what, unsigned sockets) {
  switch (what) {
  case CHECK_CLONE:
    refuse_flags(p, 0, NAMESPACES);
    break;
  case CHECK_IOCTL:
    check_ioctl(p);
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
    check_socket(p, sockets);
    break;
  default:
    check_socketpair(p, sockets);
  }
}

/* Emits a check, and lets the leaves that wait for it jump to it. */
static void add_check(program *p, action what, unsigned sockets) {
  unsigned i;
  for (i = 0; i < p->n && i < PT_FILTER_SIZE; i++)
    if (p->ops[i].code == OP_PENDING && p->ops[i].k == what)
      p->ops[i] = (pt_filter_op){OP_JUMP, 0, 0, p->n - i - 1};
  emit_check(p, what, sockets);
}

/* The numbers of x32, which have a bit of their own, are above NCALLS. */
size_t pt_filter_build(pt_filter_op *ops, unsigned sockets) {
  program p = {.ops = ops};
  int what;
  set_actions(p.actions);
  emit(&p, OP_LOAD, ARCH);
  emit_if(&p, OP_IF_EQUAL, ARCHITECTURE, 1, 0);
  emit(&p, OP_RETURN, RETURN_KILL);
  emit(&p, OP_LOAD, NUMBER);
  emit_if(&p, OP_IF_FROM, NCALLS, 0, 1);
  emit_return(&p, UNKNOWN);
  emit_tree(&p, 0, NCALLS);
  for (what = CHECK_CLONE; what < NACTIONS; what++)
    add_check(&p, (action)what, sockets);
  return p.n <= PT_FILTER_SIZE ? p.n : 0;
}

/* }====== */

#else

size_t pt_filter_build(pt_filter_op *ops, unsigned sockets) {
  (void)ops;
  (void)sockets;
  return 0;
}

#endif
