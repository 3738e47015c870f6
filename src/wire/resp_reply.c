/* SPDX-License-Identifier: MIT
 *
 * Meanings as RESP2 and RESP3 bytes. RESP3 has types of its own where RESP2 makes do with bulk
 * strings, integers and arrays; everything else is the same in both.
 *
 * Whatever is short is written into one reserved span. Only payloads go through the sink's append,
 * and values that lie in blobs are referred to where the sink can.
 */
#include "wire/resp_reply.h"

#include <string.h>

#include "base/number.h"
#include "wire/value.h"

/* Kind, digits, CRLF. */
enum { HEADER_SIZE_MAX = 1 + NUMBER_I64_MAX_SIZE + 2 };

static inline char *put_end(char *at)
{
    memcpy(at, "\r\n", 2);
    return at + 2;
}

static inline char *put_header(char *at, char kind, uint64_t number)
{
    *at++ = kind;
    if (number >= 1000) {
        at += number_format_u64(at, number);
        return put_end(at);
    }
    if (number >= 100)
        *at++ = (char)('0' + number / 100);
    if (number >= 10)
        *at++ = (char)('0' + number / 10 % 10);
    *at++ = (char)('0' + number % 10);
    return put_end(at);
}

static void write_header(struct sink *sink, char kind, uint64_t number)
{
    char *at = sink_reserve(sink, HEADER_SIZE_MAX);
    if (at != NULL)
        sink->at = put_header(at, kind, number);
}

static void write_end(struct sink *sink)
{
    sink_write(sink, "\r\n", 2);
}

static inline void write_bulk(struct sink *sink, struct bytes bytes)
{
    if ((size_t)(sink->end - sink->at) >= bytes.size + HEADER_SIZE_MAX + 2) {
        char *at = put_header(sink->at, '$', bytes.size);
        if (bytes.size != 0)
            memcpy(at, bytes.data, bytes.size);
        sink->at = put_end(at + bytes.size);
        return;
    }
    write_header(sink, '$', bytes.size);
    sink_write_bytes(sink, bytes);
    write_end(sink);
}

static void resp_ok(struct reply *reply)
{
    sink_write(reply->sink, "+OK\r\n", 5);
}

static void resp_missing(struct reply *reply)
{
    if (reply->version >= 3)
        sink_write(reply->sink, "_\r\n", 3);
    else
        sink_write(reply->sink, "$-1\r\n", 5);
}

static void resp_missing_list(struct reply *reply)
{
    if (reply->version >= 3)
        sink_write(reply->sink, "_\r\n", 3);
    else
        sink_write(reply->sink, "*-1\r\n", 5);
}

static void resp_value(struct reply *reply, const struct value *v)
{
    struct sink *sink = reply->sink;
    if (v->size < BLOB_VALUE_SIZE_MIN || v->blob == NULL) {
        write_bulk(sink, bytes_of(v->data, v->size));
        return;
    }
    write_header(sink, '$', v->size);
    value_write(sink, v, 0, v->size);
    write_end(sink);
}

static void resp_bytes(struct reply *reply, struct bytes bytes)
{
    write_bulk(reply->sink, bytes);
}

static void write_line(struct sink *sink, char kind, const char *text, size_t size)
{
    sink_write(sink, &kind, 1);
    sink_write(sink, text, size);
    write_end(sink);
}

static void resp_word(struct reply *reply, const char *text)
{
    write_line(reply->sink, '+', text, strlen(text));
}

static void resp_text(struct reply *reply, struct bytes text)
{
    if (reply->version < 3) {
        write_bulk(reply->sink, text);
        return;
    }
    write_header(reply->sink, '=', text.size + 4);
    sink_write(reply->sink, "txt:", 4);
    sink_write_bytes(reply->sink, text);
    write_end(reply->sink);
}

static void resp_integer(struct reply *reply, int64_t integer)
{
    char *at = sink_reserve(reply->sink, HEADER_SIZE_MAX);
    if (at == NULL)
        return;
    *at++ = ':';
    at += number_format_i64(at, integer);
    reply->sink->at = put_end(at);
}

static void resp_number(struct reply *reply, double number)
{
    char text[NUMBER_DOUBLE_MAX_SIZE];
    size_t size = number_format_double(text, number);
    if (reply->version >= 3)
        write_line(reply->sink, ',', text, size);
    else
        write_bulk(reply->sink, bytes_of(text, size));
}

static void resp_boolean(struct reply *reply, bool boolean)
{
    if (reply->version >= 3)
        sink_write(reply->sink, boolean ? "#t\r\n" : "#f\r\n", 4);
    else
        sink_write(reply->sink, boolean ? ":1\r\n" : ":0\r\n", 4);
}

static void resp_list(struct reply *reply, uint64_t count)
{
    write_header(reply->sink, '*', count);
}

static void resp_set(struct reply *reply, uint64_t count)
{
    write_header(reply->sink, reply->version >= 3 ? '~' : '*', count);
}

static void resp_map(struct reply *reply, uint64_t count)
{
    if (reply->version >= 3)
        write_header(reply->sink, '%', count);
    else
        write_header(reply->sink, '*', count * 2);
}

static void resp_error(struct reply *reply, const char *code, struct bytes text)
{
    reply->errored = true;
    sink_write(reply->sink, "-", 1);
    sink_write_bytes(reply->sink, bytes_of_text(code));
    sink_write(reply->sink, " ", text.size > 0);
    sink_write_bytes(reply->sink, text);
    write_end(reply->sink);
}

const struct reply_ops resp_reply_ops = {
    .ok = resp_ok,
    .stored = resp_ok,
    .not_stored = resp_missing,
    .missing = resp_missing,
    .missing_list = resp_missing_list,
    .value = resp_value,
    .bytes = resp_bytes,
    .word = resp_word,
    .text = resp_text,
    .integer = resp_integer,
    .number = resp_number,
    .boolean = resp_boolean,
    .list = resp_list,
    .set = resp_set,
    .map = resp_map,
    .error = resp_error,
};
