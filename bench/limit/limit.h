/*
** What the limit programs share: a child on two pipes, whole reads and writes,
** the clock, and frames. Errors end the program: these only measure.
*/
#ifndef LIMIT_H
#define LIMIT_H

#include <stddef.h>
#include <sys/types.h>

/* The params of every small message, echoed as its result. */
#define PARAMS "{\"n\":123,\"s\":\"hello world\",\"list\":[1,2,3]}"

/* Room for one small message with its header. */
#define SMALL 256

typedef struct child {
  pid_t pid;
  int in;  /* we write what it reads */
  int out; /* we read what it writes */
} child;

child start(char **argv);
void stop(child c);

double now(void);
_Noreturn void die(const char *what);

void write_all(int fd, const char *bytes, size_t n);
void read_all(int fd, char *bytes, size_t n);

/* What is there, at least a byte; 0 at the end of input. */
size_t read_some(int fd, char *bytes, size_t room);

/* Writes the header and the body of a message and returns its length. */
size_t put_request(char *to, unsigned long id);
size_t put_response(char *to, const char *id, size_t id_len, const char *result,
                    size_t result_len);

/* Whether a whole frame begins at `bytes`; then where its body is. */
int get_frame(const char *bytes, size_t n, size_t *header, size_t *body);

#endif
