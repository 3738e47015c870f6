/* SPDX-License-Identifier: MIT
 *
 * A protocol: how a request is spelled and a reply rendered. One row in wires.def, one file that
 * exports one table. A wire never sees a socket.
 */
#ifndef LARDER_WIRE_WIRE_H
#define LARDER_WIRE_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/item.h"
#include "command/reply.h"
#include "command/request.h"

enum parse { PARSE_DONE, PARSE_MORE, PARSE_BAD };
enum detect { DETECT_YES, DETECT_MORE, DETECT_NO };

struct wire_limits;

/* What wires ask whose every request brings its own credential and may come from a web page.
 * Thread-safe. */
struct wire_gate {
    void *owner;
    const _Atomic bool *guarded; /* a password is set */
    /* Empty ones were not given. */
    bool (*admits)(void *owner, struct bytes user, struct bytes password);
    bool (*host_allowed)(void *owner, struct bytes name);     /* by configuration */
    bool (*origin_allowed)(void *owner, struct bytes origin); /* "*": all of them? */
    const struct wire_limits *limits;                         /* of requests it admits */
};

struct wire_limits {
    uint32_t arguments_max;       /* per request; at least 9 */
    size_t argument_size_max;     /* bytes; at least 99 */
    size_t inline_size_max;       /* a request on one line, and any line inside a request */
    size_t query_size_max;        /* bytes an unfinished request may hold, without its blobs */
    bool unauthenticated;         /* these are limits for strangers; complaints say so */
    const struct wire_gate *gate; /* NULL: it admits nobody and allows nothing */
};

/* 1,048,576 arguments of 512 MB, lines of 64 KB, queries of 1 GB. */
extern const struct wire_limits wire_limits_default;
/* Before authentication: 10 arguments of 16 KB. */
extern const struct wire_limits wire_limits_unauthenticated;

/* The complaints about a request above query_size_max, and one that does not come in time. */
extern const char wire_too_big[], wire_too_slow[];

/* An argument larger than this that has not arrived whole is announced by blob_need. */
enum { PARSER_BLOB_SIZE_MIN = 64 * 1024 };

/* What is known of the request that is being read. One parser per worker serves all requests that
 * arrive whole. After PARSE_MORE the connection keeps the unread bytes, and the worker's parser
 * must be emptied before it serves anybody else, in one of two ways:
 *   parser_move   into a parser of the connection's own, with which it goes on where it stopped;
 *   parser_reset  forgets the progress: the request is read again from its start once more has
 *                 come. Cheaper than moving as long as only a few hundred bytes are there; not
 *                 where blob_need is not 0, nor where `judged` is set, unless the requests before
 *                 it have to be read again as well.
 * Arguments are kept as offsets, so the unread bytes may move between calls.
 *
 * Big arguments. When blob_need is not 0 the owner may just go on collecting bytes, or receive that
 * argument into memory of its own:
 *   1. parser_blob_begin copies aside the arguments before it;
 *   2. the owner consumes exactly blob_offset bytes, the request's bytes up to the argument;
 *   3. the next blob_need bytes, of which some may be there already, go where the owner wants them;
 *   4. parser_blob_received takes the blob over;
 *   5. what follows the argument's last byte is given to `parse` as if the request began there, at
 *      once even if nothing has come: the request may be complete.
 * An owner throws a blob_unwanted argument away as it comes. Later arguments of the same request
 * may be announced in the same way. */
struct parser {
    const struct wire_limits *limits; /* may be changed between calls */
    /* --- results of PARSE_DONE: argv, argc and blobs (command and hash are left alone), valid
     * until the next call. Blobs that nobody took are released by it (or by parser_reset). */
    struct request request;
    struct item_terms terms; /* for request.terms to point to, which every parse sets or clears */
    bool rewritten;          /* the request's bytes were changed; they must not be parsed again */
    /* --- results of PARSE_MORE */
    size_t need;        /* no use to call with fewer bytes than this, as announced; 0: unknown */
    size_t blob_need;   /* size of a big argument that has begun, or 0 */
    size_t blob_offset; /* where its bytes begin */
    bool blob_unwanted; /* it only has to pass by */
    bool judged;        /* something was decided that must hold: not to be forgotten */
    struct bytes
        interim; /* static bytes to send now, once, before the rest will come; usually none */
    /* --- result of PARSE_BAD */
    const char *error; /* for the wire's protocol_error; static or inside this parser */
    /* --- private */
    struct bytes *argv;  /* of an unfinished request: `data` is an offset (see wire.c) */
    struct blob **blobs; /* NULL, or argv_room elements */
    char *kept;          /* arguments copied aside by parser_blob_begin */
    size_t kept_size, kept_room;
    size_t offset;  /* parsed up to here */
    size_t scanned; /* no line end before here */
    uint32_t argv_room;
    uint32_t argc_total; /* announced; 0: not yet */
    uint32_t argc_done;  /* arrived */
    uint32_t argc_kept;  /* arguments before this one lie in `kept` or in blobs */
    uint32_t state;      /* enum parser_state */
    char error_text[40];
};

struct wire {
    const char *name;
    bool hurries; /* a client may not take as long as it likes to send a request */
    /* From the first `size` bytes of a connection. */
    enum detect (*detect)(const char *data, size_t size);
    /* One request from the start of `data`, which is never NULL. DONE: `*consumed` bytes made it;
     * argc 0 means nothing to run (an empty line). MORE: call again with the same start and more
     * bytes; nothing is consumed. BAD: reply with protocol_error, then close. `data` may be changed
     * in place, except by MORE. */
    enum parse (*parse)(struct parser *parser, char *data, size_t size, size_t *consumed);
    /* The bytes that are the first request's key if it is the usual kind of command: a cheap guess,
     * good for fetching memory ahead and nothing else. False: none. */
    bool (*guess_key)(const char *data, size_t size, struct bytes *out);
    /* Renders parse's complaint. */
    void (*protocol_error)(struct reply *reply, const char *error);
    const struct reply_ops *reply_ops;
};

enum status parser_init(struct parser *parser, const struct wire_limits *limits) MUST_USE;
/* Releases blobs too. */
void parser_deinit(struct parser *parser);
/* Forgets the request, its blobs released; keeps memory of ordinary size. */
void parser_reset(struct parser *parser);
/* The last parse answered MORE for a request of which at least a byte is there. */
bool parser_unfinished(const struct parser *parser);
/* Moves an unfinished request, and the last results, to `to`, which must have none; `from` is then
 * empty and keeps its limits. Cannot fail. */
void parser_move(struct parser *from, struct parser *to);
/* Directly after a MORE with blob_need; `data` as it was given to parse. On NO_MEMORY nothing has
 * changed. */
enum status parser_blob_begin(struct parser *parser, const char *data) MUST_USE;
/* After parser_blob_begin: the request's first argument; empty when that is the big one. */
struct bytes parser_first_argument(const struct parser *parser);
/* After parser_blob_begin: the announced argument is complete: `content` (blob_need bytes), which
 * lies in `blob`. The parser takes the caller's hold over. An owner that had to throw the bytes
 * away gives NULL and nothing; the request, once read, has an empty argument there. */
void parser_blob_received(struct parser *parser, struct blob *blob, struct bytes content);

/* Decides from a connection's first bytes. MORE: `*out` untouched. There is always a wire. */
enum detect wire_detect(const char *data, size_t size, const struct wire **out);

/* Where that says MORE: the first wire that it may be. */
const struct wire *wire_likely(const char *data, size_t size);

#define WIRE(name) extern const struct wire wire_##name;
#include "wire/wires.def"
#undef WIRE

/* ---- for wires' parse functions */

enum parser_state {
    PARSER_EMPTY, /* no blobs, argv of ordinary size, no results but the request's: nothing to
                     clean up */
    PARSER_DONE,  /* the last request left something for parser_reset to clean up */
    PARSER_UNFINISHED
};

/* Makes room for more arguments as they arrive, by doubling but not beyond `total`. */
bool parser_grow(struct parser *parser, uint32_t total);
/* Notes that arguments [first, done) of an unfinished request were found by this call, as pointers,
 * and that `offset` bytes of it are parsed. */
void parser_save(struct parser *parser, const char *data, size_t offset, uint32_t first,
                 uint32_t done, uint32_t total);
/* Turns the arguments [0, first) that earlier calls saved into pointers. */
void parser_restore(struct parser *parser, const char *data, uint32_t first);

#endif
