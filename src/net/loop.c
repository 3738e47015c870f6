/* SPDX-License-Identifier: MIT
 *
 * What both back ends share: the iteration, the mailbox, timers, accepting and adopting, and the
 * decision how long to wait.
 *
 * An iteration: the back end waits and dispatches; connections to be looked at again are; messages
 * and timers run; the doomed are buried; `asleep`; output is handed to the back end. What the last
 * step dooms is buried in the next iteration, which then does not wait, so that the handler is only
 * ever called between `awake` and `asleep`.
 *
 * The adaptive wait. Waking for each request costs more than the request. When several connections
 * were active lately the loop waits for half of them, so that the peers of the other half can be
 * busy meanwhile, but not longer than a small multiple of the CPU time that an iteration takes:
 * where requests are rare an iteration is short, so the wait is, and latency stays; where the loop
 * is busy iterations grow, and with them the wait, to its limit.
 *
 * The mailbox is a stack that posters push to and the loop takes whole and reverses.
 */
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "net/backend.h"
#include "net/loop.h"
#include "os/clock.h"
#include "os/poll.h"
#include "os/thread.h"

enum {
    OUTPUT_SOFT_BYTES = 1024 * 1024,
    STALL_TIMEOUT_MS = 60 * 1000,
    ACCEPT_PAUSE_MS = 200,
    SWEEP_MIN_MS = 5,
    SWEEP_MAX_MS = 1000,
    SWEEP_CONNS_MAX = 2048, /* looked at in one go */
    BATCH_CONNS_MIN = 6,
    ACTIVE_WINDOW_SHIFT = 20,   /* 2^20 ns: about a millisecond */
    ITERATION_NS = 400 * 1000,  /* longer ones leave the rest to the next */
    LATE_CHECK_WORK = 8 * 1024, /* between two looks at the clock */
};
/* A wait lasts at most this many times the CPU time of an iteration, in halves. */
enum { BATCH_BUSY_HALVES = 5 };

struct message {
    struct message *next;
    void (*run)(struct loop *loop, void *argument); /* NULL: adopt `fd` from listener `argument` */
    void *argument;
    void *owned; /* freed with the message: the argument, or NULL */
    int fd;
};

static _Thread_local struct loop *current_loop;

/* ---- creating */
static enum status create_backend(struct loop *loop, const char **why)
{
#if LARDER_URING
    if (loop->options.io != LOOP_IO_EPOLL) {
        loop->backend = &backend_uring;
        enum status status = backend_uring.create(loop, why);
        if (status == STATUS_OK || loop->options.io == LOOP_IO_URING)
            return status;
    }
#else
    if (loop->options.io != LOOP_IO_EPOLL)
        *why = "built without liburing";
    if (loop->options.io == LOOP_IO_URING)
        return STATUS_SYSTEM;
#endif
    const char *epoll_why = NULL;
    loop->backend = &backend_epoll;
    enum status status = backend_epoll.create(loop, &epoll_why);
    if (status != STATUS_OK)
        *why = epoll_why;
    return status;
}

static void sample_time(struct loop *loop)
{
    loop->now_ns = clock_monotonic_ns();
    loop->now_ms = (uint32_t)(loop->now_ns / 1000000);
}

static uint64_t sweep_interval_ns(const struct loop *loop)
{
    const struct loop_limits *limits = &loop->options.limits;
    uint32_t shortest = limits->stall_timeout_ms;
    if (limits->idle_timeout_ms != 0 && limits->idle_timeout_ms < shortest)
        shortest = limits->idle_timeout_ms;
    if (limits->swept_timeout_ms != 0 && limits->swept_timeout_ms < shortest)
        shortest = limits->swept_timeout_ms;
    for (int i = 0; i < CONN_CLASS_COUNT; i++)
        if (limits->output[i].soft_bytes != 0 && limits->output[i].soft_ms < shortest)
            shortest = limits->output[i].soft_ms;
    uint32_t interval_ms = shortest / 16;
    interval_ms = interval_ms < SWEEP_MIN_MS ? SWEEP_MIN_MS : interval_ms;
    interval_ms = interval_ms > SWEEP_MAX_MS ? SWEEP_MAX_MS : interval_ms;
    return interval_ms * UINT64_C(1000000);
}

static void store_limits(struct loop *loop, const struct loop_limits *limits)
{
    loop->options.limits = *limits;
    if (limits->output_soft_bytes == 0)
        loop->options.limits.output_soft_bytes = OUTPUT_SOFT_BYTES;
    if (limits->stall_timeout_ms == 0)
        loop->options.limits.stall_timeout_ms = STALL_TIMEOUT_MS;
    loop->free_bytes = loop->options.limits.output_soft_bytes;
    for (int i = 0; i < CONN_CLASS_COUNT; i++) {
        const struct output_limit *limit = &limits->output[i];
        if (limit->hard_bytes != 0 && limit->hard_bytes < loop->free_bytes)
            loop->free_bytes = limit->hard_bytes;
        if (limit->soft_bytes != 0 && limit->soft_bytes < loop->free_bytes)
            loop->free_bytes = limit->soft_bytes;
    }
}

enum status loop_create(const struct loop_options *options, struct loop **out, const char **why)
{
    const char *unheard;
    why = why != NULL ? why : &unheard;
    *why = NULL;
    struct loop *loop = alloc_zeroed(1, sizeof *loop);
    if (loop == NULL) {
        *why = "out of memory";
        return STATUS_NO_MEMORY;
    }
    loop->options = *options;
    store_limits(loop, &options->limits);
    loop->handler = options->handler;
    loop->owner = options->owner;
    links_init(&loop->all);
    links_init(&loop->dirty);
    links_init(&loop->doomed);
    links_init(&loop->again);
    links_init(&loop->lingering);
    loop->sweep_cursor = &loop->all;
    sample_time(loop);
    loop->sweep_at_ns = loop->now_ns + sweep_interval_ns(loop);
    loop->accept_resume_ns = loop->alarm_at_ns = UINT64_MAX;
    loop->wake_fd = poll_wake_create();
    if (loop->wake_fd < 0) {
        *why = io_error_text((enum io_error) - loop->wake_fd);
        alloc_free(loop);
        return STATUS_SYSTEM;
    }
    enum status status = create_backend(loop, why);
    if (status != STATUS_OK) {
        socket_close(loop->wake_fd);
        alloc_free(loop);
        return status;
    }
    *out = loop;
    return STATUS_OK;
}

static void drop_mail(struct loop *loop)
{
    struct message *message = atomic_exchange(&loop->mail, NULL);
    while (message != NULL) {
        struct message *next = message->next;
        if (message->run == NULL)
            socket_close(message->fd);
        alloc_free(message->owned);
        alloc_free(message);
        message = next;
    }
}

void loop_destroy(struct loop *loop)
{
    loop->backend->destroy(loop);
    while (!links_empty(&loop->all)) {
        struct conn *conn = LINKS_ENTRY(loop->all.next, struct conn, all);
        conn_close(conn);
        conn_gone(conn);
    }
    drop_mail(loop);
    while (loop->listening != NULL) {
        struct listening *next = loop->listening->next;
        alloc_free(loop->listening);
        loop->listening = next;
    }
    alloc_free(loop->block);
    while (loop->block_pool != NULL) {
        struct block *next = loop->block_pool->next;
        alloc_free(loop->block_pool);
        loop->block_pool = next;
    }
    while (loop->chunk_pool != NULL) {
        struct chunk *next = loop->chunk_pool->next;
        alloc_free(loop->chunk_pool);
        loop->chunk_pool = next;
    }
    socket_close(loop->wake_fd);
    alloc_free(loop);
}

/* ---- messages */
static bool post(struct loop *loop, struct message message)
{
    struct message *copy = alloc_get(sizeof *copy);
    if (copy == NULL)
        return false;
    *copy = message;
    struct message *next = atomic_load_explicit(&loop->mail, memory_order_relaxed);
    do
        copy->next = next;
    while (!atomic_compare_exchange_weak(&loop->mail, &next, copy));
    /* Whoever finds the box empty wakes; a loop looks before it waits, so its own posts need none.
     * `copy` may be read and freed by now. */
    if (next == NULL && current_loop != loop)
        poll_wake(loop->wake_fd);
    return true;
}

bool loop_post(struct loop *loop, void (*run)(struct loop *loop, void *argument), void *argument)
{
    return post(loop, (struct message){.run = run, .argument = argument, .fd = -1});
}

bool loop_post_owned(struct loop *loop, void (*run)(struct loop *loop, void *argument),
                     void *argument)
{
    struct message message = {.run = run, .argument = argument, .owned = argument, .fd = -1};
    bool posted = post(loop, message);
    if (!posted)
        alloc_free(argument);
    return posted;
}

static void adopt_here(struct loop *loop, int fd, struct listener *listener);

static void run_mail(struct loop *loop)
{
    if (atomic_load_explicit(&loop->mail, memory_order_relaxed) == NULL)
        return;
    struct message *newest = atomic_exchange(&loop->mail, NULL), *oldest = NULL;
    while (newest != NULL) {
        struct message *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    while (oldest != NULL) {
        struct message message = *oldest;
        alloc_free(oldest);
        oldest = message.next;
        if (message.run != NULL)
            message.run(loop, message.argument);
        else
            adopt_here(loop, message.fd, message.argument);
        alloc_free(message.owned);
    }
}

void loop_stop(struct loop *loop)
{
    atomic_store(&loop->stopping, true);
    poll_wake(loop->wake_fd);
}

/* ---- accepting and adopting */
enum status loop_listen(struct loop *loop, struct listener *listener,
                        void (*accepted)(struct loop *loop, int fd, struct listener *listener),
                        void (*accept_failed)(struct loop *loop, const char *why))
{
    struct listening *listening = alloc_zeroed(1, sizeof *listening);
    if (listening == NULL)
        return STATUS_NO_MEMORY;
    listening->loop = loop;
    listening->listener = listener;
    listening->fd = listener->fd;
    listening->accepted = accepted;
    listening->accept_failed = accept_failed;
    if (!loop->backend->listen(listening)) {
        alloc_free(listening);
        return STATUS_SYSTEM;
    }
    listening->next = loop->listening;
    loop->listening = listening;
    return STATUS_OK;
}

void loop_unlisten(struct loop *loop)
{
    for (struct listening *each = loop->listening; each != NULL; each = each->next) {
        if (each->listener == NULL)
            continue;
        each->listener = NULL; /* a connection that still comes is refused */
        loop->backend->unlisten(each);
    }
    loop->accept_resume_ns = UINT64_MAX;
}

void loop_accepted(struct listening *listening, long result)
{
    struct loop *loop = listening->loop;
    loop->unchecked_work += ADOPT_WORK;
    if (result >= 0 && listening->listener == NULL) {
        socket_close((int)result);
    } else if (result >= 0) {
        listening->accepted(loop, (int)result, listening->listener);
    } else if (listening->listener != NULL && result != -IO_AGAIN && result != -IO_INTERRUPTED) {
        /* Nearly always out of descriptors. What is queued would make the listener ready again and
         * again, so it is left alone until some may have been closed. */
        listening->paused = true;
        loop->backend->accept_pause(listening);
        loop->accept_resume_ns = loop->now_ns + ACCEPT_PAUSE_MS * UINT64_C(1000000);
        if (listening->accept_failed != NULL)
            listening->accept_failed(loop, io_error_text((enum io_error) - result));
    }
}

static void resume_accepting(struct loop *loop)
{
    loop->accept_resume_ns = UINT64_MAX;
    for (struct listening *each = loop->listening; each != NULL; each = each->next) {
        if (each->paused && each->listener != NULL) {
            each->paused = false;
            loop->backend->accept_resume(each);
        }
    }
}

static void adopt_here(struct loop *loop, int fd, struct listener *listener)
{
    struct conn *conn = alloc_aligned(64, (sizeof *conn + 63) / 64 * 64);
    if (conn == NULL) {
        atomic_fetch_sub(&loop->load, 1);
        socket_close(fd);
        return;
    }
    conn_init(conn, loop, fd, listener);
    links_append(&loop->all, &conn->all);
    STAT_ADD(loop->stats.accepted, 1);
    STAT_ADD(loop->stats.connections, 1);
    if (loop->handler->opened != NULL && !loop->handler->opened(conn)) {
        conn->silent = true;
        conn_close(conn);
    }
    if (!conn->closing && !loop->backend->open(conn))
        conn_close(conn);
}

void loop_adopt(struct loop *loop, int fd, struct listener *listener)
{
    atomic_fetch_add(&loop->load, 1);
    if (current_loop == loop) {
        adopt_here(loop, fd, listener);
    } else if (!post(loop, (struct message){.argument = listener, .fd = fd})) {
        atomic_fetch_sub(&loop->load, 1);
        socket_close(fd);
    }
}

uint32_t loop_load(const struct loop *loop)
{
    return atomic_load(&loop->load);
}

/* ---- timers */
/* Why a connection has to go now. */
static enum loop_drop due(const struct conn *conn)
{
    const struct loop *loop = conn->loop;
    const struct loop_limits *limits = &loop->options.limits;
    uint32_t silent_ms = loop->now_ms - conn->heard_ms, taken_ms = loop->now_ms - conn->progress_ms;
    if (limits->idle_timeout_ms != 0 && !conn->held && !conn->pushed &&
        silent_ms >= limits->idle_timeout_ms && taken_ms >= limits->idle_timeout_ms)
        return LOOP_DROP_IDLE;
    if ((conn->congested || conn->draining) && taken_ms >= limits->stall_timeout_ms)
        return LOOP_DROP_STALLED;
    if (conn->over && loop->now_ms - conn->over_ms >= conn_output_limit(conn)->soft_ms)
        return LOOP_DROP_OUTPUT;
    return LOOP_DROP_NONE;
}

/* Closes peers that keep silent or take nothing for too long, and has the handler look. Looks at a
 * bounded number each time: all of them within half of the shortest time-out, up to 16,384
 * connections, and later beyond. */
static void sweep_conns(struct loop *loop)
{
    uint32_t left = atomic_load_explicit(&loop->stats.connections, memory_order_relaxed) / 8 + 64;
    left = left < SWEEP_CONNS_MAX ? left : SWEEP_CONNS_MAX;
    if (loop->sweep_cursor == &loop->all)
        loop->sweep_cursor = loop->all.next;
    for (; left > 0 && loop->sweep_cursor != &loop->all; left--) {
        struct conn *conn = LINKS_ENTRY(loop->sweep_cursor, struct conn, all);
        loop->sweep_cursor = conn->all.next;
        enum loop_drop why = conn->lingering ? LOOP_DROP_NONE : due(conn);
        if (why != LOOP_DROP_NONE)
            conn_drop(conn, why);
        else if (loop->options.limits.swept_timeout_ms != 0 && !conn_closing(conn))
            loop->handler->swept(conn, loop->now_ms);
    }
}

static struct conn *longest_lingering(const struct loop *loop)
{
    return links_empty(&loop->lingering) ? NULL
                                         : LINKS_ENTRY(loop->lingering.next, struct conn, queue);
}

static void end_lingering(struct loop *loop)
{
    struct conn *conn;
    while ((conn = longest_lingering(loop)) != NULL &&
           loop->now_ms - conn->progress_ms >= LINGER_MS)
        conn_close(conn);
}

/* Frees the blocks that no iteration has needed since the last sweep. */
static void trim_blocks(struct loop *loop)
{
    for (uint32_t spare = loop->block_pool_low; spare > 0; spare--) {
        struct block *block = loop->block_pool;
        loop->block_pool = block->next;
        loop->block_pool_count--;
        alloc_free(block);
    }
    loop->block_pool_low = loop->block_pool_count;
}

static void run_timers(struct loop *loop)
{
    if (loop->now_ns >= loop->sweep_at_ns) {
        loop->sweep_at_ns = loop->now_ns + sweep_interval_ns(loop);
        sweep_conns(loop);
        trim_blocks(loop);
    }
    end_lingering(loop);
    if (loop->now_ns >= loop->accept_resume_ns)
        resume_accepting(loop);
    if (loop->now_ns >= loop->alarm_at_ns) {
        loop->alarm_at_ns = UINT64_MAX;
        loop->handler->alarm(loop);
    }
}

static int64_t wait_timeout_ns(const struct loop *loop)
{
    if (!links_empty(&loop->doomed) || !links_empty(&loop->again) || !links_empty(&loop->dirty) ||
        atomic_load_explicit(&loop->mail, memory_order_relaxed) != NULL ||
        atomic_load_explicit(&loop->stopping, memory_order_relaxed))
        return 0;
    uint64_t next_ns = loop->sweep_at_ns;
    next_ns = loop->accept_resume_ns < next_ns ? loop->accept_resume_ns : next_ns;
    next_ns = loop->alarm_at_ns < next_ns ? loop->alarm_at_ns : next_ns;
    const struct conn *lingering = longest_lingering(loop);
    if (lingering != NULL) {
        uint32_t past_ms = loop->now_ms - lingering->progress_ms;
        uint64_t end_ns = loop->now_ns;
        end_ns += past_ms < LINGER_MS ? (LINGER_MS - past_ms) * UINT64_C(1000000) : 0;
        next_ns = end_ns < next_ns ? end_ns : next_ns;
    }
    return next_ns > loop->now_ns ? (int64_t)(next_ns - loop->now_ns) : 0;
}

void loop_limits_set(struct loop *loop, const struct loop_limits *limits)
{
    store_limits(loop, limits);
    uint64_t sweep_at_ns = loop->now_ns + sweep_interval_ns(loop);
    if (sweep_at_ns < loop->sweep_at_ns)
        loop->sweep_at_ns = sweep_at_ns;
    for (struct links *each = loop->all.next; each != &loop->all; each = each->next) {
        struct conn *conn = LINKS_ENTRY(each, struct conn, all);
        conn_check_congestion(conn);
        conn_check_relief(conn);
    }
}

void loop_alarm(struct loop *loop, uint64_t after_ms)
{
    uint64_t most_ms = (UINT64_MAX - loop->now_ns) / 1000000;
    uint64_t at_ns = loop->now_ns + (after_ms < most_ms ? after_ms : most_ms) * 1000000;
    if (at_ns < loop->alarm_at_ns)
        loop->alarm_at_ns = at_ns;
}

/* ---- the adaptive wait */
uint32_t loop_batch(struct loop *loop, uint32_t *out_wait_us)
{
    uint32_t active = loop->active > loop->active_before ? loop->active : loop->active_before;
    if (active < BATCH_CONNS_MIN || loop->options.batch_wait_us == 0)
        return 1;
    uint64_t wait_us = loop->busy_ns * BATCH_BUSY_HALVES / 2000;
    if (wait_us > loop->options.batch_wait_us)
        wait_us = loop->options.batch_wait_us;
    if (wait_us == 0)
        return 1;
    *out_wait_us = (uint32_t)wait_us;
    STAT_ADD(loop->stats.waits_batched, 1);
    return active / 2;
}

static void woke(struct loop *loop)
{
    sample_time(loop);
    loop->woke_ns = loop->now_ns;
    uint64_t cpu_ns = clock_thread_cpu_ns();
    loop->busy_ns += (cpu_ns - loop->woke_cpu_ns) / 4 - loop->busy_ns / 4;
    loop->woke_cpu_ns = cpu_ns;
    uint32_t window = (uint32_t)(loop->now_ns >> ACTIVE_WINDOW_SHIFT);
    if (window != loop->active_window) {
        loop->active_before = window == loop->active_window + 1 ? loop->active : 0;
        loop->active = 0;
        loop->active_window = window;
    }
}

/* ---- the iteration */
void loop_again(struct conn *conn)
{
    links_remove(&conn->again);
    links_append(&conn->loop->again, &conn->again);
}

bool loop_late(struct loop *loop)
{
    if (loop->unchecked_work < LATE_CHECK_WORK)
        return false;
    loop->unchecked_work = 0;
    return clock_monotonic_ns() - loop->woke_ns > ITERATION_NS;
}

static void look_again(struct loop *loop)
{
    /* Those that ask once more while this runs have to wait for the next iteration. */
    struct links *last = loop->again.previous;
    while (!links_empty(&loop->again)) {
        struct links *first = loop->again.next;
        bool end = first == last;
        links_remove(first);
        conn_resume(LINKS_ENTRY(first, struct conn, again));
        loop->unchecked_work += RECEIVE_WORK;
        if (end || loop_late(loop))
            break;
    }
}

static void bury_doomed(struct loop *loop)
{
    while (!links_empty(&loop->doomed)) {
        struct conn *conn = LINKS_ENTRY(loop->doomed.next, struct conn, queue);
        links_remove(&conn->queue);
        if (conn->drop != LOOP_DROP_NONE && !conn->silent && loop->handler->dropped != NULL)
            loop->handler->dropped(conn, (enum loop_drop)conn->drop);
        if (loop->backend->close(conn))
            conn_gone(conn);
    }
}

static void flush_dirty(struct loop *loop)
{
    if (loop->writer != NULL)
        conn_window_close(loop->writer);
    while (!links_empty(&loop->dirty)) {
        struct conn *conn = LINKS_ENTRY(loop->dirty.next, struct conn, queue);
        links_remove(&conn->queue);
        conn->dirty = false;
        if (conn->sink.failed) {
            conn_close(conn);
            continue;
        }
        conn_check_congestion(conn);
        if (conn->closing)
            continue;
        conn_show(conn);
        if (conn->out_bytes != 0 && !conn->in_flight)
            loop->backend->send(conn);
        conn_settle(conn);
        if (!conn_wants(conn) && !conn->closing)
            loop->backend->receive(conn);
    }
}

static void finish_iteration(struct loop *loop)
{
    STAT_ADD(loop->stats.iterations, 1);
    sample_time(loop);
    /* CPU time never exceeds the time that passed, so it is read again only for a candidate. */
    uint64_t longest_ns =
        atomic_load_explicit(&loop->stats.iteration_cpu_max_ns, memory_order_relaxed);
    if (loop->now_ns - loop->woke_ns <= longest_ns)
        return;
    uint64_t cpu_ns = clock_thread_cpu_ns() - loop->woke_cpu_ns;
    if (cpu_ns > longest_ns)
        atomic_store_explicit(&loop->stats.iteration_cpu_max_ns, cpu_ns, memory_order_relaxed);
}

static void iterate(struct loop *loop)
{
    const struct loop_handler *handler = loop->handler;
    loop->backend->wait(loop, wait_timeout_ns(loop));
    woke(loop);
    if (handler->awake != NULL)
        handler->awake(loop);
    loop->backend->dispatch(loop);
    if (!links_empty(&loop->again))
        look_again(loop);
    run_mail(loop);
    run_timers(loop);
    bury_doomed(loop);
    if (handler->asleep != NULL)
        handler->asleep(loop);
    flush_dirty(loop);
    finish_iteration(loop);
}

void loop_run(struct loop *loop)
{
    current_loop = loop;
    if (loop->options.batch_wait_us != 0)
        thread_precise_timers();
    if (loop->backend->start(loop)) {
        sample_time(loop);
        loop->woke_cpu_ns = clock_thread_cpu_ns();
        while (!atomic_load_explicit(&loop->stopping, memory_order_acquire))
            iterate(loop);
    }
    loop->backend->pause(loop);
    atomic_store(&loop->stopping, false);
    current_loop = NULL;
}

/* ---- what others may ask */
const char *loop_io_name(const struct loop *loop)
{
    return loop->backend->name;
}

void *loop_owner(const struct loop *loop)
{
    return loop->owner;
}

void loop_stats(const struct loop *loop, struct loop_stats *out)
{
#define READ(name) out->name = atomic_load_explicit(&loop->stats.name, memory_order_relaxed)
    READ(iterations);
    READ(waits_batched);
    READ(bytes_received);
    READ(bytes_sent);
    READ(sends);
    READ(receives);
    READ(accepted);
    READ(closed);
    READ(iteration_cpu_max_ns);
    READ(output_bytes);
    READ(connections);
#undef READ
}

void loop_stats_restart_max(struct loop *loop)
{
    atomic_store_explicit(&loop->stats.iteration_cpu_max_ns, 0, memory_order_relaxed);
}

void loop_each_conn(struct loop *loop, void (*visit)(struct conn *conn, void *argument),
                    void *argument)
{
    for (struct links *each = loop->all.next; each != &loop->all; each = each->next) {
        struct conn *conn = LINKS_ENTRY(each, struct conn, all);
        if (!conn->closing)
            visit(conn, argument);
    }
}
