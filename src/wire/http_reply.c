/* SPDX-License-Identifier: MIT
 *
 * Items and errors as HTTP responses. What was asked stands in the request's terms
 * (http_request.h), and the headers that a response depends on are read from its note only when
 * there is something to compare them with.
 *
 * A head is written into reserved spans, one where nothing unusual is in it; values that lie in
 * blobs are referred to where the sink can.
 */
#include "wire/http_reply.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "wire/http_request.h"
#include "wire/value.h"

enum {
    SPAN_SIZE = 320,      /* of a head without type and origin */
    TYPE_SIZE_MAX = 160,  /* of a type that still fits the same span */
    ORIGIN_SIZE_MAX = 256 /* a longer one is not told back */
};

struct complaint {
    uint16_t status;
    const char *text;
};

static const struct complaint complaints[] = {
#define COMPLAINT(name, status, text) {status, text},
#include "wire/http_complaints.def"
#undef COMPLAINT
};

static const char *reason_of(uint32_t status)
{
    switch (status) {
    case 200:
        return "200 OK";
    case 201:
        return "201 Created";
    case 204:
        return "204 No Content";
    case 206:
        return "206 Partial Content";
    case 304:
        return "304 Not Modified";
    case 400:
        return "400 Bad Request";
    case 401:
        return "401 Unauthorized";
    case 403:
        return "403 Forbidden";
    case 404:
        return "404 Not Found";
    case 405:
        return "405 Method Not Allowed";
    case 408:
        return "408 Request Timeout";
    case 409:
        return "409 Conflict";
    case 411:
        return "411 Length Required";
    case 412:
        return "412 Precondition Failed";
    case 413:
        return "413 Content Too Large";
    case 414:
        return "414 URI Too Long";
    case 416:
        return "416 Range Not Satisfiable";
    case 417:
        return "417 Expectation Failed";
    case 431:
        return "431 Request Header Fields Too Large";
    case 501:
        return "501 Not Implemented";
    case 503:
        return "503 Service Unavailable";
    case 505:
        return "505 HTTP Version Not Supported";
    case 507:
        return "507 Insufficient Storage";
    default:
        return "500 Internal Server Error";
    }
}

/* ---- what was asked */

struct asked {
    struct http_form form;
    struct bytes note;
};

static const char allowed[] = "Allow: GET, HEAD, PUT, POST, DELETE, OPTIONS\r\n";

static void ask(struct asked *asked, const struct reply *reply)
{
    const struct request *request = reply->request;

    if (request == NULL || request->terms == NULL) {
        /* Nobody knows what was asked, and the connection is about to close. */
        *asked = (struct asked){.form = {.method = HTTP_UNKNOWN, .connection = HTTP_CLOSE}};
        return;
    }
    http_form_load(&asked->form, request->terms);
    /* "item-error note" is the only one without a key. */
    asked->note = request->argv[request->argc == 2 ? 1 : 2];
}

static struct bytes header(const struct asked *asked, struct http_span span)
{
    return bytes_of(asked->note.data + span.at, span.size);
}

/* ---- writing heads */

#define PUT(at, literal) put((at), literal, sizeof(literal) - 1)

static inline char *put(char *at, const char *text, size_t size)
{
    memcpy(at, text, size);
    return at + size;
}

static inline char *put_number(char *at, uint64_t number)
{
    return at + number_format_u64(at, number);
}

static inline char *put_status(char *at, uint32_t status)
{
    const char *reason;

    if (__builtin_expect(status == 200, 1))
        return PUT(at, "HTTP/1.1 200 OK\r\n");
    reason = reason_of(status);
    at = PUT(at, "HTTP/1.1 ");
    at = put(at, reason, strlen(reason));
    return PUT(at, "\r\n");
}

static inline char *put_connection(char *at, const struct asked *asked)
{
    if (__builtin_expect(asked->form.connection != HTTP_KEEP_SILENT, 0))
        at = asked->form.connection == HTTP_CLOSE ? PUT(at, "Connection: close\r\n")
                                                  : PUT(at, "Connection: keep-alive\r\n");
    return at;
}

/* What is known of the item, but for its size and type. The rest of its life is a shared cache's
 * max-age at Age 0: what it has lived so far nobody remembers. */
static inline char *put_item(char *at, const struct item *item)
{
    if (item->traits.kinds & TRAIT_VERSION) {
        at = PUT(at, "ETag: \"");
        at = put_number(at, item->traits.version);
        at = PUT(at, "\"\r\n");
    }
    if (item->ttl_ms >= 0) {
        at = PUT(at, "Cache-Control: max-age=");
        at = put_number(at, (uint64_t)item->ttl_ms / 1000);
        at = PUT(at, "\r\nAge: 0\r\n");
    }
    return at;
}

/* The request came from a page that may ask: says so. */
static void write_origin(struct reply *reply, const struct asked *asked)
{
    if (__builtin_expect(asked->form.origin.size == 0, 1) ||
        asked->form.origin.size > ORIGIN_SIZE_MAX)
        return;
    sink_write_bytes(reply->sink, BYTES("Access-Control-Allow-Origin: "));
    sink_write_bytes(reply->sink, header(asked, asked->form.origin));
    sink_write_bytes(reply->sink,
                     BYTES("\r\nAccess-Control-Expose-Headers: Age, Content-Range, ETag\r\n"
                           "Vary: Origin\r\n"));
}

/* A response of which nothing but its head comes. `item` may be NULL. */
static void write_bare(struct reply *reply, const struct asked *asked, uint32_t status,
                       const struct item *item)
{
    char *at = sink_reserve(reply->sink, SPAN_SIZE);

    if (at == NULL)
        return;
    at = put_status(at, status);
    if (status == 201)
        at = PUT(at, "Content-Length: 0\r\n");
    if (item != NULL)
        at = put_item(at, item);
    reply->sink->at = put_connection(at, asked);
    write_origin(reply, asked);
    sink_write(reply->sink, "\r\n", 2);
}

/* ---- errors */

/* {"error":"..."}; as much of the text as fits. */
static size_t format_error(char *out, size_t room, struct bytes text)
{
    static const char begin[] = "{\"error\":\"", end[] = "\"}\n";
    char *at = put(out, begin, sizeof(begin) - 1);
    const char *last = out + room - sizeof(end);

    for (size_t i = 0; i < text.size && at + 2 <= last; i++) {
        char c = text.data[i];

        if (c == '"' || c == '\\')
            *at++ = '\\';
        *at++ = (unsigned char)c < ' ' || (unsigned char)c > '~' ? '?' : c;
    }
    return (size_t)(PUT(at, end) - out);
}

static void write_error(struct reply *reply, const struct asked *asked, uint32_t status,
                        struct bytes text, const char *more)
{
    char body[400];
    size_t size = format_error(body, sizeof(body), text);
    char *at = sink_reserve(reply->sink, SPAN_SIZE);

    if (at == NULL)
        return;
    at = put_status(at, status);
    at = PUT(at, "Content-Type: application/json\r\nContent-Length: ");
    at = put_number(at, size);
    at = PUT(at, "\r\n");
    at = put(at, more, strlen(more));
    reply->sink->at = put_connection(at, asked);
    write_origin(reply, asked);
    sink_write(reply->sink, "\r\n", 2);
    if (asked->form.method != HTTP_HEAD)
        sink_write(reply->sink, body, size);
}

static const char *headers_with(uint32_t status)
{
    return status == 401   ? "WWW-Authenticate: Basic realm=\"larder\", charset=\"UTF-8\"\r\n"
                             "WWW-Authenticate: Bearer realm=\"larder\"\r\n"
           : status == 405 ? allowed
                           : "";
}

/* What the engine or the dispatcher has to say, by its code. */
static void http_error(struct reply *reply, const char *code, struct bytes text)
{
    static const struct {
        const char *code;
        uint32_t status;
    } rows[] = {{"OOM", 507},     {"NOAUTH", 401}, {"WRONGPASS", 401}, {"WRONGTYPE", 409},
                {"LOADING", 503}, {"BUSY", 503},   {"HTTP", 0}};
    struct asked asked;
    uint32_t status = 500;

    reply->errored = true;
    ask(&asked, reply);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(code, rows[i].code) == 0)
            status = rows[i].status;
    if (bytes_equal(text, bytes_of_text(status_text(STATUS_VALUE_TOO_LARGE))))
        status = 413;
    if (status == 0)
        status = complaints[asked.form.complaint].status;
    write_error(reply, &asked, status, text, headers_with(status));
}

void http_protocol_error(struct reply *reply, const char *error)
{
    struct asked asked;
    uint32_t status = error == wire_too_big ? 413 : error == wire_too_slow ? 408 : 400;

    reply->errored = true;
    ask(&asked, reply);
    write_error(reply, &asked, status, bytes_of_text(error), "");
}

/* ---- what the wire answers by itself */

static void write_preflight(struct reply *reply, const struct asked *asked)
{
    sink_write_bytes(reply->sink, BYTES("HTTP/1.1 204 No Content\r\n"));
    sink_write(reply->sink, allowed, sizeof(allowed) - 1);
    if (asked->form.preflight)
        sink_write_bytes(
            reply->sink,
            BYTES("Access-Control-Allow-Methods: GET, HEAD, PUT, POST, DELETE\r\n"
                  "Access-Control-Allow-Headers: Authorization, Cache-Control, Content-Type, "
                  "Expires, If-Match, If-None-Match, If-Range, Range\r\n"
                  "Access-Control-Allow-Private-Network: true\r\n"
                  "Access-Control-Max-Age: 600\r\n"));
    write_origin(reply, asked);
    char *at = sink_reserve(reply->sink, SPAN_SIZE);

    if (at != NULL)
        reply->sink->at = PUT(put_connection(at, asked), "\r\n");
}

static void refuse(struct reply *reply, const struct asked *asked)
{
    if (asked->form.complaint == HTTP_NONE)
        write_preflight(reply, asked);
    else
        reply_error(reply, "HTTP", bytes_of_text(complaints[asked->form.complaint].text));
}

/* ---- values */

/* Whether one of the tags is the item's; * is every item's. */
static bool tags_match(struct bytes list, const struct item *item, bool weak_too)
{
    struct bytes tag;
    uint64_t version;

    while (http_list_next(&list, &tag))
        if (bytes_equal(tag, BYTES("*")) ||
            (http_tag_parse(tag, weak_too, &version) && version == item->traits.version))
            return true;
    return false;
}

/* If-Range takes one tag; with anything else the whole value is sent. */
static bool range_holds(struct bytes tag, const struct item *item)
{
    uint64_t version;

    return http_tag_parse(tag, false, &version) && version == item->traits.version;
}

struct range {
    size_t first, size;
    bool part;
};

static bool read_bound(struct bytes text, size_t *out)
{
    uint64_t value = 0;

    if (text.size == 0)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint32_t digit = (uint32_t)(unsigned char)text.data[i] - '0';

        if (digit > 9)
            return false;
        value = value > UINT64_MAX / 16 ? UINT64_MAX / 16 : value * 10 + digit;
    }
    *out = (size_t)value;
    return true;
}

/* "bytes=1-5", "bytes=7-", "bytes=-3". Everything else, several ranges too, asks for the whole.
 * False: it lies outside. */
static bool read_range(struct bytes text, size_t size, struct range *out)
{
    size_t first = 0, last = SIZE_MAX;

    if (text.size < 6 || !http_equal(bytes_of(text.data, 6), "bytes=", 6))
        return true;
    text.data += 6;
    text.size -= 6;
    const char *dash = memchr(text.data, '-', text.size);

    if (dash == NULL)
        return true;
    struct bytes low = bytes_of(text.data, (size_t)(dash - text.data));
    struct bytes high = bytes_of(dash + 1, text.size - low.size - 1);

    if ((high.size > 0 && !read_bound(high, &last)) || (low.size > 0 && !read_bound(low, &first)))
        return true;
    if (low.size == 0) { /* the last so many bytes */
        if (high.size == 0)
            return true;
        if (last == 0 || size == 0)
            return false;
        first = last < size ? size - last : 0;
        last = size - 1;
    }
    if (last < first)
        return true;
    if (first >= size)
        return false;
    out->first = first;
    out->size = (last < size - 1 ? last : size - 1) - first + 1;
    out->part = true;
    return true;
}

static char *put_content_range(char *at, const struct range *range, size_t size)
{
    at = PUT(at, "Content-Range: bytes ");
    at = put_number(at, range->first);
    *at++ = '-';
    at = put_number(at, range->first + range->size - 1);
    *at++ = '/';
    at = put_number(at, size);
    return PUT(at, "\r\n");
}

/* A browser shall not find out by itself that a value looks like a page or a script. */
#define NO_SNIFFING "X-Content-Type-Options: nosniff\r\n"

/* Values of another type than the usual one have it kept with them. */
static char *put_type(struct sink *sink, char *at, const struct traits *traits)
{
    if (__builtin_expect(!(traits->kinds & TRAIT_TYPE), 1))
        return PUT(at, "Content-Type: application/octet-stream\r\n" NO_SNIFFING);
    at = PUT(at, "Content-Type: ");
    if (traits->type.size <= TYPE_SIZE_MAX) {
        at = put(at, traits->type.data, traits->type.size);
    } else {
        sink->at = at;
        sink_write_bytes(sink, traits->type);
        at = sink_reserve(sink, SPAN_SIZE);
        if (at == NULL)
            return NULL;
    }
    return PUT(at, "\r\n" NO_SNIFFING);
}

static inline void write_value(struct reply *reply, const struct asked *asked,
                               const struct item *item, const struct range *range)
{
    struct sink *sink = reply->sink;
    char *at = sink_reserve(sink, SPAN_SIZE + TYPE_SIZE_MAX);

    if (at == NULL)
        return;
    at = put_status(at, range->part ? 206 : 200);
    at = PUT(at, "Content-Length: ");
    at = put_number(at, range->size);
    at = PUT(at, "\r\n");
    at = put_type(sink, at, &item->traits);
    if (at == NULL)
        return;
    at = put_item(at, item);
    at = range->part ? put_content_range(at, range, item->size)
                     : PUT(at, "Accept-Ranges: bytes\r\n");
    at = put_connection(at, asked);
    if (__builtin_expect(asked->form.origin.size == 0, 1)) {
        sink->at = PUT(at, "\r\n");
    } else {
        sink->at = at;
        write_origin(reply, asked);
        sink_write(sink, "\r\n", 2);
    }
    if (asked->form.method != HTTP_HEAD)
        value_write(sink, item->value, range->first, range->size);
}

static void write_outside(struct reply *reply, const struct asked *asked, size_t size)
{
    char more[64];

    snprintf(more, sizeof(more), "Content-Range: bytes */%zu\r\n", size);
    write_error(reply, asked, 416, BYTES("the range lies outside the value"), more);
}

static void write_differs(struct reply *reply, const struct asked *asked)
{
    write_error(reply, asked, 412, bytes_of_text(complaints[HTTP_NOT_EQUAL].text), "");
}

/* Conditions first, in the order of RFC 9110, 13.2.2. */
static void write_found(struct reply *reply, const struct asked *asked, const struct item *item)
{
    const struct http_form *form = &asked->form;
    struct range range = {.size = item->size};

    if (form->method == HTTP_DELETE) /* of a version that it cannot be */
        write_differs(reply, asked);
    else if (form->if_match.size > 0 && !tags_match(header(asked, form->if_match), item, false))
        write_differs(reply, asked);
    else if (form->if_none_match.size > 0 &&
             tags_match(header(asked, form->if_none_match), item, true))
        write_bare(reply, asked, 304, item);
    else if (form->range.size > 0 &&
             (form->if_range.size == 0 || range_holds(header(asked, form->if_range), item)) &&
             !read_range(header(asked, form->range), item->size, &range))
        write_outside(reply, asked, item->size);
    else
        write_value(reply, asked, item, &range);
}

static void write_missing(struct reply *reply, const struct asked *asked)
{
    if (asked->form.method == HTTP_PUT || asked->form.method == HTTP_POST)
        write_differs(reply, asked); /* it asked for a version */
    else
        write_error(reply, asked, 404, BYTES("no such key"), "");
}

static void http_item(struct reply *reply, const struct item *item)
{
    struct asked asked;

    ask(&asked, reply);
    switch (item->outcome) {
    case ITEM_FOUND:
        write_found(reply, &asked, item);
        break;
    case ITEM_STORED: {
        struct item told = *item;

        told.ttl_ms = -1; /* the client has just said it */
        write_bare(reply, &asked, item->existed ? 204 : 201, &told);
        break;
    }
    case ITEM_DELETED:
        write_bare(reply, &asked, 204, NULL);
        break;
    case ITEM_NOT_STORED:
        write_error(reply, &asked, 412,
                    item->existed ? BYTES("the key is there already") : BYTES("no such key"), "");
        break;
    case ITEM_DIFFERS:
        write_differs(reply, &asked);
        break;
    case ITEM_REFUSED:
        refuse(reply, &asked);
        break;
    default:
        write_missing(reply, &asked);
    }
}

const struct reply_ops http_reply_ops = {
    .item = http_item,
    .error = http_error,
};
