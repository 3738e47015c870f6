/* SPDX-License-Identifier: MIT
 *
 * Meanings as memcached's text. Requests without terms are plain reads and plain stores; of all
 * others the terms say how they are to be answered. Reads of several keys arrive as a list: each
 * element that is there is a block, and the last one brings the END.
 *
 * A block of ordinary size is written into one span with its header and its end.
 */
#include <string.h>

#include "base/number.h"
#include "wire/memcache.h"
#include "wire/value.h"

/* VALUE, key, flags, size, version, line end; and the ends of block and reply. */
enum {
    HEADER_SIZE_MAX = 6 + MEMCACHE_KEY_SIZE_MAX + 3 * (1 + NUMBER_I64_MAX_SIZE) + 2,
    TAIL_SIZE = 2 + 5
};

static const struct item_terms *terms_of(const struct reply *reply)
{
    return reply->request != NULL ? reply->request->terms : NULL;
}

static enum memcache_answer kind_of(const struct item_terms *terms)
{
    return (enum memcache_answer)terms->form[0];
}

/* The request wants no answer. */
static bool is_silent(const struct reply *reply)
{
    const struct item_terms *terms = terms_of(reply);

    return terms != NULL && (terms->form[1] & MEMCACHE_NOREPLY) != 0;
}

static void write_text(struct reply *reply, const char *text, size_t size)
{
    if (!is_silent(reply))
        sink_write(reply->sink, text, size);
}

#define WRITE(reply, text) write_text(reply, text, sizeof(text) - 1)

/* ---- VALUE ... END */

/* Steps over an element. True: it was the last one. */
static inline bool step(struct reply *reply)
{
    if (reply->left <= 1) {
        reply->left = 0;
        return true;
    }
    reply->left--;
    reply->index++;
    return false;
}

static inline char *put_number(char *at, uint64_t number)
{
    *at++ = ' ';
    if (number < 10) {
        *at++ = (char)('0' + number);
        return at;
    }
    return at + number_format_u64(at, number);
}

static inline char *put_header(char *at, struct bytes key, uint32_t flags, size_t size,
                               const uint64_t *version)
{
    memcpy(at, "VALUE ", 6);
    at += 6;
    memcpy(at, key.data, key.size);
    at = put_number(at + key.size, flags);
    at = put_number(at, size);
    if (version != NULL)
        at = put_number(at, *version);
    memcpy(at, "\r\n", 2);
    return at + 2;
}

static inline void write_block(struct reply *reply, struct bytes key, const struct value *v,
                               uint32_t flags, const uint64_t *version)
{
    struct sink *sink = reply->sink;
    size_t tail_size = step(reply) ? TAIL_SIZE : 2;

    if ((size_t)(sink->end - sink->at) >= HEADER_SIZE_MAX + v->size + TAIL_SIZE &&
        (v->size < BLOB_VALUE_SIZE_MIN || v->blob == NULL)) {
        char *at = put_header(sink->at, key, flags, v->size, version);

        memcpy(at, v->data, v->size);
        at += v->size;
        memcpy(at, "\r\nEND\r\n", TAIL_SIZE);
        sink->at = at + tail_size;
        return;
    }
    char *at = sink_reserve(sink, HEADER_SIZE_MAX);
    if (at == NULL)
        return;
    sink->at = put_header(at, key, flags, v->size, version);
    value_write(sink, v, 0, v->size);
    sink_write(sink, "\r\nEND\r\n", tail_size);
}

static void memcache_value_found(struct reply *reply, const struct value *v)
{
    struct traits traits;

    keyspace_traits(v, &traits);
    write_block(reply, reply->request->argv[1 + reply->index], v,
                traits.kinds & TRAIT_FLAGS ? traits.flags : 0, NULL);
}

/* Of a read; nothing else answers this way. */
static void memcache_missing(struct reply *reply)
{
    if (step(reply))
        sink_write(reply->sink, "END\r\n", 5);
}

static void read_item(struct reply *reply, const struct item_terms *terms, const struct item *item)
{
    uint64_t version = item->traits.kinds & TRAIT_VERSION ? item->traits.version : 0;

    if (item->outcome == ITEM_FOUND && item->value != NULL)
        write_block(reply, item->key, item->value,
                    item->traits.kinds & TRAIT_FLAGS ? item->traits.flags : 0,
                    terms->form[1] & MEMCACHE_VERSIONS ? &version : NULL);
    else
        memcache_missing(reply);
}

/* ---- the other classic commands */

static void store_item(struct reply *reply, const struct item *item)
{
    switch (item->outcome) {
    case ITEM_STORED:
        WRITE(reply, "STORED\r\n");
        return;
    case ITEM_DIFFERS:
        WRITE(reply, "EXISTS\r\n");
        return;
    case ITEM_MISSING:
        WRITE(reply, "NOT_FOUND\r\n");
        return;
    default:
        WRITE(reply, "NOT_STORED\r\n");
    }
}

static void count_item(struct reply *reply, const struct item *item)
{
    char line[NUMBER_I64_MAX_SIZE + 2];

    if (item->outcome == ITEM_NOT_NUMBER) {
        WRITE(reply, "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n");
    } else if (item->outcome == ITEM_COUNTED) {
        size_t size = number_format_u64(line, item->number);

        memcpy(line + size, "\r\n", 2);
        write_text(reply, line, size + 2);
    } else {
        WRITE(reply, "NOT_FOUND\r\n");
    }
}

/* What the wire has to say itself: the last argument. */
static void write_own(struct reply *reply, const struct request *request)
{
    struct bytes text = request->argv[request->argc - 1];

    reply->errored = true;
    write_text(reply, text.data, text.size);
    WRITE(reply, "\r\n");
}

static void memcache_item(struct reply *reply, const struct item *item)
{
    const struct item_terms *terms = terms_of(reply);

    switch (kind_of(terms)) {
    case MEMCACHE_READ:
        read_item(reply, terms, item);
        break;
    case MEMCACHE_STORE:
        store_item(reply, item);
        break;
    case MEMCACHE_COUNT:
        count_item(reply, item);
        break;
    case MEMCACHE_TOUCH:
        if (item->outcome == ITEM_FOUND)
            WRITE(reply, "TOUCHED\r\n");
        else
            WRITE(reply, "NOT_FOUND\r\n");
        break;
    case MEMCACHE_DELETE:
        if (item->outcome == ITEM_DELETED)
            WRITE(reply, "DELETED\r\n");
        else
            WRITE(reply, "NOT_FOUND\r\n");
        break;
    case MEMCACHE_ERROR:
        write_own(reply, reply->request);
        break;
    default:
        memcache_write_meta(reply, item);
    }
}

/* ---- words, and pairs of statistics */

static void memcache_list(struct reply *reply, uint64_t count)
{
    reply->left = count;
    reply->index = 0;
}

static void memcache_map(struct reply *reply, uint64_t count)
{
    memcache_list(reply, count * 2);
    if (count == 0)
        WRITE(reply, "END\r\n");
}

static void memcache_text(struct reply *reply, struct bytes text)
{
    const struct item_terms *terms = terms_of(reply);

    if (reply->left > 0) { /* a name or what it is */
        bool name = (reply->index & 1) == 0;

        if (name)
            WRITE(reply, "STAT ");
        write_text(reply, text.data, text.size);
        if (name)
            WRITE(reply, " ");
        else
            WRITE(reply, "\r\n");
        if (step(reply))
            WRITE(reply, "END\r\n");
        return;
    }
    if (terms != NULL && kind_of(terms) == MEMCACHE_RELEASE)
        WRITE(reply, "VERSION ");
    write_text(reply, text.data, text.size);
    WRITE(reply, "\r\n");
}

static void memcache_word_said(struct reply *reply, const char *text)
{
    memcache_text(reply, bytes_of_text(text));
}

static void memcache_integer(struct reply *reply, int64_t integer)
{
    char text[NUMBER_I64_MAX_SIZE];

    memcache_text(reply, bytes_of(text, number_format_i64(text, integer)));
}

static void memcache_number(struct reply *reply, double number)
{
    char text[NUMBER_DOUBLE_MAX_SIZE];

    memcache_text(reply, bytes_of(text, number_format_double(text, number)));
}

static void memcache_boolean(struct reply *reply, bool boolean)
{
    memcache_integer(reply, boolean);
}

/* Of a plain store, or of an authentication. */
static void memcache_stored(struct reply *reply)
{
    WRITE(reply, "STORED\r\n");
}

static void memcache_not_stored(struct reply *reply)
{
    WRITE(reply, "NOT_STORED\r\n");
}

static void memcache_ok(struct reply *reply)
{
    const struct item_terms *terms = terms_of(reply);

    if (terms == NULL || kind_of(terms) == MEMCACHE_AUTH)
        memcache_stored(reply);
    else if (kind_of(terms) == MEMCACHE_BARRIER)
        WRITE(reply, "MN\r\n");
    else
        WRITE(reply, "OK\r\n");
}

/* ---- errors */

static bool begins_with(struct bytes text, struct bytes beginning)
{
    return text.size >= beginning.size && memcmp(text.data, beginning.data, beginning.size) == 0;
}

/* Whether a code is a word that begins errors of memcached's, as in rows for its clients. */
static bool is_spelled(struct bytes code)
{
    static const char *const words[] = {"ERROR", "CLIENT_ERROR", "SERVER_ERROR"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (bytes_equal(code, bytes_of_text(words[i])))
            return true;
    return begins_with(code, BYTES("MEMLIMIT_"));
}

/* Whether the request is one that brings a value. Of no terms: a read has no room for its key. */
static bool is_store(const struct request *request)
{
    if (request == NULL)
        return false;
    if (request->terms == NULL)
        return bytes_equal(request->argv[0], BYTES("set"));
    return kind_of(request->terms) == MEMCACHE_STORE ||
           kind_of(request->terms) == MEMCACHE_META_STORE;
}

/* memcached's text for an error of ours, or what comes before our own (`*own`). */
static struct bytes spelled(const struct reply *reply, const char *code, struct bytes text,
                            bool *own)
{
    *own = false;
    if (strcmp(code, "OOM") == 0)
        return is_store(reply->request) ? BYTES("SERVER_ERROR out of memory storing object")
                                        : BYTES("SERVER_ERROR out of memory");
    if (strcmp(code, "NOAUTH") == 0)
        return BYTES("CLIENT_ERROR unauthenticated");
    if (strcmp(code, "WRONGPASS") == 0)
        return BYTES("CLIENT_ERROR authentication failure");
    if (bytes_equal(text, bytes_of_text(status_text(STATUS_VALUE_TOO_LARGE))))
        return BYTES("SERVER_ERROR object too large for cache");
    if (begins_with(text, BYTES("unknown command")))
        return BYTES("ERROR");
    *own = true;
    if (is_spelled(bytes_of_text(code)))
        return bytes_of_text(code);
    return strcmp(code, "WRONGTYPE") == 0 ? BYTES("CLIENT_ERROR") : BYTES("SERVER_ERROR");
}

static void memcache_error(struct reply *reply, const char *code, struct bytes text)
{
    bool as_it_is = strcmp(code, "ERR") == 0 && reply->request == NULL; /* the wire's own */

    reply->errored = true;
    if (reply->left > 0) { /* one key of several that cannot be told */
        memcache_missing(reply);
        return;
    }
    if (!as_it_is) {
        bool own;
        struct bytes words = spelled(reply, code, text, &own);

        write_text(reply, words.data, words.size);
        if (!own)
            text.size = 0;
        if (text.size > 0)
            WRITE(reply, " ");
    }
    if (text.size > 0)
        write_text(reply, text.data, text.size);
    WRITE(reply, "\r\n");
}

const struct reply_ops memcache_reply_ops = {
    .ok = memcache_ok,
    .stored = memcache_stored,
    .not_stored = memcache_not_stored,
    .missing = memcache_missing,
    .missing_list = memcache_missing,
    .value = memcache_value_found,
    .bytes = memcache_text,
    .word = memcache_word_said,
    .text = memcache_text,
    .integer = memcache_integer,
    .number = memcache_number,
    .boolean = memcache_boolean,
    .list = memcache_list,
    .set = memcache_list,
    .map = memcache_map,
    .item = memcache_item,
    .error = memcache_error,
};
