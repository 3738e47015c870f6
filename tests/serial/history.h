/* SPDX-License-Identifier: MIT
 *
 * A history: what a few threads asked of the engine in one round, when, and what they were told.
 *
 * An operation is one command, or one EXEC with the commands that were queued for it (steps). Its
 * stamps come from one counter, taken right before it began and right after it had ended: A is
 * before B when A.end < B.begin, and otherwise they overlap. Operations of one thread never
 * overlap. Keys are indexes; values are reduced to `content`, which tells any two values of a
 * history apart. Plain data, no locks: each thread writes its own operations, the checker
 * (checker.h) reads them after all have finished.
 */
#ifndef TESTS_SERIAL_HISTORY_H
#define TESTS_SERIAL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"

enum {
    HISTORY_KEYS_MAX = 8,
    HISTORY_THREADS_MAX = 4,
    HISTORY_OPERATIONS_MAX = 48, /* per thread */
    HISTORY_CLOCK_STEPS_MAX = 32,
    STEP_KEYS_MAX = 4,
    OPERATION_STEPS_MAX = 4,
    OPERATION_TOKENS_MAX = 24,
};

#define CONTENT_KINDS(KIND) KIND(NONE) KIND(INTEGER) KIND(STRING)
#define TOKEN_KINDS(KIND)                                                                          \
    KIND(OK) KIND(MISSING) KIND(NO_LIST) KIND(LIST) KIND(INTEGER) KIND(VALUE) KIND(ERROR)

#define KIND(name) CONTENT_##name,
enum content_kind { CONTENT_KINDS(KIND) };
#undef KIND
#define STEP(name, ...) STEP_##name,
enum step_kind {
#include "steps.def"
    STEP_KIND_COUNT
};
#undef STEP
#define KIND(name) TOKEN_##name,
enum token_kind { TOKEN_KINDS(KIND) };
#undef KIND

/* A value: an integer's number, or a hash and size of other bytes. No padding: memcmp compares. */
struct content {
    uint64_t bits;
    uint32_t size;
    uint32_t kind; /* enum content_kind; NONE: no such key */
};

/* One meaning of a reply. `content.bits`: an INTEGER's number, a LIST's count. */
struct token {
    struct content content; /* of a VALUE */
    uint64_t kind;          /* enum token_kind */
};

/* What a key holds. */
struct cell {
    struct content content;
    int64_t expires_ms; /* 0: never */
};

#define STEP_TIME_KEEP ((int64_t)-1)

struct step {
    uint8_t kind; /* enum step_kind */
    uint8_t count;
    uint8_t keys[STEP_KEYS_MAX];
    bool relative;   /* the time was given as a duration; once it has run `time_ms` is absolute */
    int64_t time_ms; /* the key expires then; 0: never, STEP_TIME_KEEP */
    struct content values[STEP_KEYS_MAX];
};

struct operation {
    uint64_t begin, end;
    int64_t now_ms; /* what the thread's clock said, in its last reading before the command's end */
    bool exec;      /* the steps ran inside MULTI; otherwise there is one */
    uint8_t step_count;
    uint8_t token_count;
    struct step steps[OPERATION_STEPS_MAX];
    struct token tokens[OPERATION_TOKENS_MAX];
};

/* From `stamp` on, some clock of the process may read as much as `now_ms`. */
struct clock_step {
    uint64_t stamp;
    int64_t now_ms;
};

struct history {
    uint32_t key_count, thread_count;
    struct cell initial[HISTORY_KEYS_MAX];
    uint32_t clock_step_count;
    struct clock_step clock_steps[HISTORY_CLOCK_STEPS_MAX]; /* ascending; the first has stamp 0 */
    uint32_t operation_counts[HISTORY_THREADS_MAX];
    struct operation operations[HISTORY_THREADS_MAX][HISTORY_OPERATIONS_MAX];
};

struct content content_of(struct bytes bytes);
struct content content_of_integer(int64_t integer);
/* APPEND in two halves: a suffix of at most 8 bytes that do not look like an integer, carried as
 * they are, and what a value (NONE: nothing there) becomes with it. */
struct content content_suffix(struct bytes tail);
struct content content_append(struct content head, struct content suffix);

/* The keys an operation reads or writes, as a bit set. */
uint32_t operation_keys(const struct operation *operation);
/* The first stamp at which `time_ms` may have come for somebody; UINT64_MAX: never. */
uint64_t history_reached(const struct history *history, int64_t time_ms);
void history_print(const struct history *history, FILE *out);

#endif
