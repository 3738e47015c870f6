/* SPDX-License-Identifier: MIT
 *
 * What the keyspace must do, one operation after another: the sequential specification that the
 * checker (checker.h) holds histories against.
 *
 * Time enters in two ways. An operation whose own clock has reached a key's expiry finds it
 * missing, and from then on it is missing for all (expiry is a write). And somebody else may have
 * removed the key before: model_vanish, an event of its own that the checker places where it may
 * be.
 */
#ifndef TESTS_SERIAL_MODEL_H
#define TESTS_SERIAL_MODEL_H

#include "history.h"

enum watch_state {
    WATCH_CLEAN,
    WATCH_MAYBE, /* a watched key that was missing was flushed: EXEC may run or refuse */
    WATCH_DIRTY,
};

/* No padding: states are compared and hashed as bytes. */
struct model {
    struct cell cells[HISTORY_KEYS_MAX];
    uint8_t watched[HISTORY_THREADS_MAX]; /* bit set of keys */
    uint8_t watch[HISTORY_THREADS_MAX];   /* enum watch_state */
};

void model_init(struct model *model, const struct cell *initial, uint32_t key_count);
/* Carries the operation out. False: the model's reply is another than the recorded one, and the
 * model's state is of no use any more. */
bool model_run(struct model *model, const struct operation *operation, uint32_t thread);
/* The key expires and is removed. */
void model_vanish(struct model *model, uint32_t key);
/* The keys that matter to this operation in this state: its own and those its EXEC depends on. */
uint32_t model_keys(const struct model *model, const struct operation *operation, uint32_t thread);

#endif
