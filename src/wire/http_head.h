/* SPDX-License-Identifier: MIT
 *
 * The head of an HTTP request: request line and headers, read in one pass into spans. What they
 * mean is http_request's business. No state.
 *
 * Readers of HTTP that disagree on where a request ends can be played off against each other, so
 * nothing is forgiven here: lines end with CR LF, no header goes on over two lines, a name is
 * followed by its colon. A complaint is made when the head's end is there, so that it does not
 * depend on how the bytes arrive.
 */
#ifndef LARDER_WIRE_HTTP_HEAD_H
#define LARDER_WIRE_HTTP_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "wire/wire.h"

/* Longer ones are refused; spans count on it. */
enum { HTTP_HEAD_SIZE_MAX = 32 * 1024, HTTP_TRAILERS_SIZE_MAX = 8 * 1024 };

enum http_complaint {
#define COMPLAINT(name, status, text) HTTP_##name,
#include "wire/http_complaints.def"
#undef COMPLAINT
};

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_PUT,
    HTTP_POST,
    HTTP_DELETE,
    HTTP_OPTIONS,
    HTTP_OTHER,  /* known, and not for keys */
    HTTP_UNKNOWN /* not a method */
};

/* Headers that are kept. */
enum http_field {
    HTTP_FIELD_HOST,
    HTTP_FIELD_LENGTH,
    HTTP_FIELD_CODING,
    HTTP_FIELD_EXPECT,
    HTTP_FIELD_AUTHORIZATION,
    HTTP_FIELD_IF_MATCH,
    HTTP_FIELD_IF_NONE_MATCH,
    HTTP_FIELD_IF_RANGE,
    HTTP_FIELD_RANGE,
    HTTP_FIELD_TYPE,
    HTTP_FIELD_EXPIRES,
    HTTP_FIELD_ORIGIN,
    HTTP_FIELD_FETCH_SITE,
    HTTP_FIELD_REQUEST_METHOD, /* of a preflight */
    HTTP_FIELD_CONNECTION,     /* these two may be there several times and are read at once */
    HTTP_FIELD_CACHE_CONTROL,
    HTTP_FIELDS
};

struct http_span {
    uint16_t at, size;
};

struct http_head {
    uint8_t method;    /* enum http_method */
    uint8_t minor;     /* HTTP/1.<minor>; more than 1 is 1 */
    uint8_t complaint; /* enum http_complaint */
    bool close, keep_alive;
    bool has_max_age;
    uint32_t present; /* bits by enum http_field */
    int64_t max_age_s;
    struct http_span target;
    struct http_span fields[HTTP_FIELDS]; /* of those present; without blanks around */
    size_t size;                          /* bytes up to the body */
};

static inline bool http_has(const struct http_head *head, enum http_field field)
{
    return (head->present >> field & 1) != 0;
}

/* Empty when it is not there. */
static inline struct http_span http_field_span(const struct http_head *head, enum http_field field)
{
    return http_has(head, field) ? head->fields[field] : (struct http_span){0, 0};
}

static inline struct bytes http_field(const struct http_head *head, const char *data,
                                      enum http_field field)
{
    struct http_span span = http_field_span(head, field);
    return bytes_of(data + span.at, span.size);
}

/* DONE: `complaint` says whether it can be used; `size` is right either way, or as much as there is
 * when the head is too long. MORE: its end is not there. */
enum parse http_head_read(struct http_head *head, const char *data, size_t size);
/* Whether the end of a head, good or bad, can be in the bytes from `from` on. */
bool http_head_ends(const char *data, size_t from, size_t size);

/* What follows the last chunk: lines like those of a head, which mean nothing, and an empty one.
 * DONE: `*out` bytes. BAD: `*complaint` says why. */
enum parse http_trailers_read(const char *data, size_t size, size_t *out,
                              enum http_complaint *complaint);

/* "GET " and so on at the start of `size` bytes; its length without the blank, 0: none. `*more`:
 * there are too few bytes to know. */
size_t http_method_at(const char *data, size_t size, enum http_method *out, bool *more);

/* The next of a list's elements, separated by commas, without blanks around; false at the end.
 * Commas in quotes separate nothing. */
bool http_list_next(struct bytes *list, struct bytes *out);
/* ASCII case does not matter; `lower` is in lower case. */
bool http_equal(struct bytes text, const char *lower, size_t size);

#endif
