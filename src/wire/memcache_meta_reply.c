/* SPDX-License-Identifier: MIT
 *
 * Answers to memcached's meta commands: two letters, then what each flag of the request asked for,
 * in its order, on one line that is written into one span; then the value if it was asked for.
 */
#include <string.h>

#include "base/base64.h"
#include "base/number.h"
#include "wire/memcache.h"
#include "wire/value.h"

enum {
    ENCODED_KEY_SIZE_MAX = (MEMCACHE_KEY_SIZE_MAX + 2) / 3 * 4,
    OPAQUE_SIZE_MAX = 32,
    NUMBERS_MAX = 5, /* s t f l and the value's size */
    LINE_SIZE_MAX = 3 + NUMBERS_MAX * (2 + 13) + (2 + NUMBER_I64_MAX_SIZE) + 3 +
                    (2 + ENCODED_KEY_SIZE_MAX + 2) + (1 + OPAQUE_SIZE_MAX) + 6 + 2
};

_Static_assert((int)LINE_SIZE_MAX <= (int)SINK_RESERVE_MAX, "a line fits a span");

static char *put_flag(char *at, char flag)
{
    *at++ = ' ';
    *at++ = flag;
    return at;
}

static char *put_number(char *at, char flag, uint64_t number)
{
    at = put_flag(at, flag);
    return at + number_format_u64(at, number);
}

static char *put_key(char *at, struct bytes key, bool encoded)
{
    if (encoded)
        return at + base64_encode(at, key);
    memcpy(at, key.data, key.size);
    return at + key.size;
}

/* Whole seconds to live, the one that has begun included; -1 for ever. */
static int64_t ttl_s(int64_t ttl_ms)
{
    return ttl_ms < 0 ? -1 : (ttl_ms + 999) / 1000;
}

static uint64_t version_of(const struct item *item)
{
    return item->traits.kinds & TRAIT_VERSION ? item->traits.version : 0;
}

static uint32_t flags_of(const struct item *item)
{
    return item->traits.kinds & TRAIT_FLAGS ? item->traits.flags : 0;
}

/* What a flag asked for of a value that is there, which has `ttl_ms` to live. */
static char *put_field(char *at, char flag, const struct item *item, int64_t ttl_ms)
{
    switch (flag) {
    case 's':
        return put_number(at, 's', item->size);
    case 't':
        at = put_flag(at, 't');
        return at + number_format_i64(at, ttl_s(ttl_ms));
    case 'c':
        return put_number(at, 'c', version_of(item));
    case 'f':
        return put_number(at, 'f', flags_of(item));
    case 'l':
        return put_number(at, 'l', item->idle_s > 0 ? (uint64_t)item->idle_s : 0);
    case 'h':
        return put_number(at, 'h', item->read_before ? 1 : 0);
    default:
        return at;
    }
}

/* The flags of the note, in order: `t` before `T` tells the time from before. `fields` names those
 * that are answered besides key and opaque. */
static char *put_flags(char *at, const struct request *request, const struct item *item,
                       const char *fields)
{
    bool encoded = (request->terms->form[1] & MEMCACHE_BASE64) != 0;
    const char *word = request->argv[2].data, *end = word + request->argv[2].size;
    const struct item_terms *terms = request->terms;
    bool timed = terms->time.form != ITEM_TIME_KEPT || (terms->options & ITEM_VIVIFIES) != 0;
    int64_t ttl_ms = timed ? item->ttl_before_ms : item->ttl_ms;

    while (word < end) {
        const char *begin = word;

        while (word < end && *word != ' ')
            word++;
        size_t size = (size_t)(word - begin);
        if (word < end)
            word++;
        if (size == 0)
            continue;
        if (*begin == 'O') {
            *at++ = ' ';
            memcpy(at, begin, size);
            at += size;
        } else if (*begin == 'k') {
            at = put_key(put_flag(at, 'k'), item->key, encoded);
            if (encoded)
                at = put_flag(at, 'b');
        } else if (strchr(fields, *begin) != NULL) {
            at = put_field(at, *begin, item, ttl_ms);
        } else if (*begin == 'T' || (*begin == 'N' && !item->existed)) {
            ttl_ms = item->ttl_ms;
        }
    }
    return at;
}

static char *put_status(char *at, const char *status)
{
    memcpy(at, status, 2);
    return at + 2;
}

/* Ends the line and goes on behind it. */
static void end_line(struct sink *sink, char *at)
{
    memcpy(at, "\r\n", 2);
    sink->at = at + 2;
}

static void write_read(struct reply *reply, const struct item *item, uint64_t form)
{
    bool found = item->outcome == ITEM_FOUND;
    bool tells = found && item->value != NULL && (form & MEMCACHE_VALUE);

    if (!found && (form & MEMCACHE_QUIET))
        return;
    char *at = sink_reserve(reply->sink, LINE_SIZE_MAX);
    if (at == NULL)
        return;
    if (tells) {
        at = put_status(at, "VA");
        *at++ = ' ';
        at += number_format_u64(at, item->size);
    } else {
        at = put_status(at, found ? "HD" : "EN");
    }
    at = put_flags(at, reply->request, item, found ? "stcflh" : "");
    if (item->taken)
        at = put_flag(at, 'Z');
    if (item->stale)
        at = put_flag(at, 'X');
    if (item->won)
        at = put_flag(at, 'W');
    end_line(reply->sink, at);
    if (tells) {
        value_write(reply->sink, item->value, 0, item->value->size);
        sink_write(reply->sink, "\r\n", 2);
    }
}

/* Stores and deletes: what has happened, in two letters. */
static void write_change(struct reply *reply, const struct item *item, uint64_t form)
{
    bool done = item->outcome == ITEM_STORED || item->outcome == ITEM_DELETED;

    if (done && (form & MEMCACHE_QUIET))
        return;
    char *at = sink_reserve(reply->sink, LINE_SIZE_MAX);
    if (at == NULL)
        return;
    at = put_status(at, done                               ? "HD"
                        : item->outcome == ITEM_DIFFERS    ? "EX"
                        : item->outcome == ITEM_NOT_STORED ? "NS"
                                                           : "NF");
    struct item shown = *item;
    if (!done)
        shown.traits.kinds = 0; /* no version of something else */
    end_line(reply->sink,
             put_flags(at, reply->request, &shown,
                       reply->request->terms->form[0] == MEMCACHE_META_STORE ? "cs" : ""));
}

static void write_count(struct reply *reply, const struct item *item, uint64_t form)
{
    char digits[NUMBER_I64_MAX_SIZE];
    bool counted = item->outcome == ITEM_COUNTED;
    size_t size = counted ? number_format_u64(digits, item->number) : 0;

    if (item->outcome == ITEM_NOT_NUMBER) {
        static const char text[] =
            "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";

        sink_write(reply->sink, text, sizeof(text) - 1);
        return;
    }
    if (counted && (form & MEMCACHE_QUIET))
        return;
    char *at = sink_reserve(reply->sink, LINE_SIZE_MAX);
    if (at == NULL)
        return;
    if (counted && (form & MEMCACHE_VALUE)) {
        at = put_status(at, "VA");
        *at++ = ' ';
        at += number_format_u64(at, size);
    } else {
        at = put_status(at, counted ? "HD" : item->outcome == ITEM_DIFFERS ? "EX" : "NF");
    }
    end_line(reply->sink, put_flags(at, reply->request, item, counted ? "tc" : ""));
    if (counted && (form & MEMCACHE_VALUE)) {
        sink_write(reply->sink, digits, size);
        sink_write(reply->sink, "\r\n", 2);
    }
}

static char *put_text(char *at, const char *text)
{
    size_t size = strlen(text);

    memcpy(at, text, size);
    return at + size;
}

static void write_debug(struct reply *reply, const struct item *item, uint64_t form)
{
    char *at = sink_reserve(reply->sink, LINE_SIZE_MAX);

    if (at == NULL)
        return;
    if (item->outcome != ITEM_FOUND) {
        end_line(reply->sink, put_status(at, "EN"));
        return;
    }
    at = put_key(put_text(at, "ME "), item->key, (form & MEMCACHE_BASE64) != 0);
    at = put_text(at, " exp=");
    at += number_format_i64(at, ttl_s(item->ttl_ms));
    at = put_text(at, " la=");
    at += number_format_i64(at, item->idle_s > 0 ? item->idle_s : 0);
    at = put_text(at, " cas=");
    at += number_format_u64(at, version_of(item));
    at = put_text(at, item->read_before ? " fetch=yes" : " fetch=no");
    at = put_text(at, " size=");
    at += number_format_u64(at, item->key.size + item->size);
    end_line(reply->sink, at);
}

void memcache_write_meta(struct reply *reply, const struct item *item)
{
    const struct item_terms *terms = reply->request->terms;

    switch (terms->form[0]) {
    case MEMCACHE_META_READ:
        write_read(reply, item, terms->form[1]);
        break;
    case MEMCACHE_META_COUNT:
        write_count(reply, item, terms->form[1]);
        break;
    case MEMCACHE_META_DEBUG:
        write_debug(reply, item, terms->form[1]);
        break;
    default:
        write_change(reply, item, terms->form[1]);
    }
}
