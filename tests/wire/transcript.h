/* SPDX-License-Identifier: MIT
 *
 * Transcripts: conversations with a server as data, one case per block. They are tests, and they
 * are the documentation of what each command answers.
 *
 *   === SET with PX expires the key          a case begins; this is its title
 *   # a comment
 *   > SET k "two words" PX 1500              words, sent as a RESP array of bulk strings
 *   < +OK                                    the reply; a line's end stands for CRLF
 *   >> GET k\r\n                             bytes, sent exactly so
 *   >| get k                                 a line of another protocol; CRLF is added
 *   < $9\r\ntwo words
 *   @ +1500ms                                time passes (ms, s, m, h, d)
 *   B> GET k                                 another connection; without a letter it is A
 *   B< $-1
 *
 * Escapes, everywhere: \r \n \t \0 \xHH \\ \" \< and
 *   \{x*1000}      1,000 times the byte x
 *   \{s+60}        the time 60 seconds after the case began, in Unix seconds; \{ms-1} likewise
 *   \{v8}          the eight bytes that <v8> found last; nothing is sent before these have come
 * Patterns, in replies:
 *   <int> a whole number      <any> bytes up to the line's end      <bulk> a whole bulk string
 *   <100~5>        the number 100; where time is real, up to 5 less
 *   <v8>           eight bytes that are not all zero: a version
 * Other lines of replies:
 *   << bytes       without CRLF at their end
 *   <~ lines       these lines in any order (KEYS)
 * Directives:
 *   A! protocol 3         the connection speaks RESP3 from here on
 *   A! stranger           before anything is sent: the connection has not authenticated
 *   A! closed             the server has closed the connection
 *   ! maxmemory 100mb     the server's limit, for the rest of the case
 *   ! server              the case needs the real server: commands that are not the engine's
 *
 * All replies must be written down, and nothing else may come.
 */
#ifndef LARDER_TESTS_WIRE_TRANSCRIPT_H
#define LARDER_TESTS_WIRE_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum { TRANSCRIPT_CONNECTIONS = 4 }; /* A to D */

enum step_kind {
    STEP_SEND,
    STEP_EXPECT,
    STEP_TIME,
    STEP_PROTOCOL,
    STEP_STRANGER,
    STEP_CLOSED,
    STEP_MAXMEMORY,
};

/* What a byte of text means. */
enum {
    BYTE_LITERAL,
    BYTE_INTEGER,
    BYTE_ANY,
    BYTE_BULK,
    BYTE_NUMBER,
    BYTE_SECONDS,
    BYTE_MS,
    BYTE_VERSION
};

enum { TRANSCRIPT_VERSION_SIZE = 8 };

/* Bytes, of which some are placeholders. BYTE_NUMBER, _SECONDS and _MS are digits; the two last
 * ones stand for the time `offset` after the case began, in as many digits. A version is
 * TRANSCRIPT_VERSION_SIZE bytes. */
struct text {
    char *data;
    unsigned char *kinds;
    size_t size, room;
    bool timed;     /* there is a time in it (one at most) */
    bool versioned; /* there is a version in it */
    int64_t offset; /* of that time */
};

struct step {
    enum step_kind kind;
    unsigned line;
    unsigned connection; /* 0 is A */
    bool any_order;      /* STEP_EXPECT */
    struct text text;    /* STEP_SEND, STEP_EXPECT */
    uint64_t number;     /* STEP_TIME: ms; STEP_PROTOCOL: version; STEP_MAXMEMORY: bytes */
};

struct transcript {
    char *title;
    unsigned line;
    bool needs_server;
    struct step *steps;
    size_t count;
};

struct transcript_file {
    struct transcript *cases;
    size_t count;
    char error[200]; /* of transcript_parse: what is wrong where */
};

/* `name` is for errors. False: see error. Give it back with transcript_free either way. */
bool transcript_parse(struct transcript_file *file, const char *name, struct bytes content);
void transcript_free(struct transcript_file *file);

/* The bytes of `text` for a case that began at `start_ms` and whose last version is `version`, in
 * memory of malloc. */
char *transcript_bytes(const struct text *text, int64_t start_ms, const char *version);
/* Does the beginning of `got` match? `*out_size`: how much of it. Numbers must be exact. `version`
 * is overwritten by what <v8> finds. */
bool transcript_match(const struct step *expected, struct bytes got, int64_t start_ms,
                      char *version, size_t *out_size);

#endif
