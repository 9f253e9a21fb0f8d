/*
** Attempts to get out of a sandbox: escape ATTEMPT ARGUMENTS… Prints "done" (or
** what it got) if the attempt succeeded, otherwise the system's reason.
*/
#define _GNU_SOURCE

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char **args;

static void report(long result) {
  puts(result < 0 ? strerror(errno) : "done");
  fflush(stdout);
}

static void show_file(int fd) {
  char text[256];
  ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (n < 0)
    puts(strerror(errno));
  else
    printf("%.*s\n", (int)n, text);
}

/* {====== Files ====== */

static void read_file(void) { show_file(open(args[0], O_RDONLY)); }

static void write_file(void) {
  report(open(args[0], O_WRONLY | O_CREAT | O_TRUNC, 0600));
}

static void cut_file(void) { report(truncate(args[0], 0)); }

static void remove_file(void) { report(unlink(args[0])); }

static void list_directory(void) {
  report(open(args[0], O_RDONLY | O_DIRECTORY));
}

/* symlink SECRET LINK, then reads through the link. */
static void follow_symlink(void) {
  if (symlink(args[0], args[1]) == -1)
    report(-1);
  else
    show_file(open(args[1], O_RDONLY));
}

static void follow_hard_link(void) {
  if (link(args[0], args[1]) == -1)
    report(-1);
  else
    show_file(open(args[1], O_RDONLY));
}

static void move_file(void) { report(rename(args[0], args[1])); }

/* Opens a path without rights, and that descriptor again by its number. */
static void reopen(void) {
  char path[64];
  int fd = open(args[0], O_PATH);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  show_file(open(path, O_RDONLY));
}

/* Reads the file through the root directory of a process. */
static void through_root(void) {
  char path[4096];
  snprintf(path, sizeof path, "/proc/%s/root%s", args[1], args[0]);
  show_file(open(path, O_RDONLY));
}

static void change_mode(void) { report(chmod(args[0], 0777)); }

static void change_mode_of_open(void) {
  int fd = open(args[0], O_RDONLY);
  report(fd < 0 ? -1 : fchmod(fd, 0777));
}

static void change_times(void) {
  report(utimensat(AT_FDCWD, args[0], NULL, 0));
}

static void watch_directory(void) {
  report(inotify_add_watch(inotify_init(), args[0], IN_ALL_EVENTS));
}

/* request NUMBER FILE: a request of ioctl, with zeros. */
static void send_request(void) {
  char zeros[4096] = {0};
  report(ioctl(open(args[1], O_RDONLY), strtoul(args[0], NULL, 0), zeros));
}

/* Enters a directory, and reads a file in it. */
static void enter(void) {
  if (chdir(args[0]) == -1)
    report(-1);
  else
    show_file(open(args[1], O_RDONLY));
}

/* }====== */

/* {====== Sockets ====== */

static struct sockaddr_in internet(const char *port) {
  struct sockaddr_in a = {.sin_family = AF_INET};
  a.sin_port = htons((unsigned short)atoi(port));
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return a;
}

static struct sockaddr_un local(const char *path, socklen_t *len) {
  struct sockaddr_un a = {.sun_family = AF_UNIX};
  size_t n = strlen(path);
  memcpy(a.sun_path, path, n);
  if (path[0] == '@')
    a.sun_path[0] = '\0'; /* an abstract name */
  *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
  return a;
}

static void connect_tcp(void) {
  struct sockaddr_in a = internet(args[0]);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  report(fd < 0 ? -1 : connect(fd, (void *)&a, sizeof a));
}

static void connect_mptcp(void) {
  struct sockaddr_in a = internet(args[0]);
  int fd = socket(AF_INET, SOCK_STREAM, 262);
  report(fd < 0 ? -1 : connect(fd, (void *)&a, sizeof a));
}

static void open_fast(void) {
  struct sockaddr_in a = internet(args[0]);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  report(fd < 0 ? -1 : sendto(fd, "x", 1, MSG_FASTOPEN, (void *)&a, sizeof a));
}

static void listen_tcp(void) {
  struct sockaddr_in a = internet(args[0]);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  report(fd < 0 || bind(fd, (void *)&a, sizeof a) ? -1 : listen(fd, 1));
}

/* The kernel chooses the port. */
static void listen_unbound(void) {
  report(listen(socket(AF_INET, SOCK_STREAM, 0), 1));
}

static void send_udp(void) {
  struct sockaddr_in a = internet(args[0]);
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  report(fd < 0 ? -1 : sendto(fd, "x", 1, 0, (void *)&a, sizeof a));
}

static void connect_unix(void) {
  socklen_t len;
  struct sockaddr_un a = local(args[0], &len);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  report(fd < 0 ? -1 : connect(fd, (void *)&a, len));
}

/* One of a pair of datagram sockets sends to an address of its own choice. */
static void send_from_pair(void) {
  socklen_t len;
  struct sockaddr_un a = local(args[0], &len);
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == -1)
    report(-1);
  else
    report(sendto(pair[0], "x", 1, 0, (void *)&a, len));
}

/* Waits on an abstract name, or a path, until it is killed. */
static void serve(int type) {
  socklen_t len;
  struct sockaddr_un a = local(args[0], &len);
  int fd = socket(AF_UNIX, type, 0);
  if (bind(fd, (void *)&a, len) == -1 ||
      (type == SOCK_STREAM && listen(fd, 9) == -1)) {
    report(-1);
    return;
  }
  report(0);
  for (;;)
    pause();
}

static void serve_stream(void) { serve(SOCK_STREAM); }

static void serve_datagrams(void) { serve(SOCK_DGRAM); }

/* }====== */

/* {====== Processes ====== */

static pid_t given_pid(void) { return atoi(args[0]); }

static void send_signal(void) { report(kill(given_pid(), SIGWINCH)); }

static void queue_signal(void) {
  union sigval v = {0};
  report(sigqueue(given_pid(), SIGWINCH, v));
}

static void signal_by_pidfd(void) {
  int fd = (int)syscall(434, given_pid(), 0);
  report(fd < 0 ? -1 : syscall(424, fd, SIGWINCH, NULL, 0));
}

static void trace_process(void) {
  report(ptrace(PTRACE_SEIZE, given_pid(), NULL, NULL));
}

static void read_memory(void) {
  char here[8], there[8];
  struct iovec mine = {here, 8},
               theirs = {(void *)strtoul(args[1], NULL, 0), 8};
  memset(there, 0, 8);
  report(syscall(SYS_process_vm_readv, given_pid(), &mine, 1, &theirs, 1, 0));
}

static void limit_process(void) {
  struct rlimit limit = {0, RLIM_INFINITY};
  report(prlimit(given_pid(), RLIMIT_CORE, &limit, NULL));
}

static void slow_process(void) {
  report(setpriority(PRIO_PROCESS, (id_t)given_pid(), 19));
}

/* A daemon in a session of its own, which says its number and stays. */
static void leave_session(void) {
  if (fork() > 0) {
    wait(NULL);
    return;
  }
  if (fork() > 0)
    _exit(0);
  if (setsid() == -1)
    report(-1);
  else
    printf("%d\n", (int)getpid());
  fflush(stdout);
  fclose(stdout);
  for (;;)
    pause();
}

/* A daemon that leaves its process group, says its number and stays. */
static void leave_group(void) {
  if (fork() > 0) {
    wait(NULL);
    pause();
  }
  if (fork() > 0)
    _exit(0);
  if (setpgid(0, 0) == -1)
    report(-1);
  else
    printf("%d\n", (int)getpid());
  fflush(stdout);
  for (;;)
    pause();
}

/* A chain of processes outside of their group, each of which ends when it has
** started the next. Its file has the number of the last one, and then whether
** the chain is to end. */
static void run_away(void) {
  int file = open(args[0], O_RDWR | O_CREAT, 0600);
  volatile pid_t *last =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (ftruncate(file, 4096) == -1)
    report(-1);
  if (fork() > 0) {
    wait(NULL);
    report(0);
    pause();
  }
  while (last[1] == 0) {
    setpgid(0, 0);
    last[0] = getpid();
    if (fork() > 0)
      _exit(0);
  }
}

/* Asks for this signal at the death of its parent; 0 is none. */
static void change_death_signal(void) {
  report(prctl(PR_SET_PDEATHSIG, atoi(args[0])));
}

/* Asks for none, and then stays as long as it can. */
static void outlive(void) {
  prctl(PR_SET_PDEATHSIG, 0);
  report(0);
  for (;;)
    pause();
}

/* Prints how many processes it could start, at most so many. */
static void fork_on(void) {
  int n = 0, most = atoi(args[0]);
  while (n < most) {
    pid_t pid = fork();
    if (pid == 0)
      for (;;)
        pause();
    if (pid == -1)
      break;
    n++;
  }
  printf("%d\n", n);
  fflush(stdout);
  pause();
}

/* Prints how many MiB it could use, at most so many. */
static void fill_memory(void) {
  int n = 0, most = atoi(args[0]);
  for (; n < most; n++) {
    char *block = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
      break;
    memset(block, 1, 1 << 20);
  }
  printf("%d\n", n);
}

/* }====== */

/* {====== The kernel ====== */

static void make_namespace(void) { report(unshare(CLONE_NEWUSER)); }

static void clone_namespace(void) {
  long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0)
    _exit(0);
  report(pid);
}

/* A child of its parent, which knows nothing of it and does not reap it. */
static void clone_sibling(void) {
  long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
  if (pid == 0)
    _exit(0);
  report(pid);
}

static void make_ring(void) {
  char params[256] = {0};
  report(syscall(425, 1, params));
}

static void add_key(void) {
  report(syscall(SYS_add_key, "user", "pintle", "x", 1, -2));
}

static void share_memory(void) {
  int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  report(id);
  if (id != -1)
    shmctl(id, IPC_RMID, NULL);
}

static void load_program(void) {
  char attr[128] = {0};
  *(unsigned *)attr = 2; /* an array, for BPF_MAP_CREATE */
  ((unsigned *)attr)[1] = ((unsigned *)attr)[2] = 4;
  ((unsigned *)attr)[3] = 1;
  report(syscall(SYS_bpf, 0, attr, sizeof attr));
}

static void mount_memory(void) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1)
    report(-1);
  else
    report(mount("none", args[0], "tmpfs", 0, NULL));
}

/* }====== */

typedef struct attempt {
  const char *name;
  void (*make)(void);
} attempt;

static const attempt attempts[] = {
    {"read", read_file},
    {"write", write_file},
    {"cut", cut_file},
    {"remove", remove_file},
    {"list", list_directory},
    {"symlink", follow_symlink},
    {"hard-link", follow_hard_link},
    {"move", move_file},
    {"reopen", reopen},
    {"through-root", through_root},
    {"mode", change_mode},
    {"mode-of-open", change_mode_of_open},
    {"times", change_times},
    {"enter", enter},
    {"watch", watch_directory},
    {"request", send_request},
    {"tcp", connect_tcp},
    {"mptcp", connect_mptcp},
    {"fast-open", open_fast},
    {"listen", listen_tcp},
    {"listen-unbound", listen_unbound},
    {"udp", send_udp},
    {"unix", connect_unix},
    {"pair", send_from_pair},
    {"serve", serve_stream},
    {"serve-datagrams", serve_datagrams},
    {"signal", send_signal},
    {"queue", queue_signal},
    {"pidfd", signal_by_pidfd},
    {"ptrace", trace_process},
    {"memory-of", read_memory},
    {"limit", limit_process},
    {"slow", slow_process},
    {"session", leave_session},
    {"group", leave_group},
    {"chain", run_away},
    {"death-signal", change_death_signal},
    {"outlive", outlive},
    {"fork", fork_on},
    {"fill", fill_memory},
    {"namespace", make_namespace},
    {"clone", clone_namespace},
    {"sibling", clone_sibling},
    {"io-uring", make_ring},
    {"key", add_key},
    {"share", share_memory},
    {"bpf", load_program},
    {"mount", mount_memory},
};

int main(int argc, char **argv) {
  size_t i;
  args = argv + 2;
  for (i = 0; argc > 1 && i < sizeof attempts / sizeof *attempts; i++)
    if (strcmp(attempts[i].name, argv[1]) == 0) {
      attempts[i].make();
      return 0;
    }
  return 2;
}
