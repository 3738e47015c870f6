/* SPDX-License-Identifier: MIT
 *
 * See filler.h. The number of keys moves between none and the most in strokes, so that every size
 * of table comes by; between bursts it lets others run.
 */
#include "filler.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "command/dispatch.h"
#include "os/clock.h"
#include "os/thread.h"

struct filler {
    struct stage *stage;
    struct thread *thread;
    _Atomic bool held, stopped;
    uint32_t keys_max;
    uint64_t seed;
    /* --- its thread's own */
    struct dice dice;
    struct client client;
    struct recorder recorder;
    uint32_t present, target; /* keys 0 .. present - 1 exist, unless expired or flushed */
};

static void run_command(struct filler *filler, uint32_t argc, struct bytes *argv, int64_t now_ms)
{
    struct request request = {.argc = argc, .argv = argv};
    dispatch_prepare(&filler->client, &request);
    recorder_begin(&filler->recorder, NULL, 0);
    dispatch_run(&filler->client, &request, now_ms, &filler->recorder.reply);
}

static void change_key(struct filler *filler, uint32_t number, bool present, int64_t now_ms)
{
    char key[32], value[512], time[24];
    struct bytes argv[5] = {BYTES("SET"), {key, 0}, {value, 0}, BYTES("PXAT"), {time, 0}};
    argv[1].size = (size_t)snprintf(key, sizeof(key), "filler:%u", number);
    if (!present) {
        argv[0] = BYTES("DEL");
        run_command(filler, 2, argv, now_ms);
        return;
    }
    argv[2].size = dice_roll(&filler->dice, 10) < 8 ? dice_roll(&filler->dice, 64)
                                                    : dice_roll(&filler->dice, sizeof(value));
    memset(value, 'f', argv[2].size);
    bool expires = filler->stage->expiry && dice_one_in(&filler->dice, 4);
    if (expires)
        argv[4].size = (size_t)snprintf(time, sizeof(time), "%lld",
                                        (long long)now_ms + dice_roll(&filler->dice, 20) + 1);
    run_command(filler, expires ? 5 : 3, argv, now_ms);
}

static void do_something(struct filler *filler)
{
    int64_t now_ms = atomic_load_explicit(&filler->stage->base_ms, memory_order_relaxed) +
                     dice_roll(&filler->dice, 2) * CLOCK_SKEW_MAX_MS;
    if (filler->keys_max == 0 || dice_one_in(&filler->dice, 4)) {
        engine_maintain(filler->stage->engine, now_ms);
        return;
    }
    for (uint32_t left = 1 + dice_roll(&filler->dice, 64); left > 0; left--) {
        if (filler->present == filler->target)
            filler->target =
                dice_one_in(&filler->dice, 3) ? 0 : dice_roll(&filler->dice, filler->keys_max + 1);
        else if (filler->present < filler->target)
            change_key(filler, filler->present++, true, now_ms);
        else
            change_key(filler, --filler->present, false, now_ms);
    }
}

static void run(void *argument)
{
    struct filler *filler = argument;
    struct engine_thread *thread;
    if (engine_thread_register(filler->stage->engine, &thread) != STATUS_OK)
        abort();
    client_init(&filler->client, filler->stage->engine, thread);
    filler->client.authenticated = true;
    recorder_init(&filler->recorder);
    pauses_set(filler->seed ^ 1, filler->stage->pauses_one_in * 32); /* it has much to do */
    while (!atomic_load(&filler->stopped)) {
        if (atomic_load(&filler->held)) {
            clock_sleep_us(1000);
            continue;
        }
        engine_thread_online(thread);
        do_something(filler);
        engine_thread_offline(thread);
        if (filler->keys_max == 0)
            clock_sleep_us(1000);
        else
            sched_yield();
    }
    pauses_set(0, 0);
    client_deinit(&filler->client);
    engine_thread_unregister(thread);
}

struct filler *filler_start(struct stage *stage, uint32_t keys_max, uint64_t seed)
{
    struct filler *filler = calloc(1, sizeof(*filler));
    if (filler == NULL)
        abort();
    filler->stage = stage;
    filler->keys_max = keys_max;
    filler->seed = filler->dice.state = seed;
    if (thread_start("filler", run, filler, &filler->thread) != STATUS_OK)
        abort();
    return filler;
}

void filler_hold(struct filler *filler, bool held)
{
    atomic_store(&filler->held, held);
}

void filler_stop(struct filler *filler)
{
    atomic_store(&filler->stopped, true);
    thread_join(filler->thread);
    free(filler);
}
