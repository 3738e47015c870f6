/* SPDX-License-Identifier: MIT
 *
 * A session's receiving side without a socket: bytes in, in any pieces, requests out. It uses
 * parsers as workers and connections do: a shared one for requests that arrive whole, one of its
 * own for what is unfinished, blobs for big arguments. Where a session has a choice the dice
 * decide, so that tests see all of them. Input lies in blocks of exactly its size, which move with
 * every call.
 *
 * A contract that a parser breaks ends the process.
 */
#ifndef LARDER_TESTS_WIRE_FEED_H
#define LARDER_TESTS_WIRE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "wire/wire.h"

struct engine;

struct feed {
    const struct wire *wire;          /* NULL: the first bytes tell */
    const struct wire_limits *limits; /* may change between requests */
    struct engine *engine;            /* for blobs; NULL: big arguments are collected in place */
    struct parser *worker;            /* shared by many feeds, one at a time */
    void (*request)(struct feed *feed, struct request *request); /* argc is at least 1 */
    void (*complaint)(struct feed *feed, const char *error);
    void (*interim)(struct feed *feed, struct bytes bytes); /* NULL: nobody listens */
    void *owner;
    uint64_t dice;
    /* --- private */
    struct parser own;
    bool own_used;
    char *input;
    size_t input_size;
    struct blob *blob; /* being received */
    bool discarding;   /* what arrives is thrown away instead */
    size_t blob_size, blob_received;
    bool closed; /* after a complaint: everything is ignored */
};

/* The caller sets the public fields first. False: out of memory. */
bool feed_init(struct feed *feed);
void feed_deinit(struct feed *feed);
/* False: out of memory; the feed is closed. */
bool feed_bytes(struct feed *feed, const char *data, size_t size);
/* A request has begun and is not complete. */
bool feed_unfinished(const struct feed *feed);

/* Writes a request as text that shows every byte, for comparing. */
void feed_describe(struct sink *sink, uint32_t argc, const struct bytes *argv);

uint64_t dice_roll(uint64_t *dice, uint64_t sides);

#endif
