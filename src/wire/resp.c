/* SPDX-License-Identifier: MIT
 *
 * RESP requests: arrays of bulk strings, and inline commands, which are lines of words.
 *
 *   *2\r\n$3\r\nGET\r\n$3\r\nkey\r\n        GET key\r\n
 *
 * The shape that clients really send, whole and with short numbers, is read in one pass over bytes
 * without looking for line ends. Everything else (partial headers, odd numbers, limits) leaves that
 * path for a careful one. What is accepted is what Redis accepts: line ends of headers are two
 * bytes of which the first is CR, and the two bytes after an argument are not looked at.
 *
 * No state, no threads; a request under way lies in the struct parser.
 */
#include <string.h>

#include "base/number.h"
#include "base/words.h"
#include "wire/resp_reply.h"
#include "wire/wire.h"

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

/* "$0\r\n\r\n" */
enum { ARGUMENT_SIZE_MIN = 6 };

static inline bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

static enum parse bad(struct parser *parser, const char *error)
{
    parser->state = PARSER_DONE;
    parser->error = error;
    return PARSE_BAD;
}

static enum parse bad_count(struct parser *parser)
{
    return bad(parser, parser->limits->unauthenticated
                           ? "Protocol error: unauthenticated multibulk length"
                           : "Protocol error: invalid multibulk length");
}

static enum parse bad_size(struct parser *parser)
{
    return bad(parser, parser->limits->unauthenticated
                           ? "Protocol error: unauthenticated bulk length"
                           : "Protocol error: invalid bulk length");
}

static const char out_of_memory[] = "Protocol error: out of memory";

/* A whole request is in argv. */
static inline void deliver(struct parser *parser, uint32_t argc)
{
    if (parser->state == PARSER_UNFINISHED)
        parser->state = PARSER_DONE;
    parser->request.argv = parser->argv;
    parser->request.argc = argc;
    parser->request.blobs = parser->blobs;
    parser->request.terms = NULL;
}

/* ---- headers */

/* Finds the end of the header line that begins at `at`. DONE: its length without CR and LF. */
static enum parse find_line(struct parser *parser, const char *data, const char *at,
                            const char *end, size_t *length, const char *error)
{
    size_t limit = parser->limits->inline_size_max, size = (size_t)(end - at);
    size_t begin = (size_t)(at - data), skip = 0;
    if (parser->scanned > begin)
        skip = parser->scanned - begin;
    size_t window = size <= limit ? size : limit + 1;
    const char *found = skip < window ? memchr(at + skip, '\r', window - skip) : NULL;
    if (found == NULL) {
        if (size > limit)
            return bad(parser, error);
        parser->scanned = begin + size;
        return PARSE_MORE;
    }
    *length = (size_t)(found - at);
    if (size < *length + 2) {
        parser->scanned = begin + *length;
        return PARSE_MORE;
    }
    return PARSE_DONE;
}

/* "*<count>\r\n" at the request's start. DONE: `*after` is behind it, and count at least 1, or 0
 * for a request to ignore. */
static enum parse read_count(struct parser *parser, char *data, char *end, uint32_t *count,
                             char **after)
{
    size_t length;
    enum parse parse =
        find_line(parser, data, data, end, &length, "Protocol error: too big mbulk count string");
    if (parse != PARSE_DONE)
        return parse;
    int64_t number;
    if (!number_parse_i64(bytes_of(data + 1, length - 1), &number) || number > INT32_MAX)
        return bad(parser, "Protocol error: invalid multibulk length");
    if (number > (int64_t)parser->limits->arguments_max)
        return bad_count(parser);
    *count = number > 0 ? (uint32_t)number : 0;
    *after = data + length + 2;
    return PARSE_DONE;
}

static enum parse bad_character(struct parser *parser, char c)
{
    static const char text[] = "Protocol error: expected '$', got 'x'";
    _Static_assert(sizeof(text) <= sizeof(parser->error_text), "must fit");
    memcpy(parser->error_text, text, sizeof(text));
    /* It will be part of an error line. */
    parser->error_text[sizeof(text) - 3] = c == '\r' || c == '\n' || c == '\0' ? ' ' : c;
    return bad(parser, parser->error_text);
}

/* "$<size>\r\n" at `*at`, which goes behind it. */
static enum parse read_size(struct parser *parser, char *data, char **at, char *end,
                            size_t *out_size)
{
    size_t length;
    enum parse parse =
        find_line(parser, data, *at, end, &length, "Protocol error: too big bulk count string");
    if (parse != PARSE_DONE)
        return parse;
    if (**at != '$')
        return bad_character(parser, **at);
    int64_t number;
    if (!number_parse_i64(bytes_of(*at + 1, length - 1), &number) || number < 0 ||
        number > (int64_t)wire_limits_default.argument_size_max)
        return bad(parser, "Protocol error: invalid bulk length");
    if (number > (int64_t)parser->limits->argument_size_max)
        return bad_size(parser);
    *out_size = (size_t)number;
    *at += length + 2;
    return PARSE_DONE;
}

/* ---- inline commands */

/* `line` has `length` bytes without its end. The words are decoded in place. */
static enum parse split_line(struct parser *parser, char *line, size_t length)
{
    const char *at = line, *end = line + length;
    uint32_t argc = 0;
    for (;;) {
        while (at < end && word_is_blank(*at))
            at++;
        if (at == end)
            break;
        if (argc == parser->limits->arguments_max)
            return bad_count(parser);
        if (argc == parser->argv_room && !parser_grow(parser, UINT32_MAX))
            return bad(parser, out_of_memory);
        char *word = (char *)at, *out = word;
        if (!word_read(&at, end, &out))
            return bad(parser, "Protocol error: unbalanced quotes in request");
        if ((size_t)(out - word) > parser->limits->argument_size_max)
            return bad_size(parser);
        if (out != at) { /* quotes were taken out */
            parser->rewritten = true;
            parser->state = PARSER_DONE;
        }
        parser->argv[argc++] = bytes_of(word, (size_t)(out - word));
    }
    deliver(parser, argc);
    return PARSE_DONE;
}

static enum parse parse_inline(struct parser *parser, char *data, size_t size, size_t *consumed)
{
    size_t limit = parser->limits->inline_size_max;
    size_t window = size <= limit ? size : limit + 1;
    char *newline = memchr(data + parser->scanned, '\n', window - parser->scanned);
    if (newline == NULL) {
        if (size > limit)
            return bad(parser, "Protocol error: too big inline request");
        parser->scanned = size;
        parser_save(parser, data, 0, 0, 0, 0);
        return PARSE_MORE;
    }
    size_t length = (size_t)(newline - data);
    *consumed = length + 1;
    if (length != 0 && data[length - 1] == '\r')
        length--;
    return split_line(parser, data, length);
}

/* ---- arrays */

/* The request goes on behind the `size` bytes that are there. They end in or before the argument
 * that follows the saved ones; when its header is complete, `length` bytes from `content` on are
 * its own. */
static enum parse wait_for_more(struct parser *parser, size_t size, size_t content, size_t length)
{
    if (parser->kept_size + size > parser->limits->query_size_max)
        return bad(parser, wire_too_big);
    parser->need = content == 0 ? 0 : content + length + 2;
    parser->blob_need = 0;
    if (length > PARSER_BLOB_SIZE_MIN && size - content < length) {
        parser->blob_need = length;
        parser->blob_offset = content;
    }
    return PARSE_MORE;
}

/* Where parsing begins when it is not the plain start of a whole request. DONE: `*at` is at the
 * first argument to read, or the request is complete (`*total` 0). */
static enum parse begin(struct parser *parser, char *data, size_t size, size_t *consumed, char **at,
                        uint32_t *total)
{
    if (parser->state == PARSER_DONE)
        parser_reset(parser);
    *total = parser->argc_total;
    if (*total != 0) {
        /* The first bytes after a big argument that was received elsewhere are its line end. */
        size_t offset = parser->offset == 0 ? 2 : parser->offset;
        *at = data + offset;
        if (size >= offset)
            return PARSE_DONE;
        parser->need = offset;
        return PARSE_MORE;
    }
    parser->need = parser->blob_need = 0;
    if (size == 0)
        return PARSE_MORE;
    if (*data != '*')
        return parse_inline(parser, data, size, consumed);
    enum parse parse = read_count(parser, data, data + size, total, at);
    if (parse == PARSE_MORE)
        parser_save(parser, data, 0, 0, 0, 0);
    if (parse == PARSE_DONE && *total == 0) {
        deliver(parser, 0);
        *consumed = (size_t)(*at - data);
    }
    return parse;
}

/* "$<size>\r\n" in its usual form, of which at least ARGUMENT_SIZE_MIN bytes are there. */
static inline bool read_size_plain(char **at, char *end, size_t size_max, size_t *out_size)
{
    char *p = *at;
    size_t size = (unsigned char)(p[1] - '0');
    if (p[0] != '$' || size > 9)
        return false;
    p += 2;
    if (*p != '\r') {
        size_t digit;
        if (size == 0) /* would be a leading zero */
            return false;
        while ((digit = (unsigned char)(*p - '0')) <= 9) {
            size = size * 10 + digit;
            if (size > size_max || end - ++p < 2)
                return false;
        }
    }
    if (memcmp(p, "\r\n", 2) != 0)
        return false;
    *at = p + 2;
    *out_size = size;
    return true;
}

static enum parse resp_parse(struct parser *parser, char *data, size_t size, size_t *consumed)
{
    char *at, *end = data + size;
    uint32_t total, first = 0;
    if (LIKELY(parser->state == PARSER_EMPTY && size >= 4 && data[0] == '*' &&
               (unsigned char)(data[1] - '1') < 9 && memcmp(data + 2, "\r\n", 2) == 0)) {
        total = (uint32_t)(data[1] - '0');
        at = data + 4;
    } else {
        enum parse parse = begin(parser, data, size, consumed, &at, &total);
        if (parse != PARSE_DONE || total == 0)
            return parse;
        first = parser->argc_done;
    }

    uint32_t done = first, stop = total < parser->argv_room ? total : parser->argv_room;
    for (;;) {
        for (; done < stop; done++) {
            char *header = at;
            size_t length = 0;
            if (!LIKELY(end - at >= ARGUMENT_SIZE_MIN &&
                        read_size_plain(&at, end, parser->limits->argument_size_max, &length))) {
                enum parse parse = read_size(parser, data, &at, end, &length);
                if (parse == PARSE_BAD)
                    return parse;
                if (parse == PARSE_MORE) {
                    parser_save(parser, data, (size_t)(header - data), first, done, total);
                    return wait_for_more(parser, size, 0, 0);
                }
            }
            if ((size_t)(end - at) < length + 2) {
                parser_save(parser, data, (size_t)(header - data), first, done, total);
                return wait_for_more(parser, size, (size_t)(at - data), length);
            }
            parser->argv[done] = bytes_of(at, length);
            at += length + 2;
        }
        if (LIKELY(done == total))
            break;
        if (!parser_grow(parser, total))
            return bad(parser, out_of_memory);
        stop = parser->argv_room;
    }

    if (parser->state == PARSER_UNFINISHED) {
        parser_restore(parser, data, first);
        parser->argc_done = done;
    }
    deliver(parser, total);
    *consumed = (size_t)(at - data);
    return PARSE_DONE;
}

static enum detect resp_detect(const char *data, size_t size)
{
    (void)data;
    return size == 0 ? DETECT_MORE : DETECT_YES;
}

/* Steps over "$<up to 4 digits>\r\n" and returns the size it tells, or -1. */
static int guess_size(const char *data, size_t size, size_t *at)
{
    int value = 0;
    size_t i = *at;
    if (i >= size || data[i++] != '$')
        return -1;
    for (; i < size && i <= *at + 4 && data[i] >= '0' && data[i] <= '9'; i++)
        value = value * 10 + (data[i] - '0');
    if (i + 2 > size || data[i] != '\r')
        return -1;
    *at = i + 2;
    return value;
}

/* The second argument of "*<digit>\r\n...". */
static bool resp_guess_key(const char *data, size_t size, struct bytes *out)
{
    size_t at = 4;
    if (size < at || data[0] != '*' || data[2] != '\r')
        return false;
    int name_size = guess_size(data, size, &at);
    if (name_size < 0)
        return false;
    at += (size_t)name_size + 2;
    int key_size = guess_size(data, size, &at);
    if (key_size < 0 || at + (size_t)key_size > size)
        return false;
    *out = bytes_of(data + at, (size_t)key_size);
    return true;
}

static void resp_protocol_error(struct reply *reply, const char *error)
{
    reply_error(reply, "ERR", bytes_of_text(error));
}

const struct wire wire_resp = {
    .name = "resp",
    .detect = resp_detect,
    .parse = resp_parse,
    .guess_key = resp_guess_key,
    .protocol_error = resp_protocol_error,
    .reply_ops = &resp_reply_ops,
};
