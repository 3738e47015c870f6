/* SPDX-License-Identifier: MIT
 *
 * The addresses of `bind`: reading them, whether a server can listen on them, and whether others
 * than this machine reach them. No state.
 */
#ifndef LARDER_SERVER_ADDRESSES_H
#define LARDER_SERVER_ADDRESSES_H

#include "server/options.h"

enum { ADDRESS_SIZE = 128, ADDRESSES_MAX = 32 };

struct address {
    char text[ADDRESS_SIZE];
    bool optional; /* written with '-' before it: this machine may lack it */
};

/* Takes the next address off the words in `*rest`. */
bool address_next(struct bytes *rest, struct address *out);
/* Whether this machine has it; `message` (size bytes) says what is wrong with one that it lacks or
 * that is none. */
bool address_exists(const struct address *address, uint16_t port, char *message,
                    size_t message_size);
/* Whether a server with these options must not be without a password, since others reach it at
 * `*out` and protected-mode is on. */
bool addresses_need_password(const struct options *options, struct address *out);
/* Whether a server with these options may and can listen, except that somebody else may have the
 * port. False: `message` (OPTION_MESSAGE_SIZE) says why not. */
bool addresses_check(struct options *options, char *message);

#endif
