/* SPDX-License-Identifier: MIT
 *
 * Plays random rounds against one engine from several threads and has each round's history proven
 * strictly serializable. docs/TESTING.md says how to use it; player.h who asks what; checker.h what
 * is proven.
 *
 *   serial [--seed N] [--seconds S] [--threads T] [--mode plain|expiry|growth|all]
 *          [--expect-violation]
 *
 * An era has one engine and one way of playing, drawn from the seed. It consists of batches: some
 * rounds played one after another, then all of them checked by all threads. Before a round all keys
 * are read while nobody writes: that is the state the round begins with and the last thing its
 * predecessor's history has to explain.
 *
 * Exit code: 0 all serializable, 1 a violation, 2 no verdict. With --expect-violation (for builds
 * with a planted fault) 0 and 1 change places.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "command/command.h"
#include "filler.h"
#include "os/clock.h"
#include "os/random.h"
#include "os/thread.h"
#include "player.h"

enum { ROUNDS_PER_BATCH = 32, ERA_MS = 200 };

enum mode { MODE_ALL, MODE_PLAIN, MODE_EXPIRY, MODE_GROWTH, MODE_COUNT };
static const char *const mode_names[MODE_COUNT] = {"all", "plain", "expiry", "growth"};

struct options {
    uint64_t seed;
    uint32_t seconds;
    uint32_t threads; /* 0: drawn for each era */
    enum mode mode;
    bool expect_violation;
};

struct totals {
    uint64_t eras, rounds, operations, undecided, refused;
    struct engine_stats stats;
};

/* An era as its threads share it. What to do next is set before a barrier and done after it. */
struct era {
    struct stage stage;
    uint64_t seed;
    pthread_barrier_t barrier;
    enum { DO_PLAY, DO_CHECK, DO_STOP } task;
    struct history *histories; /* ROUNDS_PER_BATCH */
    struct checker **checkers; /* one per thread */
    uint32_t round_count;
    _Atomic uint32_t check_next; /* index of the next history to check */
    _Atomic uint32_t undecided;
    _Atomic uint32_t violated; /* index + 1 of a history that is a violation */
    struct player players[HISTORY_THREADS_MAX];
};

static void meet(struct era *era)
{
    pthread_barrier_wait(&era->barrier);
}

static void check_some(struct era *era, uint32_t index)
{
    for (;;) {
        uint32_t next = atomic_fetch_add(&era->check_next, 1);
        if (next >= era->round_count)
            return;
        enum verdict verdict = checker_run(era->checkers[index], &era->histories[next]);
        if (verdict == VERDICT_UNDECIDED)
            atomic_fetch_add(&era->undecided, 1);
        if (verdict == VERDICT_VIOLATION)
            atomic_store(&era->violated, next + 1);
    }
}

struct member {
    struct era *era;
    uint32_t index;
    struct thread *thread;
};

static void run_member(void *argument)
{
    struct member *member = argument;
    struct era *era = member->era;
    struct player *player = &era->players[member->index];
    thread_precise_timers();
    player_enter(player, &era->stage, member->index, era->seed + member->index);
    for (;;) {
        meet(era);
        if (era->task == DO_STOP)
            break;
        if (era->task == DO_PLAY)
            player_play(player);
        else
            check_some(era, member->index);
        meet(era);
    }
    player_leave(player);
}

/* ---- an era's way of playing */

static const uint8_t usual_weights[STEP_KIND_COUNT] = {
#define STEP(name, run, keys_min, keys_max, flags, weight) weight,
#include "steps.def"
#undef STEP
};

static void draw_weights(struct stage *stage, struct dice *dice)
{
    static const uint8_t factors[] = {0, 1, 1, 4};
    for (uint32_t kind = 0; kind < STEP_KIND_COUNT; kind++)
        stage->weights[kind] = usual_weights[kind] * factors[dice_roll(dice, 4)];
    stage->weights[STEP_GET] += 10;
    stage->weights[STEP_SET] += 5;
    if (stage->expiry) {
        stage->weights[STEP_PEXPIREAT] = 2;
        stage->weights[STEP_PEXPIRE] = 2;
        stage->weights[STEP_GETEX] = 3;
        stage->weights[STEP_PERSIST] = 2;
        stage->weights[STEP_PEXPIRETIME] = 3;
    }
    stage->weights[STEP_FLUSHDB] = dice_one_in(dice, 8);
    for (uint32_t kind = 0; kind < STEP_KIND_COUNT; kind++)
        stage->weight_sum += stage->weights[kind];
}

/* True: tables are to grow and shrink. */
static bool draw_stage(struct stage *stage, const struct options *options, struct dice *dice)
{
    static const uint32_t pauses[] = {0, 2, 8, 8, 32};
    uint32_t threads = 2 + dice_roll(dice, HISTORY_THREADS_MAX - 1);
    stage->thread_count = options->threads != 0 ? options->threads : threads;
    stage->key_count = 3 + dice_roll(dice, HISTORY_KEYS_MAX - 2);
    stage->operations_max = 4 + dice_roll(dice, 9);
    bool expiry = dice_one_in(dice, 2), growth = !dice_one_in(dice, 3);
    stage->expiry = options->mode == MODE_ALL ? expiry : options->mode == MODE_EXPIRY;
    growth = options->mode == MODE_ALL ? growth : options->mode == MODE_GROWTH;
    stage->fresh_clocks = dice_one_in(dice, 2);
    stage->transactions_one_in = dice_one_in(dice, 3) ? 0 : 3 + dice_roll(dice, 8);
    stage->big_values = dice_one_in(dice, 3);
    stage->pauses_one_in = pauses[dice_roll(dice, sizeof(pauses) / sizeof(*pauses))];
    draw_weights(stage, dice);
    return growth;
}

/* How many keys the filler may have: often just enough for a table of the smallest size to grow. */
static uint32_t draw_filler_keys(const struct stage *stage, struct dice *dice)
{
    return engine_shard_count(stage->engine) * (500U << dice_roll(dice, 4));
}

static void create_engine(struct stage *stage, struct dice *dice)
{
    static const uint32_t shards[] = {1, 1, 2, 4, 8};
    struct engine_config config = {
        .workers = stage->thread_count,
        .shards = shards[dice_roll(dice, sizeof(shards) / sizeof(*shards))],
        .hash_seed = dice_bits(dice) | 1,
        .start_ms = 1000000000000,
    };
    if (engine_create(&config, &stage->engine) != STATUS_OK)
        abort();
    atomic_store(&stage->stamp, 1);
    atomic_store(&stage->base_ms, config.start_ms + 10);
    stage_choose_keys(stage, dice_one_in(dice, 3), dice);
}

/* ---- rounds */

static void begin_round(struct era *era, struct history *history, const struct cell *initial)
{
    struct stage *stage = &era->stage;
    history->key_count = stage->key_count;
    history->thread_count = stage->thread_count;
    memcpy(history->initial, initial, sizeof(history->initial));
    history->clock_step_count = 1;
    history->clock_steps[0] =
        (struct clock_step){0, atomic_load(&stage->base_ms) + CLOCK_SKEW_MAX_MS};
    memset(history->operation_counts, 0, sizeof(history->operation_counts));
    stage->history = history;
}

static void count_operations(const struct era *era, struct totals *totals)
{
    totals->rounds += era->round_count;
    totals->undecided += atomic_load(&era->undecided);
    for (uint32_t r = 0; r < era->round_count; r++) {
        const struct history *history = &era->histories[r];
        for (uint32_t t = 0; t < history->thread_count; t++) {
            totals->operations += history->operation_counts[t];
            for (uint32_t i = 0; i < history->operation_counts[t]; i++)
                totals->refused += history->operations[t][i].exec &&
                                   history->operations[t][i].tokens[0].kind == TOKEN_NO_LIST;
        }
    }
}

/* `cells`: what the keys hold, before and after. */
static void run_batch(struct era *era, struct filler *filler, struct cell *cells)
{
    era->round_count = 0;
    era->task = DO_PLAY;
    filler_hold(filler, false);
    while (era->round_count < ROUNDS_PER_BATCH) {
        begin_round(era, &era->histories[era->round_count++], cells);
        meet(era);
        player_play(&era->players[0]);
        meet(era);
        player_read_all(&era->players[0], cells);
    }
    filler_hold(filler, true);
    atomic_store(&era->check_next, 0);
    atomic_store(&era->undecided, 0);
    era->task = DO_CHECK;
    meet(era);
    check_some(era, 0);
    meet(era);
}

static void report(struct era *era, const struct options *options)
{
    const struct history *history = &era->histories[atomic_load(&era->violated) - 1];
    FILE *out = options->expect_violation ? stdout : stderr;
    fprintf(out, "a history that is not strictly serializable (seed %llu, shards %u):\n",
            (unsigned long long)options->seed, engine_shard_count(era->stage.engine));
    history_print(history, out);
    checker_run(era->checkers[0], history);
    checker_explain(era->checkers[0], history, out);
}

static void add_stats(struct totals *totals, struct engine *engine)
{
    struct engine_stats stats;
    engine_stats(engine, &stats);
    totals->stats.expired += stats.expired;
    totals->stats.table_resizes += stats.table_resizes;
    totals->stats.read_retries += stats.read_retries;
    totals->stats.read_locked += stats.read_locked;
}

/* True: a violation was found and reported. */
static bool run_era(struct era *era, const struct options *options, uint64_t deadline_ns,
                    struct totals *totals)
{
    struct dice dice = {era->seed};
    struct member members[HISTORY_THREADS_MAX];
    struct cell cells[HISTORY_KEYS_MAX] = {0};
    struct stage *stage = &era->stage;
    memset(stage, 0, sizeof(*stage));
    bool growth = draw_stage(stage, options, &dice);
    create_engine(stage, &dice);
    pthread_barrier_init(&era->barrier, NULL, stage->thread_count);
    for (uint32_t t = 1; t < stage->thread_count; t++) {
        members[t] = (struct member){.era = era, .index = t};
        if (thread_start("player", run_member, &members[t], &members[t].thread) != STATUS_OK)
            abort();
    }
    player_enter(&era->players[0], stage, 0, era->seed);
    uint32_t filler_keys_max = growth ? draw_filler_keys(stage, &dice) : 0;
    struct filler *filler = filler_start(stage, filler_keys_max, era->seed + 100);
    do {
        run_batch(era, filler, cells);
        count_operations(era, totals);
    } while (clock_monotonic_ns() < deadline_ns && atomic_load(&era->violated) == 0);
    filler_stop(filler);
    era->task = DO_STOP;
    meet(era);
    player_leave(&era->players[0]);
    for (uint32_t t = 1; t < stage->thread_count; t++)
        thread_join(members[t].thread);
    pthread_barrier_destroy(&era->barrier);
    bool violated = atomic_load(&era->violated) != 0;
    if (violated)
        report(era, options);
    totals->eras++;
    add_stats(totals, stage->engine);
    engine_destroy(stage->engine);
    return violated;
}

/* ---- the program */

static int usage(void)
{
    fprintf(stderr,
            "usage: serial [--seed N] [--seconds S] [--threads 2..%d] "
            "[--mode plain|expiry|growth|all] [--expect-violation]\n",
            HISTORY_THREADS_MAX);
    return 2;
}

static bool parse_option(struct options *options, const char *name, const char *value)
{
    if (strcmp(name, "--mode") == 0) {
        for (uint32_t mode = 0; mode < MODE_COUNT; mode++) {
            if (strcmp(value, mode_names[mode]) == 0) {
                options->mode = (enum mode)mode;
                return true;
            }
        }
        return false;
    }
    char *end;
    unsigned long long number = strtoull(value, &end, 10);
    if (*value == '\0' || *end != '\0')
        return false;
    if (strcmp(name, "--seed") == 0)
        options->seed = number;
    else if (strcmp(name, "--seconds") == 0)
        options->seconds = (uint32_t)number;
    else if (strcmp(name, "--threads") == 0 && number >= 2 && number <= HISTORY_THREADS_MAX)
        options->threads = (uint32_t)number;
    else
        return false;
    return true;
}

static bool parse_options(struct options *options, int argc, char **argv)
{
    *options = (struct options){.seed = random_seed(), .seconds = 10};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--expect-violation") == 0)
            options->expect_violation = true;
        else if (i + 1 == argc || !parse_option(options, argv[i], argv[i + 1]))
            return false;
        else
            i++;
    }
    return true;
}

static void print_totals(const struct totals *totals)
{
    printf("%llu eras, %llu rounds, %llu operations, %llu undecided, %llu EXEC refused; "
           "%llu expired, %llu resizes, %llu reads retried, %llu locked\n",
           (unsigned long long)totals->eras, (unsigned long long)totals->rounds,
           (unsigned long long)totals->operations, (unsigned long long)totals->undecided,
           (unsigned long long)totals->refused, (unsigned long long)totals->stats.expired,
           (unsigned long long)totals->stats.table_resizes,
           (unsigned long long)totals->stats.read_retries,
           (unsigned long long)totals->stats.read_locked);
}

int main(int argc, char **argv)
{
    struct options options;
    struct totals totals = {0};
    if (!parse_options(&options, argc, argv))
        return usage();
    printf("seed %llu\n", (unsigned long long)options.seed);
    fflush(stdout);
    struct era *era = calloc(1, sizeof(*era));
    struct checker *checkers[HISTORY_THREADS_MAX];
    struct history *histories = calloc(ROUNDS_PER_BATCH, sizeof(*histories));
    for (uint32_t t = 0; t < HISTORY_THREADS_MAX; t++)
        checkers[t] = checker_create();
    uint32_t row_count;
    const struct command *rows = command_rows(&row_count);
    if (era == NULL || histories == NULL || command_table_add(rows, row_count) != STATUS_OK)
        return 2;
    uint64_t start_ns = clock_monotonic_ns();
    uint64_t end_ns = start_ns + options.seconds * 1000000000ULL;
    bool violated = false;
    struct dice seeds = {options.seed};
    for (uint64_t now_ns = start_ns; now_ns < end_ns && !violated; now_ns = clock_monotonic_ns()) {
        memset(era, 0, sizeof(*era));
        era->seed = dice_bits(&seeds);
        era->histories = histories;
        era->checkers = checkers;
        uint64_t deadline_ns = now_ns + ERA_MS * 1000000ULL;
        violated = run_era(era, &options, deadline_ns < end_ns ? deadline_ns : end_ns, &totals);
    }
    print_totals(&totals);
    for (uint32_t t = 0; t < HISTORY_THREADS_MAX; t++)
        checker_destroy(checkers[t]);
    free(histories);
    free(era);
    if (totals.undecided * 100 > totals.rounds) {
        fprintf(stderr, "too many histories were left undecided\n");
        return 2;
    }
    return violated != options.expect_violation;
}
