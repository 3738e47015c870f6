/* SPDX-License-Identifier: MIT */
#include "command/error_counts.h"

#include <string.h>

static struct error_count *find(struct error_counts *counts, const char *code)
{
    uint32_t used = atomic_load_explicit(&counts->codes_count, memory_order_relaxed);
    for (uint32_t i = 0; i < used; i++) {
        if (strcmp(counts->codes[i].code, code) == 0)
            return &counts->codes[i];
    }
    if (used == ERROR_CODES_MAX || strlen(code) > ERROR_CODE_SIZE_MAX)
        return NULL;
    strcpy(counts->codes[used].code, code);
    atomic_store_explicit(&counts->codes_count, used + 1, memory_order_release);
    return &counts->codes[used];
}

static void add(struct error_counts *counts, const char *code, uint64_t amount)
{
    struct error_count *found = find(counts, code);
    counter_add(found != NULL ? &found->count : &counts->others, amount);
    counter_add(&counts->total, amount);
}

void error_counts_add(struct error_counts *counts, const char *code)
{
    add(counts, code, 1);
}

void error_counts_clear(struct error_counts *counts)
{
    for (uint32_t i = 0; i < ERROR_CODES_MAX; i++)
        counter_clear(&counts->codes[i].count);
    counter_clear(&counts->total);
    counter_clear(&counts->others);
}

void error_counts_sum(struct error_counts *sum, const struct error_counts *more)
{
    uint32_t used = atomic_load_explicit(&more->codes_count, memory_order_acquire);
    for (uint32_t i = 0; i < used; i++)
        add(sum, more->codes[i].code, counter_get(&more->codes[i].count));
    uint64_t others = counter_get(&more->others);
    counter_add(&sum->others, others);
    counter_add(&sum->total, others);
}
