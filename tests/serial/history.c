/* SPDX-License-Identifier: MIT
 *
 * Contents of values, and histories for people. See history.h.
 *
 * Strings are reduced by FNV-1a (Fowler, Noll, Vo), since its state is its result: the hash of a
 * value with a suffix follows from the value's hash, as APPEND needs.
 */
#include "history.h"

#include <inttypes.h>
#include <string.h>

#include "base/number.h"

static const uint64_t FNV_START = 0xCBF29CE484222325U, FNV_PRIME = 0x100000001B3U;

static uint64_t fnv(uint64_t hash, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)data[i]) * FNV_PRIME;
    return hash;
}

struct content content_of(struct bytes bytes)
{
    int64_t integer;
    if (bytes.size <= NUMBER_I64_MAX_SIZE && number_parse_i64(bytes, &integer))
        return content_of_integer(integer);
    return (struct content){fnv(FNV_START, bytes.data, bytes.size), (uint32_t)bytes.size,
                            CONTENT_STRING};
}

struct content content_of_integer(int64_t integer)
{
    char digits[NUMBER_I64_MAX_SIZE];
    return (struct content){(uint64_t)integer, (uint32_t)number_format_i64(digits, integer),
                            CONTENT_INTEGER};
}

struct content content_suffix(struct bytes tail)
{
    struct content suffix = {0, (uint32_t)tail.size, CONTENT_STRING};
    memcpy(&suffix.bits, tail.data, tail.size);
    return suffix;
}

struct content content_append(struct content head, struct content suffix)
{
    char bytes[sizeof(suffix.bits)], digits[NUMBER_I64_MAX_SIZE];
    uint64_t hash = head.kind == CONTENT_STRING ? head.bits : FNV_START;
    if (head.kind == CONTENT_INTEGER)
        hash = fnv(hash, digits, number_format_i64(digits, (int64_t)head.bits));
    memcpy(bytes, &suffix.bits, sizeof(bytes));
    uint32_t head_size = head.kind == CONTENT_NONE ? 0 : head.size;
    return (struct content){fnv(hash, bytes, suffix.size), head_size + suffix.size, CONTENT_STRING};
}

uint32_t operation_keys(const struct operation *operation)
{
    uint32_t keys = 0;
    for (uint32_t s = 0; s < operation->step_count; s++)
        for (uint32_t k = 0; k < operation->steps[s].count; k++)
            keys |= 1U << operation->steps[s].keys[k];
    return keys;
}

uint64_t history_reached(const struct history *history, int64_t time_ms)
{
    for (uint32_t i = 0; i < history->clock_step_count; i++)
        if (history->clock_steps[i].now_ms >= time_ms)
            return history->clock_steps[i].stamp;
    return UINT64_MAX;
}

/* ---- for people */

#define KIND(name) #name,
static const char *const token_names[] = {TOKEN_KINDS(KIND)};
#undef KIND
static const char *const step_names[] = {
#define STEP(name, ...) #name,
#include "steps.def"
#undef STEP
};

static void print_content(struct content content, FILE *out)
{
    if (content.kind == CONTENT_INTEGER)
        fprintf(out, "%" PRId64, (int64_t)content.bits);
    else if (content.kind == CONTENT_STRING)
        fprintf(out, "#%06" PRIx64 ":%u", content.bits & 0xFFFFFF, content.size);
    else
        fprintf(out, "-");
}

static void print_step(const struct step *step, FILE *out)
{
    fprintf(out, "%s", step_names[step->kind]);
    for (uint32_t i = 0; i < step->count; i++) {
        fprintf(out, " k%u", step->keys[i]);
        if (step->values[i].kind != CONTENT_NONE) {
            fprintf(out, "=");
            print_content(step->values[i], out);
        }
    }
    if (step->time_ms == STEP_TIME_KEEP)
        fprintf(out, " KEEPTTL");
    else if (step->time_ms != 0)
        fprintf(out, " @%" PRId64, step->time_ms);
}

static void print_operation(const struct operation *operation, uint32_t thread, FILE *out)
{
    fprintf(out, "%*s[%" PRIu64 " %" PRIu64 "] T%u @%" PRId64 " %s", (int)thread * 4, "",
            operation->begin, operation->end, thread, operation->now_ms,
            operation->exec ? "EXEC { " : "");
    for (uint32_t i = 0; i < operation->step_count; i++) {
        fprintf(out, "%s", i > 0 ? "; " : "");
        print_step(&operation->steps[i], out);
    }
    fprintf(out, "%s ->", operation->exec ? " }" : "");
    for (uint32_t i = 0; i < operation->token_count; i++) {
        const struct token *token = &operation->tokens[i];
        fprintf(out, " %s", token_names[token->kind]);
        if (token->kind == TOKEN_LIST || token->kind == TOKEN_INTEGER)
            fprintf(out, " %" PRId64, (int64_t)token->content.bits);
        if (token->kind == TOKEN_VALUE) {
            fprintf(out, " ");
            print_content(token->content, out);
        }
    }
    fprintf(out, "\n");
}

/* In the order of their beginnings, one column per thread. */
void history_print(const struct history *history, FILE *out)
{
    uint32_t next[HISTORY_THREADS_MAX] = {0};
    fprintf(out, "initially:");
    for (uint32_t k = 0; k < history->key_count; k++) {
        fprintf(out, " k%u=", k);
        print_content(history->initial[k].content, out);
        if (history->initial[k].expires_ms != 0)
            fprintf(out, "@%" PRId64, history->initial[k].expires_ms);
    }
    fprintf(out, "\n");
    for (uint32_t i = 0; i < history->clock_step_count; i++)
        fprintf(out, "from %" PRIu64 " on some clock may read %" PRId64 "\n",
                history->clock_steps[i].stamp, history->clock_steps[i].now_ms);
    for (;;) {
        const struct operation *first = NULL;
        uint32_t thread = 0;
        for (uint32_t t = 0; t < history->thread_count; t++) {
            const struct operation *operation = &history->operations[t][next[t]];
            if (next[t] < history->operation_counts[t] &&
                (first == NULL || operation->begin < first->begin)) {
                first = operation;
                thread = t;
            }
        }
        if (first == NULL)
            return;
        print_operation(first, thread, out);
        next[thread]++;
    }
}
