/*
** A child that was started: its end, and signals for it. Only ever this child
** is waited for, so the program's other children and its SIGCHLD handler are
** left in peace.
*/
#ifndef PT_PROCESS_H
#define PT_PROCESS_H

#include <sys/types.h>

#pragma GCC visibility push(hidden)

/* A descriptor that becomes readable when the process ends, whosever child it
** is: a pidfd, or a kqueue with nothing else in it. -1 with errno set, which is
** ENOSYS where the system has neither. */
int pt_process_watch(pid_t pid);

/* Waits until `deadline`, as the clock has it, and reaps. 1 with the status as
** waitpid gives it; 0 if the child still runs at that time or when a signal
** came; -1 if it is not ours to wait for, since somebody else has reaped it.
** Without a `watch` it looks again every 1 to 16 ms. */
int pt_process_wait(pid_t pid, int watch, double deadline, int *status);

/* Sends a signal to a child that was not reaped yet, or to the group it leads;
** 0, or an error number. ECHILD: somebody else has reaped it, or the caller is
** a fork of the one whose child it is, and nobody was sent anything. */
int pt_process_kill(pid_t pid, int watch, int sig, int group);

/* "KILL" and the like, without SIG, both ways; 0 or NULL if there is none. */
int pt_signal_number(const char *name);
const char *pt_signal_name(int sig);

#pragma GCC visibility pop

#endif
