/* SPDX-License-Identifier: MIT
 *
 * Meanings as packets of memcached's binary protocol; wire/binary.h says what they look like.
 *
 * Head, flags and an ordinary value are written into one span. Which bytes a request wants back
 * stands in its terms; without any (the connection is about to be given up) they are zero.
 */
#include <string.h>

#include "base/big_endian.h"
#include "base/number.h"
#include "base/status.h"
#include "command/item.h"
#include "command/request.h"
#include "wire/binary.h"
#include "wire/value.h"

enum { FLAGS_SIZE = 4, COUNT_SIZE = 8 };

static inline uint64_t form_of(const struct reply *reply)
{
    const struct request *request = reply->request;
    return request != NULL && request->terms != NULL ? request->terms->form[0] : 0;
}

/* `status` and `key_size` are small; `body_size` counts extras, key and value. */
static inline char *put_head(char *at, uint64_t form, uint32_t status, size_t key_size,
                             uint32_t extras_size, size_t body_size, uint64_t version)
{
    uint32_t opaque = (uint32_t)(form >> 32);

    at = big_endian_put_u32(at, (uint32_t)BINARY_RESPONSE << 24 | (uint32_t)(form & 0xff) << 16 |
                                    (uint32_t)key_size);
    at = big_endian_put_u32(at, extras_size << 24 | status);
    at = big_endian_put_u32(at, (uint32_t)body_size);
    memcpy(at, &opaque, sizeof(opaque));
    return big_endian_put_u64(at + sizeof(opaque), version);
}

/* A packet without extras. */
static void write_packet(struct sink *sink, uint64_t form, uint32_t status, struct bytes key,
                         struct bytes value, uint64_t version)
{
    char *at = sink_reserve(sink, BINARY_HEAD_SIZE);

    if (at == NULL)
        return;
    sink->at = put_head(at, form, status, key.size, 0, key.size + value.size, version);
    sink_write_bytes(sink, key);
    sink_write_bytes(sink, value);
}

struct bytes binary_status_text(enum binary_status status)
{
    switch (status) {
    case BINARY_NOT_FOUND:
        return BYTES("Not found");
    case BINARY_EXISTS:
        return BYTES("Data exists for key.");
    case BINARY_TOO_LARGE:
        return BYTES("Too large.");
    case BINARY_INVALID:
        return BYTES("Invalid arguments");
    case BINARY_NOT_STORED:
        return BYTES("Not stored.");
    case BINARY_NOT_NUMBER:
        return BYTES("Non-numeric server-side value for incr or decr");
    case BINARY_AUTH_FAILED:
        return BYTES("Auth failure.");
    case BINARY_UNKNOWN:
        return BYTES("Unknown command");
    case BINARY_NO_MEMORY:
        return BYTES("Out of memory");
    default:
        return BYTES("");
    }
}

/* What the parser has already decided. */
static void write_own(struct reply *reply, uint64_t form)
{
    const struct request *request = reply->request;

    write_packet(reply->sink, form, (uint32_t)request->terms->form[1], BYTES(""), request->argv[1],
                 0);
}

static void write_status(struct reply *reply, uint64_t form, enum binary_status status)
{
    write_packet(reply->sink, form, status, BYTES(""), binary_status_text(status), 0);
}

/* ---- items */

static void write_found(struct reply *reply, uint64_t form, const struct item *item)
{
    const struct value *value = form & BINARY_WITHOUT_VALUE ? NULL : item->value;
    struct bytes key = form & BINARY_WITH_KEY ? item->key : BYTES("");
    size_t size = FLAGS_SIZE + key.size + (value != NULL ? value->size : 0);
    struct sink *sink = reply->sink;
    bool fits = (size_t)(sink->end - sink->at) >= BINARY_HEAD_SIZE + size;
    char *at = sink_reserve(sink, BINARY_HEAD_SIZE + FLAGS_SIZE);

    if (at == NULL)
        return;
    at = put_head(at, form, BINARY_OK, key.size, FLAGS_SIZE, size, item->traits.version);
    sink->at = big_endian_put_u32(at, item->traits.flags);
    sink_write_bytes(sink, key);
    if (value == NULL)
        return;
    if (__builtin_expect(fits && value->size < BLOB_VALUE_SIZE_MIN, 1)) {
        memcpy(sink->at, value->data, value->size);
        sink->at += value->size;
    } else {
        value_write(sink, value, 0, value->size);
    }
}

static void write_missing(struct reply *reply, uint64_t form, const struct item *item)
{
    enum { EXTENDS = 1 << ITEM_APPEND | 1 << ITEM_PREPEND };
    const struct request *request = reply->request;

    if (form & BINARY_WITH_KEY)
        write_packet(reply->sink, form, BINARY_NOT_FOUND, item->key, BYTES(""), 0);
    else if (request->terms->mode < 32 && (EXTENDS >> request->terms->mode & 1))
        write_status(reply, form, BINARY_NOT_STORED);
    else
        write_status(reply, form, BINARY_NOT_FOUND);
}

static enum binary_status not_stored(const struct reply *reply)
{
    switch (reply->request->terms->mode) {
    case ITEM_ADD:
        return BINARY_EXISTS;
    case ITEM_REPLACE:
        return BINARY_NOT_FOUND;
    default:
        return BINARY_NOT_STORED;
    }
}

static void write_count(struct reply *reply, uint64_t form, const struct item *item)
{
    char *at = sink_reserve(reply->sink, BINARY_HEAD_SIZE + COUNT_SIZE);

    if (at == NULL)
        return;
    at = put_head(at, form, BINARY_OK, 0, 0, COUNT_SIZE, item->traits.version);
    reply->sink->at = big_endian_put_u64(at, item->number);
}

static void write_done(struct reply *reply, uint64_t form, uint64_t version)
{
    char *at;

    if (form & BINARY_QUIET)
        return;
    at = sink_reserve(reply->sink, BINARY_HEAD_SIZE);
    if (at != NULL)
        reply->sink->at = put_head(at, form, BINARY_OK, 0, 0, 0, version);
}

static void binary_item(struct reply *reply, const struct item *item)
{
    const struct item_terms *terms = reply->request->terms;
    uint64_t form = terms->form[0];

    if (item->outcome == ITEM_FOUND && terms->form[1] == BINARY_OK) {
        write_found(reply, form, item);
        return;
    }
    if (form & BINARY_OWN) {
        write_own(reply, form);
        return;
    }
    if (terms->form[1] != BINARY_OK) {
        write_status(reply, form, (enum binary_status)terms->form[1]);
        return;
    }
    switch (item->outcome) {
    case ITEM_MISSING:
        if (!(form & BINARY_MISSES_QUIET))
            write_missing(reply, form, item);
        break;
    case ITEM_NOT_STORED:
        write_status(reply, form, not_stored(reply));
        break;
    case ITEM_DIFFERS:
        write_status(reply, form, BINARY_EXISTS);
        break;
    case ITEM_COUNTED:
        if (!(form & BINARY_QUIET))
            write_count(reply, form, item);
        break;
    case ITEM_NOT_NUMBER:
        write_status(reply, form, BINARY_NOT_NUMBER);
        break;
    case ITEM_DELETED:
        write_done(reply, form, 0);
        break;
    default:
        write_done(reply, form, item->traits.version);
    }
}

/* ---- what else there is to say */

static void binary_done(struct reply *reply)
{
    uint64_t form = form_of(reply);

    if (form & BINARY_AUTH)
        write_packet(reply->sink, form, BINARY_OK, BYTES(""), BYTES("Authenticated"), 0);
    else
        write_done(reply, form, 0);
}

static void binary_not_stored(struct reply *reply)
{
    write_status(reply, form_of(reply), BINARY_NOT_STORED);
}

static void binary_missing(struct reply *reply)
{
    write_status(reply, form_of(reply), BINARY_NOT_FOUND);
}

/* The parts of a map take turns: a name waits for its value, and the two are a packet. An empty
 * one tells that there are no more. */
static void write_part(struct reply *reply, struct bytes part)
{
    struct item_terms *terms = reply->request->terms;
    uint64_t form = form_of(reply);

    if (reply->index++ % 2 == 0) {
        terms->form[2] = (uint64_t)(uintptr_t)part.data;
        terms->form[3] = part.size;
    } else {
        struct bytes name =
            bytes_of((const char *)(uintptr_t)terms->form[2], (size_t)terms->form[3]);
        write_packet(reply->sink, form, BINARY_OK, name, part, 0);
    }
    if (--reply->left == 0)
        write_packet(reply->sink, form, BINARY_OK, BYTES(""), BYTES(""), 0);
}

static void binary_bytes(struct reply *reply, struct bytes bytes)
{
    uint64_t form = form_of(reply);

    if (reply->left > 0)
        write_part(reply, bytes);
    else if (form & BINARY_EMPTY)
        write_done(reply, form, 0);
    else
        write_packet(reply->sink, form, BINARY_OK, BYTES(""), bytes, 0);
}

static void binary_value(struct reply *reply, const struct value *value)
{
    binary_bytes(reply, bytes_of(value->data, value->size));
}

static void binary_word(struct reply *reply, const char *text)
{
    binary_bytes(reply, bytes_of_text(text));
}

static void binary_integer(struct reply *reply, int64_t integer)
{
    char digits[NUMBER_I64_MAX_SIZE];

    binary_bytes(reply, bytes_of(digits, number_format_i64(digits, integer)));
}

static void binary_number(struct reply *reply, double number)
{
    char digits[NUMBER_DOUBLE_MAX_SIZE];

    binary_bytes(reply, bytes_of(digits, number_format_double(digits, number)));
}

static void binary_boolean(struct reply *reply, bool boolean)
{
    binary_bytes(reply, boolean ? BYTES("1") : BYTES("0"));
}

/* Of a list each element is a packet. */
static void binary_list(struct reply *reply, uint64_t count)
{
    (void)reply;
    (void)count;
}

static void binary_map(struct reply *reply, uint64_t count)
{
    reply->index = 0;
    reply->left = 2 * count;
    if (count == 0)
        write_packet(reply->sink, form_of(reply), BINARY_OK, BYTES(""), BYTES(""), 0);
}

/* In memcached's words, which depend on what the memory was for. */
static void write_no_memory(struct reply *reply, uint64_t form)
{
    const struct request *request = reply->request;
    struct bytes name = request != NULL ? request->argv[0] : BYTES("");
    struct bytes text = binary_status_text(BINARY_NO_MEMORY);

    if (bytes_equal(name, BYTES("item-set")))
        text = BYTES("Out of memory allocating item");
    else if (bytes_equal(name, BYTES("item-count")))
        text = BYTES("Out of memory incrementing value");
    write_packet(reply->sink, form, BINARY_NO_MEMORY, BYTES(""), text, 0);
}

static void binary_error(struct reply *reply, const char *code, struct bytes text)
{
    static const struct {
        const char *code;
        enum binary_status status;
    } rows[] = {
        {"ERROR", BINARY_NOT_FOUND}, /* a section of statistics */
        {"NOAUTH", BINARY_AUTH_FAILED},
        {"WRONGPASS", BINARY_AUTH_FAILED},
    };
    uint64_t form = form_of(reply);

    reply->errored = true;
    if (form & BINARY_OWN) {
        write_own(reply, form);
        return;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(code, rows[i].code) == 0) {
            write_status(reply, form, rows[i].status);
            return;
        }
    }
    if (strcmp(code, "OOM") == 0)
        write_no_memory(reply, form);
    else if (bytes_equal(text, bytes_of_text(status_text(STATUS_VALUE_TOO_LARGE))))
        write_status(reply, form, BINARY_TOO_LARGE);
    else if (strcmp(code, "WRONGTYPE") == 0 || strcmp(code, "CLIENT_ERROR") == 0)
        write_packet(reply->sink, form, BINARY_INVALID, BYTES(""), text, 0);
    else
        write_packet(reply->sink, form, BINARY_INTERNAL, BYTES(""), text, 0);
}

const struct reply_ops binary_reply_ops = {
    .ok = binary_done,
    .stored = binary_done,
    .not_stored = binary_not_stored,
    .missing = binary_missing,
    .missing_list = binary_missing,
    .value = binary_value,
    .bytes = binary_bytes,
    .word = binary_word,
    .text = binary_bytes,
    .integer = binary_integer,
    .number = binary_number,
    .boolean = binary_boolean,
    .list = binary_list,
    .set = binary_list,
    .map = binary_map,
    .item = binary_item,
    .error = binary_error,
};
