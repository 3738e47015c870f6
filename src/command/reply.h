/* SPDX-License-Identifier: MIT
 *
 * What commands answer: meanings, never bytes of a protocol. Each wire has one table of operations
 * that renders them into the reply's sink.
 *
 * A handler emits exactly one reply (lists and maps count with their elements). A failed sink
 * swallows everything after; handlers need not look.
 */
#ifndef LARDER_COMMAND_REPLY_H
#define LARDER_COMMAND_REPLY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/sink.h"
#include "base/status.h"
#include "engine/keyspace.h"

struct command;
struct error_counts;
struct item;
struct reply;
struct request;

struct reply_ops {
    void (*ok)(struct reply *reply);                           /* done, nothing to tell */
    void (*stored)(struct reply *reply);                       /* a write took effect */
    void (*not_stored)(struct reply *reply);                   /* its condition did not hold */
    void (*missing)(struct reply *reply);                      /* no such key or element */
    void (*missing_list)(struct reply *reply);                 /* no list at all (aborted EXEC) */
    void (*value)(struct reply *reply, const struct value *v); /* a stored value in place */
    void (*bytes)(struct reply *reply, struct bytes bytes);    /* other binary-safe bytes */
    void (*word)(struct reply *reply, const char *text);  /* a short fixed word: PONG, QUEUED */
    void (*text)(struct reply *reply, struct bytes text); /* text meant for people (INFO) */
    void (*integer)(struct reply *reply, int64_t integer);
    void (*number)(struct reply *reply, double number);
    void (*boolean)(struct reply *reply, bool boolean);
    void (*list)(struct reply *reply, uint64_t count); /* `count` replies follow */
    void (*set)(struct reply *reply, uint64_t count);  /* likewise, order means nothing */
    void (*map)(struct reply *reply, uint64_t count);  /* `count` pairs follow */
    /* See command/item.h. NULL in tables of those that never send terms. */
    void (*item)(struct reply *reply, const struct item *item);
    /* `code` as in statuses.def; `text` without line breaks. Sets `errored`. Called by reply_error
     * only. */
    void (*error)(struct reply *reply, const char *code, struct bytes text);
};

struct reply {
    const struct reply_ops *ops;
    struct sink *sink;
    uint32_t version; /* of the protocol, where it has several (RESP: 2 or 3) */
    bool errored;     /* an error was emitted since the flag was last cleared */
    /* --- for wires whose answers depend on what was asked */
    const struct request *request; /* the one that is being answered; NULL: none */
    uint64_t index, left; /* in the list that is being emitted: next element, how many to come */
    struct error_counts *errors; /* where errors are counted, or NULL */
};

/* Emits an error, whichever way it came about; the two below do so too. */
void reply_error(struct reply *reply, const char *code, struct bytes text);

void reply_status(struct reply *reply, enum status status); /* OK or the row's error */
/* What "%.*s" takes, for at most `size_max` of the bytes. */
#define SHOWN(bytes, size_max)                                                                     \
    (int)((bytes).size < (size_max) ? (bytes).size : (size_max)),                                  \
        (bytes).data != NULL ? (bytes).data : ""
/* Formats like printf, truncated to 512 bytes; line breaks become spaces. */
void reply_errorf(struct reply *reply, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "wrong number of arguments for 'get' command"; a subcommand is shown as parent|name. */
void reply_wrong_arity(struct reply *reply, const struct command *command);

/* What a HELP subcommand answers; `lines` ends with NULL. */
void reply_help(struct reply *reply, const char *parent, const char *const *lines);

#endif
