/* SPDX-License-Identifier: MIT
 *
 * See server/session.h. The way of a request: bytes arrive in place (data), up to WORKER_BATCH_MAX
 * requests are parsed, their keys' lines prefetched, and then they run in order, replies going to
 * the connection's sink.
 *
 * A request that has not arrived whole moves with its parser into `pending`, and so does one with a
 * big argument, whose bytes are received straight into the memory that the value will have.
 */
#include "server/session.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "command/dispatch.h"
#include "command/transaction.h"
#include "engine/blob.h"
#include "os/clock.h"
#include "os/socket.h"
#include "server/flush.h"
#include "server/log.h"
#include "server/pause.h"
#include "server/watch.h"

/* An unfinished request of fewer bytes is read again from its start, which is cheaper than moving
 * its parser. */
enum { REPARSE_SIZE_MAX = 512 };

/* ---- labels */

struct bytes label_part(const struct label *label, enum session_label which)
{
    if (label == NULL)
        return (struct bytes){NULL, 0};
    return which == SESSION_NAME           ? label->name
           : which == SESSION_LIBRARY_NAME ? label->library_name
                                           : label->library_version;
}

void label_release(struct label *label)
{
    if (label != NULL && atomic_fetch_sub(&label->holders, 1) == 1)
        alloc_free(label);
}

static struct bytes copy_part(char **at, struct bytes part)
{
    struct bytes copy = {*at, part.size};

    if (part.size != 0)
        memcpy(*at, part.data, part.size);
    *at += part.size;
    return copy;
}

enum status session_label_set(struct session *session, enum session_label which, struct bytes text)
{
    struct bytes parts[3];
    struct label *old = session->label, *label = NULL;
    size_t size = 0;

    for (int i = 0; i < 3; i++) {
        parts[i] = (int)which == i ? text : label_part(old, (enum session_label)i);
        size += parts[i].size;
    }
    if (size > 0) {
        label = alloc_get(sizeof(*label) + size);
        if (label == NULL)
            return STATUS_NO_MEMORY;
        char *at = label->text;

        atomic_init(&label->holders, 1);
        label->name = copy_part(&at, parts[SESSION_NAME]);
        label->library_name = copy_part(&at, parts[SESSION_LIBRARY_NAME]);
        label->library_version = copy_part(&at, parts[SESSION_LIBRARY_VERSION]);
    }
    lock_acquire(&session->worker->sessions_lock);
    session->label = label;
    lock_release(&session->worker->sessions_lock);
    label_release(old);
    return STATUS_OK;
}

/* ---- life */

static uint64_t shown_count(uint32_t count, int shift)
{
    return (uint64_t)(count < SESSION_COUNT_MAX ? count : SESSION_COUNT_MAX) << shift;
}

static bool shows_watches(uint64_t state)
{
    return (state >> SESSION_WATCHED_SHIFT & SESSION_COUNT_MAX) != 0;
}

static uint64_t show_transaction(struct session *session)
{
    const struct client *client = &session->client;

    atomic_store_explicit(&session->queued_bytes, transaction_size(client), memory_order_relaxed);
    return (client->in_multi ? SESSION_IN_MULTI : 0) |
           shown_count(transaction_count(client), SESSION_QUEUED_SHIFT) |
           shown_count(client->watcher != NULL ? client->watcher->count : 0, SESSION_WATCHED_SHIFT);
}

void session_show(struct session *session)
{
    const struct client *client = &session->client;
    uint64_t state = client->db | session->reply.version << SESSION_RESP_SHIFT |
                     (session->no_evict ? SESSION_NO_EVICT : 0) |
                     (session->no_touch ? SESSION_NO_TOUCH : 0) |
                     (session->monitor != NULL ? SESSION_MONITORS : 0) |
                     (conn_closing(session->conn) ? SESSION_CLOSES : 0) |
                     (session->waiting_first != NULL ? SESSION_WAITS : 0) |
                     (session->peer[0] == '\0' ? SESSION_UNIX : 0);

    if (client->in_multi || client->watcher != NULL)
        state |= show_transaction(session);
    bool watches = shows_watches(state);
    if (watches != shows_watches(atomic_load_explicit(&session->state, memory_order_relaxed)))
        counter_add(&session->worker->watching, watches ? 1 : UINT64_MAX);
    atomic_store_explicit(&session->state, state, memory_order_relaxed);
}

void session_skip_replies(struct session *session, bool off, uint8_t count)
{
    session->replies_off = off;
    session->skips = count;
    session->reply.sink = off || count > 0 ? &session->worker->discard : conn_sink(session->conn);
}

bool session_local(const struct session *session)
{
    return session->peer[0] == '\0' || strncmp(session->peer, "127.", 4) == 0 ||
           strncmp(session->peer, "[::1]:", 6) == 0;
}

static void enlist(struct worker *worker, struct session *session)
{
    lock_acquire(&worker->sessions_lock);
    session->previous = worker->last;
    if (worker->last != NULL)
        worker->last->next = session;
    else
        worker->first = session;
    worker->last = session;
    worker->session_count++;
    lock_release(&worker->sessions_lock);
}

static void delist(struct worker *worker, struct session *session)
{
    lock_acquire(&worker->sessions_lock);
    if (session->previous != NULL)
        session->previous->next = session->next;
    else
        worker->first = session->next;
    if (session->next != NULL)
        session->next->previous = session->previous;
    else
        worker->last = session->previous;
    worker->session_count--;
    lock_release(&worker->sessions_lock);
}

/* Nobody has said a word yet, so nobody knows the protocol: the answer is RESP's, as Redis's is. */
static bool refuse(struct worker *worker, struct conn *conn)
{
    static const char text[] = "-ERR max number of clients reached\r\n";

    counter_add(&worker->rejected, 1);
    sink_write(conn_sink(conn), text, sizeof(text) - 1);
    conn_close_after_flush(conn);
    return true;
}

static struct session *create(struct worker *worker, struct conn *conn)
{
    struct server *server = worker->server;
    struct session *session = alloc_zeroed(1, sizeof(*session));

    if (session == NULL)
        return NULL;
    client_init(&session->client, server->engine, worker->engine_thread);
    session->client.clock_ms = clock_engine_ms;
    session->client.exec_observer = &observer_of_exec;
    session->client.item_counts = &worker->observer.stats.items;
    session->client.authenticated = !options_password_set(&server->options);
    session->reply = (struct reply){
        .sink = conn_sink(conn), .version = 2, .errors = &worker->observer.stats.errors};
    session->conn = conn;
    session->worker = worker;
    session->id = atomic_fetch_add(&server->client_id_last, 1) + 1;
    session->opened_ms = worker->now_ms;
    atomic_init(&session->active_ms, worker->now_ms);
    session->fd = conn_fd(conn);
    session->listener = conn_listener(conn);
    if (session->listener->kind == LISTENER_TCP) {
        char peer[SOCKET_ADDRESS_SIZE];

        socket_address_text(session->fd, true, peer);
        snprintf(session->peer, sizeof(session->peer), "%.47s", peer);
        socket_address_text(session->fd, false, peer);
        snprintf(session->local, sizeof(session->local), "%.47s", peer);
    }
    session_show(session);
    return session;
}

static bool opened(struct conn *conn)
{
    struct worker *worker = loop_owner(conn_loop(conn));
    struct server *server = worker->server;
    bool stops = atomic_load(&server->stop) != SERVER_RUNS;

    counter_add(&worker->connections, 1);
    if (!stops && atomic_load(&server->clients) >= (uint32_t)server->options.maxclients)
        return refuse(worker, conn);
    struct session *session = stops ? NULL : create(worker, conn);
    if (session == NULL)
        return false;
    conn_user_set(conn, session);
    atomic_fetch_add(&server->clients, 1);
    enlist(worker, session);
    watch_opened(session);
    return true;
}

static void pending_end(struct session *session)
{
    struct pending *pending = session->pending;

    session->pending = NULL;
    if (pending->blob != NULL)
        blob_release(pending->blob);
    parser_deinit(&pending->parser);
    alloc_free(pending);
}

static void waiting_end(struct session *session)
{
    while (session->waiting_first != NULL) {
        struct request_copy *next = session->waiting_first->next;

        request_copy_free(session->waiting_first);
        session->waiting_first = next;
    }
}

static void closed(struct conn *conn)
{
    struct session *session = conn_user(conn);
    struct worker *worker = loop_owner(conn_loop(conn));
    struct server *server = worker->server;

    if (session == NULL) /* it was refused */
        return;
    delist(worker, session);
    if (session->pending != NULL)
        pending_end(session);
    waiting_end(session);
    monitor_end(session);
    watch_closed(session);
    client_deinit(&session->client);
    session_show(session); /* it watches nothing any more */
    label_release(session->label);
    alloc_free(session);
    if (atomic_fetch_sub(&server->clients, 1) == 1 && atomic_load(&server->stop) != SERVER_RUNS)
        signal_raise(&server->wake);
}

/* ---- requests */

static const struct wire_limits *limits_of(const struct session *session)
{
    return session->client.authenticated ? &session->worker->limits
                                         : &session->worker->stranger_limits;
}

/* A web page can have a browser send HTTP to this port, with commands in its body. */
static bool is_http(const struct request *request)
{
    return request->command == NULL && (bytes_equal_text_nocase(request->argv[0], "post") ||
                                        bytes_equal_text_nocase(request->argv[0], "host:"));
}

static void answered(struct session *session, const struct request *request, enum dispatched how)
{
    if (__builtin_expect(session->reply.errored, 0))
        observer_note(session->worker, request->command, how);
    if (__builtin_expect(request->last, 0) && !session->client.unheard)
        conn_close_after_flush(session->conn);
    if (session->skips > 0)
        session_skip_replies(session, session->replies_off, session->skips - 1);
}

/* What follows in `reply` answers this request; NULL: none of them. */
static void begin_reply(struct session *session, const struct request *request)
{
    session->reply.errored = false;
    session->reply.request = request;
    session->reply.index = session->reply.left = 0;
}

/* False: it did not run, or will when EXEC says so. */
static bool run_request(struct session *session, struct request *request)
{
    if (is_http(request)) {
        log_line(LOG_WARNING, "client %llu speaks HTTP and was closed",
                 (unsigned long long)session->id);
        conn_close(session->conn);
        return false;
    }
    begin_reply(session, request);
    enum dispatched how =
        dispatch_run(&session->client, request, session->worker->now_ms, &session->reply);
    answered(session, request, how);
    return how == DISPATCH_RAN;
}

static void run_alone(struct session *session, struct request *request)
{
    observer_begin(session->worker);
    observer_keep(session, request);
    uint32_t count = run_request(session, request) ? 1 : 0;
    observer_run_ended(session, request, count);
}

static void out_of_memory(struct session *session)
{
    begin_reply(session, NULL);
    reply_status(&session->reply, STATUS_NO_MEMORY);
    conn_close_after_flush(session->conn);
}

/* Keeps prepared requests until the pause that holds the first of them has ended. */
static void wait_with(struct session *session, struct request *request)
{
    struct request_copy *copy = request_copy(request);

    if (copy == NULL) {
        out_of_memory(session);
        return;
    }
    if (session->waiting_first != NULL) {
        session->waiting_last->next = copy;
    } else {
        session->waiting_first = copy;
        conn_hold(session->conn);
        pause_watch(session->worker);
    }
    session->waiting_last = copy;
    session_show(session);
}

/* What many requests share is done once for all of them. */
static void ran(struct session *session, uint64_t count, const struct command *last)
{
    if (count == 0)
        return;
    struct worker *worker = session->worker;
    counter_add(&worker->commands, count);
    counter_add(&session->commands, count);
    worker->since_safe_point += (uint32_t)count;
    if (worker->since_safe_point >= SAFE_POINT_EVERY) {
        worker->since_safe_point = 0;
        engine_thread_online(worker->engine_thread);
    }
    atomic_store_explicit(&session->last_command, last, memory_order_relaxed);
    session_show(session);
    if (session->reply.sink->failed) /* replies were lost: the stream cannot go on */
        conn_close(session->conn);
}

static void protocol_error(struct session *session, const char *error)
{
    log_line(LOG_VERBOSE, "client %llu: %s", (unsigned long long)session->id, error);
    begin_reply(session, NULL);
    if (error == wire_too_big)
        counter_add(&session->worker->query_drops, 1);
    session->close_reason = "error";
    session->wire->protocol_error(&session->reply, error);
    conn_close_after_flush(session->conn);
}

/* The pause may have ended: goes on with what waited. */
static void let_on(struct conn *conn)
{
    struct session *session = conn_user(conn);
    const struct command *last = NULL;
    uint64_t count = 0;

    while (session->waiting_first != NULL && !conn_closing(conn)) {
        struct request_copy *copy = session->waiting_first;

        if (pause_is_on(session->worker->server) && pause_holds(session, &copy->request)) {
            conn_hold(conn);
            pause_watch(session->worker);
            break;
        }
        session->waiting_first = copy->next;
        run_alone(session, &copy->request);
        last = copy->request.command;
        request_copy_free(copy);
        count++;
    }
    ran(session, count, last);
}

static bool pending_begin(struct session *session, struct parser *from)
{
    struct pending *pending = alloc_zeroed(1, sizeof(*pending));

    if (pending == NULL)
        return false;
    if (parser_init(&pending->parser, from->limits) != STATUS_OK) {
        alloc_free(pending);
        return false;
    }
    parser_move(from, &pending->parser);
    session->pending = pending;
    return true;
}

/* `parser` needs more than the `size` bytes at `data`. Returns how many of them are done with:
 * those before a big argument, else none. */
static size_t keep_unfinished(struct session *session, struct parser *parser, char *data,
                              size_t size)
{
    struct pending *pending = session->pending;
    bool told = parser->interim.size > 0; /* once: reading it again would tell again */

    if (told) {
        sink_write_bytes(conn_sink(session->conn), parser->interim);
        parser->interim = bytes_of(NULL, 0);
    }
    if (parser->blob_need == 0 && pending == NULL && size < REPARSE_SIZE_MAX && !told &&
        !parser->judged) {
        conn_expect(session->conn, parser->need);
        parser_reset(parser);
        return 0;
    }
    if (pending == NULL) {
        if (!pending_begin(session, parser)) {
            parser_reset(parser);
            out_of_memory(session);
            return 0;
        }
        pending = session->pending;
        parser = &pending->parser;
    }
    size_t blob_size = parser->blob_need, blob_offset = parser->blob_offset;
    bool unwanted = parser->blob_unwanted;
    if (blob_size == 0) {
        conn_expect(session->conn, parser->need);
        return 0;
    }
    if (parser_blob_begin(parser, data) != STATUS_OK) {
        out_of_memory(session);
        return 0;
    }
    if (unwanted) {
        pending->discard_bytes = blob_size;
        return blob_offset;
    }
    const struct command *command = command_find(parser_first_argument(parser));
    /* Which one it is may not be known yet, or never: then maxmemory bounds it too. */
    bool stores = command == NULL || (command->flags & COMMAND_GROWS) != 0;
    if (!stores)
        pending->unstored_size += blob_size;
    if (pending->unstored_size + parser->kept_size > limits_of(session)->query_size_max) {
        protocol_error(session, wire_too_big);
        return 0;
    }
    pending->blob =
        blob_create(session->client.engine, blob_size, stores ? LIMIT_HOLDS : LIMIT_PASSED);
    if (pending->blob != NULL) {
        conn_receive_into(session->conn, blob_data(pending->blob), blob_size);
    } else {
        pending->refused = true;
        pending->discard_bytes = blob_size;
    }
    return blob_offset;
}

/* The argument passes by unread. */
static size_t discard(struct pending *pending, size_t size)
{
    if (size > pending->discard_bytes)
        size = pending->discard_bytes;
    pending->discard_bytes -= size;
    if (pending->discard_bytes == 0)
        parser_blob_received(&pending->parser, NULL, (struct bytes){"", 0});
    return size;
}

static void run_pending(struct session *session)
{
    struct pending *pending = session->pending;
    struct request *request = &pending->parser.request;

    if (request->argc > 0) {
        dispatch_prepare(&session->client, request);
        if (pending->refused) {
            session->client.multi_failed |= session->client.in_multi;
            begin_reply(session, request);
            reply_status(&session->reply, STATUS_NO_MEMORY);
            answered(session, request, DISPATCH_REJECTED);
        } else if (pause_is_on(session->worker->server) && pause_holds(session, request)) {
            wait_with(session, request);
            pending_end(session);
            return;
        } else {
            run_alone(session, request);
        }
        ran(session, 1, request->command);
    }
    pending_end(session);
}

/* Goes on with an unfinished request. Returns how many bytes are done with; `*more` is cleared when
 * nothing can be done with the rest now. */
static size_t resume(struct session *session, char *data, size_t size, bool *more)
{
    struct pending *pending = session->pending;
    struct parser *parser = &pending->parser;
    size_t discarded = 0, consumed;

    if (pending->discard_bytes > 0) {
        discarded = discard(pending, size);
        if (pending->discard_bytes > 0)
            return discarded;
    }
    data += discarded;
    size -= discarded;
    switch (session->wire->parse(parser, data, size, &consumed)) {
    case PARSE_DONE:
        run_pending(session);
        return discarded + consumed;
    case PARSE_MORE:
        consumed = keep_unfinished(session, parser, data, size);
        *more = pending->discard_bytes > 0;
        return discarded + consumed;
    default:
        protocol_error(session, parser->error);
        *more = false;
        return discarded;
    }
}

static void prefetch(struct session *session, uint32_t count)
{
    struct parser *parsers = session->worker->parsers;

    for (uint32_t i = 0; i < count; i++) {
        dispatch_prepare(&session->client, &parsers[i].request);
        dispatch_prefetch_bucket(&session->client, &parsers[i].request);
    }
    for (uint32_t i = 0; i < count; i++)
        dispatch_prefetch_entry(&session->client, &parsers[i].request);
}

/* A request whose bytes were changed by parsing cannot be parsed again. */
static bool can_parse_again(const struct parser *parsers, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (parsers[i].rewritten)
            return false;
    return true;
}

/* Runs what was parsed and returns with how many of the requests it is done: they have run, or
 * wait. */
static uint32_t run_batch(struct session *session, uint32_t count)
{
    struct worker *worker = session->worker;
    struct parser *parsers = worker->parsers;
    uint32_t i = 0, run_start = 0, run_count = 0;
    bool waits = false;

    if (count > 1)
        prefetch(session, count);
    else if (count == 1)
        dispatch_prepare(&session->client, &parsers[0].request);
    observer_begin(worker);
    while (i < count && !conn_closing(session->conn) &&
           (i == 0 || !conn_congested(session->conn) || !can_parse_again(parsers, i, count))) {
        const struct command *command = parsers[i].request.command;

        waits = pause_is_on(worker->server) && pause_holds(session, &parsers[i].request);
        if (waits)
            break;
        run_count += run_request(session, &parsers[i++].request);
        if (i < count &&
            observer_run_ends(&worker->observer, command, parsers[i].request.command)) {
            observer_run_ended(session, &parsers[run_start].request, run_count);
            run_start = i;
            run_count = 0;
        }
    }
    if (i > run_start)
        observer_run_ended(session, &parsers[run_start].request, run_count);
    if (i > 0)
        ran(session, i, parsers[i - 1].request.command);
    while (waits && i < count && !conn_closing(session->conn))
        wait_with(session, &parsers[i++].request);
    return i;
}

/* Parses and runs the next requests. Returns how many bytes are done with; `*more` as above. */
static size_t batch(struct session *session, char *data, size_t size, bool *more)
{
    struct parser *parsers = session->worker->parsers, *last = NULL;
    /* What a request may be depends on whether the one before it authenticated. */
    uint32_t count = 0, count_max = session->client.authenticated ? WORKER_BATCH_MAX : 1;
    const struct wire_limits *limits = limits_of(session);
    size_t ends[WORKER_BATCH_MAX], at = 0, consumed;
    enum parse parse = PARSE_DONE;

    while (count < count_max && at < size) {
        last = &parsers[count];
        last->limits = limits;
        parse = session->wire->parse(last, data + at, size - at, &consumed);
        if (parse != PARSE_DONE)
            break;
        at += consumed;
        if (last->request.argc > 0)
            ends[count++] = at;
    }
    uint32_t done = run_batch(session, count);
    if (done < count || conn_closing(session->conn) || session->waiting_first != NULL) {
        if (parse == PARSE_MORE)
            parser_reset(last);
        *more = false;
        return done > 0 ? ends[done - 1] : 0;
    }
    if (parse == PARSE_MORE) {
        at += keep_unfinished(session, last, data + at, size - at);
        *more = session->pending != NULL && session->pending->discard_bytes > 0;
    } else if (parse == PARSE_BAD) {
        protocol_error(session, last->error);
        *more = false;
    }
    return at;
}

static size_t data(struct conn *conn, char *bytes, size_t size)
{
    struct session *session = conn_user(conn);
    size_t at = 0;
    bool more = true;

    if (session == NULL) /* it was refused */
        return size;
    atomic_store_explicit(&session->active_ms, session->worker->now_ms, memory_order_relaxed);
    if (session->wire == NULL) {
        if (wire_detect(bytes, size, &session->wire) != DETECT_YES) {
            session->likely_wire = wire_likely(bytes, size);
            return 0;
        }
        session->reply.ops = watch_reply_ops(session);
    }
    while (more && at < size && !conn_congested(conn) && !conn_closing(conn) &&
           session->waiting_first == NULL)
        at += session->pending != NULL ? resume(session, bytes + at, size - at, &more)
                                       : batch(session, bytes + at, size - at, &more);
    return at;
}

/* What the first request of each connection will touch is on its way before any of them runs; the
 * rest of a pipeline is fetched by its batch. */
static void glance(struct conn *conn, const char *bytes, size_t size, bool again)
{
    struct session *session = conn_user(conn);
    struct access access;
    struct bytes key;

    if (session == NULL || session->wire == NULL || session->pending != NULL)
        return;
    access = (struct access){.engine = session->client.engine, .db = session->client.db};
    if (again) {
        if (session->glance_hash != 0)
            keyspace_prefetch_entry(&access, session->glance_hash);
        return;
    }
    session->glance_hash = 0;
    if (!session->wire->guess_key(bytes, size, &key))
        return;
    session->glance_hash = key_of(session->client.hash_seed, key).hash;
    keyspace_prefetch_bucket(&access, session->glance_hash);
}

static void filled(struct conn *conn)
{
    struct session *session = conn_user(conn);
    struct pending *pending = session->pending;
    struct blob *blob = pending->blob;
    char nothing[1] = "";
    bool more;

    pending->blob = NULL;
    parser_blob_received(&pending->parser, blob, bytes_of(blob_data(blob), blob_size(blob)));
    atomic_store_explicit(&session->active_ms, session->worker->now_ms, memory_order_relaxed);
    resume(session, nothing, 0, &more); /* the request may be complete */
}

/* ---- requests that come too slowly */

/* A request has begun, and it is the client's turn. Whatever of it has come is there: only what
 * cannot be used yet is left over. */
static bool awaits_rest(const struct session *session, const struct conn_figures *figures)
{
    return session->waiting_first == NULL && !conn_congested(session->conn) &&
           (session->pending != NULL || figures->input_bytes > 0);
}

/* A request has the time-out to come whole, counted from the sweep that found it begun, and gets it
 * again as often as it brought a byte for each millisecond. Nothing of this is done when requests
 * come: that the count of those that ran is the same tells that it is still the same one. */
static bool comes_too_slowly(struct session *session, uint32_t now_ms)
{
    struct pace *pace = &session->pace;
    uint64_t commands = counter_get(&session->commands);
    struct conn_figures figures;

    conn_figures(session->conn, &figures);
    bool same = pace->begun && pace->commands == commands;
    uint32_t passed_ms = now_ms - pace->since_ms;

    pace->begun = awaits_rest(session, &figures);
    if (!pace->begun || (same && passed_ms < session->worker->request_timeout_ms))
        return false;
    if (same && figures.bytes_received - pace->bytes < passed_ms)
        return true;
    pace->commands = commands;
    pace->since_ms = now_ms;
    pace->bytes = figures.bytes_received;
    return false;
}

static void swept(struct conn *conn, uint32_t now_ms)
{
    struct session *session = conn_user(conn);

    if (session == NULL) /* it was refused */
        return;
    const struct wire *wire = session->wire != NULL ? session->wire : session->likely_wire;

    if (wire == NULL || !wire->hurries || !comes_too_slowly(session, now_ms))
        return;
    if (session->wire == NULL) {
        session->wire = wire;
        session->reply.ops = watch_reply_ops(session);
    }
    protocol_error(session, wire_too_slow);
}

/* ---- the loop's own moments */

static void awake(struct loop *loop)
{
    struct worker *worker = loop_owner(loop);

    worker->now_ms = clock_engine_ms();
    observer_awake(worker);
    engine_thread_online(worker->engine_thread);
    if (flush_is_due(worker->server, worker->now_ms))
        flush_run(worker);
}

static void dropped(struct conn *conn, enum loop_drop why)
{
    struct session *session = conn_user(conn);

    if (session == NULL) /* it was refused */
        return;
    unsigned long long id = session->id;
    session->close_reason = why == LOOP_DROP_IDLE ? "idle_timeout" : "error";
    if (why == LOOP_DROP_IDLE) {
        log_line(LOG_VERBOSE, "client %llu was idle and was closed", id);
    } else if (why == LOOP_DROP_STALLED) {
        log_line(LOG_NOTICE, "client %llu takes no replies and was closed", id);
    } else {
        counter_add(&session->worker->output_drops, 1);
        log_line(LOG_WARNING,
                 "client %llu was closed: more waits for it than client-output-buffer-limit allows",
                 id);
    }
}

static void alarm_rang(struct loop *loop)
{
    pause_let_on(loop_owner(loop));
    flush_watch(loop_owner(loop));
}

static void asleep(struct loop *loop)
{
    struct worker *worker = loop_owner(loop);

    engine_thread_offline(worker->engine_thread);
    monitor_turn(worker);
    observer_asleep(worker);
}

const struct loop_handler session_handler = {
    .opened = opened,
    .data = data,
    .glance = glance,
    .filled = filled,
    .swept = swept,
    .closed = closed,
    .dropped = dropped,
    .let_on = let_on,
    .alarm = alarm_rang,
    .awake = awake,
    .asleep = asleep,
};
