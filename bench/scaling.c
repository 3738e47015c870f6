/* SPDX-License-Identifier: MIT
 *
 * The scaling tier: 1, 2, 4 ... threads for a fixed window. `control` is a map per thread, which
 * nobody shares: what the machine gives. `engine` is one store for all threads.
 *
 *   spread   reads of 1,000 keys at random
 *   hot      reads of one key
 *   zipf     90 reads to 10 writes of 1,000 keys, Zipf-distributed (exponent 0.99)
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "control.h"
#include "engine.h"
#include "os/clock.h"
#include "workload.h"

enum {
    ENTRY_COUNT = 1000,
    SEQUENCE_COUNT = 1 << 14, /* operations a thread repeats; a multiple of BATCH_COUNT */
    WRITE = 1 << 15,          /* flag in a sequence's element, beside the key's number */
};

enum keys { KEYS_SPREAD, KEYS_HOT, KEYS_ZIPF, KEYS_COUNT };

static const char *const keys_names[KEYS_COUNT] = {"spread", "hot", "zipf"};

struct shared {
    struct engine *engine; /* NULL: control */
    enum keys keys;
    char (*texts)[KEY_SIZE];
    double *zipf; /* cumulative probability by rank */
    pthread_barrier_t begin;
    _Alignas(128) atomic_bool stop;
};

struct runner {
    _Alignas(128) struct shared *shared;
    uint64_t random;
    uint64_t operations; /* done */
    uint16_t sequence[SEQUENCE_COUNT];
};

static uint16_t draw_zipf(const double *cumulative, uint64_t random)
{
    double wanted = (double)(random >> 11) / (double)(1ull << 53);
    size_t low = 0, high = ENTRY_COUNT - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (cumulative[middle] < wanted)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint16_t)low;
}

static void draw_sequence(struct runner *runner)
{
    for (size_t i = 0; i < SEQUENCE_COUNT; i++) {
        uint64_t random = workload_random(&runner->random);
        switch (runner->shared->keys) {
        case KEYS_HOT:
            runner->sequence[i] = ENTRY_COUNT / 2;
            break;
        case KEYS_ZIPF:
            runner->sequence[i] = draw_zipf(runner->shared->zipf, random);
            if (workload_random(&runner->random) % 10 == 0)
                runner->sequence[i] |= WRITE;
            break;
        default:
            runner->sequence[i] = (uint16_t)(random % ENTRY_COUNT);
        }
    }
}

static void run_control(struct runner *runner, struct control *control)
{
    struct shared *shared = runner->shared;
    char out[VALUE_SIZE];
    for (size_t at = 0; !atomic_load_explicit(&shared->stop, memory_order_relaxed);
         at = (at + BATCH_COUNT) % SEQUENCE_COUNT) {
        for (size_t i = at; i < at + BATCH_COUNT; i++) {
            uint16_t element = runner->sequence[i];
            struct bytes key = bytes_of(shared->texts[element & ~WRITE], KEY_SIZE);
            if (element & WRITE)
                control_set(control, key, workload_value());
            else if (control_get(control, key, out) != VALUE_SIZE)
                workload_fail("a probe was answered wrongly");
            workload_use(out);
        }
        runner->operations += BATCH_COUNT;
    }
}

static void run_engine(struct runner *runner, const struct store *store)
{
    struct shared *shared = runner->shared;
    struct access access = workload_access(store, 0);
    char out[VALUE_SIZE];
    for (size_t at = 0; !atomic_load_explicit(&shared->stop, memory_order_relaxed);
         at = (at + BATCH_COUNT) % SEQUENCE_COUNT) {
        engine_thread_online(store->thread);
        access.now_ms = clock_engine_ms();
        for (size_t i = at; i < at + BATCH_COUNT; i++) {
            uint16_t element = runner->sequence[i];
            struct bytes key = bytes_of(shared->texts[element & ~WRITE], KEY_SIZE);
            if (element & WRITE)
                workload_set(&access, store, key, true);
            else if (workload_get(&access, store, key, out) != VALUE_SIZE)
                workload_fail("a probe was answered wrongly");
            workload_use(out);
        }
        runner->operations += BATCH_COUNT;
    }
}

static void *run(void *argument)
{
    struct runner *runner = argument;
    struct shared *shared = runner->shared;
    draw_sequence(runner);
    if (shared->engine != NULL) {
        struct store store = workload_join(shared->engine);
        engine_thread_offline(store.thread);
        pthread_barrier_wait(&shared->begin);
        run_engine(runner, &store);
        workload_leave(&store);
        return NULL;
    }
    struct control *control = control_create(ENTRY_COUNT, 1);
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        if (control == NULL ||
            !control_set(control, bytes_of(shared->texts[i], KEY_SIZE), workload_value()))
            workload_fail("out of memory");
    pthread_barrier_wait(&shared->begin);
    run_control(runner, control);
    control_destroy(control);
    return NULL;
}

/* Operations per second of all threads together, over one window. */
static double run_window(struct shared *shared, uint32_t threads, uint32_t window_ms,
                         uint64_t *random)
{
    pthread_t *handles = calloc(threads, sizeof *handles);
    struct runner *runners = aligned_alloc(128, threads * sizeof *runners);
    if (handles == NULL || runners == NULL)
        workload_fail("out of memory");
    pthread_barrier_init(&shared->begin, NULL, threads + 1);
    atomic_store(&shared->stop, false);
    for (uint32_t i = 0; i < threads; i++) {
        runners[i].shared = shared;
        runners[i].random = workload_random(random);
        runners[i].operations = 0;
        if (pthread_create(&handles[i], NULL, run, &runners[i]) != 0)
            workload_fail("the system gives no more threads");
    }
    pthread_barrier_wait(&shared->begin);
    uint64_t start_ns = clock_monotonic_ns(), operations = 0;
    clock_sleep_us((uint64_t)window_ms * 1000);
    atomic_store(&shared->stop, true);
    uint64_t window_ns = clock_monotonic_ns() - start_ns;
    for (uint32_t i = 0; i < threads; i++) {
        pthread_join(handles[i], NULL);
        operations += runners[i].operations;
    }
    pthread_barrier_destroy(&shared->begin);
    free(runners);
    free(handles);
    return (double)operations * 1e9 / (double)window_ns;
}

static void make_zipf(double *cumulative)
{
    double sum = 0;
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        cumulative[i] = sum += pow((double)(i + 1), -0.99);
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        cumulative[i] /= sum;
}

/* Measures every cell once per round, so that a drift of the machine hits all alike. */
static void run_rounds(const struct engine_options *options, struct engine *engine,
                       struct report_scaling *cells, size_t count)
{
    static char texts[ENTRY_COUNT][KEY_SIZE];
    static double zipf[ENTRY_COUNT];
    double *figures = calloc(count * options->windows, sizeof *figures);
    uint64_t random = 1;
    if (figures == NULL)
        workload_fail("out of memory");
    for (size_t i = 0; i < ENTRY_COUNT; i++)
        workload_key(texts[i], i);
    make_zipf(zipf);
    for (uint32_t round = 0; round < options->windows; round++) {
        for (size_t i = 0; i < count; i++) {
            struct shared shared = {.texts = texts, .zipf = zipf};
            shared.engine = cells[i].subject[0] == 'e' ? engine : NULL;
            while (keys_names[shared.keys] != cells[i].keys)
                shared.keys++;
            figures[i * options->windows + round] =
                run_window(&shared, cells[i].threads, options->window_ms, &random);
        }
    }
    for (size_t i = 0; i < count; i++)
        cells[i].ops_per_s = workload_median(figures + i * options->windows, options->windows);
    free(figures);
}

void scaling_run(const struct engine_options *options, struct report *report)
{
    static const char *const subjects[] = {"control", "engine"};
    struct store store = workload_join(workload_engine(0));
    workload_fill(&store, ENTRY_COUNT, true);
    engine_thread_offline(store.thread);
    for (int keys = 0; keys < KEYS_COUNT; keys++)
        for (size_t subject = 0; subject < 2; subject++)
            for (uint32_t threads = 1; threads <= options->threads_max; threads *= 2)
                if (report->scaling_count < REPORT_FIGURES_MAX)
                    report->scaling[report->scaling_count++] =
                        (struct report_scaling){subjects[subject], keys_names[keys], threads, 0};
    run_rounds(options, store.engine, report->scaling, report->scaling_count);
    workload_leave(&store);
    engine_destroy(store.engine);
}
