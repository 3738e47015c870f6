/* SPDX-License-Identifier: MIT */
#include "base/buffer.h"

#include "base/alloc.h"

enum { FIRST_SIZE = 1024 };

static bool grow(struct sink *sink, size_t size)
{
    struct buffer *buffer = (struct buffer *)sink; /* its first member */
    size_t used = buffer->data == NULL ? 0 : (size_t)(sink->at - buffer->data);
    size_t room = buffer->data == NULL ? 0 : (size_t)(sink->end - buffer->data);
    if (sink->failed || size > buffer->max_size - used)
        goto fail;
    size_t wanted = room == 0 ? FIRST_SIZE : room + room / 2;
    if (wanted < used + size)
        wanted = used + size;
    if (wanted > buffer->max_size)
        wanted = buffer->max_size;
    char *data = alloc_resize(buffer->data, wanted);
    if (data == NULL)
        goto fail;
    buffer->data = data;
    sink->at = data + used;
    sink->end = data + wanted;
    return true;
fail:
    /* Nothing may follow what was dropped. */
    sink->failed = true;
    sink->end = sink->at;
    return false;
}

static bool append(struct sink *sink, const char *data, size_t size)
{
    if (!grow(sink, size))
        return false;
    memcpy(sink->at, data, size);
    sink->at += size;
    return true;
}

static const struct sink_ops buffer_ops = {.grow = grow, .append = append};

void buffer_init(struct buffer *buffer, size_t max_size)
{
    *buffer = (struct buffer){.sink = {.ops = &buffer_ops}, .max_size = max_size};
}

void buffer_deinit(struct buffer *buffer)
{
    alloc_free(buffer->data);
    buffer_init(buffer, buffer->max_size);
}

struct bytes buffer_bytes(const struct buffer *buffer)
{
    if (buffer->data == NULL)
        return bytes_of(NULL, 0);
    return bytes_of(buffer->data, (size_t)(buffer->sink.at - buffer->data));
}

void buffer_clear(struct buffer *buffer)
{
    if (buffer->sink.failed) /* the window was shut: its true end is forgotten */
        buffer_deinit(buffer);
    else
        buffer->sink.at = buffer->data;
}

void buffer_cut(struct buffer *buffer, size_t size)
{
    if (buffer->data == NULL) {
        buffer_clear(buffer);
        return;
    }
    buffer->sink.failed = false;
    buffer->sink.at = buffer->data + size;
}
