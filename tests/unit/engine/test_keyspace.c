/* SPDX-License-Identifier: MIT
 *
 * The keyspace against a naive model: random writes, reads, expiry and scans under a virtual clock,
 * through growth and shrink, with the engine's invariants walked along the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/number.h"
#include "engine/keyspace.h"
#include "engine/lockset.h"
#include "engine/shard.h"
#include "engine/table.h"

enum { START_MS = 1000000, MODEL_KEYS = 4000, VALUE_MAX = 40000 };

struct fixture {
    struct engine *engine;
    struct access access;
    uint64_t random;
};

struct model {
    bool present;
    int64_t expires_ms;
    size_t size;
    char *data;
    struct traits traits; /* type: always the same letters */
};

static uint64_t next_random(struct fixture *f)
{
    f->random ^= f->random << 13;
    f->random ^= f->random >> 7;
    f->random ^= f->random << 17;
    return f->random;
}

static void open_engine(struct fixture *f, uint32_t shards)
{
    struct engine_config config = {.shards = shards, .hash_seed = 42, .start_ms = START_MS};
    assert_int_equal(engine_create(&config, &f->engine), STATUS_OK);
    f->access = (struct access){.engine = f->engine, .now_ms = START_MS};
    assert_int_equal(engine_thread_register(f->engine, &f->access.thread), STATUS_OK);
    engine_thread_online(f->access.thread);
}

static void close_engine(struct fixture *f)
{
    engine_thread_unregister(f->access.thread);
    engine_destroy(f->engine);
}

static struct key key_number(struct fixture *f, char *buffer, uint32_t number)
{
    /* A few keys are long enough to need a blob. */
    int size = sprintf(buffer, "key:%u", number);
    if (number % 97 == 0)
        size += sprintf(buffer + size, "%06000d", 7);
    return key_of(engine_hash_seed(f->engine), bytes_of(buffer, (size_t)size));
}

static void begin(struct fixture *f, const struct key *key)
{
    lock_key(f->engine, key->hash);
    f->access.locked = true;
}

static void end(struct fixture *f, const struct key *key)
{
    f->access.locked = false;
    unlock_key(f->engine, key->hash);
}

static void model_store(struct model *m, const char *data, size_t size, int64_t expires_ms)
{
    char *copy = malloc(size + 1);
    if (size != 0)
        memcpy(copy, data, size);
    free(m->data);
    *m = (struct model){.present = true, .expires_ms = expires_ms, .size = size, .data = copy};
}

/* Another value of a key that is alive keeps what does not tell of the old one. */
static void model_change(struct model *m, bool alive, const char *data, size_t size)
{
    struct traits traits = m->traits;
    model_store(m, data, size, alive ? m->expires_ms : EXPIRES_NEVER);
    if (alive) {
        m->traits = traits;
        m->traits.kinds &= (uint8_t)~TRAIT_VERSION;
        m->traits.state = 0;
    }
}

static struct traits random_traits(struct fixture *f)
{
    static const char letters[TRAIT_TYPE_SIZE_MAX] = {'t', 'y', 'p', 'e'};
    return (struct traits){
        .kinds = (uint8_t)(next_random(f) % 32),
        .state = (uint8_t)(next_random(f) % 4),
        .flags = (uint32_t)next_random(f),
        .version = next_random(f),
        .read_time_s = (uint32_t)(f->access.now_ms / 1000),
        .type = bytes_of(letters, next_random(f) % (TRAIT_TYPE_SIZE_MAX + 1)),
    };
}

static void compare_traits(const struct value *value, const struct traits *expected)
{
    struct traits got;
    keyspace_traits(value, &got);
    assert_int_equal(got.kinds, expected->kinds);
    if (got.kinds == 0)
        return;
    assert_int_equal(got.state, expected->state);
    if (got.kinds & TRAIT_FLAGS)
        assert_int_equal(got.flags, expected->flags);
    if (got.kinds & TRAIT_VERSION)
        assert_true(got.version == expected->version);
    if (got.kinds & TRAIT_TYPE)
        assert_true(bytes_equal(got.type, expected->type));
    if (got.kinds & TRAIT_READ_TIME)
        assert_true(got.read_time_s >= expected->read_time_s);
}

static void compare(struct fixture *f, const struct key *key, const struct model *m)
{
    struct value value;
    bool alive = m->present && (m->expires_ms == 0 || m->expires_ms > f->access.now_ms);
    enum find found = keyspace_find(&f->access, key, &value);
    if (found == FIND_LOCK) {
        begin(f, key);
        found = keyspace_find(&f->access, key, &value);
        end(f, key);
    }
    assert_int_equal(found, alive ? FIND_FOUND : FIND_MISSING);
    if (alive) {
        assert_int_equal(value.size, m->size);
        assert_memory_equal(value.data, m->data, m->size);
        assert_int_equal(value.expires_ms, m->expires_ms);
        compare_traits(&value, &m->traits);
    }
}

static size_t random_size(struct fixture *f)
{
    switch (next_random(f) % 16) {
    case 0:
        return next_random(f) % VALUE_MAX;
    case 1:
        return 0;
    default:
        return next_random(f) % 200;
    }
}

static size_t fill(struct fixture *f, char *data)
{
    if (next_random(f) % 4 == 0)
        return number_format_i64(data, (int64_t)next_random(f) >> (next_random(f) % 64));
    size_t size = random_size(f);
    for (size_t i = 0; i < size; i++)
        data[i] = (char)next_random(f);
    return size;
}

static int64_t random_expiry(struct fixture *f)
{
    switch (next_random(f) % 4) {
    case 0:
        return f->access.now_ms + 1 + (int64_t)(next_random(f) % 3000);
    case 1:
        return f->access.now_ms + ((int64_t)1 << 45);
    default:
        return EXPIRES_NEVER;
    }
}

static void one_step(struct fixture *f, struct model *models, uint32_t range)
{
    static char data[VALUE_MAX];
    char name[2][8192];
    uint32_t index = (uint32_t)(next_random(f) % range);
    struct model *m = &models[index];
    struct key key = key_number(f, name[0], index);
    bool alive = m->present && (m->expires_ms == 0 || m->expires_ms > f->access.now_ms);
    if (!alive)
        m->present = false;
    switch (next_random(f) % 13) {
    case 0:
    case 1:
    case 2: {
        size_t size = fill(f, data);
        int64_t expires_ms = random_expiry(f);
        begin(f, &key);
        assert_int_equal(keyspace_set(&f->access, &key, bytes_of(data, size), expires_ms, NULL),
                         STATUS_OK);
        end(f, &key);
        model_store(m, data, size, expires_ms);
        break;
    }
    case 3:
        begin(f, &key);
        assert_int_equal(keyspace_delete(&f->access, &key), alive);
        end(f, &key);
        m->present = false;
        break;
    case 4: {
        size_t add = random_size(f), old = alive ? m->size : 0;
        char *into;
        begin(f, &key);
        assert_int_equal(keyspace_edit(&f->access, &key, old + add, &into), STATUS_OK);
        memset(into + old, 'e', add);
        end(f, &key);
        char *joined = malloc(old + add + 1);
        if (alive && old != 0)
            memcpy(joined, m->data, old);
        memset(joined + old, 'e', add);
        model_change(m, alive, joined, old + add);
        if (old + add >= VALUE_MAX * 4) {
            begin(f, &key);
            keyspace_delete(&f->access, &key);
            end(f, &key);
            m->present = false;
        }
        free(joined);
        break;
    }
    case 5:
        if (alive) {
            int64_t expires_ms = random_expiry(f);
            begin(f, &key);
            assert_int_equal(keyspace_set_expiry(&f->access, &key, expires_ms), STATUS_OK);
            end(f, &key);
            m->expires_ms = expires_ms;
        }
        break;
    case 6: {
        uint32_t other = (uint32_t)(next_random(f) % range);
        struct key to = key_number(f, name[1], other);
        if (!alive || other == index)
            break;
        struct lockset set;
        lockset_init(&set);
        lockset_add(&set, f->engine, key.hash);
        lockset_add(&set, f->engine, to.hash);
        lockset_acquire(&set, f->engine, true);
        f->access.locked = true;
        assert_int_equal(keyspace_rename(&f->access, &key, &to), STATUS_OK);
        f->access.locked = false;
        lockset_release(&set, f->engine);
        free(models[other].data);
        models[other] = *m;
        *m = (struct model){.present = false};
        break;
    }
    case 7: {
        int64_t number = (int64_t)next_random(f);
        begin(f, &key);
        assert_int_equal(keyspace_set_integer(&f->access, &key, number), STATUS_OK);
        end(f, &key);
        model_change(m, alive, data, number_format_i64(data, number));
        break;
    }
    case 8: {
        size_t size = fill(f, data);
        int64_t expires_ms = random_expiry(f);
        struct traits traits = random_traits(f);
        begin(f, &key);
        assert_int_equal(
            keyspace_set_with(&f->access, &key, bytes_of(data, size), expires_ms, &traits, NULL),
            STATUS_OK);
        end(f, &key);
        model_store(m, data, size, expires_ms);
        m->traits = traits;
        break;
    }
    case 9:
        if (alive) {
            int64_t expires_ms = random_expiry(f);
            struct traits traits = random_traits(f);
            begin(f, &key);
            assert_int_equal(keyspace_set_traits(&f->access, &key, expires_ms, &traits), STATUS_OK);
            end(f, &key);
            m->expires_ms = expires_ms;
            m->traits = traits;
        }
        break;
    case 10:
        if (alive && m->traits.kinds != 0) {
            m->traits.state = (uint8_t)(next_random(f) % 4);
            begin(f, &key);
            keyspace_set_state(&f->access, &key, m->traits.state);
            end(f, &key);
        }
        break;
    default:
        compare(f, &key, m);
    }
}

static void count_visit(void *argument, struct bytes key, enum value_type type)
{
    (void)type;
    uint8_t *seen = argument;
    char text[16] = {0};
    memcpy(text, key.data + 4, key.size - 4 < 15 ? key.size - 4 : 15);
    uint32_t number = (uint32_t)strtoul(text, NULL, 10);
    if (key.size > 4000) { /* the padding's digits follow the number's */
        char whole[8192];
        memcpy(whole, key.data, key.size);
        whole[key.size - 6000] = '\0';
        number = (uint32_t)strtoul(whole + 4, NULL, 10);
    }
    assert_true(number < MODEL_KEYS);
    seen[number]++;
}

static void compare_all(struct fixture *f, struct model *models)
{
    static uint8_t seen[MODEL_KEYS];
    char name[8192];
    memset(seen, 0, sizeof seen);
    uint64_t cursor = 0;
    do
        cursor = keyspace_scan(&f->access, cursor, 10, count_visit, seen);
    while (cursor != 0);
    for (uint32_t i = 0; i < MODEL_KEYS; i++) {
        struct model *m = &models[i];
        bool alive = m->present && (m->expires_ms == 0 || m->expires_ms > f->access.now_ms);
        assert_int_equal(seen[i], alive);
        struct key key = key_number(f, name, i);
        compare(f, &key, m);
    }
    assert_true(engine_check(f->engine));
}

static void run_model(uint32_t shards, uint64_t seed)
{
    print_message("seed %llu, %u shards\n", (unsigned long long)seed, shards);
    struct fixture f = {.random = seed};
    struct model *models = calloc(MODEL_KEYS, sizeof *models);
    open_engine(&f, shards);
    for (int round = 0; round < 12; round++) {
        uint32_t range = round % 3 == 0 ? 50 : MODEL_KEYS;
        for (int i = 0; i < 8000; i++) {
            one_step(&f, models, range);
            if (i % 64 == 0) {
                engine_thread_online(f.access.thread);
                f.access.now_ms += (int64_t)(next_random(&f) % 20);
                if (next_random(&f) % 8 == 0)
                    engine_maintain(f.engine, f.access.now_ms);
            }
        }
        compare_all(&f, models);
        if (round % 4 == 3) {
            /* Deleting nearly everything makes the tables shrink. */
            for (uint32_t i = 0; i < MODEL_KEYS; i++) {
                char name[8192];
                struct key key = key_number(&f, name, i);
                if (i % 50 == 0)
                    continue;
                begin(&f, &key);
                keyspace_delete(&f.access, &key);
                end(&f, &key);
                models[i].present = false;
            }
            compare_all(&f, models);
        }
    }
    close_engine(&f);
    for (uint32_t i = 0; i < MODEL_KEYS; i++)
        free(models[i].data);
    free(models);
}

static void keyspace_behaves_as_the_model(void **state)
{
    (void)state;
    uint64_t seed = (uint64_t)time(NULL) | 1;
    run_model(1, seed);
    run_model(4, seed * 31);
    run_model(7, seed * 77);
}

static void put(struct fixture *f, uint32_t number, int64_t expires_ms)
{
    char name[8192];
    struct key key = key_number(f, name, number);
    begin(f, &key);
    assert_int_equal(keyspace_set(&f->access, &key, BYTES("value"), expires_ms, NULL), STATUS_OK);
    end(f, &key);
}

static void expired_keys_are_reclaimed_within_a_second_untouched(void **state)
{
    (void)state;
    struct fixture f = {.random = 1};
    open_engine(&f, 2);
    for (uint32_t i = 1; i < 5000; i++)
        put(&f, i, f.access.now_ms + 100 + i % 2000);
    for (int64_t step = 0; step < 31; step++) {
        f.access.now_ms += 100;
        engine_thread_online(f.access.thread);
        while (engine_maintain(f.engine, f.access.now_ms))
            ;
        struct engine_stats stats;
        engine_stats(f.engine, &stats);
        uint64_t due_a_second_ago = 0;
        for (uint32_t i = 1; i < 5000; i++)
            due_a_second_ago += START_MS + 100 + i % 2000 <= f.access.now_ms - 1000;
        assert_true(stats.expired >= due_a_second_ago);
    }
    struct engine_stats stats;
    engine_stats(f.engine, &stats);
    assert_int_equal(stats.keys, 0);
    assert_int_equal(stats.expired, 4999);
    assert_true(engine_check(f.engine));
    close_engine(&f);
}

static void without_active_expiry_keys_stay_until_somebody_asks(void **state)
{
    (void)state;
    struct fixture f = {.random = 1};
    open_engine(&f, 2);
    enum { KEYS = 300 };
    for (uint32_t i = 0; i < KEYS; i++)
        put(&f, i, START_MS + 1000);
    engine_active_expiry_set(f.engine, false);
    /* Longer than deadlines can be told apart. */
    for (int hour = 0; hour < 6; hour++) {
        f.access.now_ms += 3600 * 1000;
        while (engine_maintain(f.engine, f.access.now_ms))
            ;
    }
    assert_int_equal(engine_key_count(f.engine, 0), KEYS);
    char name[8192];
    struct key key = key_number(&f, name, 7);
    struct value value;
    begin(&f, &key);
    assert_int_equal(keyspace_find(&f.access, &key, &value), FIND_MISSING);
    end(&f, &key);
    assert_int_equal(engine_key_count(f.engine, 0), KEYS - 1);
    engine_active_expiry_set(f.engine, true);
    f.access.now_ms += 1000;
    while (engine_maintain(f.engine, f.access.now_ms))
        ;
    assert_int_equal(engine_key_count(f.engine, 0), 0);
    assert_true(engine_check(f.engine));
    close_engine(&f);
}

/* Of one key after the other, less the slot in the table and the coarse deadline. */
static size_t footprint_of(struct fixture *f, const struct key *key)
{
    struct footprint footprint;
    begin(f, key);
    assert_true(keyspace_footprint(&f->access, key, &footprint));
    end(f, key);
    assert_non_null(footprint.address);
    return footprint.size - 8 - 2;
}

static void footprints_add_up_to_what_is_occupied(void **state)
{
    (void)state;
    struct fixture f = {.random = 1};
    static const size_t sizes[] = {0, 1, 100, 5000, 16383, 16384, 100000, 3000000};
    enum { SIZES = sizeof sizes / sizeof sizes[0], KEYS = 200 };
    char *data = calloc(1, 3000000);
    size_t sum = 0;
    open_engine(&f, 1);
    for (uint32_t i = 0; i < KEYS; i++) {
        char name[8192], *edited;
        struct key key = key_number(&f, name, i);
        begin(&f, &key);
        if (i % 5 == 4)
            assert_int_equal(keyspace_set_integer(&f.access, &key, i), STATUS_OK);
        else if (i % 5 == 3)
            assert_int_equal(keyspace_edit(&f.access, &key, sizes[i % SIZES], &edited), STATUS_OK);
        else
            assert_int_equal(keyspace_set(&f.access, &key, bytes_of(data, sizes[i % SIZES]),
                                          i % 2 ? EXPIRES_NEVER : START_MS + 5000, NULL),
                             STATUS_OK);
        end(&f, &key);
    }
    /* What writes have replaced is freed once readers have left. */
    for (int round = 0; round < 20; round++) {
        engine_thread_online(f.access.thread);
        engine_maintain(f.engine, f.access.now_ms);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        char name[8192];
        struct key key = key_number(&f, name, i);
        sum += footprint_of(&f, &key);
        if (i % 5 < 3)
            assert_true(footprint_of(&f, &key) > key.bytes.size + sizes[i % SIZES]);
    }
    struct engine_stats stats;
    engine_stats(f.engine, &stats);
    /* The rest is what the table keeps to overflow into. */
    assert_in_range(stats.live_bytes - sum, 0, 8 * sizeof(struct bucket));
    assert_int_equal((stats.live_bytes - sum) % sizeof(struct bucket), 0);
    char name[8192];
    struct footprint footprint;
    struct key missing = key_number(&f, name, KEYS);
    begin(&f, &missing);
    assert_false(keyspace_footprint(&f.access, &missing, &footprint));
    end(&f, &missing);
    close_engine(&f);
    free(data);
}

static void far_deadlines_beyond_the_horizon_are_kept_and_kept_exactly(void **state)
{
    (void)state;
    struct fixture f = {.random = 1};
    open_engine(&f, 1);
    int64_t far_ms = f.access.now_ms + (int64_t)10 * 3600 * 1000; /* the horizon is some 2 hours */
    put(&f, 1, far_ms);
    while (f.access.now_ms < far_ms - 1000) {
        f.access.now_ms += 777777;
        if (f.access.now_ms > far_ms - 1000)
            f.access.now_ms = far_ms - 1000;
        engine_thread_online(f.access.thread);
        engine_maintain(f.engine, f.access.now_ms);
        assert_int_equal(engine_key_count(f.engine, 0), 1);
    }
    f.access.now_ms = far_ms + 1000;
    engine_maintain(f.engine, f.access.now_ms);
    assert_int_equal(engine_key_count(f.engine, 0), 0);
    close_engine(&f);
}

static void flush_is_seen_at_once_and_its_memory_comes_back(void **state)
{
    (void)state;
    struct fixture f = {.random = 1};
    open_engine(&f, 3);
    struct engine_stats before, after;
    engine_stats(f.engine, &before);
    for (uint32_t i = 0; i < 20000; i++)
        put(&f, i, i % 2 ? f.access.now_ms + 1000 : EXPIRES_NEVER);
    struct lockset set;
    lockset_init(&set);
    lockset_add_all(&set, f.engine);
    lockset_acquire(&set, f.engine, true);
    f.access.locked = true;
    keyspace_flush(&f.access, 0);
    f.access.locked = false;
    lockset_release(&set, f.engine);
    assert_int_equal(engine_key_count(f.engine, 0), 0);
    put(&f, 5, EXPIRES_NEVER);
    for (int i = 0; i < 20; i++) {
        engine_thread_online(f.access.thread);
        while (engine_maintain(f.engine, f.access.now_ms + i * 100))
            engine_thread_online(f.access.thread);
    }
    assert_true(engine_check(f.engine));
    engine_stats(f.engine, &after);
    assert_int_equal(after.keys, 1);
    /* One key needs a table, and each shard keeps a slab of the classes it used. */
    assert_true(after.used_bytes <= before.used_bytes + 3 * 8 * 65536);
    close_engine(&f);
}

static void a_large_table_grows_with_its_keys_and_shrinks_to_its_end(void **state)
{
    (void)state;
    enum { KEYS = 200000, KEPT = 1000 };
    struct fixture f = {.random = 1};
    open_engine(&f, 1);
    char name[8192];
    for (uint32_t i = 0; i < KEYS; i++) {
        put(&f, i, EXPIRES_NEVER);
        if (i % 1000 == 0)
            engine_thread_online(f.access.thread);
        if (i % 10000 != 0)
            continue;
        for (int round = 0; round < 3 && engine_maintain(f.engine, f.access.now_ms); round++)
            engine_thread_online(f.access.thread);
        /* At 0.85 a slot takes 9.5 bytes an entry; a resize that ran to its end would take 11.8.
         * Small tables do run to their end. */
        struct engine_stats stats;
        engine_stats(f.engine, &stats);
        if (i >= 160000)
            assert_true(stats.table_bytes < (uint64_t)i * 11);
    }
    assert_true(engine_check(f.engine)); /* in the middle of a resize or not */
    for (uint32_t i = 0; i < KEYS; i += 7) {
        struct key key = key_number(&f, name, i);
        struct value value;
        assert_int_equal(keyspace_find(&f.access, &key, &value), FIND_FOUND);
    }
    for (uint32_t i = KEPT; i < KEYS; i++) {
        struct key key = key_number(&f, name, i);
        begin(&f, &key);
        assert_true(keyspace_delete(&f.access, &key));
        end(&f, &key);
        if (i % 1000 == 0)
            engine_thread_online(f.access.thread);
    }
    for (int round = 0; round < 20; round++) {
        engine_thread_online(f.access.thread);
        while (engine_maintain(f.engine, f.access.now_ms + round * 100))
            engine_thread_online(f.access.thread);
    }
    struct engine_stats stats;
    engine_stats(f.engine, &stats);
    assert_true(stats.table_bytes < 1 << 20);
    assert_true(engine_check(f.engine));
    assert_int_equal(engine_key_count(f.engine, 0), KEPT);
    close_engine(&f);
}

static void a_set_over_the_limit_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct fixture f = {.random = 1};
    struct engine_config config = {
        .shards = 1, .hash_seed = 7, .start_ms = START_MS, .memory_max_bytes = 1 << 20};
    assert_int_equal(engine_create(&config, &f.engine), STATUS_OK);
    f.access = (struct access){.engine = f.engine, .now_ms = START_MS};
    assert_int_equal(engine_thread_register(f.engine, &f.access.thread), STATUS_OK);
    engine_thread_online(f.access.thread);
    static char data[1000];
    char name[8192];
    uint32_t stored = 0;
    enum status status;
    do {
        struct key key = key_number(&f, name, stored + 1);
        begin(&f, &key);
        status = keyspace_set(&f.access, &key, bytes_of(data, sizeof data), EXPIRES_NEVER, NULL);
        end(&f, &key);
        stored += status == STATUS_OK;
    } while (status == STATUS_OK && stored < 5000);
    assert_int_equal(status, STATUS_NO_MEMORY);
    assert_true(stored > 500);
    assert_int_equal(engine_key_count(f.engine, 0), stored);
    struct engine_stats stats;
    engine_stats(f.engine, &stats);
    assert_true(stats.used_bytes <= 1 << 20);
    assert_true(engine_check(f.engine));
    close_engine(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keyspace_behaves_as_the_model),
        cmocka_unit_test(expired_keys_are_reclaimed_within_a_second_untouched),
        cmocka_unit_test(without_active_expiry_keys_stay_until_somebody_asks),
        cmocka_unit_test(footprints_add_up_to_what_is_occupied),
        cmocka_unit_test(far_deadlines_beyond_the_horizon_are_kept_and_kept_exactly),
        cmocka_unit_test(flush_is_seen_at_once_and_its_memory_comes_back),
        cmocka_unit_test(a_large_table_grows_with_its_keys_and_shrinks_to_its_end),
        cmocka_unit_test(a_set_over_the_limit_is_refused_and_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
