/*
** core.sha256: the checksum of a file, SHA-256 as FIPS 180-4 defines it.
*/
#ifndef PT_LSHA256_H
#define PT_LSHA256_H

#pragma GCC visibility push(hidden)

#define PT_SHA256_SIZE 65 /* 64 lower-case digits and a zero byte */

/* Reads the file to its end. Returns 0 or an error number: EINVAL if it is not
** a regular file. */
int pt_sha256_file(int fd, char hex[PT_SHA256_SIZE]);

#pragma GCC visibility pop

#endif
