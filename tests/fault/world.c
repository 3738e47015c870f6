/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "command/dispatch.h"
#include "engine/lockset.h"
#include "engine/shard.h"

enum { MAINTAIN_ROUNDS_MAX = 10000 };

static void must(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

void world_init(struct world *world, uint32_t shards)
{
    memset(world, 0, sizeof(*world));
    world->now_ms = 1700000000000;
    struct engine_config config = {
        .shards = shards, .hash_seed = 42, .start_ms = world->now_ms, .workers = 1};
    must(engine_create(&config, &world->engine) == STATUS_OK &&
             engine_thread_register(world->engine, &world->thread) == STATUS_OK,
         "no engine without a fault");
    for (uint32_t i = 0; i < 2; i++) {
        client_init(&world->clients[i], world->engine, world->thread);
        world->clients[i].authenticated = true;
    }
    answer_init(&world->answer);
}

/* No reader is inside, so what is retired can go; since it waits for epochs to pass, a few rounds
 * without work must come in a row. */
static void maintain(struct world *world)
{
    engine_thread_offline(world->thread);
    for (uint32_t rounds = 0, quiet = 0; quiet < 4; rounds++) {
        quiet = engine_maintain(world->engine, world->now_ms) ? 0 : quiet + 1;
        must(rounds < MAINTAIN_ROUNDS_MAX, "housekeeping does not end");
    }
}

static void run_command(struct world *world, const struct order *order)
{
    struct client *client = &world->clients[order->client];
    struct request request = {.argc = order->argc, .argv = order->argv};
    struct bytes *argv = malloc(order->argc * sizeof(*argv));
    struct blob **blobs = calloc(order->argc, sizeof(struct blob *));
    must(argv != NULL && blobs != NULL, "out of memory");
    request.argv = argv;
    engine_thread_online(world->thread);
    for (uint32_t i = 0; i < order->argc; i++) {
        argv[i] = order->argv[i];
        if (!order->in_blob[i])
            continue;
        blobs[i] = blob_create(world->engine, argv[i].size, LIMIT_HOLDS);
        if (blobs[i] == NULL) { /* the server says so itself when it cannot receive an argument */
            reply_status(&world->answer.reply, STATUS_NO_MEMORY);
            if (client->in_multi)
                client->multi_failed = true;
            goto done;
        }
        memcpy(blob_data(blobs[i]), argv[i].data, argv[i].size);
        argv[i].data = blob_data(blobs[i]);
        request.blobs = blobs;
    }
    dispatch_prepare(client, &request);
    dispatch_run(client, &request, world->now_ms, &world->answer.reply);
done:
    request_release_blobs(blobs, order->argc);
    free(blobs);
    free(argv);
}

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The order of SCAN's and KEYS's keys means nothing, and depends on when a table came to grow. */
static void sort_answer(struct answer *answer)
{
    size_t count = 0, size = 0;
    char **lines = malloc(answer->size * sizeof(char *));
    char *text = strdup(answer->text);
    must(lines != NULL && text != NULL, "out of memory");
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL && rest != NULL;)
        lines[count++] = line;
    qsort(lines, count, sizeof(char *), compare_lines);
    for (size_t i = 0; i < count; i++)
        size += (size_t)sprintf(answer->text + size, "%s\n", lines[i]);
    free(lines);
    free(text);
}

const char *world_run(struct world *world, const struct order *order)
{
    answer_clear(&world->answer);
    switch (order->kind) {
    case ORDER_COMMAND:
        run_command(world, order);
        if (bytes_equal_text_nocase(order->argv[0], "SCAN") ||
            bytes_equal_text_nocase(order->argv[0], "KEYS"))
            sort_answer(&world->answer);
        break;
    case ORDER_TIME:
        world->now_ms += order->duration_ms;
        break;
    case ORDER_MAINTAIN:
        maintain(world);
        break;
    }
    return world->answer.text;
}

const char *world_say(struct world *world, const char *line)
{
    const struct script script = {.lines = {line}};
    struct orders orders = orders_create(&script);
    const char *answer = world_run(world, &orders.first[0]);
    orders_destroy(&orders);
    return answer;
}

/* ---- content */

struct key_list {
    struct bytes *keys;
    size_t count, room;
};

static void collect(void *argument, struct bytes key, enum value_type type)
{
    (void)type;
    struct key_list *list = argument;
    if (list->count == list->room) {
        list->room = list->room * 2 + 64;
        list->keys = realloc(list->keys, list->room * sizeof(*list->keys));
        must(list->keys != NULL, "out of memory");
    }
    char *copy = malloc(key.size + 1);
    must(copy != NULL, "out of memory");
    memcpy(copy, key.data, key.size);
    list->keys[list->count++] = bytes_of(copy, key.size);
}

static uint64_t content_of_key(struct access *access, struct bytes bytes)
{
    struct key key = key_of(engine_hash_seed(access->engine), bytes);
    struct value value;
    must(keyspace_peek(access, &key, &value) == FIND_FOUND, "a key that SCAN visits is not there");
    uint64_t parts[] = {hash_bytes(bytes.data, bytes.size, 1),
                        hash_bytes(value.data, value.size, 2), (uint64_t)value.expires_ms,
                        access->db};
    return hash_bytes(parts, sizeof(parts), 3);
}

uint64_t world_content(struct world *world)
{
    uint64_t content = 0;
    struct access access = {
        .engine = world->engine, .thread = world->thread, .now_ms = world->now_ms, .locked = true};
    struct lockset set;
    lockset_init(&set);
    lockset_add_all(&set, world->engine);
    engine_thread_online(world->thread);
    lockset_acquire(&set, world->engine, false);
    for (access.db = 0; access.db < ENGINE_DATABASES; access.db++) {
        struct key_list list = {0};
        uint64_t cursor = 0;
        do
            cursor = keyspace_scan(&access, cursor, 1000, collect, &list);
        while (cursor != 0);
        for (size_t i = 0; i < list.count; i++) {
            content += content_of_key(&access, list.keys[i]); /* in any order */
            free((char *)(uintptr_t)list.keys[i].data);
        }
        free(list.keys);
    }
    lockset_release(&set, world->engine);
    engine_thread_offline(world->thread);
    return content;
}

/* The pages that shards account for: everything else that is in use belongs to big values. */
static uint64_t shard_bytes(const struct engine *engine)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < engine->shard_count; i++) {
        const struct shard *shard = &engine->shards[i];
        bytes += shard->table_bytes;
        for (uint32_t s = 0; s < shard->heap.slab_count; s++)
            bytes += (uint64_t)shard->heap.slabs[s].slab->page_count * PAGE_SIZE;
    }
    return bytes;
}

void world_deinit(struct world *world)
{
    struct engine_stats stats;
    for (uint32_t i = 0; i < 2; i++)
        client_deinit(&world->clients[i]);
    client_init(&world->clients[0], world->engine, world->thread);
    world->clients[0].authenticated = true;
    world_say(world, "FLUSHALL");
    maintain(world);
    engine_stats(world->engine, &stats);
    must(stats.keys == 0 && stats.retired_bytes == 0, "keys are left after FLUSHALL");
    must(engine_check(world->engine), "FLUSHALL breaks an invariant"); /* entries are counted */
    must(stats.used_bytes == shard_bytes(world->engine), "big values are left after FLUSHALL");
    client_deinit(&world->clients[0]);
    answer_deinit(&world->answer);
    engine_thread_unregister(world->thread);
    engine_destroy(world->engine);
}
