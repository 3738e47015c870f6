/* SPDX-License-Identifier: MIT
 *
 * A pipeline of RESP requests, each cut in two, goes through parser, dispatcher and a growing reply
 * buffer; every allocation on that way fails once. A connection may be lost (the request is sent
 * again on a new one), a reply may be lost (the sink says so), a command may answer OOM (it is sent
 * again): nothing else may happen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "wire_fault.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "command/dispatch.h"
#include "wire/resp_reply.h"
#include "wire/wire.h"
#include "world.h"

static const struct script pipeline = {
    "pipeline",
    2,
    {"SET key value", "MSET [12 k# v#]", "MSET [700 k# {20}]", "GET k3", "MGET [700 k#]",
     "SET big {70000}", "GET big", "MSET a {100} b {66000} c {100} d {80000}", "MGET a b c d",
     "MULTI", "SET x {66000}", "EXEC", "KEYS *", "SCAN 0 COUNT 100"},
};

enum served { SERVED, LOST };

/* One connection, which may have to be opened anew. */
struct connection {
    struct world *world;
    struct parser parser;
    bool open;
    struct buffer replies;
};

static void hang_up(struct connection *connection)
{
    struct client *client = &connection->world->clients[0];
    if (connection->open)
        parser_deinit(&connection->parser);
    connection->open = false;
    client_deinit(client);
    client_init(client, connection->world->engine, connection->world->thread);
    client->authenticated = true;
}

/* Receives a big argument that has begun into a blob. False: memory is out, the connection goes. */
static bool receive_blob(struct connection *connection, char **data, size_t *size)
{
    struct parser *parser = &connection->parser;
    size_t blob_size = parser->blob_need, offset = parser->blob_offset;
    struct blob *blob = blob_create(connection->world->engine, blob_size, LIMIT_HOLDS);
    if (blob == NULL)
        return false;
    if (parser_blob_begin(parser, *data) != STATUS_OK) {
        blob_release(blob); /* and go on collecting bytes */
        return true;
    }
    memcpy(blob_data(blob), *data + offset, blob_size);
    parser_blob_received(parser, blob, bytes_of(blob_data(blob), blob_size));
    *data += offset + blob_size;
    *size -= offset + blob_size;
    return true;
}

/* `data` arrives in two halves. */
static enum parse receive(struct connection *connection, char *data, size_t size)
{
    struct parser *parser = &connection->parser;
    size_t consumed = 0;
    for (size_t there = size / 2;; there = size) {
        enum parse parse = wire_resp.parse(parser, data, there, &consumed);
        if (parse != PARSE_MORE)
            return parse;
        size_t before = size;
        while (parser->blob_need != 0) {
            if (!receive_blob(connection, &data, &size))
                return PARSE_BAD;
            if (size == before)
                break;
            before = size;
            parse = wire_resp.parse(parser, data, size < 2 ? size : 2, &consumed);
            if (parse != PARSE_MORE)
                return parse;
        }
    }
}

/* Serves one request; its reply is in `replies` unless that has failed. */
static enum served serve(struct connection *connection, const struct order *order)
{
    struct world *world = connection->world;
    struct client *client = &world->clients[0];
    struct reply reply = {
        .ops = wire_resp.reply_ops, .sink = &connection->replies.sink, .version = 2};
    buffer_clear(&connection->replies);
    if (!connection->open && parser_init(&connection->parser, &wire_limits_default) != STATUS_OK)
        return LOST;
    connection->open = true;
    size_t size;
    char *data = order_encode(order, &size);
    enum parse parse = receive(connection, data, size);
    if (parse == PARSE_DONE) {
        struct request *request = &connection->parser.request;
        engine_thread_online(world->thread);
        dispatch_prepare(client, request);
        dispatch_run(client, request, world->now_ms, &reply);
    } else {
        hang_up(connection);
    }
    free(data);
    return parse == PARSE_DONE ? SERVED : LOST;
}

struct right {
    struct orders orders;
    struct bytes *replies;
    uint64_t content;
};

static void find_right_replies(struct right *right)
{
    struct world world;
    world_init(&world, pipeline.shards);
    struct connection connection = {.world = &world};
    buffer_init(&connection.replies, SIZE_MAX / 2);
    right->orders = orders_create(&pipeline);
    right->replies = calloc(right->orders.count, sizeof(*right->replies));
    assert_non_null(right->replies);
    for (uint32_t i = 0; i < right->orders.count; i++) {
        assert_int_equal(serve(&connection, &right->orders.first[i]), SERVED);
        struct bytes reply = buffer_bytes(&connection.replies);
        char *copy = malloc(reply.size);
        assert_non_null(copy);
        memcpy(copy, reply.data, reply.size);
        right->replies[i] = bytes_of(copy, reply.size);
    }
    hang_up(&connection);
    buffer_deinit(&connection.replies);
    right->content = world_content(&world);
    world_deinit(&world);
}

/* True: the request was served as it should be; false: again. */
static bool served_right(struct connection *connection, const struct right *right, uint32_t at)
{
    struct buffer *replies = &connection->replies;
    if (serve(connection, &right->orders.first[at]) == LOST)
        return false;
    if (replies->sink.failed)
        return true;
    struct bytes reply = buffer_bytes(replies);
    if (bytes_equal(reply, right->replies[at]))
        return true;
    static const char in_exec[] = "*1\r\n-OOM"; /* EXEC ran, but its only command did not */
    if (memcmp(reply.data, in_exec, sizeof(in_exec) - 1) != 0 && memcmp(reply.data, "-OOM", 4) != 0)
        fail_msg("request %u was answered %.*s", at, (int)(reply.size < 80 ? reply.size : 80),
                 reply.data);
    return false;
}

static bool run_with_fault(const struct right *right, unsigned long nth)
{
    struct world world;
    world_init(&world, pipeline.shards);
    struct connection connection = {.world = &world};
    buffer_init(&connection.replies, SIZE_MAX / 2);
    alloc_fault_at(nth);
    bool in_exec = false; /* a transaction that was refused or lost has to be built again */
    for (uint32_t i = 0, failures = 0; i < right->orders.count; i++) {
        bool exec = bytes_equal_text_nocase(right->orders.first[i].argv[0], "EXEC");
        if (served_right(&connection, right, i)) {
            in_exec = bytes_equal_text_nocase(right->orders.first[i].argv[0], "MULTI") ||
                      (in_exec && !exec);
            continue;
        }
        if (!alloc_fault_fired() || ++failures > 1)
            fail_msg("allocation %lu: request %u fails without a fault", nth, i);
        if (in_exec) {
            hang_up(&connection);
            while (!bytes_equal_text_nocase(right->orders.first[i].argv[0], "MULTI"))
                i--;
            in_exec = false;
        }
        i--;
    }
    bool fired = alloc_fault_fired();
    alloc_fault_at(0);
    hang_up(&connection);
    buffer_deinit(&connection.replies);
    assert_true(engine_check(world.engine));
    if (world_content(&world) != right->content)
        fail_msg("allocation %lu: the keyspace is not what it should be", nth);
    world_deinit(&world);
    return fired;
}

void a_pipeline_survives_every_failing_allocation(void **state)
{
    (void)state;
    struct right right = {0};
    unsigned long nth = 0;
    find_right_replies(&right);
    while (run_with_fault(&right, ++nth))
        ;
    print_message("%lu allocations\n", nth - 1);
    for (uint32_t i = 0; i < right.orders.count; i++)
        free((char *)(uintptr_t)right.replies[i].data);
    free(right.replies);
    orders_destroy(&right.orders);
}
