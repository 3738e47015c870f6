/* SPDX-License-Identifier: MIT
 *
 * MOVE and SWAPDB while another thread reads without locks: each is one step. The engine is the one
 * with pauses, so that the reader comes in between.
 */
#include "../unit/command/harness.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "engine/pause.h"
#include "os/thread.h"

#if !LARDER_PAUSES
#error "build the engine and this test with LARDER_PAUSES=1"
#endif

enum { MOVES = 2000, SWAPS = 500, PAUSE_ONE_IN = 7 };

void engine_pause(enum engine_pause_point point)
{
    static _Thread_local uint32_t dice = 1;
    const struct timespec instant = {0, 1}; /* long enough for others to run whole commands */
    dice = dice * 1664525 + 1013904223;
    if ((dice >> 16) % PAUSE_ONE_IN != 0)
        return;
    if (point == PAUSE_PUBLISHED)
        nanosleep(&instant, NULL);
    else
        sched_yield();
}

/* The thread that reads. */
struct reader {
    struct engine *engine;
    struct thread *thread;
    _Atomic int turn; /* MOVE: the key that is read now; SWAPDB: -1 ends it */
    uint32_t looks, wrong;
};

static struct world *reader_world(struct engine *engine)
{
    struct world *world = calloc(1, sizeof(*world));
    if (world == NULL || engine_thread_register(engine, &world->thread) != STATUS_OK)
        abort();
    world->engine = engine;
    world->now_ms = WORLD_START_MS;
    buffer_init(&world->answer, 1 << 20);
    engine_thread_online(world->thread);
    world_client(world, &world->client);
    return world;
}

static void reader_world_close(struct world *world)
{
    client_deinit(&world->client);
    buffer_deinit(&world->answer);
    engine_thread_unregister(world->thread);
    free(world);
}

static long number_in(struct world *world, uint32_t db, const char *line)
{
    world->client.db = db;
    return atol(world_line(world, &world->client, line) + 1);
}

/* Keys go from database 0 to 1 and never back: who has met one there finds it gone here, and who
 * misses it here finds it there. */
static void read_moved(void *argument)
{
    struct reader *reader = argument;
    struct world *world = reader_world(reader->engine);
    char line[32];
    for (int key = 0; key < MOVES;) {
        atomic_store_explicit(&reader->turn, key, memory_order_relaxed);
        snprintf(line, sizeof(line), "EXISTS k%d", key);
        bool arrived = number_in(world, 1, line) == 1;
        bool left = number_in(world, 0, line) == 0;
        reader->wrong += arrived && !left;
        reader->wrong += left && number_in(world, 1, line) == 0;
        reader->looks++;
        key += left;
    }
    reader_world_close(world);
}

static void a_move_is_one_step_for_readers_without_locks(void **state)
{
    struct world *world = *state;
    char line[32];
    for (int i = 0; i < MOVES; i++) {
        snprintf(line, sizeof(line), "SET k%d v", i);
        EXPECT(line, "STORED");
    }
    struct reader reader = {.engine = world->engine, .turn = -1};
    assert_int_equal(thread_start("reader", read_moved, &reader, &reader.thread), STATUS_OK);
    for (int i = 0; i < MOVES; i++) {
        while (atomic_load_explicit(&reader.turn, memory_order_relaxed) < i)
            sched_yield();
        snprintf(line, sizeof(line), "MOVE k%d 1", i);
        EXPECT(line, ":1");
    }
    engine_thread_offline(world->thread);
    thread_join(reader.thread);
    engine_thread_online(world->thread);
    assert_int_equal(reader.wrong, 0);
    assert_true(reader.looks >= MOVES);
    assert_true(engine_check(world->engine));
}

/* Database 0 shows ever larger numbers, all keys the same; database 1 the number before and, from
 * the SET to the swap, the next one. */
static void read_swapped(void *argument)
{
    struct reader *reader = argument;
    struct world *world = reader_world(reader->engine);
    while (atomic_load_explicit(&reader->turn, memory_order_relaxed) >= 0) {
        long seen = number_in(world, 0, "GET a");
        for (char key = 'b'; key <= 'h'; key++) {
            char line[] = {'G', 'E', 'T', ' ', key, '\0'};
            long here = number_in(world, 0, line);
            long there = number_in(world, 1, line);
            reader->wrong += here < seen || there < here - 1;
            seen = here;
        }
        reader->looks++;
    }
    reader_world_close(world);
}

static void swapdb_is_one_step_for_readers_without_locks(void **state)
{
    struct world *world = *state;
    EXPECT("MSET a 1 b 1 c 1 d 1 e 1 f 1 g 1 h 1", "STORED");
    EXPECT("SELECT 1", "OK");
    EXPECT("MSET a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0", "STORED");
    struct reader reader = {.engine = world->engine};
    assert_int_equal(thread_start("reader", read_swapped, &reader, &reader.thread), STATUS_OK);
    for (int i = 2; i < SWAPS; i++) {
        for (char key = 'a'; key <= 'h'; key++) {
            char line[32];
            snprintf(line, sizeof(line), "SET %c %d", key, i);
            EXPECT(line, "STORED");
        }
        EXPECT("SWAPDB 0 1", "OK");
    }
    atomic_store_explicit(&reader.turn, -1, memory_order_relaxed);
    engine_thread_offline(world->thread);
    thread_join(reader.thread);
    engine_thread_online(world->thread);
    assert_int_equal(reader.wrong, 0);
    assert_true(reader.looks > 0);
    assert_true(engine_check(world->engine));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_move_is_one_step_for_readers_without_locks),
        WORLD_TEST(swapdb_is_one_step_for_readers_without_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
