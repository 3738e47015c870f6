/* SPDX-License-Identifier: MIT
 *
 * Choosing a connection's wire, and the part of reading requests that all wires share: the memory
 * of an unfinished request.
 *
 * While a request is unfinished its arguments are kept in three forms. Those from argc_kept on lie
 * in the owner's bytes: their `data` is an offset into these, since they may move. Those before
 * argc_kept came before a big argument that the owner received by itself; they are either such a
 * big argument (blobs[i] is set and `data` a pointer) or were copied into `kept` (`data` is an
 * offset into that).
 */
#include "wire/wire.h"

#include <string.h>

#include "base/alloc.h"

enum {
    ARGV_ROOM_FIRST = 16,
    ARGV_ROOM_IDLE = 1024 /* more than this is given back once the request is done */
};

const char wire_too_big[] = "Protocol error: too big request";
const char wire_too_slow[] = "the request comes too slowly";

const struct wire_limits wire_limits_default = {
    .arguments_max = 1024 * 1024,
    .argument_size_max = 512 * 1024 * 1024,
    .inline_size_max = 64 * 1024,
    .query_size_max = 1024 * 1024 * 1024,
};

const struct wire_limits wire_limits_unauthenticated = {
    .arguments_max = 10,
    .argument_size_max = 16 * 1024,
    .inline_size_max = 64 * 1024,
    .query_size_max = 10 * 17 * 1024,
    .unauthenticated = true,
};

static const struct wire *const wires[] = {
#define WIRE(name) &wire_##name,
#include "wire/wires.def"
#undef WIRE
};

enum { WIRE_COUNT = sizeof(wires) / sizeof(wires[0]) };

enum detect wire_detect(const char *data, size_t size, const struct wire **out)
{
    for (size_t i = 0; i < WIRE_COUNT; i++) {
        enum detect answer = wires[i]->detect(data, size);
        if (answer == DETECT_MORE)
            return DETECT_MORE;
        if (answer == DETECT_YES) {
            *out = wires[i];
            return DETECT_YES;
        }
    }
    *out = wires[WIRE_COUNT - 1];
    return DETECT_YES;
}

const struct wire *wire_likely(const char *data, size_t size)
{
    size_t i = 0;

    while (i < WIRE_COUNT - 1 && wires[i]->detect(data, size) == DETECT_NO)
        i++;
    return wires[i];
}

/* ---- life */

enum status parser_init(struct parser *parser, const struct wire_limits *limits)
{
    *parser = (struct parser){.limits = limits, .state = PARSER_EMPTY};
    parser->argv = alloc_get(ARGV_ROOM_FIRST * sizeof(*parser->argv));
    if (parser->argv == NULL)
        return STATUS_NO_MEMORY;
    parser->argv_room = ARGV_ROOM_FIRST;
    return STATUS_OK;
}

void parser_reset(struct parser *parser)
{
    if (parser->state == PARSER_EMPTY)
        return;
    if (parser->blobs != NULL) {
        request_release_blobs(parser->blobs, parser->argc_done);
        alloc_free(parser->blobs);
        parser->blobs = NULL;
    }
    alloc_free(parser->kept);
    parser->kept = NULL;
    parser->kept_size = parser->kept_room = 0;
    if (parser->argv_room > ARGV_ROOM_IDLE) {
        struct bytes *argv = alloc_get(ARGV_ROOM_FIRST * sizeof(*argv));
        if (argv != NULL) { /* else it stays large for a while */
            alloc_free(parser->argv);
            parser->argv = argv;
            parser->argv_room = ARGV_ROOM_FIRST;
        }
    }
    parser->need = parser->blob_need = 0;
    parser->blob_unwanted = parser->judged = false;
    parser->request.terms = NULL;
    parser->request.admitted = parser->request.last = parser->rewritten = false;
    parser->interim = bytes_of(NULL, 0);
    parser->offset = parser->scanned = 0;
    parser->argc_total = parser->argc_done = parser->argc_kept = 0;
    parser->state = PARSER_EMPTY;
}

void parser_deinit(struct parser *parser)
{
    parser_reset(parser);
    alloc_free(parser->argv);
    parser->argv = NULL;
    parser->argv_room = 0;
}

bool parser_unfinished(const struct parser *parser)
{
    return parser->state == PARSER_UNFINISHED;
}

void parser_move(struct parser *from, struct parser *to)
{
    parser_reset(to);
    struct parser empty = *to;
    *to = *from;
    *from = empty;
    from->limits = to->limits;
    if (to->request.terms != NULL)
        to->request.terms = &to->terms;
}

/* ---- arguments */

bool parser_grow(struct parser *parser, uint32_t total)
{
    uint32_t old_room = parser->argv_room;
    uint32_t room = old_room < total / 2 ? old_room * 2 : total;
    struct bytes *argv = alloc_resize(parser->argv, room * sizeof(*argv));
    if (argv == NULL)
        return false;
    parser->argv = argv;
    if (parser->blobs != NULL) {
        struct blob **blobs = alloc_resize(parser->blobs, room * sizeof(struct blob *));
        if (blobs == NULL)
            return false;
        memset(blobs + old_room, 0, (room - old_room) * sizeof(struct blob *));
        parser->blobs = blobs;
    }
    parser->argv_room = room;
    if (room > ARGV_ROOM_IDLE && parser->state == PARSER_EMPTY)
        parser->state = PARSER_DONE;
    return true;
}

void parser_save(struct parser *parser, const char *data, size_t offset, uint32_t first,
                 uint32_t done, uint32_t total)
{
    for (uint32_t i = first; i < done; i++)
        parser->argv[i].data = (const char *)(uintptr_t)(parser->argv[i].data - data);
    parser->offset = offset;
    parser->argc_done = done;
    parser->argc_total = total;
    parser->state = PARSER_UNFINISHED;
}

void parser_restore(struct parser *parser, const char *data, uint32_t first)
{
    for (uint32_t i = 0; i < first; i++) {
        struct bytes *argument = &parser->argv[i];
        if (i >= parser->argc_kept)
            argument->data = data + (uintptr_t)argument->data;
        else if (argument->size == 0)
            argument->data = "";
        else if (parser->blobs[i] == NULL)
            argument->data = parser->kept + (uintptr_t)argument->data;
    }
}

/* ---- big arguments */

enum status parser_blob_begin(struct parser *parser, const char *data)
{
    if (parser->blobs == NULL) {
        parser->blobs = alloc_zeroed(parser->argv_room, sizeof(struct blob *));
        if (parser->blobs == NULL)
            return STATUS_NO_MEMORY;
    }
    size_t size = parser->kept_size;
    for (uint32_t i = parser->argc_kept; i < parser->argc_done; i++)
        size += parser->argv[i].size;
    if (size > parser->kept_room) {
        /* By half at least: a request may have many big arguments with small ones between. */
        size_t room = parser->kept_room + parser->kept_room / 2;
        if (room < size)
            room = size;
        char *kept = alloc_resize(parser->kept, room);
        if (kept == NULL)
            return STATUS_NO_MEMORY;
        parser->kept = kept;
        parser->kept_room = room;
    }
    for (uint32_t i = parser->argc_kept; i < parser->argc_done; i++) {
        struct bytes *argument = &parser->argv[i];
        if (argument->size != 0)
            memcpy(parser->kept + parser->kept_size, data + (uintptr_t)argument->data,
                   argument->size);
        argument->data = (const char *)(uintptr_t)parser->kept_size;
        parser->kept_size += argument->size;
    }
    parser->argc_kept = parser->argc_done;
    parser->offset = parser->scanned = 0;
    parser->need = 0;
    return STATUS_OK;
}

struct bytes parser_first_argument(const struct parser *parser)
{
    if (parser->argc_kept == 0 || parser->blobs[0] != NULL || parser->argv[0].size == 0)
        return BYTES("");
    return bytes_of(parser->kept + (uintptr_t)parser->argv[0].data, parser->argv[0].size);
}

void parser_blob_received(struct parser *parser, struct blob *blob, struct bytes content)
{
    parser->argv[parser->argc_done] = content;
    parser->blobs[parser->argc_done] = blob;
    parser->argc_kept = ++parser->argc_done;
    parser->blob_need = parser->blob_offset = 0;
    parser->blob_unwanted = false;
}
