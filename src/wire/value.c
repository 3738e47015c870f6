/* SPDX-License-Identifier: MIT */
#include "wire/value.h"

static void release_blob(void *owner)
{
    blob_release(owner);
}

void value_write(struct sink *sink, const struct value *value, size_t first, size_t size)
{
    if (size < BLOB_VALUE_SIZE_MIN || value->blob == NULL || sink->ops->refer == NULL) {
        sink_write(sink, value->data + first, size);
        return;
    }
    if (sink->failed)
        return;
    blob_hold(value->blob);
    if (!sink->ops->refer(sink, value->data + first, size, release_blob, value->blob))
        sink->failed = true;
}
