/* SPDX-License-Identifier: MIT
 *
 * The search for an order, depth first with memory of failures.
 *
 * After J. M. Wing and C. Gong, "Testing and verifying concurrent objects", Journal of Parallel and
 * Distributed Computing 17 (1993), with the memory of (set of linearized operations, state) pairs
 * added by G. Lowe, "Testing for linearizability", Concurrency and Computation: Practice and
 * Experience 29 (2017). Only the ideas are theirs.
 *
 * Operations of one thread do not overlap, so the set of linearized ones is one position per
 * thread. An operation may come next when it began before every other unfinished one ended. An
 * expiry is tried only where an operation that depends on the key may come next: earlier or later
 * makes no difference to anybody. The pairs are remembered as 128-bit hashes; a collision, which
 * would reject a good history, is less likely than a fault of the machine.
 */
#include "checker.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model.h"

enum {
    SEEN_SLOTS = 1 << 18,
    SEEN_MAX = SEEN_SLOTS / 2, /* states of one search */
};

struct node {
    struct model model;
    uint16_t positions[HISTORY_THREADS_MAX]; /* operations linearized; wide, to leave no padding */
};

struct checker {
    const struct history *history;
    uint32_t seen_count;
    uint32_t depth_best;
    struct node best;        /* the node with most operations linearized */
    uint32_t used[SEEN_MAX]; /* slots of `seen` to clear */
    XXH128_hash_t seen[SEEN_SLOTS];
};

struct checker *checker_create(void)
{
    return calloc(1, sizeof(struct checker));
}

void checker_destroy(struct checker *checker)
{
    free(checker);
}

/* False: it was there already. */
static bool remember(struct checker *checker, const struct node *node)
{
    XXH128_hash_t hash = XXH3_128bits(node, sizeof(*node));
    hash.low64 |= 1; /* zero means empty */
    uint32_t slot = (uint32_t)hash.high64 % SEEN_SLOTS;
    while (checker->seen[slot].low64 != 0) {
        if (XXH128_isEqual(checker->seen[slot], hash))
            return false;
        slot = (slot + 1) % SEEN_SLOTS;
    }
    checker->seen[slot] = hash;
    checker->used[checker->seen_count++] = slot;
    return true;
}

static const struct operation *next_operation(const struct history *history,
                                              const struct node *node, uint32_t thread)
{
    uint16_t position = node->positions[thread];
    return position < history->operation_counts[thread] ? &history->operations[thread][position]
                                                        : NULL;
}

/* The threads whose next operation may come next, earliest end first: that order is right most of
 * the time. `*out_end`: the earliest end; nothing that begins later may come before. */
static uint32_t candidates(const struct history *history, const struct node *node, uint32_t *out,
                           uint64_t *out_end)
{
    uint32_t count = 0;
    *out_end = UINT64_MAX;
    for (uint32_t t = 0; t < history->thread_count; t++) {
        const struct operation *operation = next_operation(history, node, t);
        if (operation != NULL && operation->end < *out_end)
            *out_end = operation->end;
    }
    for (uint32_t t = 0; t < history->thread_count; t++) {
        const struct operation *operation = next_operation(history, node, t);
        if (operation == NULL || operation->begin > *out_end)
            continue;
        uint32_t at = count++;
        for (; at > 0 && next_operation(history, node, out[at - 1])->end > operation->end; at--)
            out[at] = out[at - 1];
        out[at] = t;
    }
    return count;
}

static enum verdict search(struct checker *checker, const struct node *node, uint32_t depth)
{
    const struct history *history = checker->history;
    uint32_t threads[HISTORY_THREADS_MAX];
    uint64_t end;
    uint32_t count = candidates(history, node, threads, &end);
    if (count == 0)
        return VERDICT_SERIALIZABLE;
    if (checker->seen_count == SEEN_MAX)
        return VERDICT_UNDECIDED;
    if (!remember(checker, node))
        return VERDICT_VIOLATION;
    if (depth > checker->depth_best) {
        checker->depth_best = depth;
        checker->best = *node;
    }
    uint32_t keys = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct operation *operation = next_operation(history, node, threads[i]);
        struct node next = *node;
        keys |= model_keys(&node->model, operation, threads[i]);
        if (!model_run(&next.model, operation, threads[i]))
            continue;
        next.positions[threads[i]]++;
        enum verdict verdict = search(checker, &next, depth + 1);
        if (verdict != VERDICT_VIOLATION)
            return verdict;
    }
    for (uint32_t key = 0; key < history->key_count; key++) {
        int64_t expires_ms = node->model.cells[key].expires_ms;
        if ((keys >> key & 1) == 0 || expires_ms == 0 || history_reached(history, expires_ms) > end)
            continue;
        struct node next = *node;
        model_vanish(&next.model, key);
        enum verdict verdict = search(checker, &next, depth);
        if (verdict != VERDICT_VIOLATION)
            return verdict;
    }
    return VERDICT_VIOLATION;
}

enum verdict checker_run(struct checker *checker, const struct history *history)
{
    struct node root = {0};
    for (uint32_t i = 0; i < checker->seen_count; i++)
        checker->seen[checker->used[i]] = (XXH128_hash_t){0, 0};
    checker->seen_count = 0;
    checker->depth_best = 0;
    checker->history = history;
    model_init(&root.model, history->initial, history->key_count);
    checker->best = root;
    return search(checker, &root, 0);
}

void checker_explain(const struct checker *checker, const struct history *history, FILE *out)
{
    fprintf(out, "the longest order that explains the replies stops before:");
    for (uint32_t t = 0; t < history->thread_count; t++) {
        const struct operation *operation = next_operation(history, &checker->best, t);
        if (operation != NULL)
            fprintf(out, " T%u[%llu %llu]", t, (unsigned long long)operation->begin,
                    (unsigned long long)operation->end);
    }
    fprintf(out, "\n");
}
