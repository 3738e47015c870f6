/* SPDX-License-Identifier: MIT
 *
 * Random commands, how they are put to the engine, and where the engine is made to pause. See
 * player.h.
 */
#include "player.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "command/dispatch.h"
#include "engine/lockset.h"
#include "engine/pause.h"
#include "os/thread.h"

#if !LARDER_PAUSES
#error "build the engine and this test with LARDER_PAUSES=1"
#endif

enum {
    ARGUMENTS_MAX = 2 + 2 * STEP_KEYS_MAX,
    BATCH_MAX = 32,
    TEXT_SIZE = 128 * 1024,
    VALUE_BIG_MAX = 20 * 1024,
};

/* One request of a batch. */
struct planned {
    struct request request;
    struct bytes argv[ARGUMENTS_MAX];
    struct blob *blobs[ARGUMENTS_MAX];
    struct operation *operation; /* NULL: MULTI, or queued inside it */
};

struct batch {
    uint32_t count;
    int64_t now_ms;
    struct planned planned[BATCH_MAX];
};

/* ---- pauses */

static _Thread_local struct {
    struct dice dice;
    uint32_t one_in;
} pauses;

void pauses_set(uint64_t seed, uint32_t one_in)
{
    pauses.dice.state = seed;
    pauses.one_in = one_in;
}

static void spin(uint32_t turns)
{
    while (turns-- > 0)
        thread_pause();
}

static void pause_now(void)
{
    const struct timespec instant = {0, 1};
    switch (dice_roll(&pauses.dice, 4)) {
    case 0:
        sched_yield();
        break;
    case 1:
        spin(dice_roll(&pauses.dice, 100));
        break;
    case 2:
        spin(dice_roll(&pauses.dice, 2000));
        break;
    default: /* long enough for others to run whole commands, even where CPUs are few */
        nanosleep(&instant, NULL);
        break;
    }
}

void engine_pause(enum engine_pause_point point)
{
    (void)point;
    if (pauses.one_in != 0 && dice_one_in(&pauses.dice, pauses.one_in))
        pause_now();
}

/* ---- the stage */

void stage_choose_keys(struct stage *stage, bool one_shard, struct dice *dice)
{
    uint64_t seed = engine_hash_seed(stage->engine);
    uint32_t shard_count = engine_shard_count(stage->engine);
    uint32_t first_shard = dice_roll(dice, shard_count);
    uint32_t number = dice_roll(dice, 1000000);
    for (uint32_t k = 0; k < stage->key_count; number++) {
        char *text = stage->keys[k];
        int size = snprintf(text, sizeof(stage->keys[k]), "key:%u", number);
        struct lockset set;
        lockset_init(&set);
        lockset_add(&set, stage->engine, key_of(seed, bytes_of(text, (size_t)size)).hash);
        if (set.first == (one_shard ? first_shard : (first_shard + k) % shard_count))
            k++;
    }
}

/* Relaxed where a race detector looks: the counter must not order what the engine does not. On x86
 * every read-modify-write is a full barrier anyway. */
static uint64_t take_stamp(struct stage *stage)
{
#if defined(__SANITIZE_THREAD__)
    atomic_signal_fence(memory_order_seq_cst);
    uint64_t stamp = atomic_fetch_add_explicit(&stage->stamp, 1, memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return stamp;
#else
    return atomic_fetch_add_explicit(&stage->stamp, 1, memory_order_seq_cst);
#endif
}

int64_t player_clock_ms(const struct player *player)
{
    return atomic_load_explicit(&player->stage->base_ms, memory_order_relaxed) + player->skew_ms;
}

/* For the command layer: the calling player's clock now, and what it said last. */
static _Thread_local struct {
    const struct player *player;
    int64_t last_ms;
} fresh;

static int64_t read_fresh_clock(void)
{
    return fresh.last_ms = player_clock_ms(fresh.player);
}

/* Time passes, in player 0 only. The stamp comes first: nobody reads the new time before it. */
static void move_time(struct player *player)
{
    struct stage *stage = player->stage;
    struct history *history = stage->history;
    if (history->clock_step_count == HISTORY_CLOCK_STEPS_MAX)
        return;
    uint64_t stamp = take_stamp(stage);
    int64_t base_ms = atomic_load_explicit(&stage->base_ms, memory_order_relaxed) + 1 +
                      dice_roll(&player->dice, 2);
    history->clock_steps[history->clock_step_count++] =
        (struct clock_step){stamp, base_ms + CLOCK_SKEW_MAX_MS};
    atomic_store_explicit(&stage->base_ms, base_ms, memory_order_relaxed);
}

/* ---- arguments */

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void add_argument(struct planned *planned, struct bytes bytes)
{
    planned->argv[planned->request.argc++] = bytes;
}

static void add_number(struct player *player, struct planned *planned, int64_t number)
{
    char *text = player->text + player->text_used;
    size_t size = number_format_i64(text, number);
    player->text_used += size;
    add_argument(planned, bytes_of(text, size));
}

static size_t value_size(struct player *player)
{
    struct dice *dice = &player->dice;
    uint32_t roll = dice_roll(dice, 100);
    if (roll < 3 && player->stage->big_values)
        return VALUE_BIG_MAX - dice_roll(dice, VALUE_BIG_MAX / 2);
    if (roll < 6)
        return dice_roll(dice, 5000);
    return roll < 30 ? dice_roll(dice, 256) : 0;
}

/* A value that no other SET of this era stores: a number, or text of any size. Sometimes a big one
 * comes in a blob, as when a server received it straight into its own memory. */
static struct content add_value(struct player *player, struct planned *planned)
{
    struct stage *stage = player->stage;
    char *text = player->text + player->text_used;
    int64_t number = (int64_t)(++player->values_made * HISTORY_THREADS_MAX + player->index);
    size_t size = value_size(player);
    if (size > TEXT_SIZE / 2 - player->text_used)
        size = 0;
    if (size == 0 && dice_one_in(&player->dice, 3)) {
        add_number(player, planned, number * 1000);
        return content_of_integer(number * 1000);
    }
    size_t head_size = number_format_i64(text + 1, number) + 2;
    text[0] = 'v';
    text[head_size - 1] = '.';
    if (size < head_size)
        size = head_size;
    memset(text + head_size, 'a' + (int)(number % 26), size - head_size);
    player->text_used += size;
    struct bytes bytes = bytes_of(text, size);
    if (size >= BLOB_VALUE_SIZE_MIN && dice_one_in(&player->dice, 2)) {
        struct blob *blob = must(blob_create(stage->engine, size, LIMIT_HOLDS));
        memcpy(blob_data(blob), text, size);
        if (planned->request.blobs == NULL)
            memset(planned->blobs, 0, sizeof(planned->blobs));
        planned->request.blobs = planned->blobs;
        planned->blobs[planned->request.argc] = blob;
        bytes.data = blob_data(blob);
    }
    add_argument(planned, bytes);
    return content_of(bytes);
}

static struct content add_suffix(struct player *player, struct planned *planned)
{
    char *text = player->text + player->text_used;
    text[0] = '+';
    text[1] = (char)('a' + dice_roll(&player->dice, 26));
    text[2] = (char)('0' + player->index);
    player->text_used += 3;
    add_argument(planned, bytes_of(text, 3));
    return content_suffix(bytes_of(text, 3));
}

/* ---- commands */

enum {
    WITH_VALUES = 1,
    WITH_SUFFIX = 2,
    WITH_TIME = 4,
    WITH_DURATION = 8,
    WITH_OPTIONS = 16, /* SET's and GETEX's */
    DISTINCT_KEYS = 32,
};

static const struct {
    const char *name;
    uint8_t keys_min, keys_max;
    uint8_t flags;
} shapes[STEP_KIND_COUNT] = {
#define STEP(name, run, keys_min, keys_max, flags, weight) {#name, keys_min, keys_max, flags},
#include "steps.def"
#undef STEP
};

static struct planned *plan_request(struct batch *batch, const char *name)
{
    struct planned *planned = &batch->planned[batch->count++];
    planned->request = (struct request){.argv = planned->argv};
    planned->operation = NULL;
    add_argument(planned, bytes_of_text(name));
    return planned;
}

/* SET's and GETEX's expiry: a time a little ahead; for SET also the old one, or none. */
static void add_options(struct player *player, struct planned *planned, struct step *step,
                        int64_t now_ms)
{
    uint32_t roll = dice_roll(&player->dice, 10), ahead_ms = 1 + dice_roll(&player->dice, 8);
    if (step->kind == STEP_SET && (!player->stage->expiry || roll < 4))
        return;
    if (step->kind == STEP_SET && roll == 4) {
        step->time_ms = STEP_TIME_KEEP;
        add_argument(planned, BYTES("KEEPTTL"));
        return;
    }
    step->relative = roll < 8;
    step->time_ms = ahead_ms + (step->relative ? 0 : now_ms);
    add_argument(planned, step->relative ? BYTES("PX") : BYTES("PXAT"));
    add_number(player, planned, step->time_ms);
}

static void plan_step(struct player *player, struct batch *batch, struct operation *operation,
                      enum step_kind kind)
{
    struct stage *stage = player->stage;
    struct dice *dice = &player->dice;
    uint8_t flags = shapes[kind].flags;
    struct planned *planned = plan_request(batch, shapes[kind].name);
    struct step *step = &operation->steps[operation->step_count++];
    *step = (struct step){.kind = (uint8_t)kind};
    step->count = (uint8_t)(shapes[kind].keys_min +
                            dice_roll(dice, shapes[kind].keys_max - shapes[kind].keys_min + 1U));
    for (uint32_t i = 0; i < step->count; i++) {
        step->keys[i] = (uint8_t)dice_roll(dice, stage->key_count);
        if (i == 1 && (flags & DISTINCT_KEYS) != 0 && step->keys[1] == step->keys[0])
            step->keys[1] = (uint8_t)((step->keys[0] + 1U) % stage->key_count);
        add_argument(planned, bytes_of_text(stage->keys[step->keys[i]]));
        if ((flags & WITH_VALUES) != 0)
            step->values[i] = add_value(player, planned);
        if ((flags & WITH_SUFFIX) != 0)
            step->values[i] = add_suffix(player, planned);
    }
    if ((flags & WITH_OPTIONS) != 0)
        add_options(player, planned, step, batch->now_ms);
    if ((flags & (WITH_TIME | WITH_DURATION)) != 0) {
        step->relative = (flags & WITH_DURATION) != 0;
        step->time_ms = (step->relative ? 0 : batch->now_ms) + dice_roll(dice, 10) - 1;
        add_number(player, planned, step->time_ms);
    }
    if (!operation->exec)
        planned->operation = operation;
}

static struct operation *new_operation(struct player *player, bool exec)
{
    struct history *history = player->stage->history;
    if (history->operation_counts[player->index] == HISTORY_OPERATIONS_MAX)
        abort();
    struct operation *operation =
        &history->operations[player->index][history->operation_counts[player->index]++];
    operation->exec = exec;
    operation->step_count = 0;
    operation->token_count = 0;
    return operation;
}

static enum step_kind random_kind(struct player *player)
{
    uint32_t roll = dice_roll(&player->dice, player->stage->weight_sum);
    uint32_t kind = 0;
    while (roll >= player->stage->weights[kind])
        roll -= player->stage->weights[kind++];
    return (enum step_kind)kind;
}

static void plan_simple(struct player *player, struct batch *batch, enum step_kind kind)
{
    plan_step(player, batch, new_operation(player, false), kind);
}

/* Maybe WATCH and a look, then MULTI, commands, and EXEC or DISCARD. */
static void plan_transaction(struct player *player, struct batch *batch)
{
    struct dice *dice = &player->dice;
    if (!dice_one_in(dice, 3)) {
        plan_simple(player, batch, STEP_WATCH);
        if (dice_one_in(dice, 2))
            plan_simple(player, batch, STEP_GET);
    }
    plan_request(batch, "MULTI");
    struct operation *operation = new_operation(player, true);
    uint32_t count = 1 + dice_roll(dice, OPERATION_STEPS_MAX);
    for (uint32_t i = 0; i < count; i++)
        plan_step(player, batch, operation, random_kind(player));
    if (dice_one_in(dice, 10)) { /* all that remains of it is that it forgets the watched keys */
        operation->exec = false;
        operation->step_count = 1;
        operation->steps[0] = (struct step){.kind = STEP_UNWATCH};
    }
    plan_request(batch, operation->exec ? "EXEC" : "DISCARD")->operation = operation;
    player->watching = false;
}

static void plan_batch(struct player *player, struct batch *batch)
{
    struct dice *dice = &player->dice;
    uint32_t one_in = player->stage->transactions_one_in;
    batch->count = 0;
    batch->now_ms = player_clock_ms(player);
    player->text_used = 0;
    for (uint32_t left = 1 + dice_roll(dice, 3); left > 0; left--) {
        if (one_in != 0 && dice_one_in(dice, one_in)) {
            plan_transaction(player, batch);
        } else if (one_in != 0 && dice_one_in(dice, 20)) {
            plan_simple(player, batch, STEP_WATCH);
            player->watching = true;
        } else {
            plan_simple(player, batch, random_kind(player));
        }
    }
}

/* ---- running */

static void run_planned(struct player *player, struct planned *planned, int64_t now_ms)
{
    struct operation *operation = planned->operation;
    struct recorder *recorder = &player->recorder;
    struct token scratch[OPERATION_TOKENS_MAX];
    recorder_begin(recorder, operation != NULL ? operation->tokens : scratch, OPERATION_TOKENS_MAX);
    fresh.last_ms = now_ms;
    uint64_t begin = take_stamp(player->stage);
    dispatch_run(&player->client, &planned->request, now_ms, &recorder->reply);
    uint64_t end = take_stamp(player->stage);
    request_release_blobs(planned->request.blobs, planned->request.argc);
    if (recorder->count > OPERATION_TOKENS_MAX)
        abort();
    if (operation == NULL) { /* OK or QUEUED */
        if (recorder->count != 1 || scratch[0].kind != TOKEN_OK)
            abort();
        return;
    }
    operation->begin = begin;
    operation->end = end;
    operation->now_ms = fresh.last_ms > now_ms ? fresh.last_ms : now_ms;
    operation->token_count = (uint8_t)recorder->count;
    for (uint32_t i = 0; i < operation->step_count; i++)
        if (operation->steps[i].relative)
            operation->steps[i].time_ms += operation->now_ms;
}

static void run_batch(struct player *player, struct batch *batch)
{
    struct client *client = &player->client;
    if (!player->online || dice_one_in(&player->dice, 2)) {
        engine_thread_online(player->thread);
        player->online = true;
    }
    for (uint32_t i = 0; i < batch->count; i++)
        dispatch_prepare(client, &batch->planned[i].request);
    for (uint32_t i = 0; i < batch->count; i++)
        dispatch_prefetch_bucket(client, &batch->planned[i].request);
    for (uint32_t i = 0; i < batch->count; i++)
        dispatch_prefetch_entry(client, &batch->planned[i].request);
    for (uint32_t i = 0; i < batch->count; i++)
        run_planned(player, &batch->planned[i], batch->now_ms);
    if (dice_one_in(&player->dice, 4)) {
        engine_thread_offline(player->thread);
        player->online = false;
    }
}

static void finish_round(struct player *player, struct batch *batch)
{
    if (player->watching) {
        batch->count = 0;
        plan_simple(player, batch, STEP_UNWATCH);
        run_batch(player, batch);
        player->watching = false;
    }
    engine_thread_offline(player->thread);
    player->online = false;
}

void player_play(struct player *player)
{
    struct stage *stage = player->stage;
    const uint32_t *count = &stage->history->operation_counts[player->index];
    uint32_t target = 1 + dice_roll(&player->dice, stage->operations_max);
    static _Thread_local struct batch batch;
    while (*count < target) {
        plan_batch(player, &batch);
        run_batch(player, &batch);
        if (player->index == 0 && dice_one_in(&player->dice, 3))
            move_time(player);
    }
    finish_round(player, &batch);
}

/* The expiry first: what vanishes between the two reads is then seen to be missing. */
void player_read_all(struct player *player, struct cell *out)
{
    static struct batch batch;
    for (uint32_t key = 0; key < player->stage->key_count; key++) {
        struct operation *operations[2];
        batch.count = 0;
        batch.now_ms = player_clock_ms(player);
        for (uint32_t i = 0; i < 2; i++) {
            enum step_kind kind = i == 0 ? STEP_PEXPIRETIME : STEP_GET;
            struct planned *planned = plan_request(&batch, shapes[kind].name);
            struct operation *operation = operations[i] = new_operation(player, false);
            operation->step_count = 1;
            operation->steps[0] =
                (struct step){.kind = (uint8_t)kind, .count = 1, .keys = {(uint8_t)key}};
            add_argument(planned, bytes_of_text(player->stage->keys[key]));
            planned->operation = operation;
        }
        run_batch(player, &batch);
        int64_t expires_ms = (int64_t)operations[0]->tokens[0].content.bits;
        out[key] = (struct cell){0};
        if (operations[1]->tokens[0].kind == TOKEN_VALUE)
            out[key] =
                (struct cell){operations[1]->tokens[0].content, expires_ms > 0 ? expires_ms : 0};
    }
    engine_thread_offline(player->thread);
    player->online = false;
}

void player_enter(struct player *player, struct stage *stage, uint32_t index, uint64_t seed)
{
    memset(player, 0, sizeof(*player));
    player->stage = stage;
    player->index = index;
    player->dice.state = seed;
    player->text = must(malloc(TEXT_SIZE));
    if (engine_thread_register(stage->engine, &player->thread) != STATUS_OK)
        abort();
    client_init(&player->client, stage->engine, player->thread);
    player->client.authenticated = true;
    if (stage->fresh_clocks)
        player->client.clock_ms = read_fresh_clock;
    fresh.player = player;
    recorder_init(&player->recorder);
    player->skew_ms = dice_roll(&player->dice, CLOCK_SKEW_MAX_MS + 1);
    pauses_set(seed ^ 1, stage->pauses_one_in);
}

void player_leave(struct player *player)
{
    pauses_set(0, 0);
    client_deinit(&player->client);
    engine_thread_unregister(player->thread);
    free(player->text);
}
