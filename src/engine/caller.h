/* SPDX-License-Identifier: MIT
 *
 * The threads of an embedding program: any thread may come at any time, nobody tells when it starts
 * or ends, and it may use several engines.
 *
 * A thread gets a record per engine on its first call; the record is registered with the engine and
 * carries what the layer above keeps for each thread (the bytes behind `struct caller`). It ends
 * with its thread or with callers_deinit, whichever comes first. A record that outlives its engine
 * is only a detached block in its thread's list: it is freed when the thread ends, or when it next
 * registers or closes anything.
 *
 * caller_enter and caller_leave bracket calls and nest. The outermost enter brings the thread
 * online and samples the clock; driven time costs nothing to look at, so every enter sees how late
 * it is.
 *
 * Thread-safe, but for callers_init and callers_deinit. A record is used by its own thread only.
 */
#ifndef LARDER_ENGINE_CALLER_H
#define LARDER_ENGINE_CALLER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "engine/engine.h"

struct callers;

struct caller {
    struct callers *owner;
    struct engine_thread *thread;
    int64_t now_ms; /* the time sampled by enter */
    uint32_t depth; /* enters without their leave */
    /* --- private */
    _Atomic uint64_t owner_id;      /* 0: detached, `owner` and `thread` are gone */
    struct caller *next_of_thread;  /* only its thread follows these */
    struct caller *next, *previous; /* records of one owner, under the module's lock */
};

/* The records of one engine, and the clock they are given. */
struct callers {
    struct engine *engine;
    uint64_t id;        /* never used twice, so that a stale record never matches */
    size_t record_size; /* a struct that begins with struct caller */
    void (*begun)(struct caller *caller);
    void (*ended)(struct caller *caller);
    bool manual; /* time is what callers_set_time says */
    _Atomic int64_t manual_ms;
    struct caller *first;
};

/* `begun` runs in the record's thread after registering, `ended` in it or in callers_deinit, before
 * the record leaves the engine. */
void callers_init(struct callers *callers, struct engine *engine, size_t record_size,
                  void (*begun)(struct caller *caller), void (*ended)(struct caller *caller));
/* Detaches all records. No thread is between enter and leave, but the calling one may be. */
void callers_deinit(struct callers *callers);

/* From now on time is what the program says; before the first enter. */
void callers_drive_time(struct callers *callers, int64_t now_ms);
/* Time never goes back: an earlier one is ignored. */
void callers_set_time(struct callers *callers, int64_t now_ms);
/* Engine time of this process, whatever drives `callers`. */
int64_t callers_clock_ms(void);
/* Threads that can run at once here. */
uint32_t callers_expected(void);
/* Engine time now: a fresh reading, or the driven time. */
int64_t callers_now_ms(const struct callers *callers);

/* Fails with NO_MEMORY or SYSTEM, and only when the thread has no record yet. */
enum status caller_enter(struct callers *callers, struct caller **out) MUST_USE;
void caller_leave(struct caller *caller);
/* The calling thread's record if it has one. */
struct caller *caller_find(const struct callers *callers);

#endif
