/* SPDX-License-Identifier: MIT
 *
 * Meanings to tokens. Several meanings become one token where the model makes no difference: OK is
 * every bare success, MISSING every "not there" of a single thing.
 */
#include "recorder.h"

static void add(struct reply *reply, enum token_kind kind, struct content content)
{
    struct recorder *recorder = (struct recorder *)reply;
    if (recorder->count < recorder->max)
        recorder->tokens[recorder->count] = (struct token){content, kind};
    recorder->count++;
}

static void add_word(struct reply *reply, enum token_kind kind)
{
    add(reply, kind, (struct content){0});
}

static void add_count(struct reply *reply, enum token_kind kind, int64_t count)
{
    add(reply, kind, (struct content){(uint64_t)count, 0, 0});
}

static void tell_ok(struct reply *reply)
{
    add_word(reply, TOKEN_OK);
}

static void tell_missing(struct reply *reply)
{
    add_word(reply, TOKEN_MISSING);
}

static void tell_missing_list(struct reply *reply)
{
    add_word(reply, TOKEN_NO_LIST);
}

static void tell_value(struct reply *reply, const struct value *value)
{
    add(reply, TOKEN_VALUE, content_of(bytes_of(value->data, value->size)));
}

static void tell_bytes(struct reply *reply, struct bytes bytes)
{
    add(reply, TOKEN_VALUE, content_of(bytes));
}

static void tell_word(struct reply *reply, const char *text)
{
    (void)text;
    add_word(reply, TOKEN_OK);
}

static void tell_integer(struct reply *reply, int64_t integer)
{
    add_count(reply, TOKEN_INTEGER, integer);
}

static void tell_number(struct reply *reply, double number)
{
    add_count(reply, TOKEN_INTEGER, (int64_t)number);
}

static void tell_boolean(struct reply *reply, bool boolean)
{
    add_count(reply, TOKEN_INTEGER, boolean);
}

static void tell_list(struct reply *reply, uint64_t count)
{
    add_count(reply, TOKEN_LIST, (int64_t)count);
}

static void tell_error(struct reply *reply, const char *code, struct bytes text)
{
    (void)code, (void)text;
    reply->errored = true;
    add_word(reply, TOKEN_ERROR);
}

static const struct reply_ops recorder_ops = {
    .ok = tell_ok,
    .stored = tell_ok,
    .not_stored = tell_missing,
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
    .map = tell_list,
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

void recorder_init(struct recorder *recorder)
{
    *recorder = (struct recorder){.reply = {.ops = &recorder_ops, .version = 3},
                                  .sink = {.ops = &nothing_ops}};
    recorder->reply.sink = &recorder->sink;
}

void recorder_begin(struct recorder *recorder, struct token *tokens, uint32_t max)
{
    recorder->tokens = tokens;
    recorder->max = max;
    recorder->count = 0;
    recorder->reply.errored = false;
}
