/* SPDX-License-Identifier: MIT
 *
 * memcached's text protocol: lines of words, of which the storing ones announce a block of bytes.
 *
 *   get key\r\n        set key <flags> <exptime> <size>\r\n<size bytes>\r\n
 *
 * What clients mostly send, a read of one key and a plain store, whole, is read in one pass over
 * the bytes. Everything else waits for its line's end and is split into words. A line that has not
 * arrived whole, or whose block has not, is read again from its start; only a big block is received
 * elsewhere, and then key and terms are kept.
 *
 * What is wrong with a line is answered in its turn and the connection goes on; a block that cannot
 * be stored is waited for and thrown away, so that its bytes are never taken for commands. Only a
 * line that does not end is the connection's end.
 *
 * Plain reads and stores become the rows that everybody has, everything else rows of
 * command/item.h.
 *
 * No state, no threads; a request under way lies in the struct parser.
 */
#include "wire/memcache.h"

#include <string.h>

#include "base/base64.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

enum {
    LINE_SIZE_MAX = 2048,                 /* of lines that do not list keys */
    RELATIVE_TIME_MAX_S = 30 * 24 * 3600, /* larger ones are Unix times */
    /* What a block may claim and still be waited for. */
    BLOCK_SIZE_MAX = INT32_MAX - 2,
    AUTH_LINE_SIZE_MIN = 6,
    GET_SIZE_MIN = 7 /* "get k\r\n" */
};

const char memcache_bad_format[] = "CLIENT_ERROR bad command line format";
static const char bad_chunk[] = "CLIENT_ERROR bad data chunk";
static const char bad_time[] = "CLIENT_ERROR invalid exptime argument";
static const char too_large[] = "SERVER_ERROR object too large for cache";
static const char line_too_long[] = "CLIENT_ERROR line too long";
static const char out_of_memory[] = "SERVER_ERROR out of memory reading request";

static enum parse bad(struct parser *parser, const char *error)
{
    parser->state = PARSER_DONE;
    parser->error = error;
    return PARSE_BAD;
}

/* ---- words and numbers */

/* The first byte from `at` on that does not belong to a key: a control character, a blank, or
 * `end`. */
static inline const char *key_end(const char *at, const char *end)
{
    const uint64_t ones = 0x0101010101010101u, highs = 0x8080808080808080u;

    while (end - at >= 8) {
        uint64_t x, small, del;

        memcpy(&x, at, 8);
        small = (x - 0x21 * ones) & ~x & highs; /* the lowest byte it marks is below 0x21 */
        x ^= 0x7f * ones;
        del = (x - ones) & ~x & highs;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        if ((small | del) != 0)
            return at + (__builtin_ctzll(small | del) >> 3);
        at += 8;
#else
        if ((small | del) != 0)
            break;
        at += 8;
#endif
    }
    while (at < end && (unsigned char)*at > ' ' && *at != 0x7f)
        at++;
    return at;
}

bool memcache_key_ok(struct bytes key)
{
    return key.size - 1 < MEMCACHE_KEY_SIZE_MAX &&
           key_end(key.data, key.data + key.size) == key.data + key.size;
}

bool memcache_word(struct memcache_line *line, struct bytes *out)
{
    const char *at = line->at;

    while (at < line->end && *at == ' ')
        at++;
    const char *begin = at;
    while (at < line->end && *at != ' ')
        at++;
    line->at = at;
    *out = bytes_of(begin, (size_t)(at - begin));
    return at != begin;
}

bool memcache_u64(struct bytes word, uint64_t *out)
{
    uint64_t number = 0;

    if (word.size == 0)
        return false;
    for (size_t i = 0; i < word.size; i++) {
        unsigned char digit = (unsigned char)(word.data[i] - '0');

        if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, digit, &number))
            return false;
    }
    *out = number;
    return true;
}

bool memcache_u32(struct bytes word, uint32_t *out)
{
    uint64_t number;

    if (!memcache_u64(word, &number) || number > UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    return true;
}

static struct item_time time_of(int64_t seconds)
{
    if (seconds == 0)
        return (struct item_time){.form = ITEM_TIME_NEVER};
    return (struct item_time){seconds <= RELATIVE_TIME_MAX_S ? ITEM_TIME_AFTER : ITEM_TIME_AT,
                              seconds * 1000};
}

bool memcache_time(struct bytes word, struct item_time *out)
{
    bool negative = word.size > 0 && word.data[0] == '-';
    uint32_t seconds;

    if (negative)
        word = bytes_of(word.data + 1, word.size - 1);
    if (!memcache_u32(word, &seconds) || (negative && seconds > (uint32_t)INT32_MAX + 1))
        return false;
    *out = time_of(negative ? -(int64_t)seconds : (int64_t)seconds);
    return true;
}

/* Whether the line's last word is "noreply". */
static bool has_noreply(const struct memcache_line *line)
{
    static const char word[] = " noreply";
    const size_t size = sizeof(word) - 1;
    const char *end = line->end;

    while (end > line->data && end[-1] == ' ')
        end--;
    return (size_t)(end - line->data) >= size && memcmp(end - size, word, size) == 0;
}

/* Up to `max` words of the line. */
static uint32_t split(struct memcache_line *line, struct bytes *words, uint32_t max)
{
    uint32_t count = 0;

    while (count < max && memcache_word(line, &words[count]))
        count++;
    return count;
}

/* ---- requests */

struct item_terms *memcache_terms(struct parser *parser, enum memcache_answer answer)
{
    parser->terms = (struct item_terms){.form = {answer}};
    parser->request.terms = &parser->terms;
    return &parser->terms;
}

enum parse memcache_deliver(struct memcache_line *line, const char *name, uint32_t argc, bool terms)
{
    struct parser *parser = line->parser;

    if (!terms)
        parser->request.terms = NULL;
    else if (parser->terms.form[1] & MEMCACHE_BASE64) {
        char *key = (char *)parser->argv[1].data;

        parser->argv[1].size = base64_decode(key, parser->argv[1]);
        parser->rewritten = true;
    }
    parser->argv[0] = bytes_of_text(name);
    parser->request.argv = parser->argv;
    parser->request.argc = argc;
    parser->request.blobs = parser->blobs;
    parser->state = PARSER_DONE;
    *line->consumed = line->after;
    return PARSE_DONE;
}

enum parse memcache_refuse(struct memcache_line *line, const char *text)
{
    uint64_t form = line->parser->request.terms != NULL ? line->parser->terms.form[1] : 0;

    memcache_terms(line->parser, MEMCACHE_ERROR)->form[1] = form & MEMCACHE_NOREPLY;
    line->parser->argv[1] = bytes_of_text(text);
    return memcache_deliver(line, "item-error", 2, true);
}

/* The terms of a request whose last word may be "noreply". */
static struct item_terms *terms_with_noreply(struct memcache_line *line, enum memcache_answer kind)
{
    struct item_terms *terms = memcache_terms(line->parser, kind);

    terms->form[1] = has_noreply(line) ? MEMCACHE_NOREPLY : 0;
    return terms;
}

/* What should have been replaced must not be found any more. The note is the answer. */
static enum parse refuse_too_large(struct memcache_line *line)
{
    struct parser *parser = line->parser;
    uint64_t form = parser->terms.form[1];

    memcache_terms(parser, MEMCACHE_ERROR)->form[1] = form & (MEMCACHE_NOREPLY | MEMCACHE_BASE64);
    parser->argv[2] = bytes_of_text(too_large);
    return memcache_deliver(line, "item-delete", 3, true);
}

static enum parse finish_value(struct memcache_line *line, const char *error)
{
    const struct item_terms *terms = &line->parser->terms;

    if (error == NULL)
        return memcache_deliver(line, "item-set", 4, true);
    if (error == too_large && terms->mode == ITEM_SET && !(terms->options & ITEM_COMPARES))
        return refuse_too_large(line);
    return memcache_refuse(line, error);
}

enum parse memcache_value(struct memcache_line *line, struct bytes key, struct bytes note,
                          size_t size, const char *error)
{
    struct parser *parser = line->parser;
    size_t begin = line->after, end = begin + size + 2;

    if (error == NULL && size > parser->limits->argument_size_max)
        error = too_large;
    parser->argv[1] = key;
    parser->argv[2] = note;
    if (line->size >= end) {
        if (error == NULL && memcmp(line->data + end - 2, "\r\n", 2) != 0)
            error = bad_chunk;
        parser->argv[3] = bytes_of(line->data + begin, size);
        line->after = end;
        return finish_value(line, error);
    }
    if (parser->limits->query_size_max < line->size)
        return bad(parser, wire_too_big);
    parser->need = end;
    parser->error = error; /* kept while the block passes */
    parser->argv[0] = bytes_of(line->data, 0);
    if ((size > PARSER_BLOB_SIZE_MIN || error != NULL) && line->size - begin < size) {
        parser->blob_need = size;
        parser->blob_offset = begin;
        parser->blob_unwanted = error != NULL;
        parser_save(parser, line->data, begin, 0, 3, 4);
    } else {
        parser_save(parser, line->data, 0, 0, 0, 0);
    }
    return PARSE_MORE;
}

/* The block was received elsewhere, or thrown away; its end comes now. */
static enum parse resume(struct memcache_line *line)
{
    struct parser *parser = line->parser;

    if (line->size < 2) {
        parser->need = 2;
        return PARSE_MORE;
    }
    const char *error = parser->error;
    if (error == NULL && memcmp(line->data, "\r\n", 2) != 0)
        error = bad_chunk;
    parser_restore(parser, line->data, parser->argc_done);
    line->after = 2;
    return finish_value(line, error);
}

/* ---- reading keys */

enum { TOUCHES = 1, VERSIONS = 2 };

static enum parse read_keys(struct memcache_line *line, uint8_t mode)
{
    struct parser *parser = line->parser;
    struct item_time time = {.form = ITEM_TIME_KEPT};
    struct bytes word = {NULL, 0};
    bool time_ok = !(mode & TOUCHES) || (memcache_word(line, &word) && memcache_time(word, &time));
    uint32_t argc = 1;

    while (memcache_word(line, &word)) {
        if (!memcache_key_ok(word))
            return memcache_refuse(line, memcache_bad_format);
        if (argc == parser->limits->arguments_max)
            return memcache_refuse(line, "CLIENT_ERROR too many keys");
        if (argc == parser->argv_room && !parser_grow(parser, UINT32_MAX))
            return bad(parser, out_of_memory);
        parser->argv[argc++] = word;
    }
    if (argc == 1)
        return memcache_refuse(line, memcache_bad_format);
    if (!time_ok)
        return memcache_refuse(line, bad_time);
    if (mode == 0)
        return memcache_deliver(line, argc == 2 ? "get" : "mget", argc, false);
    struct item_terms *terms = memcache_terms(parser, MEMCACHE_READ);
    terms->time = time;
    if (mode & VERSIONS) {
        terms->options = ITEM_WANTS_VERSION;
        terms->form[1] = MEMCACHE_VERSIONS;
    }
    if (argc > 2)
        return memcache_deliver(line, mode & TOUCHES ? "item-touches" : "item-gets", argc, true);
    parser->argv[2] = BYTES("");
    return memcache_deliver(line, mode & TOUCHES ? "item-touch" : "item-get", 3, true);
}

/* ---- storing */

enum { CAS = 128 }; /* beside enum item_mode */

static enum parse read_store(struct memcache_line *line, uint8_t mode)
{
    struct bytes words[5];
    uint32_t count = split(line, words, 5);
    struct item_terms *terms;
    const char *error = NULL;
    uint64_t size;

    if (count < 4 || !memcache_u64(words[3], &size) || size > BLOCK_SIZE_MAX)
        return memcache_refuse(line, memcache_bad_format);
    terms = terms_with_noreply(line, MEMCACHE_STORE);
    terms->mode = mode & (CAS - 1);
    if (!memcache_key_ok(words[0]) || !memcache_u32(words[1], &terms->flags) ||
        !memcache_time(words[2], &terms->time))
        error = memcache_bad_format;
    if (mode & CAS) {
        terms->options = ITEM_COMPARES;
        if (count < 5 || !memcache_u64(words[4], &terms->compare))
            error = memcache_bad_format;
    }
    return memcache_value(line, words[0], BYTES(""), (size_t)size, error);
}

/* ---- one key, no block */

/* `error`: NULL if all is well. */
static enum parse deliver_key(struct memcache_line *line, const char *name, struct bytes key,
                              const char *error)
{
    if (error != NULL)
        return memcache_refuse(line, error);
    line->parser->argv[1] = key;
    line->parser->argv[2] = BYTES("");
    return memcache_deliver(line, name, 3, true);
}

static enum parse read_touch(struct memcache_line *line, uint8_t mode)
{
    struct bytes words[2];
    const char *error = NULL;

    (void)mode;
    if (split(line, words, 2) < 2)
        return memcache_refuse(line, memcache_bad_format);
    struct item_terms *terms = terms_with_noreply(line, MEMCACHE_TOUCH);
    if (!memcache_key_ok(words[0]))
        error = memcache_bad_format;
    else if (!memcache_time(words[1], &terms->time))
        error = bad_time;
    return deliver_key(line, "item-touch", words[0], error);
}

static enum parse read_count(struct memcache_line *line, uint8_t mode)
{
    struct bytes words[2];
    const char *error = NULL;

    if (split(line, words, 2) < 2)
        return memcache_refuse(line, memcache_bad_format);
    struct item_terms *terms = terms_with_noreply(line, MEMCACHE_COUNT);
    terms->mode = mode;
    if (!memcache_key_ok(words[0]))
        error = memcache_bad_format;
    else if (!memcache_u64(words[1], &terms->delta))
        error = "CLIENT_ERROR invalid numeric delta argument";
    return deliver_key(line, "item-count", words[0], error);
}

/* Older clients send a time of 0 behind the key. */
static enum parse read_delete(struct memcache_line *line, uint8_t mode)
{
    struct bytes key, word;
    const char *error = NULL;

    (void)mode;
    if (!memcache_word(line, &key))
        return memcache_refuse(line, memcache_bad_format);
    if (!memcache_key_ok(key))
        error = memcache_bad_format;
    while (memcache_word(line, &word))
        if (!bytes_equal(word, BYTES("0")) && !bytes_equal(word, BYTES("noreply")))
            error = memcache_bad_format;
    terms_with_noreply(line, MEMCACHE_DELETE);
    return deliver_key(line, "item-delete", key, error);
}

/* ---- about the server */

static enum parse read_flush(struct memcache_line *line, uint8_t mode)
{
    struct item_terms *terms = terms_with_noreply(line, MEMCACHE_WORD);
    struct bytes word;

    (void)mode;
    terms->time = (struct item_time){ITEM_TIME_AFTER, 0};
    if (memcache_word(line, &word) && !bytes_equal(word, BYTES("noreply")) &&
        !memcache_time(word, &terms->time))
        return memcache_refuse(line, bad_time);
    if (terms->time.form == ITEM_TIME_NEVER || terms->time.ms < 0)
        terms->time = (struct item_time){ITEM_TIME_AFTER, 0};
    return memcache_deliver(line, "cache-flush", 1, true);
}

/* The words of the line become arguments. */
static enum parse deliver_words(struct memcache_line *line, const char *name)
{
    struct parser *parser = line->parser;
    uint32_t argc = 1;

    while (argc < 9 && memcache_word(line, &parser->argv[argc]))
        argc++;
    return memcache_deliver(line, name, argc, true);
}

static enum parse read_stats(struct memcache_line *line, uint8_t mode)
{
    (void)mode;
    memcache_terms(line->parser, MEMCACHE_STATS);
    return deliver_words(line, "cache-stats");
}

static enum parse read_watch(struct memcache_line *line, uint8_t mode)
{
    (void)mode;
    memcache_terms(line->parser, MEMCACHE_WORD);
    return deliver_words(line, "cache-watch");
}

static enum parse read_version(struct memcache_line *line, uint8_t mode)
{
    struct bytes word;

    (void)mode;
    if (memcache_word(line, &word))
        return memcache_refuse(line, "ERROR");
    memcache_terms(line->parser, MEMCACHE_RELEASE);
    return memcache_deliver(line, "cache-version", 1, true);
}

/* A command whose one argument is a number. `error`: what is answered if it has none. */
static enum parse deliver_word(struct memcache_line *line, const char *name, const char *error)
{
    terms_with_noreply(line, MEMCACHE_WORD);
    if (!memcache_word(line, &line->parser->argv[1]))
        return memcache_refuse(line, error);
    return memcache_deliver(line, name, 2, true);
}

static enum parse read_verbosity(struct memcache_line *line, uint8_t mode)
{
    (void)mode;
    return deliver_word(line, "cache-verbosity", memcache_bad_format);
}

static enum parse read_memlimit(struct memcache_line *line, uint8_t mode)
{
    (void)mode;
    return deliver_word(line, "cache-memlimit", "ERROR");
}

static enum parse read_shutdown(struct memcache_line *line, uint8_t mode)
{
    (void)mode;
    memcache_terms(line->parser, MEMCACHE_WORD);
    return deliver_words(line, "cache-shutdown");
}

/* Closes without a word. */
static enum parse hang_up(struct memcache_line *line)
{
    memcache_terms(line->parser, MEMCACHE_WORD)->form[1] = MEMCACHE_NOREPLY;
    line->parser->request.last = true;
    return memcache_deliver(line, "item-noop", 1, true);
}

static enum parse read_quit(struct memcache_line *line, uint8_t mode)
{
    struct bytes word;

    (void)mode;
    return memcache_word(line, &word) ? memcache_refuse(line, "ERROR") : hang_up(line);
}

/* Known as memcached's, so that a connection that begins with it is; there is no such thing here.
 */
static enum parse read_unknown(struct memcache_line *line, uint8_t mode)
{
    (void)mode;
    terms_with_noreply(line, MEMCACHE_WORD);
    return memcache_refuse(line, "ERROR");
}

/* ---- before authentication */

/* "user password" is the block of a `set` of any key. */
static enum parse read_auth(struct memcache_line *line)
{
    struct parser *parser = line->parser;
    struct bytes words[5];
    size_t begin = line->after;
    uint32_t size;

    if (line->after - 1 < AUTH_LINE_SIZE_MIN)
        return hang_up(line);
    if (split(line, words, 5) < 5 || !bytes_equal(words[0], BYTES("set")) ||
        !memcache_u32(words[4], &size))
        return memcache_refuse(line, "CLIENT_ERROR unauthenticated");
    if (size > parser->limits->argument_size_max) {
        parser->request.last = true; /* the block will not be waited for */
        return memcache_refuse(line, "CLIENT_ERROR auth token too long");
    }
    line->after += size + 2;
    if (line->size < line->after) {
        parser->need = line->after;
        parser_save(parser, line->data, 0, 0, 0, 0);
        return PARSE_MORE;
    }
    if (memcmp(line->data + line->after - 2, "\r\n", 2) != 0)
        return memcache_refuse(line, "CLIENT_ERROR bad command line termination");
    const char *user = line->data + begin, *space = memchr(user, ' ', size);
    if (space == NULL)
        return memcache_refuse(line, "CLIENT_ERROR bad authentication token format");
    memcache_terms(parser, MEMCACHE_AUTH);
    parser->argv[1] = bytes_of(user, (size_t)(space - user));
    parser->argv[2] = bytes_of(space + 1, size - parser->argv[1].size - 1);
    return memcache_deliver(line, "item-auth", 3, true);
}

/* ---- lines */

struct verb {
    const char *name;
    uint8_t size, mode;
    enum parse (*read)(struct memcache_line *line, uint8_t mode);
};

#define VERB(name, read, mode)                                                                     \
    {                                                                                              \
        name, sizeof(name) - 1, mode, read                                                         \
    }

static const struct verb verbs[] = {
    VERB("get", read_keys, 0),
    VERB("mg", memcache_meta_get, 0),
    VERB("set", read_store, ITEM_SET),
    VERB("ms", memcache_meta_set, 0),
    VERB("gets", read_keys, VERSIONS),
    VERB("delete", read_delete, 0),
    VERB("md", memcache_meta_delete, 0),
    VERB("incr", read_count, ITEM_RAISE),
    VERB("decr", read_count, ITEM_LOWER),
    VERB("ma", memcache_meta_count, 0),
    VERB("mn", memcache_meta_noop, 0),
    VERB("add", read_store, ITEM_ADD),
    VERB("cas", read_store, CAS | ITEM_SET),
    VERB("replace", read_store, ITEM_REPLACE),
    VERB("append", read_store, ITEM_APPEND),
    VERB("prepend", read_store, ITEM_PREPEND),
    VERB("touch", read_touch, 0),
    VERB("gat", read_keys, TOUCHES),
    VERB("gats", read_keys, TOUCHES | VERSIONS),
    VERB("me", memcache_meta_debug, 0),
    VERB("stats", read_stats, 0),
    VERB("version", read_version, 0),
    VERB("flush_all", read_flush, 0),
    VERB("verbosity", read_verbosity, 0),
    VERB("cache_memlimit", read_memlimit, 0),
    VERB("shutdown", read_shutdown, 0),
    VERB("watch", read_watch, 0),
    VERB("quit", read_quit, 0),
    VERB("slabs", read_unknown, 0),
    VERB("lru", read_unknown, 0),
    VERB("lru_crawler", read_unknown, 0),
    VERB("extstore", read_unknown, 0),
    VERB("refresh_certs", read_unknown, 0),
};

enum { VERB_COUNT = sizeof(verbs) / sizeof(verbs[0]) };

static const struct verb *find_verb(struct bytes word)
{
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (verbs[i].size == word.size && memcmp(verbs[i].name, word.data, word.size) == 0)
            return &verbs[i];
    return NULL;
}

/* A browser can be made to send HTTP here. */
static bool is_http(struct memcache_line *line)
{
    struct bytes word, last = {NULL, 0};

    while (memcache_word(line, &word))
        last = word;
    return last.size >= 5 && memcmp(last.data, "HTTP/", 5) == 0;
}

static enum parse read_line(struct memcache_line *line)
{
    struct bytes word;

    line->parser->request.terms = NULL;
    if (line->parser->limits->unauthenticated)
        return read_auth(line);
    if (line->end == line->data)
        return memcache_refuse(line, memcache_bad_format);
    if (!memcache_word(line, &word))
        return memcache_refuse(line, memcache_bad_format);
    if (*line->data != ' ') {
        const struct verb *verb = find_verb(word);

        if (verb != NULL)
            return verb->read(line, verb->mode);
        if (is_http(line))
            return hang_up(line);
    }
    return read_unknown(line, 0);
}

/* Lines that list keys may be long. The line begins at `data` and has `size` bytes so far. */
static size_t line_size_max(const struct parser *parser, const char *data, size_t size)
{
    const struct wire_limits *limits = parser->limits;
    size_t max = limits->inline_size_max < LINE_SIZE_MAX ? limits->inline_size_max : LINE_SIZE_MAX;
    size_t name = 3;

    if (limits->unauthenticated || size < 5 ||
        (memcmp(data, "get", 3) != 0 && memcmp(data, "gat", 3) != 0))
        return max;
    name += data[name] == 's';
    return data[name] == ' ' ? limits->query_size_max : max;
}

static enum parse find_line(struct memcache_line *line)
{
    struct parser *parser = line->parser;
    char *data = line->data;
    size_t max = line_size_max(parser, data, line->size);
    size_t window = line->size <= max ? line->size : max + 1;
    char *newline = parser->scanned < window
                        ? memchr(data + parser->scanned, '\n', window - parser->scanned)
                        : NULL;

    if (newline == NULL) {
        if (line->size > max)
            return bad(parser,
                       max == parser->limits->query_size_max ? wire_too_big : line_too_long);
        if (line->size > 0)
            parser_save(parser, data, 0, 0, 0, 0);
        parser->scanned = line->size;
        return PARSE_MORE;
    }
    parser->scanned = (size_t)(newline - data);
    line->after = parser->scanned + 1;
    line->at = data;
    line->end = newline > data && newline[-1] == '\r' ? newline - 1 : newline;
    return PARSE_DONE;
}

/* ---- the usual requests, whole */

/* "get key\r\n", of which at least 4 bytes are there. */
static inline bool parse_get(struct parser *parser, const char *data, const char *end,
                             size_t *consumed)
{
    const char *key = data + 4, *at = key_end(key, end);
    size_t size = (size_t)(at - key);

    if (size - 1 >= MEMCACHE_KEY_SIZE_MAX || end - at < 2 || at[0] != '\r' || at[1] != '\n')
        return false;
    parser->argv[0] = BYTES("get");
    parser->argv[1] = bytes_of(key, size);
    parser->request.argv = parser->argv;
    parser->request.argc = 2;
    parser->request.blobs = NULL;
    parser->request.terms = NULL;
    *consumed = (size_t)(at + 2 - data);
    return true;
}

/* Up to nine digits and the byte behind them, which must be `stop`. NULL: something else. */
static inline const char *read_digits(const char *at, const char *end, char stop, uint32_t *out)
{
    const char *begin = at;
    uint32_t number = 0, digit;

    for (; at < end && (digit = (unsigned char)(*at - '0')) <= 9; at++) {
        if (at - begin == 9)
            return NULL;
        number = number * 10 + digit;
    }
    if (at == begin || at == end || *at != stop)
        return NULL;
    *out = number;
    return at + 1;
}

/* "set key <flags> <exptime> <size>\r\n" and its block, of which at least 4 bytes are there. */
static inline bool parse_set(struct parser *parser, const char *data, const char *end,
                             size_t *consumed)
{
    const char *key = data + 4, *at = key_end(key, end);
    size_t key_size = (size_t)(at - key);
    uint32_t flags, seconds, size;

    if (key_size - 1 >= MEMCACHE_KEY_SIZE_MAX || at == end || *at != ' ')
        return false;
    if ((at = read_digits(at + 1, end, ' ', &flags)) == NULL ||
        (at = read_digits(at, end, ' ', &seconds)) == NULL ||
        (at = read_digits(at, end, '\r', &size)) == NULL || at == end || *at++ != '\n' ||
        (size_t)(end - at) < (size_t)size + 2 || size > parser->limits->argument_size_max ||
        memcmp(at + size, "\r\n", 2) != 0)
        return false;
    parser->argv[1] = bytes_of(key, key_size);
    if (LIKELY((flags | seconds) == 0)) {
        parser->argv[0] = BYTES("set");
        parser->argv[2] = bytes_of(at, size);
        parser->request.argc = 3;
        parser->request.terms = NULL;
    } else {
        struct item_terms *terms = memcache_terms(parser, MEMCACHE_STORE);

        terms->flags = flags;
        terms->time = time_of(seconds);
        parser->argv[0] = BYTES("item-set");
        parser->argv[2] = BYTES("");
        parser->argv[3] = bytes_of(at, size);
        parser->request.argc = 4;
    }
    parser->request.argv = parser->argv;
    parser->request.blobs = NULL;
    *consumed = (size_t)(at + size + 2 - data);
    return true;
}

/* ---- the wire */

static enum parse memcache_parse(struct parser *parser, char *data, size_t size, size_t *consumed)
{
    if (parser->state == PARSER_DONE)
        parser_reset(parser);
    if (LIKELY(parser->state == PARSER_EMPTY && size >= GET_SIZE_MIN &&
               !parser->limits->unauthenticated)) {
        if (memcmp(data, "get ", 4) == 0 && parse_get(parser, data, data + size, consumed))
            return PARSE_DONE;
        if (memcmp(data, "set ", 4) == 0 && parse_set(parser, data, data + size, consumed))
            return PARSE_DONE;
    }

    struct memcache_line line = {
        .parser = parser, .data = data, .size = size, .consumed = consumed};
    parser->need = parser->blob_need = 0;
    parser->blob_unwanted = false;
    if (parser->argc_kept > 0)
        return resume(&line);
    enum parse parse = find_line(&line);
    return parse == PARSE_DONE ? read_line(&line) : parse;
}

static enum detect memcache_detect(const char *data, size_t size)
{
    enum detect answer = DETECT_NO;

    for (size_t i = 0; i < VERB_COUNT; i++) {
        const struct verb *verb = &verbs[i];

        if (size <= verb->size) {
            if (memcmp(data, verb->name, size) == 0)
                answer = DETECT_MORE;
        } else if (memcmp(data, verb->name, verb->size) == 0) {
            char next = data[verb->size];

            if (next == ' ' || next == '\r' || next == '\n')
                return DETECT_YES;
        }
    }
    return answer;
}

/* The second word. */
static bool memcache_guess_key(const char *data, size_t size, struct bytes *out)
{
    size_t at = 2;

    while (at < 8 && at < size && data[at] != ' ')
        at++;
    if (at >= 8 || at >= size)
        return false;
    const char *key = data + at + 1, *end = key_end(key, data + size);
    *out = bytes_of(key, (size_t)(end - key));
    return out->size - 1 < MEMCACHE_KEY_SIZE_MAX;
}

static void memcache_protocol_error(struct reply *reply, const char *error)
{
    reply_error(reply, "ERR",
                error == wire_too_big ? BYTES("SERVER_ERROR request too large")
                                      : bytes_of_text(error));
}

const struct wire wire_memcache = {
    .name = "memcache",
    .detect = memcache_detect,
    .parse = memcache_parse,
    .guess_key = memcache_guess_key,
    .protocol_error = memcache_protocol_error,
    .reply_ops = &memcache_reply_ops,
};
