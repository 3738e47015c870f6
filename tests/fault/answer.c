/* SPDX-License-Identifier: MIT */
#include "answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static __attribute__((format(printf, 2, 3))) void add(struct reply *reply, const char *format, ...)
{
    struct answer *answer = (struct answer *)reply;
    enum { LINE_MAX_SIZE = 1024 };
    if (answer->room - answer->size < LINE_MAX_SIZE) {
        answer->room = answer->room * 2 + LINE_MAX_SIZE;
        answer->text = realloc(answer->text, answer->room);
        if (answer->text == NULL)
            abort();
    }
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(answer->text + answer->size, LINE_MAX_SIZE, format, arguments);
    va_end(arguments);
    answer->size += (size_t)(size < LINE_MAX_SIZE ? size : LINE_MAX_SIZE - 1);
}

static void tell_ok(struct reply *reply)
{
    add(reply, "ok\n");
}

static void tell_stored(struct reply *reply)
{
    add(reply, "stored\n");
}

static void tell_not_stored(struct reply *reply)
{
    add(reply, "not stored\n");
}

static void tell_missing(struct reply *reply)
{
    add(reply, "missing\n");
}

static void tell_missing_list(struct reply *reply)
{
    add(reply, "missing list\n");
}

static void tell_bytes(struct reply *reply, struct bytes bytes)
{
    add(reply, "bytes %zu %016llx %.*s\n", bytes.size,
        (unsigned long long)hash_bytes(bytes.data, bytes.size, 0),
        (int)(bytes.size < 32 ? bytes.size : 32), bytes.data);
}

static void tell_value(struct reply *reply, const struct value *value)
{
    tell_bytes(reply, bytes_of(value->data, value->size));
}

static void tell_word(struct reply *reply, const char *text)
{
    add(reply, "word %s\n", text);
}

static void tell_integer(struct reply *reply, int64_t integer)
{
    add(reply, "integer %lld\n", (long long)integer);
}

static void tell_number(struct reply *reply, double number)
{
    add(reply, "number %.17g\n", number);
}

static void tell_boolean(struct reply *reply, bool boolean)
{
    add(reply, "boolean %d\n", boolean);
}

static void tell_list(struct reply *reply, uint64_t count)
{
    add(reply, "list %llu\n", (unsigned long long)count);
}

static void tell_map(struct reply *reply, uint64_t count)
{
    add(reply, "map %llu\n", (unsigned long long)count);
}

static void tell_error(struct reply *reply, const char *code, struct bytes text)
{
    reply->errored = true;
    add(reply, "error %s %.*s\n", code, (int)text.size, text.data);
}

static const struct reply_ops answer_ops = {
    .ok = tell_ok,
    .stored = tell_stored,
    .not_stored = tell_not_stored,
    .missing = tell_missing,
    .missing_list = tell_missing_list,
    .value = tell_value,
    .bytes = tell_bytes,
    .word = tell_word,
    .text = tell_bytes,
    .integer = tell_integer,
    .number = tell_number,
    .boolean = tell_boolean,
    .list = tell_list,
    .set = tell_list,
    .map = tell_map,
    .error = tell_error,
};

static bool take_nothing(struct sink *sink, size_t size)
{
    (void)size;
    sink->failed = true;
    return false;
}

static bool drop(struct sink *sink, const char *data, size_t size)
{
    (void)data;
    return take_nothing(sink, size);
}

static const struct sink_ops nothing_ops = {.grow = take_nothing, .append = drop};

void answer_init(struct answer *answer)
{
    *answer =
        (struct answer){.reply = {.ops = &answer_ops, .version = 3}, .sink = {.ops = &nothing_ops}};
    answer->reply.sink = &answer->sink;
    answer_clear(answer);
}

void answer_deinit(struct answer *answer)
{
    free(answer->text);
}

void answer_clear(struct answer *answer)
{
    answer->size = 0;
    answer->reply.errored = false;
    add(&answer->reply, "%s", "");
}
