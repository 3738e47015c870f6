/* SPDX-License-Identifier: MIT
 *
 * A big value's memory: a run of whole pages with a count of holders. An entry holds its blob; a
 * reply that sends it without a copy holds it too, so the bytes stay until the send has completed.
 * Content is immutable while more than one holder exists. Thread-safe.
 */
#ifndef LARDER_ENGINE_BLOB_H
#define LARDER_ENGINE_BLOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/limit.h"

struct blob;
struct engine;

/* Values at least this large live in blobs. */
enum { BLOB_VALUE_SIZE_MIN = 16 * 1024 };

/* Held once by the caller; content undefined. NULL when memory is out (limit or system). */
struct blob *blob_create(struct engine *engine, size_t size, enum limit limit);
char *blob_data(struct blob *blob);
size_t blob_size(const struct blob *blob);
/* Bytes of the pages it takes. */
size_t blob_footprint(const struct blob *blob);
uint32_t blob_holder_count(const struct blob *blob);
/* Somebody besides the caller holds it. */
bool blob_is_shared(const struct blob *blob);
void blob_hold(struct blob *blob);
/* The last release frees; a large one is freed by the mapper, since unmapping it takes long. */
void blob_release(struct blob *blob);
/* Unmaps what blob_release left to the mapper; false when there was nothing. */
bool blob_bury(struct engine *engine);

#endif
