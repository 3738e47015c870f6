/* SPDX-License-Identifier: MIT
 *
 * A client of a server under test, over a real unix socket. It knows what it has asked and what the
 * answers must look like, and hears them in that order: anything else fails the test, and so does
 * an answer that does not come. Its memory is straight from the C library: planned faults do not
 * reach it.
 *
 * What is expected of a reply is how its bytes begin, as "+OK" or "*2\r\n$1\r\na"; behind a `~`,
 * what they contain.
 */
#ifndef TESTS_FAULT_PEER_H
#define TESTS_FAULT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEER_AWAITED_MAX = 16 };

struct peer {
    int fd; /* -1: not connected */
    char *output, *input;
    size_t output_size, output_room;
    size_t input_size, input_room;
    const char *awaited[PEER_AWAITED_MAX]; /* what is expected of the replies to come */
    uint32_t awaited_count;
    bool refused; /* a request was answered that memory is out */
};

enum heard {
    HEARD_EXPECTED,
    HEARD_NO_MEMORY, /* an error that says so, or that of an EXEC whose transaction met one */
    HEARD_END,       /* the server has closed the connection */
};

/* What the test is at; failures begin with it. */
enum { PEER_MOMENT_SIZE = 80 };
extern char peer_moment[PEER_MOMENT_SIZE];

void peer_open(struct peer *peer, const char *path);
/* Does nothing where it is not connected. */
void peer_close(struct peer *peer);
/* Adds a line of a script to what is sent next; see script.h. */
void peer_tell(struct peer *peer, const char *expected, const char *line);
/* One more reply is expected, which nothing more is sent for. */
void peer_await(struct peer *peer, const char *expected);
void peer_send(struct peer *peer);
/* Sends what is told and takes the next reply. At the end of the connection nothing is awaited any
 * more. `out_text` (may be NULL) gets an expected reply, NUL-terminated, to be freed. */
enum heard peer_hear(struct peer *peer, char **out_text);
/* True once the server has closed the connection; a reply fails the test. */
void peer_hear_end(struct peer *peer);

#endif
