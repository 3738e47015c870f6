/* SPDX-License-Identifier: MIT
 *
 * Builds replies as trees. A list announces how many items follow, so its array is made at once and
 * the open lists form a stack of places still to be filled. No state of its own.
 */
#include "command/reply_tree.h"

#include <stdalign.h>

#include "base/alloc.h"
#include "base/ensure.h"

/* Everything of one tree lies in a chain of these, its root at the start of the first. */
struct reply_chunk {
    struct reply_chunk *next;
    size_t used, room;
    alignas(max_align_t) char data[];
};

/* A list whose items are still to come. */
struct reply_level {
    struct reply_level *outer;
    struct larder_reply *next;
    uint64_t left;
};

static void *take(struct reply_tree *tree, size_t size)
{
    const size_t room_min = 512 - sizeof(struct reply_chunk), room_usual_max = 64 * 1024;
    struct reply_chunk *chunk = tree->last;
    if (tree->sink.failed || size > SIZE_MAX / 4)
        goto fail;
    size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (chunk == NULL || chunk->room - chunk->used < size) {
        size_t room = chunk == NULL ? room_min : chunk->room * 2;
        room = room > room_usual_max ? room_usual_max : room;
        room = room < size ? size : room;
        chunk = alloc_get(sizeof *chunk + room);
        if (chunk == NULL)
            goto fail;
        *chunk = (struct reply_chunk){.room = room};
        *(tree->last == NULL ? &tree->first : &tree->last->next) = chunk;
        tree->last = chunk;
    }
    chunk->used += size;
    return chunk->data + chunk->used - size;
fail:
    tree->sink.failed = true;
    return NULL;
}

/* The place for what is emitted next. NULL: memory is out. */
static struct larder_reply *place(struct reply *reply, enum larder_reply_kind kind)
{
    struct reply_tree *tree = (struct reply_tree *)reply;
    struct larder_reply *node;
    if (tree->sink.failed)
        return NULL;
    if (tree->open != NULL) {
        node = tree->open->next++;
        tree->open->left--;
        while (tree->open != NULL && tree->open->left == 0)
            tree->open = tree->open->outer;
    } else {
        ENSURE(tree->root == NULL);
        node = tree->root = take(tree, sizeof *node);
        if (node == NULL)
            return NULL;
    }
    *node = (struct larder_reply){.kind = kind};
    return node;
}

static const char *copy_bytes(struct reply_tree *tree, struct bytes bytes)
{
    char *copy = take(tree, bytes.size + 1);
    if (copy == NULL)
        return NULL;
    if (bytes.size > 0)
        memcpy(copy, bytes.data, bytes.size);
    copy[bytes.size] = 0;
    return copy;
}

static void place_bytes(struct reply *reply, enum larder_reply_kind kind, struct bytes bytes)
{
    struct larder_reply *node = place(reply, kind);
    if (node == NULL)
        return;
    node->data = copy_bytes((struct reply_tree *)reply, bytes);
    node->size = bytes.size;
}

static void place_items(struct reply *reply, enum larder_reply_kind kind, uint64_t count)
{
    struct reply_tree *tree = (struct reply_tree *)reply;
    struct larder_reply *node = place(reply, kind);
    if (node == NULL || count == 0)
        return;
    struct larder_reply *items = NULL;
    struct reply_level *level = take(tree, sizeof *level);
    if (count > SIZE_MAX / 4 / sizeof *items)
        tree->sink.failed = true;
    else
        items = take(tree, count * sizeof *items);
    if (tree->sink.failed)
        return;
    *level = (struct reply_level){tree->open, items, count};
    tree->open = level;
    node->items = items;
    node->count = count;
}

static void tree_ok(struct reply *reply)
{
    place(reply, LARDER_REPLY_OK);
}

static void tree_stored(struct reply *reply)
{
    place(reply, LARDER_REPLY_STORED);
}

static void tree_not_stored(struct reply *reply)
{
    place(reply, LARDER_REPLY_NOT_STORED);
}

static void tree_missing(struct reply *reply)
{
    place(reply, LARDER_REPLY_MISSING);
}

static void tree_missing_list(struct reply *reply)
{
    place(reply, LARDER_REPLY_MISSING_LIST);
}

static void tree_value(struct reply *reply, const struct value *value)
{
    place_bytes(reply, LARDER_REPLY_BYTES, bytes_of(value->data, value->size));
}

static void tree_bytes(struct reply *reply, struct bytes bytes)
{
    place_bytes(reply, LARDER_REPLY_BYTES, bytes);
}

static void tree_word(struct reply *reply, const char *text)
{
    place_bytes(reply, LARDER_REPLY_WORD, bytes_of_text(text));
}

static void tree_text(struct reply *reply, struct bytes text)
{
    place_bytes(reply, LARDER_REPLY_TEXT, text);
}

static void tree_integer(struct reply *reply, int64_t integer)
{
    struct larder_reply *node = place(reply, LARDER_REPLY_INTEGER);
    if (node != NULL)
        node->integer = integer;
}

static void tree_number(struct reply *reply, double number)
{
    struct larder_reply *node = place(reply, LARDER_REPLY_NUMBER);
    if (node != NULL)
        node->number = number;
}

static void tree_boolean(struct reply *reply, bool boolean)
{
    struct larder_reply *node = place(reply, LARDER_REPLY_BOOLEAN);
    if (node != NULL)
        node->integer = boolean;
}

static void tree_list(struct reply *reply, uint64_t count)
{
    place_items(reply, LARDER_REPLY_LIST, count);
}

static void tree_set(struct reply *reply, uint64_t count)
{
    place_items(reply, LARDER_REPLY_SET, count);
}

static void tree_map(struct reply *reply, uint64_t count)
{
    place_items(reply, LARDER_REPLY_MAP, count > UINT64_MAX / 2 ? UINT64_MAX : count * 2);
}

static void tree_error(struct reply *reply, const char *code, struct bytes text)
{
    struct larder_reply *node = place(reply, LARDER_REPLY_ERROR);
    reply->errored = true;
    if (node == NULL)
        return;
    node->code = copy_bytes((struct reply_tree *)reply, bytes_of_text(code));
    node->data = copy_bytes((struct reply_tree *)reply, text);
    node->size = text.size;
}

static const struct reply_ops tree_ops = {
    .ok = tree_ok,
    .stored = tree_stored,
    .not_stored = tree_not_stored,
    .missing = tree_missing,
    .missing_list = tree_missing_list,
    .value = tree_value,
    .bytes = tree_bytes,
    .word = tree_word,
    .text = tree_text,
    .integer = tree_integer,
    .number = tree_number,
    .boolean = tree_boolean,
    .list = tree_list,
    .set = tree_set,
    .map = tree_map,
    .error = tree_error,
};

static bool no_grow(struct sink *sink, size_t size)
{
    (void)size;
    sink->failed = true;
    return false;
}

static bool no_append(struct sink *sink, const char *data, size_t size)
{
    (void)sink, (void)data, (void)size;
    return false;
}

static const struct sink_ops no_bytes = {.grow = no_grow, .append = no_append};

static void free_chunks(struct reply_chunk *chunk)
{
    while (chunk != NULL) {
        struct reply_chunk *next = chunk->next;
        alloc_free(chunk);
        chunk = next;
    }
}

void reply_tree_init(struct reply_tree *tree)
{
    *tree = (struct reply_tree){.reply = {.ops = &tree_ops, .version = 3}, .sink.ops = &no_bytes};
    tree->reply.sink = &tree->sink;
}

enum status reply_tree_finish(struct reply_tree *tree, struct larder_reply **out)
{
    if (tree->sink.failed) {
        free_chunks(tree->first);
        return STATUS_NO_MEMORY;
    }
    ENSURE(tree->root != NULL && tree->open == NULL);
    *out = tree->root;
    return STATUS_OK;
}

void reply_tree_free(struct larder_reply *root)
{
    if (root != NULL)
        free_chunks((struct reply_chunk *)((char *)root - offsetof(struct reply_chunk, data)));
}
