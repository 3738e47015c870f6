/* SPDX-License-Identifier: MIT
 *
 * See command/item.h. A read that has to change something (give a version, note that somebody has
 * won) asks for the lock first. What is rewritten because of that keeps its value, so that nobody
 * who watches values can tell.
 */
#include "command/item.h"

#include <string.h>

#include "base/number.h"
#include "command/call.h"
#include "command/handlers.h"
#include "command/item_counts.h"

enum { NOTE = 2, VALUE = 3 };

static enum outcome answer(struct call *call, const struct item *item)
{
    call->reply->ops->item(call->reply, item);
    return OUTCOME_DONE;
}

static enum outcome count_and_answer(struct call *call, enum item_kind kind,
                                     const struct item *item)
{
    if (call->client->item_counts != NULL)
        item_counts_add(call->client->item_counts, kind, item);
    return answer(call, item);
}

static bool has(const struct call *call, uint32_t option)
{
    return (call->terms->options & option) != 0;
}

/* ---- times and traits */

/* When something expires that expires at `present_ms` now. */
static int64_t resolve(struct call *call, struct item_time time, int64_t present_ms)
{
    int64_t now_ms, at_ms = time.ms;

    switch (time.form) {
    case ITEM_TIME_KEPT:
        return present_ms;
    case ITEM_TIME_NEVER:
        return EXPIRES_NEVER;
    case ITEM_TIME_AFTER:
        now_ms = call_fresh_ms(call);
        at_ms = time.ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + time.ms;
    }
    return at_ms > 0 ? at_ms : 1; /* 0 would be never */
}

static int64_t ttl_of(const struct call *call, int64_t expires_ms)
{
    if (expires_ms == EXPIRES_NEVER)
        return -1;
    return expires_ms > call->access.now_ms ? expires_ms - call->access.now_ms : 0;
}

static void set_flags(struct traits *traits, uint32_t flags)
{
    traits->flags = flags;
    traits->kinds &= (uint8_t)~TRAIT_FLAGS;
    traits->kinds |= flags != 0 ? TRAIT_FLAGS : 0;
}

static void set_state(struct traits *traits, uint8_t state)
{
    traits->state = state;
    traits->kinds |= state != 0 ? TRAIT_STATE : 0;
}

/* What is about to be written gets a version where one is asked for. */
static void set_version(struct call *call, const struct key *key, struct traits *traits)
{
    traits->kinds &= (uint8_t)~TRAIT_VERSION;
    if (has(call, ITEM_CHOOSES_VERSION)) {
        traits->version = call->terms->version;
        traits->kinds |= TRAIT_VERSION;
    } else if (has(call, ITEM_WANTS_VERSION)) {
        traits->version = keyspace_next_version(&call->access, key);
        traits->kinds |= TRAIT_VERSION;
    }
}

static uint32_t read_time_s(const struct call *call)
{
    return (uint32_t)(call->access.now_ms / 1000);
}

static const struct traits *or_none(const struct traits *traits)
{
    return traits->kinds != 0 ? traits : NULL;
}

/* ---- what the wire knows already */

enum outcome item_error(struct call *call)
{
    struct item item = {.outcome = ITEM_REFUSED};

    return answer(call, &item);
}

enum outcome item_noop(struct call *call)
{
    call->reply->ops->ok(call->reply);
    return OUTCOME_DONE;
}

/* ---- reading */

/* Tells of a value that was found. */
static void describe(const struct call *call, const struct value *value, struct item *item)
{
    keyspace_traits(value, &item->traits);
    item->outcome = ITEM_FOUND;
    item->value = value;
    item->size = value->size;
    item->ttl_ms = item->ttl_before_ms = ttl_of(call, value->expires_ms);
    item->existed = true;
    item->read_before = value->read_before;
    item->stale = (item->traits.state & STATE_STALE) != 0;
    item->taken = (item->traits.state & STATE_WON) != 0;
    if (item->traits.kinds & TRAIT_READ_TIME)
        item->idle_s = (int64_t)read_time_s(call) - item->traits.read_time_s;
}

/* The new entry has been read if the old one had, or is by this. */
static enum status rewrite_traits(struct call *call, const struct key *key, int64_t expires_ms,
                                  const struct item *item)
{
    enum status status =
        keyspace_set_traits(&call->access, key, expires_ms, or_none(&item->traits));
    struct value value;

    if (status == STATUS_OK && (item->read_before || !has(call, ITEM_UNNOTICED)) &&
        keyspace_peek(&call->access, key, &value) == FIND_FOUND)
        keyspace_note_read(&call->access, &value);
    return status;
}

/* Writes what the read has to change. The caller holds the lock. */
static enum status change(struct call *call, const struct key *key, int64_t expires_ms,
                          struct item *item)
{
    const struct value *value = item->value;
    struct traits traits = item->traits;
    bool rewrite = expires_ms != value->expires_ms;

    if (item->won) {
        rewrite |= traits.kinds == 0;
        set_state(&traits, traits.state | STATE_WON);
    }
    if (has(call, ITEM_WANTS_VERSION) && !(traits.kinds & TRAIT_VERSION)) {
        traits.version = keyspace_next_version(&call->access, key);
        traits.kinds |= TRAIT_VERSION;
        rewrite = true;
    }
    if (has(call, ITEM_WANTS_READ_TIME) && !(traits.kinds & TRAIT_READ_TIME)) {
        traits.read_time_s = read_time_s(call);
        traits.kinds |= TRAIT_READ_TIME;
        rewrite = true;
    }
    item->traits = traits;
    item->ttl_ms = ttl_of(call, expires_ms);
    if (rewrite)
        return rewrite_traits(call, key, expires_ms, item);
    keyspace_set_state(&call->access, key, traits.state);
    return STATUS_OK;
}

static bool has_to_change(const struct call *call, const struct item *item, int64_t expires_ms)
{
    return item->won || expires_ms != item->value->expires_ms ||
           (has(call, ITEM_WANTS_VERSION) && !(item->traits.kinds & TRAIT_VERSION)) ||
           (has(call, ITEM_WANTS_READ_TIME) && !(item->traits.kinds & TRAIT_READ_TIME));
}

/* A missing key that is made by being read: empty, and its reader is to fill it. */
static enum status vivify(struct call *call, const struct key *key, struct item *item)
{
    int64_t expires_ms = resolve(call, call->terms->vivify_time, EXPIRES_NEVER);

    set_version(call, key, &item->traits);
    set_state(&item->traits, STATE_WON);
    item->outcome = ITEM_FOUND;
    item->won = true;
    item->ttl_ms = ttl_of(call, expires_ms);
    item->ttl_before_ms = -1;
    return keyspace_set_with(&call->access, key, BYTES(""), expires_ms, &item->traits, NULL);
}

/* False: it needs the lock, or an error was emitted (`*outcome`). */
static bool fetch(struct call *call, const struct key *key, struct value *value, struct item *item,
                  enum outcome *outcome)
{
    const struct item_terms *terms = call->terms;
    enum status status = STATUS_OK;
    enum find found;

    *item = (struct item){.outcome = ITEM_MISSING, .key = key->bytes};
    *outcome = OUTCOME_NEED_LOCK;
    if (terms->time.form != ITEM_TIME_KEPT || has(call, ITEM_WANTS_TTL))
        call_fresh_ms(call); /* before the first look: one command, one time */
    found = keyspace_peek(&call->access, key, value);
    if (found == FIND_LOCK)
        return false;
    if (found == FIND_MISSING) {
        if (has(call, ITEM_VIVIFIES)) {
            if (!call->access.locked)
                return false;
            status = vivify(call, key, item);
            value->data = "";
            value->size = 0;
            value->blob = NULL;
            item->value = value;
        }
    } else if (value->type != VALUE_STRING) {
        status = STATUS_WRONG_TYPE;
    } else {
        int64_t expires_ms = resolve(call, terms->time, value->expires_ms);

        describe(call, value, item);
        int64_t left_ms = has(call, ITEM_RECACHES_TIMED) ? ttl_of(call, expires_ms) : item->ttl_ms;
        item->won = !item->taken && (item->stale || (has(call, ITEM_RECACHES) && left_ms >= 0 &&
                                                     left_ms < terms->recache_ms));
        if (has_to_change(call, item, expires_ms)) {
            if (!call->access.locked)
                return false;
            status = change(call, key, expires_ms, item);
        }
        if (!has(call, ITEM_UNNOTICED))
            keyspace_note_read(&call->access, value);
    }
    if (status != STATUS_OK) {
        *outcome = call_status(call, status);
        return false;
    }
    keyspace_count_reads(&call->access, found == FIND_FOUND, found == FIND_MISSING);
    if (has(call, ITEM_COMPARES) && (item->traits.kinds & TRAIT_VERSION) &&
        item->traits.version == terms->compare)
        item->value = NULL;
    return true;
}

/* Of a value that was looked for. */
static enum outcome answer_read(struct call *call, const struct item *item)
{
    if (call->terms->time.form == ITEM_TIME_KEPT)
        return answer(call, item);
    return count_and_answer(call, ITEM_KIND_TOUCH, item);
}

enum outcome item_get(struct call *call)
{
    struct key key = call_key(call);
    struct value value;
    struct item item;
    enum outcome outcome;

    if (!fetch(call, &key, &value, &item, &outcome))
        return outcome;
    return answer_read(call, &item);
}

/* Under the locks of all keys: what is answered is one state. */
enum outcome item_gets(struct call *call)
{
    uint32_t count = call->argc - 1;

    if (!call->access.locked)
        return OUTCOME_NEED_LOCK;
    call->reply->ops->list(call->reply, count);
    for (uint32_t i = 0; i < count; i++) {
        struct key key = call_key_nth(call, i);
        struct value value;
        struct item item;
        enum outcome outcome;

        if (fetch(call, &key, &value, &item, &outcome))
            answer_read(call, &item);
    }
    return OUTCOME_DONE;
}

/* ---- storing */

/* The value with something behind or before it. Flags, type and expiry stay. */
static enum status extend(struct call *call, const struct key *key, const struct value *value,
                          struct item *item)
{
    struct bytes part = call->argv[VALUE];
    struct traits traits = item->traits;
    size_t size = value->size + part.size;
    enum status status;
    char *data;

    if (part.size > VALUE_SIZE_MAX - value->size)
        return STATUS_VALUE_TOO_LARGE;
    set_version(call, key, &traits);
    traits.kinds &= (uint8_t)~TRAIT_STATE;
    traits.state = 0;
    if (traits.kinds & TRAIT_VERSION)
        status = keyspace_edit_with(&call->access, key, size, &traits, &data);
    else
        status = keyspace_edit(&call->access, key, size, &data);
    if (status != STATUS_OK)
        return status;
    if (call->terms->mode == ITEM_PREPEND) {
        memmove(data + part.size, data, size - part.size);
        memcpy(data, part.data, part.size);
    } else if (part.size != 0) {
        memcpy(data + size - part.size, part.data, part.size);
    }
    item->traits = traits;
    item->size = size;
    return STATUS_OK;
}

/* Flags, type and version as the request wants them. */
static inline void set_asked(struct call *call, const struct key *key, struct traits *traits)
{
    const struct item_terms *terms = call->terms;

    set_flags(traits, terms->flags);
    if (has(call, ITEM_TYPED) && terms->type.size > 0) {
        traits->type = bytes_of(call->argv[NOTE].data + terms->type.at, terms->type.size);
        traits->kinds |= TRAIT_TYPE;
    }
    set_version(call, key, traits);
}

static enum status store(struct call *call, const struct key *key, const struct value *present,
                         bool stale, struct item *item)
{
    const struct item_terms *terms = call->terms;
    int64_t present_ms = present != NULL ? present->expires_ms : EXPIRES_NEVER;
    struct item_time time = terms->time;
    struct traits traits = {.kinds = 0};

    if (terms->mode == ITEM_APPEND || terms->mode == ITEM_PREPEND)
        time = terms->vivify_time; /* the key is missing, or this would not be a store */
    int64_t expires_ms = stale ? present_ms : resolve(call, time, present_ms);
    set_asked(call, key, &traits);
    if (item->traits.kinds & TRAIT_READ_TIME) {
        traits.read_time_s = read_time_s(call);
        traits.kinds |= TRAIT_READ_TIME;
    }
    if (stale)
        set_state(&traits, STATE_STALE | (item->traits.state & STATE_WON));
    item->traits = traits;
    item->ttl_ms = ttl_of(call, expires_ms);
    return keyspace_set_with(&call->access, key, call->argv[VALUE], expires_ms, or_none(&traits),
                             call_take_blob(call, VALUE));
}

/* What the conditions make of the request. */
static enum item_outcome decide(const struct call *call, const struct item *item, bool *stale)
{
    uint8_t mode = call->terms->mode;

    *stale = false;
    if (has(call, ITEM_COMPARES)) {
        uint64_t compare = call->terms->compare, version = item->traits.version;

        if (!item->existed)
            return ITEM_MISSING;
        if (!(item->traits.kinds & TRAIT_VERSION) || version != compare) {
            *stale = has(call, ITEM_STALE) &&
                     (!(item->traits.kinds & TRAIT_VERSION) || compare < version);
            if (!*stale)
                return ITEM_DIFFERS;
        }
    }
    bool extends = mode == ITEM_APPEND || mode == ITEM_PREPEND;
    if (item->existed ? mode == ITEM_ADD
                      : mode == ITEM_REPLACE || (extends && !has(call, ITEM_VIVIFIES)))
        return ITEM_NOT_STORED;
    return ITEM_STORED;
}

/* Looks at the key without counting a read. False: an error was emitted. */
static bool look(struct call *call, const struct key *key, struct value *value, struct item *item)
{
    *item = (struct item){.key = key->bytes, .ttl_ms = -1, .ttl_before_ms = -1};
    call_fresh_ms(call);
    if (keyspace_peek(&call->access, key, value) == FIND_MISSING)
        return true;
    if (value->type != VALUE_STRING && call->terms->mode != ITEM_SET) {
        call_status(call, STATUS_WRONG_TYPE);
        return false;
    }
    describe(call, value, item);
    item->value = NULL;
    return true;
}

/* The short way of most stores: one look at the table less. */
static enum outcome set_blindly(struct call *call, const struct key *key)
{
    struct item item = {.outcome = ITEM_STORED, .key = key->bytes, .size = call->argv[VALUE].size};
    int64_t expires_ms = resolve(call, call->terms->time, EXPIRES_NEVER);

    set_asked(call, key, &item.traits);
    item.ttl_ms = ttl_of(call, expires_ms);
    enum status status = keyspace_set_with(&call->access, key, call->argv[VALUE], expires_ms,
                                           or_none(&item.traits), call_take_blob(call, VALUE));
    if (status != STATUS_OK)
        return call_status(call, status);
    return count_and_answer(call, ITEM_KIND_SET, &item);
}

enum outcome item_set(struct call *call)
{
    struct key key = call_key(call);
    uint8_t mode = call->terms->mode;
    enum status status = STATUS_OK;
    struct value value;
    struct item item;
    bool stale;

    if (mode == ITEM_SET && !has(call, ITEM_COMPARES | ITEM_WANTS_PAST))
        return set_blindly(call, &key);
    if (!look(call, &key, &value, &item))
        return OUTCOME_DONE;
    item.outcome = decide(call, &item, &stale);
    item.size = call->argv[VALUE].size;
    if (item.outcome == ITEM_STORED) {
        if (item.existed && (mode == ITEM_APPEND || mode == ITEM_PREPEND))
            status = extend(call, &key, &value, &item);
        else
            status = store(call, &key, item.existed ? &value : NULL, stale, &item);
    }
    if (status != STATUS_OK)
        return call_status(call, status);
    return count_and_answer(call, has(call, ITEM_COMPARES) ? ITEM_KIND_SWAP : ITEM_KIND_SET, &item);
}

/* ---- deleting */

static enum status leave_stale(struct call *call, const struct key *key, const struct value *value,
                               struct item *item)
{
    int64_t expires_ms = resolve(call, call->terms->time, value->expires_ms);
    struct traits traits = item->traits;

    if (has(call, ITEM_EMPTIES))
        set_flags(&traits, 0);
    traits.kinds &= (uint8_t)~TRAIT_STATE;
    set_state(&traits, has(call, ITEM_STALE) ? STATE_STALE : 0);
    if (has(call, ITEM_CHOOSES_VERSION) || (traits.kinds & TRAIT_VERSION)) {
        traits.version = has(call, ITEM_CHOOSES_VERSION)
                             ? call->terms->version
                             : keyspace_next_version(&call->access, key);
        traits.kinds |= TRAIT_VERSION;
    }
    if (has(call, ITEM_EMPTIES))
        return keyspace_set_with(&call->access, key, BYTES(""), expires_ms, or_none(&traits), NULL);
    return keyspace_set_traits(&call->access, key, expires_ms, or_none(&traits));
}

enum outcome item_delete(struct call *call)
{
    struct key key = call_key(call);
    enum status status = STATUS_OK;
    struct value value;
    struct item item;

    if (!look(call, &key, &value, &item))
        return OUTCOME_DONE;
    if (!item.existed) {
        item.outcome = ITEM_MISSING;
    } else if (has(call, ITEM_COMPARES) && (!(item.traits.kinds & TRAIT_VERSION) ||
                                            item.traits.version != call->terms->compare)) {
        item.outcome = ITEM_DIFFERS;
    } else {
        item.outcome = ITEM_DELETED;
        if (has(call, ITEM_STALE | ITEM_EMPTIES))
            status = leave_stale(call, &key, &value, &item);
        else
            keyspace_delete(&call->access, &key);
    }
    return status != STATUS_OK ? call_status(call, status)
                               : count_and_answer(call, ITEM_KIND_DELETE, &item);
}

/* ---- counting */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* What memcached takes for a number too: blanks and a plus before it, zeros, and whatever follows a
 * blank. */
static bool parse_loosely(struct bytes text, uint64_t *out)
{
    size_t at = 0, begin;
    uint64_t number = 0;

    while (at < text.size && is_blank(text.data[at]))
        at++;
    if (at < text.size && text.data[at] == '+')
        at++;
    for (begin = at; at < text.size && text.data[at] >= '0' && text.data[at] <= '9'; at++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text.data[at] - '0'), &number))
            return false;
    *out = number;
    return at > begin && (at == text.size || is_blank(text.data[at]));
}

static bool parse_count(const struct value *value, uint64_t *out)
{
    if (value->is_integer && value->integer >= 0) {
        *out = (uint64_t)value->integer;
        return true;
    }
    return number_parse_u64(bytes_of(value->data, value->size), out) ||
           parse_loosely(bytes_of(value->data, value->size), out);
}

static enum status put_count(struct call *call, const struct key *key, int64_t expires_ms,
                             struct item *item)
{
    char digits[NUMBER_I64_MAX_SIZE + 1];

    if (item->existed && item->number <= INT64_MAX && item->traits.kinds == 0 &&
        expires_ms == EXPIRES_KEEP)
        return keyspace_set_integer(&call->access, key, (int64_t)item->number);
    size_t size = number_format_u64(digits, item->number);
    return keyspace_set_with(&call->access, key, bytes_of(digits, size), expires_ms,
                             or_none(&item->traits), NULL);
}

enum outcome item_count(struct call *call)
{
    const struct item_terms *terms = call->terms;
    struct key key = call_key(call);
    enum item_kind kind = terms->mode == ITEM_RAISE ? ITEM_KIND_RAISE : ITEM_KIND_LOWER;
    int64_t expires_ms = EXPIRES_KEEP;
    struct value value;
    struct item item;

    if (!look(call, &key, &value, &item))
        return OUTCOME_DONE;
    if (!item.existed && !has(call, ITEM_VIVIFIES)) {
        item.outcome = ITEM_MISSING;
        return count_and_answer(call, kind, &item);
    }
    if (!item.existed) {
        item.number = terms->initial;
        expires_ms = resolve(call, terms->vivify_time, EXPIRES_NEVER);
    } else if (has(call, ITEM_COMPARES) &&
               (!(item.traits.kinds & TRAIT_VERSION) || item.traits.version != terms->compare)) {
        item.outcome = ITEM_DIFFERS;
        return count_and_answer(call, kind, &item);
    } else if (!parse_count(&value, &item.number)) {
        item.outcome = ITEM_NOT_NUMBER;
        return count_and_answer(call, kind, &item);
    } else {
        if (terms->mode == ITEM_RAISE)
            item.number += terms->delta;
        else
            item.number -= item.number < terms->delta ? item.number : terms->delta;
        if (terms->time.form != ITEM_TIME_KEPT)
            expires_ms = resolve(call, terms->time, value.expires_ms);
    }
    set_version(call, &key, &item.traits);
    item.traits.kinds &= (uint8_t)~TRAIT_STATE;
    item.traits.state = 0;
    item.outcome = ITEM_COUNTED;
    if (expires_ms != EXPIRES_KEEP)
        item.ttl_ms = ttl_of(call, expires_ms);
    enum status status = put_count(call, &key, expires_ms, &item);
    return status != STATUS_OK ? call_status(call, status) : count_and_answer(call, kind, &item);
}
