/* SPDX-License-Identifier: MIT
 *
 * Decides whether a history is strictly serializable: whether its operations can be put in one
 * order that respects real time (what ended before another began comes first) and in which the
 * model (model.h) gives every reply as it was recorded. Expiries are placed into that order as
 * events of their own, not before some clock may have reached them.
 *
 * A checker holds the memory of the search; one thread at a time.
 */
#ifndef TESTS_SERIAL_CHECKER_H
#define TESTS_SERIAL_CHECKER_H

#include "history.h"

enum verdict {
    VERDICT_SERIALIZABLE,
    VERDICT_VIOLATION,
    VERDICT_UNDECIDED, /* the search was given up: too many states */
};

struct checker;

/* NULL: out of memory. */
struct checker *checker_create(void);
void checker_destroy(struct checker *checker);
enum verdict checker_run(struct checker *checker, const struct history *history);
/* After a violation: how far the longest order got. */
void checker_explain(const struct checker *checker, const struct history *history, FILE *out);

#endif
