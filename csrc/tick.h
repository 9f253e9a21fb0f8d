/*
** A tick: something that is called every so often in the midst of whatever the
** thread is doing, out of a signal handler. It beats only while it is wanted,
** so an idle process is not woken.
**
** Signals belong to the whole process, and so the signal that is taken and the
** ticks that listen to it are the only memory here that is no caller's. Linux
** has a timer for every tick, which interrupts the very thread that started it.
** Elsewhere there is one tick a process; it has SIGALRM, and reaches the thread
** that the system delivers that to, which is the first one as a rule.
*/
#ifndef PT_TICK_H
#define PT_TICK_H

#pragma GCC visibility push(hidden)

typedef struct pt_tick pt_tick;

/* Called in the signal handler, so it may only do what is safe there. 0 to rest
** until the next start. */
typedef int pt_tick_beat(void *subject);

/* Takes a signal that the program has left alone. NULL where there is none to
** be had, or too many ticks already. It rests until it is started. */
pt_tick *pt_tick_open(pt_tick_beat *beat, void *subject);

/* Beats every `seconds` from now on, in the calling thread; 0, or an error
** number. A fork has none until it starts it again. */
int pt_tick_start(pt_tick *t, double seconds);

/* Whether it was last started by the calling thread, and that not before a
** fork. */
int pt_tick_is_here(const pt_tick *t);

/* Closed by the thread that started it last; no beat comes any more, and with
** the last tick the signal is as it was found. */
void pt_tick_close(pt_tick *t);

#pragma GCC visibility pop

#endif
