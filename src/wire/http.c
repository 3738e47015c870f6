/* SPDX-License-Identifier: MIT
 *
 * HTTP/1.1 and 1.0: a key is a path.
 *
 *   PUT /some/key?ttl=10s HTTP/1.1        GET /some/key HTTP/1.1        DELETE /some/key HTTP/1.1
 *
 * This file finds requests in bytes; http_head reads their heads, http_request what these mean,
 * http_body chunks, and http_reply renders answers. The head is the request's note. Of what it
 * means nothing is remembered between calls but for what it was refused: when the body has come the
 * head is read again, from the bytes or from the parser's copy.
 *
 * A request that is refused is answered in its turn, like any other (item-error). Its body is read
 * and dropped when its end is known and it is small, or the client is no stranger; else, and where
 * a web page has sent it, the connection closes.
 *
 * Not HTTP is what Redis's inline commands can be: "GET key", and "GET /key" without a version.
 */
#include <string.h>

#include "wire/http_body.h"
#include "wire/http_reply.h"
#include "wire/http_request.h"

enum {
    DETECT_SIZE_MAX = 8 * 1024, /* a longer line is HTTP's */
    UNWANTED_SIZE_MAX = 64 * 1024
};

/* What is known of a request while its body comes, in terms.form. */
enum {
    KNOWN_TOTAL,     /* of a chunked body: the bytes of the value so far, */
    KNOWN_TOTAL_MAX, /* how many there may be */
    KNOWN_QUERY_MAX, /* and how many of the request */
    KNOWN_COMPLAINT
};

/* ---- detection */

/* Compares as much of `text` as there is: 1 it is there, 0 it may come, -1 it is not. */
static int begins(const char *data, size_t size, const char *text)
{
    size_t length = strlen(text), shown = size < length ? size : length;

    if (shown > 0 && !http_equal(bytes_of(data, shown), text, shown))
        return -1;
    return shown == length;
}

static enum detect http_detect(const char *data, size_t size)
{
    enum http_method method;
    bool more;
    size_t at = http_method_at(data, size, &method, &more);

    if (at == 0)
        return more ? DETECT_MORE : DETECT_NO;
    const char *target = data + ++at, *end = data + size;

    size -= at;
    if (size == 0)
        return DETECT_MORE;
    if (*target != '/' && *target != '*' && method != HTTP_OTHER) {
        int plain = begins(target, size, "http://"), secure = begins(target, size, "https://");

        if (plain < 0 && secure < 0)
            return DETECT_NO;
        if (plain <= 0 && secure <= 0)
            return DETECT_MORE;
    }
    while (target < end && *target != ' ' && *target != '\n')
        target++;
    if (target == end)
        return (size_t)(end - data) < DETECT_SIZE_MAX ? DETECT_MORE : DETECT_YES;
    int version = begins(target, (size_t)(end - target), " http/");

    return version > 0 ? DETECT_YES : version < 0 ? DETECT_NO : DETECT_MORE;
}

/* ---- requests */

static void unescape(struct bytes *text)
{
    char *to = (char *)(uintptr_t)text->data;

    for (size_t i = 0; i < text->size; i++) {
        char c = text->data[i];

        if (c == '%') {
            c = (char)(http_hex_digit(text->data[i + 1]) << 4 | http_hex_digit(text->data[i + 2]));
            i += 2;
        }
        *to++ = c;
    }
    text->size = (size_t)(to - text->data);
}

/* A request that was refused when its head came stays refused, whatever has changed meanwhile: its
 * body may be gone. */
static void read_request(struct parser *parser, struct http_request *asked,
                         const struct http_head *head, const char *data)
{
    uint64_t refused =
        parser->state == PARSER_UNFINISHED ? parser->terms.form[KNOWN_COMPLAINT] : HTTP_NONE;

    http_request_read(asked, &parser->terms, head, data, parser->limits);
    if (refused != HTTP_NONE)
        http_request_refuse(asked, (enum http_complaint)refused);
}

/* The request is complete. `note` is its head, in memory that may be changed; `value` its body. */
static enum parse deliver(struct parser *parser, const struct http_request *asked,
                          struct bytes note, struct bytes value)
{
    struct http_form form = asked->form;
    uint32_t argc = 0;
    bool keyed = asked->form.complaint == HTTP_NONE && asked->form.method != HTTP_OPTIONS;

    if (asked->last)
        form.connection = HTTP_CLOSE;
    http_form_store(&parser->terms, &form);
    parser->argv[argc++] = bytes_of_text(asked->command);
    if (keyed) {
        struct bytes key = bytes_of(note.data + asked->path.at, asked->path.size);

        if (asked->escaped) {
            unescape(&key);
            parser->rewritten = true;
        }
        parser->argv[argc++] = key;
    }
    parser->argv[argc++] = note;
    if (asked->stores)
        parser->argv[argc++] = value;
    parser->request.argv = parser->argv;
    parser->request.argc = argc;
    parser->request.blobs = parser->blobs;
    parser->request.terms = &parser->terms;
    parser->request.admitted = asked->admitted;
    parser->request.last = asked->last;
    parser->state = PARSER_DONE;
    return PARSE_DONE;
}

/* The connection ends with the answer: what else there is is not looked at. */
static enum parse deliver_last(struct parser *parser, struct http_request *asked, struct bytes note,
                               size_t size, size_t *consumed)
{
    asked->last = true;
    *consumed = size;
    return deliver(parser, asked, note, BYTES(""));
}

/* Announces the body, or waits for it. */
static enum parse wait(struct parser *parser, const struct http_request *asked, const char *data,
                       size_t head_size, size_t size)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

    if (asked->continues && size == head_size)
        parser->interim = bytes_of(go_on, sizeof(go_on) - 1);
    parser->terms.form[KNOWN_COMPLAINT] = asked->form.complaint;
    parser->judged = asked->form.complaint != HTTP_NONE;
    if (asked->chunked)
        return PARSE_MORE;
    parser->need = head_size + asked->length;
    if (asked->length <= PARSER_BLOB_SIZE_MIN)
        return PARSE_MORE;
    parser->blob_need = asked->length;
    parser->blob_offset = head_size;
    parser->blob_unwanted = !asked->stores;
    parser->argv[0] = parser->argv[1] = bytes_of(data, 0); /* it is known again from the note */
    parser->argv[2] = bytes_of(data, head_size);
    parser_save(parser, data, 0, 0, 3, 4);
    return PARSE_MORE;
}

/* Whether the body, which nobody wants, is not worth waiting for. */
static bool give_up(const struct http_request *asked)
{
    if (http_request_fatal(asked))
        return true;
    if (asked->stores)
        return false;
    if (asked->limits->unauthenticated && asked->length > asked->limits->argument_size_max)
        return true;
    /* A client that waits for leave to send the body does not know whether to send it. */
    return asked->form.complaint != HTTP_NONE && asked->continues;
}

static size_t decoded_size_max(const struct http_request *asked)
{
    size_t max = asked->limits->argument_size_max;

    return asked->stores || max < UNWANTED_SIZE_MAX ? max : UNWANTED_SIZE_MAX;
}

/* A chunked body begins, or goes on from parser->offset, where the next chunk begins. */
static enum parse parse_chunks(struct parser *parser, struct http_request *asked,
                               struct http_chunks *chunks, char *data, size_t head_size,
                               size_t size, size_t *consumed)
{
    struct bytes note = bytes_of(data, head_size);
    enum http_complaint complaint = HTTP_NONE;
    enum parse parse = http_chunks_measure(chunks, data, size, decoded_size_max(asked), &complaint);

    if (parse == PARSE_MORE && size > asked->limits->query_size_max) {
        parse = PARSE_BAD;
        complaint = HTTP_BODY_SIZE;
    }
    if (parse == PARSE_BAD) {
        if (asked->form.complaint == HTTP_NONE)
            http_request_refuse(asked, complaint);
        return deliver_last(parser, asked, note, size, consumed);
    }
    if (parse == PARSE_MORE) {
        wait(parser, asked, data, head_size, size);
        parser_save(parser, data, chunks->at, 0, 0, 0);
        parser->need = chunks->need;
        parser->terms.form[KNOWN_TOTAL] = chunks->total;
        parser->terms.form[KNOWN_TOTAL_MAX] = decoded_size_max(asked);
        parser->terms.form[KNOWN_QUERY_MAX] = asked->limits->query_size_max;
        return PARSE_MORE;
    }
    http_chunks_join(data + head_size);
    parser->rewritten = true;
    *consumed = chunks->at;
    return deliver(parser, asked, note, bytes_of(data + head_size, chunks->total));
}

/* The big argument was received elsewhere; the head is in the parser's copy. */
static enum parse parse_received(struct parser *parser, char *data, size_t *consumed)
{
    struct http_head head;
    struct http_request asked;

    parser_restore(parser, data, parser->argc_done);
    struct bytes note = parser->argv[2], value = parser->argv[3];

    *consumed = 0;
    (void)http_head_read(&head, note.data, note.size); /* as it did before */
    read_request(parser, &asked, &head, note.data);
    return deliver(parser, &asked, note, value);
}

/* What of an unfinished request can be told without reading its head again. MORE: nothing has
 * come of it. */
static enum parse look_again(struct parser *parser, const char *data, size_t size,
                             struct http_chunks *chunks)
{
    enum http_complaint ignored;

    if (size < parser->need)
        return PARSE_MORE;
    if (parser->offset > 0) {
        chunks->at = parser->offset;
        chunks->total = (size_t)parser->terms.form[KNOWN_TOTAL];
        struct http_chunks ahead = *chunks;

        if (size <= parser->terms.form[KNOWN_QUERY_MAX] &&
            http_chunks_measure(&ahead, data, size, (size_t)parser->terms.form[KNOWN_TOTAL_MAX],
                                &ignored) == PARSE_MORE) {
            parser->offset = ahead.at;
            parser->need = ahead.need;
            parser->terms.form[KNOWN_TOTAL] = ahead.total;
            return PARSE_MORE;
        }
        return PARSE_DONE;
    }
    if (parser->need == 0 && !http_head_ends(data, parser->scanned, size)) {
        parser->scanned = size;
        return PARSE_MORE;
    }
    return PARSE_DONE;
}

static enum parse http_parse(struct parser *parser, char *data, size_t size, size_t *consumed)
{
    struct http_chunks chunks = {.at = 0};
    struct http_request asked;
    struct http_head head;

    if (parser->state == PARSER_DONE)
        parser_reset(parser);
    if (parser->state == PARSER_UNFINISHED && parser->argc_kept > 0)
        return parse_received(parser, data, consumed);
    if (size >= 2 && data[0] == '\r' && data[1] == '\n') { /* an empty line before a request */
        *consumed = 2;
        parser->request.argc = 0;
        parser->state = PARSER_DONE;
        return PARSE_DONE;
    }
    if (size == 0)
        return PARSE_MORE;
    if (parser->state == PARSER_UNFINISHED && look_again(parser, data, size, &chunks) == PARSE_MORE)
        return PARSE_MORE;
    if (http_head_read(&head, data, size) == PARSE_MORE) {
        parser_save(parser, data, 0, 0, 0, 0);
        parser->scanned = size;
        parser->terms.form[KNOWN_COMPLAINT] = HTTP_NONE;
        return PARSE_MORE;
    }
    read_request(parser, &asked, &head, data);
    struct bytes note = bytes_of(data, head.size);

    if (give_up(&asked))
        return deliver_last(parser, &asked, note, size, consumed);
    if (asked.chunked) {
        if (chunks.at == 0)
            chunks.at = head.size;
        return parse_chunks(parser, &asked, &chunks, data, head.size, size, consumed);
    }
    if (size - head.size < asked.length) {
        parser_save(parser, data, 0, 0, 0, 0);
        return wait(parser, &asked, data, head.size, size);
    }
    *consumed = head.size + asked.length;
    return deliver(parser, &asked, note, bytes_of(data + head.size, asked.length));
}

/* ---- the table */

/* What stands between the first slash and a blank or a question mark. */
static bool http_guess_key(const char *data, size_t size, struct bytes *out)
{
    enum http_method method;
    bool more;
    size_t at = http_method_at(data, size, &method, &more);

    if (at == 0 || at + 2 > size || data[at + 1] != '/')
        return false;
    size_t begin = at += 2;

    while (at < size && data[at] != ' ' && data[at] != '?' && data[at] != '%')
        at++;
    if (at == size || data[at] == '%')
        return false;
    *out = bytes_of(data + begin, at - begin);
    return true;
}

const struct wire wire_http = {
    .name = "http",
    .hurries = true,
    .detect = http_detect,
    .parse = http_parse,
    .guess_key = http_guess_key,
    .protocol_error = http_protocol_error,
    .reply_ops = &http_reply_ops,
};
