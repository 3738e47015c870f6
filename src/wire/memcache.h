/* SPDX-License-Identifier: MIT
 *
 * What the files of memcached's text protocol share: a request's line while it is read, and how the
 * request is to be answered, which stands in terms.form.
 *
 *   memcache.c             detection, lines, the classic commands
 *   memcache_meta.c        the meta commands: mg ms md ma me mn
 *   memcache_reply.c       answers to the classic commands, and errors
 *   memcache_meta_reply.c  answers to the meta commands
 */
#ifndef LARDER_WIRE_MEMCACHE_H
#define LARDER_WIRE_MEMCACHE_H

#include "wire/wire.h"

enum { MEMCACHE_KEY_SIZE_MAX = 250 };

/* terms.form[0]: what is answered. Requests without terms are plain reads and plain stores. */
enum memcache_answer {
    MEMCACHE_STORE, /* STORED, NOT_STORED, EXISTS, NOT_FOUND */
    MEMCACHE_READ,  /* VALUE ... END */
    MEMCACHE_TOUCH, /* TOUCHED, NOT_FOUND */
    MEMCACHE_COUNT, /* the number, NOT_FOUND */
    MEMCACHE_DELETE,
    MEMCACHE_META_READ, /* EN, HD, VA */
    MEMCACHE_META_STORE,
    MEMCACHE_META_DELETE,
    MEMCACHE_META_COUNT,
    MEMCACHE_META_DEBUG,
    MEMCACHE_BARRIER, /* MN */
    MEMCACHE_WORD,    /* OK, or what the command says */
    MEMCACHE_STATS,   /* STAT ... END */
    MEMCACHE_RELEASE, /* VERSION and what the command says */
    MEMCACHE_AUTH,
    MEMCACHE_ERROR /* the request's own text */
};

/* terms.form[1]. */
enum memcache_form {
    MEMCACHE_NOREPLY = 1 << 0, /* nothing is answered, not even errors */
    MEMCACHE_VERSIONS = 1 << 1,
    /* --- of the meta commands */
    MEMCACHE_QUIET = 1 << 2, /* the nominal answer is left out */
    MEMCACHE_BASE64 = 1 << 3,
    MEMCACHE_VALUE = 1 << 4
};

/* A line that has arrived whole, while it is read. */
struct memcache_line {
    struct parser *parser;
    char *data; /* all that has arrived, from the line's start */
    size_t size;
    const char *at, *end; /* what is unread of the line, without its end */
    size_t after;         /* where the line's end ends */
    size_t *consumed;
};

extern const char memcache_bad_format[];

/* The next word of the line. False: there is none. */
bool memcache_word(struct memcache_line *line, struct bytes *out);
/* Neither empty nor too long, and without control characters and blanks. */
bool memcache_key_ok(struct bytes key);
/* Decimal digits and nothing else; leading zeros do no harm. */
bool memcache_u64(struct bytes word, uint64_t *out);
bool memcache_u32(struct bytes word, uint32_t *out);
/* A time as the protocol spells it. False: it is no number, or needs more than 32 bits. */
bool memcache_time(struct bytes word, struct item_time *out);

/* Empty terms for the request, to be filled in. */
struct item_terms *memcache_terms(struct parser *parser, enum memcache_answer answer);
/* The request is argv[0, argc), of which [0] is given here, and with `terms` what they say. */
enum parse memcache_deliver(struct memcache_line *line, const char *name, uint32_t argc,
                            bool terms);
/* The request is answered with `text` and nothing else is done. */
enum parse memcache_refuse(struct memcache_line *line, const char *text);
/* A store whose terms are filled in: reads the `size` bytes that follow the line. `error`, if not
 * NULL, is answered once they have passed. */
enum parse memcache_value(struct memcache_line *line, struct bytes key, struct bytes note,
                          size_t size, const char *error);

enum parse memcache_meta_get(struct memcache_line *line, uint8_t mode);
enum parse memcache_meta_set(struct memcache_line *line, uint8_t mode);
enum parse memcache_meta_delete(struct memcache_line *line, uint8_t mode);
enum parse memcache_meta_count(struct memcache_line *line, uint8_t mode);
enum parse memcache_meta_debug(struct memcache_line *line, uint8_t mode);
enum parse memcache_meta_noop(struct memcache_line *line, uint8_t mode);

/* ---- rendering */

extern const struct reply_ops memcache_reply_ops;

void memcache_write_meta(struct reply *reply, const struct item *item);

#endif
