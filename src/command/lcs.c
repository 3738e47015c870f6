/* SPDX-License-Identifier: MIT
 *
 * LCS: the longest common subsequence of two values, by the table of lengths of all pairs of
 * prefixes. The table is walked back from its end, where a run of equal bytes is one match.
 */
#include "base/alloc.h"
#include "base/number.h"
#include "command/call.h"
#include "command/handlers.h"

/* What Redis allows for the table by default (proto-max-bulk-len). */
#define LCS_TABLE_SIZE_MAX ((uint64_t)512 * 1024 * 1024)

struct lcs {
    struct bytes a, b;
    uint32_t *lengths; /* (a.size + 1) rows of b.size + 1; owned */
};

struct lcs_options {
    bool length, index, match_lengths;
    int64_t match_size_min;
};

/* A run of equal bytes: `size` of them, ending before a_end and b_end. */
struct match {
    size_t a_end, b_end, size;
};

static uint32_t *lcs_at(const struct lcs *lcs, size_t i, size_t j)
{
    return &lcs->lengths[i * (lcs->b.size + 1) + j];
}

static uint32_t lcs_size(const struct lcs *lcs)
{
    return *lcs_at(lcs, lcs->a.size, lcs->b.size);
}

static void lcs_fill(const struct lcs *lcs)
{
    for (size_t j = 0; j <= lcs->b.size; j++)
        *lcs_at(lcs, 0, j) = 0;
    for (size_t i = 1; i <= lcs->a.size; i++) {
        const uint32_t *above = lcs_at(lcs, i - 1, 0);
        uint32_t *row = lcs_at(lcs, i, 0);
        char byte = lcs->a.data[i - 1];
        row[0] = 0;
        for (size_t j = 1; j <= lcs->b.size; j++) {
            if (byte == lcs->b.data[j - 1])
                row[j] = above[j - 1] + 1;
            else
                row[j] = above[j] > row[j - 1] ? above[j] : row[j - 1];
        }
    }
}

/* The last match that ends at or before `*i` and `*j`, which move to its beginning. False: none. A
 * run goes on only while both sides step back together. */
static bool lcs_next(const struct lcs *lcs, size_t *i, size_t *j, struct match *out)
{
    while (*i > 0 && *j > 0 && lcs->a.data[*i - 1] != lcs->b.data[*j - 1]) {
        if (*lcs_at(lcs, *i - 1, *j) > *lcs_at(lcs, *i, *j - 1))
            (*i)--;
        else
            (*j)--;
    }
    *out = (struct match){*i, *j, 0};
    while (*i > 0 && *j > 0 && lcs->a.data[*i - 1] == lcs->b.data[*j - 1]) {
        out->size++;
        (*i)--;
        (*j)--;
    }
    return out->size > 0;
}

static void answer_range(struct reply *reply, size_t end, size_t size)
{
    reply->ops->list(reply, 2);
    reply->ops->integer(reply, (int64_t)(end - size));
    reply->ops->integer(reply, (int64_t)end - 1);
}

static void answer_index(const struct lcs *lcs, const struct lcs_options *options,
                         struct reply *reply)
{
    struct match match;
    uint64_t count = 0;
    for (size_t i = lcs->a.size, j = lcs->b.size; lcs_next(lcs, &i, &j, &match);)
        count += (int64_t)match.size >= options->match_size_min;
    reply->ops->map(reply, 2);
    reply->ops->bytes(reply, BYTES("matches"));
    reply->ops->list(reply, count);
    for (size_t i = lcs->a.size, j = lcs->b.size; lcs_next(lcs, &i, &j, &match);) {
        if ((int64_t)match.size < options->match_size_min)
            continue;
        reply->ops->list(reply, 2 + options->match_lengths);
        answer_range(reply, match.a_end, match.size);
        answer_range(reply, match.b_end, match.size);
        if (options->match_lengths)
            reply->ops->integer(reply, (int64_t)match.size);
    }
    reply->ops->bytes(reply, BYTES("len"));
    reply->ops->integer(reply, lcs_size(lcs));
}

static void answer_sequence(const struct lcs *lcs, struct reply *reply)
{
    uint32_t size = lcs_size(lcs);
    char *sequence = alloc_get(size != 0 ? size : 1);
    if (sequence == NULL) {
        reply_status(reply, STATUS_NO_MEMORY);
        return;
    }
    struct match match;
    size_t at = size;
    for (size_t i = lcs->a.size, j = lcs->b.size; lcs_next(lcs, &i, &j, &match);) {
        at -= match.size;
        memcpy(sequence + at, lcs->a.data + match.a_end - match.size, match.size);
    }
    reply->ops->bytes(reply, bytes_of(sequence, size));
    alloc_free(sequence);
}

/* False: an error was emitted. */
static bool parse_options(struct call *call, struct lcs_options *out)
{
    *out = (struct lcs_options){0};
    for (uint32_t i = 3; i < call->argc; i++) {
        struct bytes option = call->argv[i];
        if (bytes_equal_text_nocase(option, "idx")) {
            out->index = true;
        } else if (bytes_equal_text_nocase(option, "len")) {
            out->length = true;
        } else if (bytes_equal_text_nocase(option, "withmatchlen")) {
            out->match_lengths = true;
        } else if (bytes_equal_text_nocase(option, "minmatchlen") && i + 1 < call->argc) {
            if (!number_parse_i64(call->argv[++i], &out->match_size_min)) {
                reply_status(call->reply, STATUS_NOT_INTEGER);
                return false;
            }
        } else {
            reply_status(call->reply, STATUS_SYNTAX);
            return false;
        }
    }
    if (!out->index || !out->length)
        return true;
    reply_errorf(call->reply, "ERR",
                 "If you want both the length and indexes, please just use IDX.");
    return false;
}

static void answer(struct lcs *lcs, const struct lcs_options *options, struct reply *reply)
{
    if (lcs->a.size >= UINT32_MAX - 1 || lcs->b.size >= UINT32_MAX - 1) {
        reply_errorf(reply, "ERR", "String too long for LCS");
        return;
    }
    uint64_t table_size = (uint64_t)(lcs->a.size + 1) * (lcs->b.size + 1) * sizeof(uint32_t);
    if (table_size > LCS_TABLE_SIZE_MAX) {
        reply_errorf(reply, "ERR",
                     "Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len");
        return;
    }
    lcs->lengths = alloc_get((size_t)table_size);
    if (lcs->lengths == NULL) {
        reply_status(reply, STATUS_NO_MEMORY);
        return;
    }
    lcs_fill(lcs);
    if (options->index)
        answer_index(lcs, options, reply);
    else if (options->length)
        reply->ops->integer(reply, lcs_size(lcs));
    else
        answer_sequence(lcs, reply);
    alloc_free(lcs->lengths);
}

enum outcome string_lcs(struct call *call)
{
    struct value values[2];
    struct bytes texts[2];
    bool strings = true;
    for (uint32_t i = 0; i < 2; i++) {
        struct key key = call_key_nth(call, i);
        enum find found = keyspace_find(&call->access, &key, &values[i]);
        if (found == FIND_LOCK)
            return OUTCOME_NEED_LOCK;
        bool present = found == FIND_FOUND;
        texts[i] = present ? bytes_of(values[i].data, values[i].size) : BYTES("");
        strings &= !present || values[i].type == VALUE_STRING;
    }
    if (!call_consistent(call))
        return OUTCOME_NEED_LOCK;
    if (!strings) {
        reply_errorf(call->reply, "ERR", "The specified keys must contain string values");
        return OUTCOME_DONE;
    }
    struct lcs_options options;
    if (!parse_options(call, &options))
        return OUTCOME_DONE;
    struct lcs lcs = {.a = texts[0], .b = texts[1]};
    answer(&lcs, &options, call->reply);
    return OUTCOME_DONE;
}
