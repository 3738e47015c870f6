/* SPDX-License-Identifier: MIT
 *
 * The rows: the same read, with one concern more in each. 1,000 entries of 16-byte keys and 64-byte
 * values; four keys are probed in turn and all hit; the value is copied out. A figure is the mean
 * of one repetition's operations, and the median of the repetitions, which are interleaved over the
 * rows so that a drift of the machine hits all alike.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "command/client.h"
#include "command/command.h"
#include "command/dispatch.h"
#include "control.h"
#include "engine.h"
#include "os/clock.h"
#include "wire/wire.h"
#include "workload.h"

enum {
    ENTRY_COUNT = 1000,
    PROBE_COUNT = 4,
    REPLY_SIZE = sizeof "$64\r\n" - 1 + VALUE_SIZE + 2,
    REQUEST_SIZE = sizeof "*2\r\n$3\r\nGET\r\n$16\r\n" - 1 + KEY_SIZE + 2,
};

struct fixture {
    struct control *control;
    struct store one, plain, expiring;
    struct bytes probes[PROBE_COUNT], absent[PROBE_COUNT];
    char keys[2 * PROBE_COUNT][KEY_SIZE];
    struct client client; /* of the expiring store */
    struct buffer output;
    struct reply reply;
    struct parser parser;
    char requests[BATCH_COUNT * REQUEST_SIZE];
    char out[VALUE_SIZE];
};

struct row {
    const char *name;
    /* `operations` is a multiple of BATCH_COUNT. */
    void (*run)(struct fixture *fixture, uint64_t operations);
    const char *adds;
};

static inline void expect(bool right)
{
    if (__builtin_expect(!right, 0))
        workload_fail("a probe was answered wrongly");
}

static void run_control(struct fixture *fixture, uint64_t operations)
{
    for (uint64_t i = 0; i < operations; i++) {
        expect(control_get(fixture->control, fixture->probes[i % PROBE_COUNT], fixture->out) ==
               VALUE_SIZE);
        workload_use(fixture->out);
    }
}

static void run_clock(struct fixture *fixture, uint64_t operations)
{
    (void)fixture;
    for (uint64_t i = 0; i < operations; i++) {
        int64_t now_ms = clock_engine_ms();
        workload_use(&now_ms);
    }
}

static inline void read_probe(struct access *access, const struct store *store,
                              struct fixture *fixture, uint64_t i)
{
    expect(workload_get(access, store, fixture->probes[i % PROBE_COUNT], fixture->out) ==
           VALUE_SIZE);
    workload_use(fixture->out);
}

static void run_shard(struct fixture *fixture, uint64_t operations)
{
    struct access access = workload_access(&fixture->one, clock_engine_ms());
    for (uint64_t i = 0; i < operations; i++)
        read_probe(&access, &fixture->one, fixture, i);
}

static inline void run_batches(struct fixture *fixture, const struct store *store,
                               uint64_t operations, bool sample)
{
    struct access access = workload_access(store, clock_engine_ms());
    for (uint64_t i = 0; i < operations; i++) {
        if (i % BATCH_COUNT == 0) {
            engine_thread_online(store->thread);
            if (sample)
                access.now_ms = clock_engine_ms();
        }
        read_probe(&access, store, fixture, i);
    }
}

static void run_store(struct fixture *fixture, uint64_t operations)
{
    run_batches(fixture, &fixture->plain, operations, false);
}

static void run_store_expiry(struct fixture *fixture, uint64_t operations)
{
    run_batches(fixture, &fixture->expiring, operations, false);
}

static void run_os_clock(struct fixture *fixture, uint64_t operations)
{
    const struct store *store = &fixture->expiring;
    struct access access = workload_access(store, 0);
    for (uint64_t i = 0; i < operations; i++) {
        if (i % BATCH_COUNT == 0)
            engine_thread_online(store->thread);
        access.now_ms = clock_engine_ms();
        read_probe(&access, store, fixture, i);
    }
}

static void run_cached_clock(struct fixture *fixture, uint64_t operations)
{
    run_batches(fixture, &fixture->expiring, operations, true);
}

static void run_miss(struct fixture *fixture, uint64_t operations)
{
    const struct store *store = &fixture->expiring;
    struct access access = workload_access(store, 0);
    for (uint64_t i = 0; i < operations; i++) {
        if (i % BATCH_COUNT == 0) {
            engine_thread_online(store->thread);
            access.now_ms = clock_engine_ms();
        }
        expect(workload_get(&access, store, fixture->absent[i % PROBE_COUNT], fixture->out) ==
               SIZE_MAX);
    }
}

static void run_set(struct fixture *fixture, uint64_t operations)
{
    const struct store *store = &fixture->expiring;
    struct access access = workload_access(store, 0);
    for (uint64_t i = 0; i < operations; i++) {
        if (i % BATCH_COUNT == 0) {
            engine_thread_online(store->thread);
            access.now_ms = clock_engine_ms();
        }
        workload_set(&access, store, fixture->probes[i % PROBE_COUNT], true);
    }
}

static void run_command(struct fixture *fixture, uint64_t operations)
{
    struct bytes arguments[PROBE_COUNT][2];
    for (size_t i = 0; i < PROBE_COUNT; i++) {
        arguments[i][0] = BYTES("GET");
        arguments[i][1] = fixture->probes[i];
    }
    int64_t now_ms = 0;
    for (uint64_t i = 0; i < operations; i++) {
        if (i % BATCH_COUNT == 0) {
            engine_thread_online(fixture->expiring.thread);
            now_ms = clock_engine_ms();
        }
        struct request request = {.argc = 2, .argv = arguments[i % PROBE_COUNT]};
        dispatch_prepare(&fixture->client, &request);
        dispatch_run(&fixture->client, &request, now_ms, &fixture->reply);
        expect(buffer_bytes(&fixture->output).size == REPLY_SIZE);
        buffer_clear(&fixture->output);
    }
}

static void run_request(struct fixture *fixture, uint64_t operations)
{
    struct parser *parser = &fixture->parser;
    for (uint64_t i = 0; i < operations; i += BATCH_COUNT) {
        engine_thread_online(fixture->expiring.thread);
        int64_t now_ms = clock_engine_ms();
        for (size_t offset = 0; offset < sizeof fixture->requests;) {
            size_t consumed;
            expect(wire_resp.parse(parser, fixture->requests + offset,
                                   sizeof fixture->requests - offset, &consumed) == PARSE_DONE);
            offset += consumed;
            dispatch_prepare(&fixture->client, &parser->request);
            dispatch_run(&fixture->client, &parser->request, now_ms, &fixture->reply);
        }
        expect(buffer_bytes(&fixture->output).size == (size_t)BATCH_COUNT * REPLY_SIZE);
        buffer_clear(&fixture->output);
    }
}

static const struct row rows[] = {
    {"control", run_control,
     "a bare open-addressing map: hash, compare, copy; one thread, no expiry"},
    {"clock", run_clock, "one reading of the clock, nothing else"},
    {"shard", run_shard, "the engine with one shard, keys without TTL, no safe points"},
    {"store", run_store, "shards as the CPUs call for, and a safe point every 64 operations"},
    {"store+expiry", run_store_expiry, "keys with a TTL, compared with a time that stands still"},
    {"engine/os-clock", run_os_clock, "the clock read for every operation"},
    {"engine/cached-clock", run_cached_clock, "the clock read once in 64 operations: what ships"},
    {"engine/miss", run_miss, "as engine/cached-clock, but the keys are absent"},
    {"engine/set", run_set, "as engine/cached-clock, but the value is replaced"},
    {"command", run_command, "GET by name through lookup, checks and dispatch, rendered as RESP"},
    {"request", run_request, "the same from RESP bytes, 64 pipelined requests at a time"},
};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

void rows_describe(void)
{
    for (size_t i = 0; i < ROW_COUNT; i++)
        printf("  %-20s %s\n", rows[i].name, rows[i].adds);
}

static struct store make_store(uint32_t shards, bool ttl)
{
    struct store store = workload_join(workload_engine(shards));
    workload_fill(&store, ENTRY_COUNT, ttl);
    return store;
}

static void make_requests(struct fixture *fixture)
{
    static const char head[] = "*2\r\n$3\r\nGET\r\n$16\r\n";
    for (size_t i = 0; i < BATCH_COUNT; i++) {
        char *at = fixture->requests + i * REQUEST_SIZE;
        memcpy(at, head, sizeof head - 1);
        memcpy(at + sizeof head - 1, fixture->probes[i % PROBE_COUNT].data, KEY_SIZE);
        memcpy(at + REQUEST_SIZE - 2, "\r\n", 2);
    }
}

static struct fixture *make_fixture(void)
{
    static const struct wire_limits limits = {.arguments_max = 1 << 20,
                                              .argument_size_max = 512 << 20,
                                              .inline_size_max = 64 << 10,
                                              .query_size_max = 1 << 30};
    struct fixture *fixture = calloc(1, sizeof *fixture);
    if (fixture == NULL)
        workload_fail("out of memory");
    fixture->one = make_store(1, false);
    fixture->plain = make_store(0, false);
    fixture->expiring = make_store(0, true);
    for (size_t i = 0; i < PROBE_COUNT; i++) {
        workload_key(fixture->keys[i], i * (ENTRY_COUNT / PROBE_COUNT) + 7);
        workload_key(fixture->keys[PROBE_COUNT + i], ENTRY_COUNT + i);
        fixture->probes[i] = bytes_of(fixture->keys[i], KEY_SIZE);
        fixture->absent[i] = bytes_of(fixture->keys[PROBE_COUNT + i], KEY_SIZE);
    }
    fixture->control = control_create(ENTRY_COUNT, fixture->expiring.hash_seed);
    for (uint64_t i = 0; i < ENTRY_COUNT; i++) {
        char key[KEY_SIZE];
        workload_key(key, i);
        if (fixture->control == NULL ||
            !control_set(fixture->control, bytes_of(key, KEY_SIZE), workload_value()))
            workload_fail("out of memory");
    }
    uint32_t command_rows_count;
    const struct command *table = command_rows(&command_rows_count);
    if (command_table_add(table, command_rows_count) != STATUS_OK ||
        parser_init(&fixture->parser, &limits) != STATUS_OK)
        workload_fail("out of memory");
    client_init(&fixture->client, fixture->expiring.engine, fixture->expiring.thread);
    fixture->client.authenticated = true;
    buffer_init(&fixture->output, 1 << 20);
    fixture->reply =
        (struct reply){.ops = wire_resp.reply_ops, .sink = &fixture->output.sink, .version = 2};
    make_requests(fixture);
    return fixture;
}

static void free_fixture(struct fixture *fixture)
{
    struct store *stores[] = {&fixture->one, &fixture->plain, &fixture->expiring};
    client_deinit(&fixture->client);
    parser_deinit(&fixture->parser);
    buffer_deinit(&fixture->output);
    control_destroy(fixture->control);
    for (size_t i = 0; i < sizeof stores / sizeof *stores; i++) {
        workload_leave(stores[i]);
        engine_destroy(stores[i]->engine);
    }
    free(fixture);
}

void rows_run(const struct engine_options *options, struct report *report)
{
    struct fixture *fixture = make_fixture();
    uint32_t repetitions = options->repetitions;
    uint64_t operations = (options->operations + BATCH_COUNT - 1) / BATCH_COUNT * BATCH_COUNT;
    double *figures = calloc((size_t)repetitions * ROW_COUNT, sizeof *figures);
    if (figures == NULL)
        workload_fail("out of memory");
    for (size_t row = 0; row < ROW_COUNT; row++)
        rows[row].run(fixture, operations / BATCH_COUNT / 10 * BATCH_COUNT + BATCH_COUNT);
    for (uint32_t repetition = 0; repetition < repetitions; repetition++) {
        for (size_t row = 0; row < ROW_COUNT; row++) {
            uint64_t start_ns = clock_monotonic_ns();
            rows[row].run(fixture, operations);
            figures[row * repetitions + repetition] =
                (double)(clock_monotonic_ns() - start_ns) / (double)operations;
        }
    }
    for (size_t row = 0; row < ROW_COUNT; row++)
        report->rows[report->row_count++] = (struct report_row){
            rows[row].name, workload_median(figures + row * repetitions, repetitions)};
    free(figures);
    free_fixture(fixture);
}
