/* SPDX-License-Identifier: MIT
 *
 * A request as every wire delivers it: which command, with which arguments. Argument bytes are
 * borrowed from the receive buffer (or from a blob) until the command has run.
 */
#ifndef LARDER_COMMAND_REQUEST_H
#define LARDER_COMMAND_REQUEST_H

#include <stdint.h>

#include "base/bytes.h"

struct blob;
struct command;

struct request {
    const struct command *command; /* NULL: unknown; argv[0] is its name as given */
    uint32_t argc;                 /* at least 1: the name counts */
    struct bytes *argv;
    /* NULL, or one per argument: the blob an argument was received into, or NULL. A handler that
     * keeps a blob sets the element to NULL; the owner of the request releases the rest. */
    struct blob **blobs;
    uint64_t hash; /* of the first key; valid when command->key_first != 0 and arity is right */
};

/* Releases what is left in `blobs` (NULL: nothing) and clears it. */
void request_release_blobs(struct blob **blobs, uint32_t argc);

#endif
