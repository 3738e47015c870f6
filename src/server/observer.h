/* SPDX-License-Identifier: MIT
 *
 * How a worker observes the requests it runs: counts and times them for INFO, hands what was slow
 * to the slow log and the latency monitor, and everything to clients that MONITOR.
 *
 * Reading a clock costs a quarter of what a GET does, so not every request gets a reading of its
 * own. Requests of one batch that follow each other make a run when they are of the same command
 * and it touches one key, or none and is COMMAND_FAST; the clock is read where runs begin and end,
 * and each request of a run is counted with the same share of its time. A request that comes alone,
 * or whose command can have several keys or take long, is timed by itself, and so is every request
 * while somebody monitors or the slow log wants what is faster than EXACT_BELOW_US.
 *
 * Everything here belongs to the worker's thread, but for the counts (server/command_stats.h). What
 * others decide reaches it through the server's `observed` number, one load a batch.
 */
#ifndef LARDER_SERVER_OBSERVER_H
#define LARDER_SERVER_OBSERVER_H

#include "command/dispatch.h"
#include "os/clock.h"
#include "server/command_stats.h"
#include "server/slowlog.h"

enum { EXACT_BELOW_US = 1000 };

struct session;
struct worker;

struct observer {
    struct command_stats stats;
    uint32_t seen;                 /* the server's `observed` number that the next fields follow */
    bool tracks;                   /* latency-tracking */
    bool exact;                    /* every request is a run of its own */
    bool monitored;                /* somebody is shown every request */
    bool watched;                  /* somebody is shown what becomes of keys */
    uint64_t noted_ticks;          /* a run that takes so long is noted by somebody */
    uint64_t slow_iteration_ticks; /* likewise an iteration of the loop */
    uint64_t since_ticks;          /* when the current run began */
    uint64_t exec_ticks;           /* when the current request of an EXEC began */
    uint64_t awake_ticks;          /* when the loop's iteration began */
    counter iterations_ns;
    /* What the slow log would show of arguments in blobs, which the command may give away: of the
     * argument i, where bit i of heads_kept is set. */
    uint32_t heads_kept;
    char heads[SLOWLOG_ARGUMENTS_MAX][SLOWLOG_SIZE_MAX];
};

extern const struct exec_observer observer_of_exec;

/* Follows what has changed for the whole server. */
void observer_refresh(struct worker *worker);

/* Before the first request of a batch. */
void observer_begin(struct worker *worker);

/* Whether the clock is read between two requests. */
static inline bool observer_run_ends(const struct observer *observer, const struct command *command,
                                     const struct command *next)
{
    if (command != next || command == NULL || observer->exact)
        return true;
    return command->key_first == 0 ? (command->flags & COMMAND_FAST) == 0
                                   : command->key_first != command->key_last;
}

/* Before a request that may have blobs runs. */
void observer_keep(struct session *session, const struct request *request);

/* A run has ended: `count` requests of the first one's command ran; 0 when all were refused. */
void observer_run_ended(struct session *session, const struct request *first, uint32_t count);

/* For each request that was refused or failed. */
void observer_note(struct worker *worker, const struct command *command, enum dispatched how);

/* The loop's iteration begins and ends. */
void observer_awake(struct worker *worker);
void observer_asleep(struct worker *worker);

#endif
