/* SPDX-License-Identifier: MIT
 *
 * A reply as the public `struct larder_reply`: what embedding programs get where clients get bytes.
 * A finished tree belongs to whoever asked, on any thread. One thread at a time per tree.
 */
#ifndef LARDER_COMMAND_REPLY_TREE_H
#define LARDER_COMMAND_REPLY_TREE_H

#include "larder.h"

#include "base/sink.h"
#include "base/status.h"
#include "command/reply.h"

struct reply_chunk;
struct reply_level;

struct reply_tree {
    struct reply reply; /* to emit into; first: the operations know the tree by it */
    /* --- private */
    struct sink sink; /* takes no bytes; its `failed` says that memory ran out */
    struct reply_chunk *first, *last;
    struct larder_reply *root; /* NULL until something was emitted */
    struct reply_level *open;
};

void reply_tree_init(struct reply_tree *tree);
/* After exactly one reply. NO_MEMORY: nothing is left to free. */
enum status reply_tree_finish(struct reply_tree *tree, struct larder_reply **out) MUST_USE;
/* NULL is ignored. */
void reply_tree_free(struct larder_reply *root);

#endif
