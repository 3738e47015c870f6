/* SPDX-License-Identifier: MIT */
#include "wire/http_head.h"

#include <string.h>

#define LIKELY(condition) __builtin_expect(!!(condition), 1)

enum { IS_TOKEN = 1, IS_VALUE = 2, IS_TARGET = 4 };

/* What each byte may be part of: a name, a header's value, a target. */
static const uint8_t kinds[256] = {
    ['\t'] = IS_VALUE,
    [' '] = IS_VALUE,
    ['!'] = 7,
    ['"'] = IS_VALUE | IS_TARGET,
    ['#'] = IS_TOKEN | IS_VALUE,
    ['$'] = 7,
    ['%'] = 7,
    ['&'] = 7,
    ['\''] = 7,
    ['('] = IS_VALUE | IS_TARGET,
    [')'] = IS_VALUE | IS_TARGET,
    ['*' ... '+'] = 7,
    [','] = IS_VALUE | IS_TARGET,
    ['-' ... '.'] = 7,
    ['/'] = IS_VALUE | IS_TARGET,
    ['0' ... '9'] = 7,
    [':' ... '@'] = IS_VALUE | IS_TARGET,
    ['A' ... 'Z'] = 7,
    ['[' ... ']'] = IS_VALUE | IS_TARGET,
    ['^' ... 'z'] = 7,
    ['{'] = IS_VALUE | IS_TARGET,
    ['|'] = 7,
    ['}'] = IS_VALUE | IS_TARGET,
    ['~'] = 7,
    [128 ... 255] = IS_VALUE | IS_TARGET,
};

static inline bool is(char c, uint8_t kind)
{
    return (kinds[(unsigned char)c] & kind) != 0;
}

static inline bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool http_equal(struct bytes text, const char *lower, size_t size)
{
    if (text.size != size)
        return false;
    for (size_t i = 0; i < size; i++) {
        char c = text.data[i];

        if (c != lower[i] && (c < 'A' || c > 'Z' || (c | 0x20) != lower[i]))
            return false;
    }
    return true;
}

bool http_list_next(struct bytes *list, struct bytes *out)
{
    const char *at = list->data, *end = at + list->size;

    while (at < end && (is_blank(*at) || *at == ','))
        at++;
    if (at == end)
        return false;
    const char *begin = at;
    bool quoted = false;

    for (; at < end && (quoted || *at != ','); at++)
        quoted ^= *at == '"';
    list->data = at;
    list->size = (size_t)(end - at);
    while (is_blank(at[-1]))
        at--;
    *out = bytes_of(begin, (size_t)(at - begin));
    return true;
}

/* ---- methods */

size_t http_method_at(const char *data, size_t size, enum http_method *out, bool *more)
{
    static const struct {
        const char *name;
        enum http_method method;
    } rows[] = {
        {"GET", HTTP_GET},        {"PUT", HTTP_PUT},         {"HEAD", HTTP_HEAD},
        {"POST", HTTP_POST},      {"DELETE", HTTP_DELETE},   {"OPTIONS", HTTP_OPTIONS},
        {"PATCH", HTTP_OTHER},    {"TRACE", HTTP_OTHER},     {"CONNECT", HTTP_OTHER},
        {"PROPFIND", HTTP_OTHER}, {"PROPPATCH", HTTP_OTHER}, {"MKCOL", HTTP_OTHER},
        {"REPORT", HTTP_OTHER},   {"PRI", HTTP_OTHER},
    };

    *more = false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t length = strlen(rows[i].name);
        size_t shown = size < length ? size : length;

        if (shown > 0 && memcmp(data, rows[i].name, shown) != 0)
            continue;
        if (size > length && data[length] == ' ') {
            *out = rows[i].method;
            return length;
        }
        *more |= size <= length;
    }
    return 0;
}

/* ---- headers */

static enum http_field field_named(struct bytes name)
{
#define TRY(lower, field)                                                                          \
    if (http_equal(name, lower, sizeof(lower) - 1))                                                \
    return field
    switch (name.size) {
    case 4:
        TRY("host", HTTP_FIELD_HOST);
        break;
    case 5:
        TRY("range", HTTP_FIELD_RANGE);
        break;
    case 6:
        TRY("origin", HTTP_FIELD_ORIGIN);
        TRY("expect", HTTP_FIELD_EXPECT);
        break;
    case 7:
        TRY("expires", HTTP_FIELD_EXPIRES);
        break;
    case 8:
        TRY("if-match", HTTP_FIELD_IF_MATCH);
        TRY("if-range", HTTP_FIELD_IF_RANGE);
        break;
    case 10:
        TRY("connection", HTTP_FIELD_CONNECTION);
        break;
    case 12:
        TRY("content-type", HTTP_FIELD_TYPE);
        break;
    case 13:
        TRY("authorization", HTTP_FIELD_AUTHORIZATION);
        TRY("cache-control", HTTP_FIELD_CACHE_CONTROL);
        TRY("if-none-match", HTTP_FIELD_IF_NONE_MATCH);
        break;
    case 14:
        TRY("content-length", HTTP_FIELD_LENGTH);
        TRY("sec-fetch-site", HTTP_FIELD_FETCH_SITE);
        break;
    case 17:
        TRY("transfer-encoding", HTTP_FIELD_CODING);
        break;
    case 29:
        TRY("access-control-request-method", HTTP_FIELD_REQUEST_METHOD);
        break;
    }
#undef TRY
    return HTTP_FIELDS;
}

static void read_connection(struct http_head *head, struct bytes list)
{
    struct bytes option;

    while (http_list_next(&list, &option)) {
        head->close |= http_equal(option, "close", 5);
        head->keep_alive |= http_equal(option, "keep-alive", 10);
    }
}

/* The smallest max-age holds. One that is no number is -1. */
static void read_cache_control(struct http_head *head, struct bytes list)
{
    struct bytes directive;

    while (http_list_next(&list, &directive)) {
        int64_t age_s = 0;
        size_t at = 8;

        if (directive.size < at || !http_equal(bytes_of(directive.data, at), "max-age=", at))
            continue;
        for (; at < directive.size; at++) {
            uint32_t digit = (uint32_t)(unsigned char)directive.data[at] - '0';

            if (digit > 9)
                break;
            /* More than 68 years are as good as 68 (RFC 9111, 1.2.2). */
            age_s = age_s > INT32_MAX / 10 ? INT32_MAX : age_s * 10 + digit;
        }
        if (at == 8 || at < directive.size)
            age_s = -1;
        head->max_age_s = head->has_max_age && head->max_age_s < age_s ? head->max_age_s : age_s;
        head->has_max_age = true;
    }
}

static bool note_field(struct http_head *head, const char *data, struct bytes name,
                       struct bytes value)
{
    enum http_field field = field_named(name);

    if (LIKELY(field == HTTP_FIELDS))
        return true;
    if (field == HTTP_FIELD_CONNECTION) {
        read_connection(head, value);
        return true;
    }
    if (field == HTTP_FIELD_CACHE_CONTROL) {
        read_cache_control(head, value);
        return true;
    }
    if (http_has(head, field))
        return false;
    head->present |= 1u << field;
    head->fields[field] = (struct http_span){(uint16_t)(value.data - data), (uint16_t)value.size};
    return true;
}

static enum parse bad(struct http_head *head, enum http_complaint complaint)
{
    head->complaint = (uint8_t)complaint;
    return PARSE_BAD;
}

static enum parse bad_name(struct http_head *head, const char *name, const char *at)
{
    if (*at == '\n')
        return bad(head, HTTP_LINE_END);
    return bad(head, at == name && is_blank(*at) ? HTTP_FOLDED : HTTP_FIELD_NAME);
}

/* "Name: value\r\n" at `*at`, which moves behind it. */
static inline enum parse read_field(const char **at, const char *end, struct bytes *name,
                                    struct bytes *value, struct http_head *head)
{
    const char *begin = *at, *to = begin;

    while (to < end && is(*to, IS_TOKEN))
        to++;
    if (to == end)
        return PARSE_MORE;
    if (to == begin || *to != ':')
        return bad_name(head, begin, to);
    *name = bytes_of(begin, (size_t)(to - begin));
    do
        to++;
    while (to < end && is_blank(*to));
    begin = to;
    while (to < end && is(*to, IS_VALUE))
        to++;
    if (end - to < 2)
        return PARSE_MORE;
    if (to[0] != '\r' || to[1] != '\n')
        return bad(head, to[0] == '\n' || to[0] == '\r' ? HTTP_LINE_END : HTTP_FIELD_VALUE);
    const char *last = to;

    while (last > begin && is_blank(last[-1]))
        last--;
    *value = bytes_of(begin, (size_t)(last - begin));
    *at = to + 2;
    return PARSE_DONE;
}

/* Reads on, past the empty line. Trailers are noted nowhere. */
static inline enum parse read_fields(struct http_head *head, const char *data, const char *at,
                                     const char *end, bool trailers)
{
    struct bytes name, value;

    while (at < end && *at != '\r') {
        enum parse parse = read_field(&at, end, &name, &value, head);

        if (parse != PARSE_DONE)
            return parse;
        if (!trailers && !note_field(head, data, name, value))
            return bad(head, HTTP_TWICE);
    }
    if (end - at < 2)
        return PARSE_MORE;
    if (at[1] != '\n')
        return bad(head, HTTP_LINE_END);
    head->size = (size_t)(at + 2 - data);
    return PARSE_DONE;
}

enum parse http_trailers_read(const char *data, size_t size, size_t *out,
                              enum http_complaint *complaint)
{
    size_t window = size < HTTP_TRAILERS_SIZE_MAX ? size : HTTP_TRAILERS_SIZE_MAX;
    struct http_head head = {.complaint = HTTP_TRAILER_SIZE};
    enum parse parse = read_fields(&head, data, data, data + window, true);

    if (parse == PARSE_MORE && size > window)
        parse = PARSE_BAD;
    *out = head.size;
    *complaint = (enum http_complaint)head.complaint;
    return parse;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "GET /key HTTP/1.1\r\n"; DONE: `*after` is behind it. */
static enum parse read_line(struct http_head *head, const char *data, const char *end,
                            const char **after)
{
    enum http_method method = HTTP_UNKNOWN;
    bool more;
    const char *at = data + http_method_at(data, (size_t)(end - data), &method, &more);

    head->method = (uint8_t)method;
    if (at == data)
        while (at < end && is(*at, IS_TOKEN))
            at++;
    if (at == end)
        return PARSE_MORE;
    if (at == data || *at != ' ')
        return bad(head, HTTP_REQUEST_LINE);
    const char *target = ++at;

    while (at < end && is(*at, IS_TARGET))
        at++;
    if (end - at < 11 && memchr(at, '\n', (size_t)(end - at)) == NULL)
        return PARSE_MORE;
    if (end - at < 11 || at == target || memcmp(at, " HTTP/", 6) != 0 || !is_digit(at[6]) ||
        at[7] != '.' || !is_digit(at[8]) || at[9] != '\r' || at[10] != '\n')
        return bad(head, HTTP_REQUEST_LINE);
    head->target = (struct http_span){(uint16_t)(target - data), (uint16_t)(at - target)};
    head->minor = at[8] == '0' ? 0 : 1;
    head->complaint = at[6] == '1' ? HTTP_NONE : HTTP_VERSION;
    *after = at + 11;
    return PARSE_DONE;
}

/* ---- the whole */

/* Where the head ends that is not to be used: behind the first empty line, however lines end. 0:
 * that has not come. */
static size_t find_end(const char *data, size_t from, size_t size)
{
    const char *at = data + from, *end = data + size;

    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at++;
        if (at < end && *at == '\n')
            return (size_t)(at + 1 - data);
        if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
            return (size_t)(at + 2 - data);
    }
    return 0;
}

bool http_head_ends(const char *data, size_t from, size_t size)
{
    from = from > 3 ? from - 3 : 0;
    return size > HTTP_HEAD_SIZE_MAX || find_end(data, from, size) != 0;
}

enum parse http_head_read(struct http_head *head, const char *data, size_t size)
{
    size_t window = size < HTTP_HEAD_SIZE_MAX ? size : HTTP_HEAD_SIZE_MAX;
    const char *end = data + window, *at = NULL;

    head->close = head->keep_alive = head->has_max_age = false;
    head->minor = 0;
    head->present = 0;
    head->target = (struct http_span){0, 0};
    enum parse parse = read_line(head, data, end, &at);

    if (LIKELY(parse == PARSE_DONE)) {
        parse = read_fields(head, data, at, end, false);
        if (LIKELY(parse == PARSE_DONE))
            return PARSE_DONE;
    }
    head->size = parse == PARSE_BAD ? find_end(data, 0, window) : 0;
    if (head->size > 0)
        return PARSE_DONE;
    if (size <= HTTP_HEAD_SIZE_MAX)
        return PARSE_MORE;
    head->complaint = at != NULL ? HTTP_HEAD_SIZE : HTTP_TARGET_SIZE;
    head->size = size;
    return PARSE_DONE;
}
