/* SPDX-License-Identifier: MIT
 *
 * What became of item commands (command/item.h) that did more than read; reads are counted by the
 * engine. One thread counts, any thread reads.
 */
#ifndef LARDER_COMMAND_ITEM_COUNTS_H
#define LARDER_COMMAND_ITEM_COUNTS_H

#include "base/counter.h"
#include "command/item.h"

enum item_kind {
    ITEM_KIND_TOUCH, /* changed when it expires, told or not */
    ITEM_KIND_SET,
    ITEM_KIND_SWAP, /* a store that compares versions */
    ITEM_KIND_RAISE,
    ITEM_KIND_LOWER,
    ITEM_KIND_DELETE,
    ITEM_KINDS
};

enum item_result {
    ITEM_RESULT_HIT,
    ITEM_RESULT_MISS,    /* there was no such key, be it made now */
    ITEM_RESULT_DIFFERS, /* the version was another one */
    ITEM_RESULT_REFUSED, /* another condition did not hold */
    ITEM_RESULTS
};

struct item_counts {
    counter of[ITEM_KINDS][ITEM_RESULTS];
};

static inline void item_counts_add(struct item_counts *counts, enum item_kind kind,
                                   const struct item *item)
{
    enum item_result result = ITEM_RESULT_HIT;

    if (item->outcome == ITEM_DIFFERS)
        result = ITEM_RESULT_DIFFERS;
    else if (item->outcome == ITEM_NOT_STORED || item->outcome == ITEM_NOT_NUMBER)
        result = ITEM_RESULT_REFUSED;
    else if (item->outcome == ITEM_MISSING || (item->outcome != ITEM_STORED && !item->existed))
        result = ITEM_RESULT_MISS;
    counter_add(&counts->of[kind][result], 1);
}

#endif
