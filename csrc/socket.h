/*
** Stream sockets with a name: Unix ones in the file system, TCP ones by host
** and port. All are non-blocking, closed on exec and numbered above 2, and TCP
** ones send at once what they are given.
*/
#ifndef PT_SOCKET_H
#define PT_SOCKET_H

#pragma GCC visibility push(hidden)

/* Whatever makes a socket returns it, or an error number negated. */

/* Begins to connect; `pending` tells whether it takes longer: then it is
** writable when that is over, and pt_socket_result knows how it went. */
int pt_socket_connect_unix(const char *path, int *pending);

/* The same for the first address of `host` that is not refused at once. A name
** is looked up, which may take as long as it takes; if it is not known,
** `reason` says why, and is NULL otherwise. */
int pt_socket_connect_tcp(const char *host, int port, int *pending,
                          const char **reason);

/* 0 once it is connected, EINPROGRESS before, or why it failed; that is told
** once. */
int pt_socket_result(int fd);

/* Listens. The socket's file has `mode`, or what the umask leaves if that is
** negative, and stays there when the socket is closed. One that nobody listens
** on any more is replaced; EADDRINUSE if somebody does, EEXIST if the file is
** no socket. */
int pt_socket_listen_unix(const char *path, int mode, int backlog);

/* Listens on the first address of `host` that can be had. Port 0 is any that is
** free. `reason` as above. */
int pt_socket_listen_tcp(const char *host, int port, int backlog,
                         const char **reason);

/* The next who has connected; EAGAIN, negated, if there is none. */
int pt_socket_accept(int listener);

/* Its own address. */
typedef struct pt_socket_name {
  int is_unix;
  char text[1025]; /* path, "" if it has none; or host, in digits */
  int port;
} pt_socket_name;

/* 0, or an error number: ENOTSOCK, EAFNOSUPPORT. */
int pt_socket_name_of(int fd, pt_socket_name *name);

#pragma GCC visibility pop

#endif
