/*
** Plays an older or a restricted system: without LIST PROGRAM ARGUMENTS… runs
** the program, for which the system calls with the numbers in LIST, separated
** by commas, do not exist.
*/
#define _GNU_SOURCE

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define UNKNOWN_CALL (SECCOMP_RET_ERRNO | 38)

int main(int argc, char **argv) {
  struct sock_filter ops[64];
  struct sock_fprog program = {0, ops};
  char *list = argc > 2 ? argv[1] : NULL;
  unsigned short n = 0;
  ops[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                          offsetof(struct seccomp_data, nr));
  while (list != NULL && *list != '\0' && n < 60) {
    unsigned number = (unsigned)strtoul(list, &list, 10);
    ops[n++] =
        (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    ops[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UNKNOWN_CALL);
    list += *list == ',';
  }
  ops[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  program.len = n;
  if (list == NULL || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == -1)
    return 1;
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 127;
}
