/* SPDX-License-Identifier: MIT
 *
 * A request as every wire delivers it: which command, with which arguments. Argument bytes are
 * borrowed from the receive buffer (or from a blob) until the command has run.
 */
#ifndef LARDER_COMMAND_REQUEST_H
#define LARDER_COMMAND_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct blob;
struct command;
struct item_terms;

struct request {
    const struct command *command; /* NULL: unknown; argv[0] is its name as given */
    uint32_t argc;                 /* at least 1: the name counts */
    struct bytes *argv;
    /* NULL, or one per argument: the blob an argument was received into, or NULL. A handler that
     * keeps a blob sets the element to NULL; the owner of the request releases the rest. */
    struct blob **blobs;
    /* How a COMMAND_ITEM row is to be carried out; NULL: argv[0] names a command for everybody. */
    struct item_terms *terms;
    bool admitted; /* it brought a credential of its own, which holds for it alone */
    bool last;     /* the connection is to be closed once this is answered */
    uint64_t hash; /* of the first key; valid when command->key_first != 0 and arity is right */
};

/* A request that outlives the bytes it came in: one block with its arrays and arguments. */
struct request_copy {
    struct request_copy *next; /* the owner's */
    size_t size;               /* of the block and of its blobs */
    struct request request;
};
/* What request_copy will hold. */
size_t request_copy_size(const struct request *request);
/* Takes over the request's blobs. NULL: memory is out and nothing has changed. */
struct request_copy *request_copy(struct request *request);
void request_copy_free(struct request_copy *copy);

/* Releases what is left in `blobs` (NULL: nothing) and clears it. */
void request_release_blobs(struct blob **blobs, uint32_t argc);

#endif
