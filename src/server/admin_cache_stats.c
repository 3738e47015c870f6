/* SPDX-License-Identifier: MIT
 *
 * The statistics that memcached's clients ask for, under memcached's names, as pairs of texts. They
 * come from what INFO is made of. A name is there only where this server has what it means:
 *
 *   cmd_get, get_hits, get_misses   reads of all clients, whatever they speak
 *   cmd_set                         stores of all clients
 *   total_items                     keys that were made; memcached counts overwriting too
 *   delete_, incr_, decr_, cas_, touch_   what came as an item command
 *   curr_items                      of database 0, the one that memcached's clients see
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "command/call.h"
#include "os/clock.h"
#include "os/process.h"
#include "server/admin.h"
#include "server/clients.h"
#include "server/command_stats.h"
#include "server/log.h"
#include "server/session.h"
#include "server/text.h"

enum { STATS_SIZE_MAX = 64 * 1024 * 1024, NAME_SIZE = 64, VALUE_SIZE = 512 };

#define LLU(number) ((unsigned long long)(number))

/* Pairs, counted before any is emitted: names and values, each with a NUL behind it. */
struct pairs {
    struct buffer text;
    uint64_t count;
};

static void add(struct pairs *pairs, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void add(struct pairs *pairs, const char *name, const char *format, ...)
{
    char value[VALUE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(value, sizeof(value), format, arguments);
    va_end(arguments);
    sink_write(&pairs->text.sink, name, strlen(name) + 1);
    sink_write(&pairs->text.sink, value, strlen(value) + 1);
    pairs->count++;
}

static void add_number(struct pairs *pairs, const char *name, uint64_t number)
{
    add(pairs, name, "%llu", LLU(number));
}

/* ---- general */

static uint64_t calls_of(struct server *server, const char *const *names)
{
    struct command_sum sum;
    uint64_t calls = 0;

    for (; *names != NULL; names++) {
        command_stats_sum(server, command_find(bytes_of_text(*names))->id, &sum);
        calls += sum.calls;
    }
    return calls;
}

static void add_process(struct server *server, struct pairs *pairs)
{
    uint64_t user_us, system_us;

    process_cpu_us(&user_us, &system_us);
    add_number(pairs, "pid", process_id());
    add_number(pairs, "uptime", (uint64_t)(clock_engine_ms() - server->started_ms) / 1000);
    add_number(pairs, "time", (uint64_t)clock_engine_ms() / 1000);
    add(pairs, "version", "%s", LARDER_VERSION);
    add_number(pairs, "pointer_size", 8 * sizeof(void *));
    add(pairs, "rusage_user", "%llu.%06llu", LLU(user_us / 1000000), LLU(user_us % 1000000));
    add(pairs, "rusage_system", "%llu.%06llu", LLU(system_us / 1000000), LLU(system_us % 1000000));
}

static void add_connections(struct server *server, const struct server_totals *totals,
                            struct pairs *pairs)
{
    add_number(pairs, "max_connections", (uint64_t)server->options.maxclients);
    add_number(pairs, "curr_connections", atomic_load(&server->clients));
    add_number(pairs, "total_connections", totals->connections);
    add_number(pairs, "rejected_connections", totals->rejected);
}

static uint64_t sum_results(const struct item_sum *items, enum item_kind kind)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < ITEM_RESULTS; i++)
        sum += items->of[kind][i];
    return sum;
}

/* Each request is counted where it belongs to, and here only added up. */
static void add_commands(struct server *server, const struct engine_stats *engine,
                         struct pairs *pairs)
{
    static const char *const sets[] = {"set",    "setnx", "setex",  "psetex",
                                       "getset", "mset",  "msetnx", NULL};
    static const char *const flushes[] = {"cache-flush", "flushdb", "flushall", NULL};
    static const struct {
        const char *name;
        enum item_kind kind;
        enum item_result result;
    } rows[] = {
        {"delete_misses", ITEM_KIND_DELETE, ITEM_RESULT_MISS},
        {"delete_hits", ITEM_KIND_DELETE, ITEM_RESULT_HIT},
        {"incr_misses", ITEM_KIND_RAISE, ITEM_RESULT_MISS},
        {"incr_hits", ITEM_KIND_RAISE, ITEM_RESULT_HIT},
        {"decr_misses", ITEM_KIND_LOWER, ITEM_RESULT_MISS},
        {"decr_hits", ITEM_KIND_LOWER, ITEM_RESULT_HIT},
        {"cas_misses", ITEM_KIND_SWAP, ITEM_RESULT_MISS},
        {"cas_hits", ITEM_KIND_SWAP, ITEM_RESULT_HIT},
        {"cas_badval", ITEM_KIND_SWAP, ITEM_RESULT_DIFFERS},
        {"touch_hits", ITEM_KIND_TOUCH, ITEM_RESULT_HIT},
        {"touch_misses", ITEM_KIND_TOUCH, ITEM_RESULT_MISS},
    };
    struct item_sum items;

    command_stats_items(server, &items);
    add_number(pairs, "cmd_get", engine->hits + engine->misses);
    add_number(pairs, "cmd_set",
               sum_results(&items, ITEM_KIND_SET) + sum_results(&items, ITEM_KIND_SWAP) +
                   calls_of(server, sets));
    add_number(pairs, "cmd_flush", calls_of(server, flushes));
    add_number(pairs, "cmd_touch", sum_results(&items, ITEM_KIND_TOUCH));
    add_number(pairs, "get_hits", engine->hits);
    add_number(pairs, "get_misses", engine->misses);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        add_number(pairs, rows[i].name, items.of[rows[i].kind][rows[i].result]);
}

static void add_authentication(struct server *server, struct pairs *pairs)
{
    static const char *const names[] = {"item-auth", "auth"};
    uint64_t calls = 0, failed = 0;
    struct command_sum sum;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        command_stats_sum(server, command_find(bytes_of_text(names[i]))->id, &sum);
        calls += sum.calls;
        failed += sum.failed;
    }
    add_number(pairs, "auth_cmds", calls);
    add_number(pairs, "auth_errors", failed);
}

static void general(struct call *call, struct pairs *pairs)
{
    struct server *server = server_of(call);
    struct server_totals totals;
    struct engine_stats engine;

    server_totals(server, &totals);
    engine_stats(server->engine, &engine);
    add_process(server, pairs);
    add_connections(server, &totals, pairs);
    add_commands(server, &engine, pairs);
    add_authentication(server, pairs);
    add_number(pairs, "bytes_read", totals.bytes_received);
    add_number(pairs, "bytes_written", totals.bytes_sent);
    add_number(pairs, "limit_maxbytes", (uint64_t)server->options.maxmemory);
    add_number(pairs, "threads", server->worker_count);
    add_number(pairs, "hash_bytes", engine.table_bytes);
    add_number(pairs, "bytes", engine.live_bytes);
    add_number(pairs, "curr_items", engine_key_count(server->engine, 0));
    add_number(pairs, "total_items", engine.inserted);
}

/* ---- settings */

static uint32_t verbosity_of(int64_t level)
{
    static const uint32_t verbosities[] = {
        [LOG_DEBUG] = 3, [LOG_VERBOSE] = 2, [LOG_NOTICE] = 1, [LOG_WARNING] = 0, [LOG_NOTHING] = 0};

    return verbosities[level];
}

static void settings(struct call *call, struct pairs *pairs)
{
    struct options *options = &server_of(call)->options;
    const char *auth = options_password_set(options) ? "yes" : "no";

    add_number(pairs, "maxbytes", (uint64_t)options->maxmemory);
    add_number(pairs, "maxconns", (uint64_t)options->maxclients);
    add_number(pairs, "tcpport", (uint64_t)options->port);
    add_number(pairs, "udpport", 0);
    add(pairs, "inter", "%s", options->bind);
    add_number(pairs, "verbosity", verbosity_of(options->loglevel));
    add(pairs, "evictions", "off");
    add(pairs, "domain_socket", "%s",
        options->unixsocket[0] != '\0' ? options->unixsocket : "NULL");
    add(pairs, "umask", "%llo", LLU(options->unixsocketperm));
    add(pairs, "shutdown_command", "%s", options->memcache_shutdown ? "yes" : "no");
    add_number(pairs, "num_threads", server_of(call)->worker_count);
    add(pairs, "detail_enabled", "no");
    add(pairs, "cas_enabled", "yes");
    add_number(pairs, "tcp_backlog", (uint64_t)options->tcp_backlog);
    add(pairs, "binding_protocol", "auto-negotiate");
    add(pairs, "auth_enabled_sasl", "%s", auth);
    add(pairs, "auth_enabled_ascii", "%s", auth);
    add_number(pairs, "item_size_max", (uint64_t)options->argument_size_max);
    add(pairs, "maxconns_fast", "yes");
    add(pairs, "flush_enabled", "yes");
    add(pairs, "dump_enabled", "no");
    add_number(pairs, "idle_timeout", (uint64_t)options->timeout_us / 1000000);
    add(pairs, "track_sizes", "no");
    add_number(pairs, "client_flags_size", sizeof(((struct item_terms *)NULL)->flags));
}

/* ---- the others */

/* There are no classes of items by size, so all are in one. */
static void items(struct call *call, struct pairs *pairs)
{
    uint64_t keys = engine_key_count(server_of(call)->engine, 0);

    if (keys > 0)
        add_number(pairs, "items:1:number", keys);
}

static void sizes(struct call *call, struct pairs *pairs)
{
    (void)call;
    add(pairs, "sizes_status", "disabled");
}

static void add_of(struct pairs *pairs, int fd, const char *what, const char *value)
{
    char name[NAME_SIZE];

    snprintf(name, sizeof(name), "%d:%s", fd, what);
    add(pairs, name, "%s", value);
}

/* "tcp:127.0.0.1:1234", "tcp6:[::1]:1234" or "unix:/path". */
static void spell_address(const struct listener *listener, const char *address, char *out)
{
    if (listener->kind == LISTENER_UNIX)
        snprintf(out, VALUE_SIZE, "unix:%s", listener->address);
    else
        snprintf(out, VALUE_SIZE, "%s:%s", address[0] == '[' ? "tcp6" : "tcp", address);
}

static void add_listener(struct pairs *pairs, const struct listener *listener)
{
    char local[VALUE_SIZE / 2], address[VALUE_SIZE];

    snprintf(local, sizeof(local), strchr(listener->address, ':') != NULL ? "[%s]:%u" : "%s:%u",
             listener->address, listener->port);
    spell_address(listener, local, address);
    add_of(pairs, listener->fd, "addr", address);
    add_of(pairs, listener->fd, "state", "conn_listening");
}

static const char *state_of(const struct client_view *view, bool asks)
{
    if (asks)
        return "conn_parse_cmd";
    if (view->state & SESSION_CLOSES)
        return "conn_closing";
    if (view->figures.output_bytes > 0)
        return "conn_mwrite";
    return view->figures.input_bytes > 0 ? "conn_waiting" : "conn_read";
}

static void add_client(struct pairs *pairs, const struct client_view *view, bool asks)
{
    int64_t silence_ms = clock_engine_ms() - view->active_ms;
    char address[VALUE_SIZE], seconds[32];

    spell_address(view->listener, view->peer, address);
    add_of(pairs, view->fd, "addr", address);
    spell_address(view->listener, view->local, address);
    add_of(pairs, view->fd, "listen_addr", address);
    add_of(pairs, view->fd, "state", state_of(view, asks));
    snprintf(seconds, sizeof(seconds), "%lld", (long long)(silence_ms > 0 ? silence_ms / 1000 : 0));
    add_of(pairs, view->fd, "secs_since_last_cmd", seconds);
}

static void conns(struct call *call, struct pairs *pairs)
{
    struct server *server = server_of(call);
    struct client_view *views;
    uint32_t count;

    if (clients_snapshot(server, &views, &count) != STATUS_OK) {
        pairs->text.sink.failed = true;
        return;
    }
    for (uint32_t i = 0; i < server->listener_count; i++)
        add_listener(pairs, &server->listeners[i]);
    for (uint32_t i = 0; i < count; i++)
        add_client(pairs, &views[i], views[i].id == session_of(call)->id);
    clients_snapshot_end(views, count);
}

/* ---- the command */

static void emit(struct call *call, struct pairs *pairs)
{
    const struct reply_ops *ops = call->reply->ops;

    if (pairs->text.sink.failed) {
        reply_status(call->reply, STATUS_NO_MEMORY);
    } else {
        const char *at = buffer_bytes(&pairs->text).data;

        ops->map(call->reply, pairs->count);
        for (uint64_t i = 0; i < 2 * pairs->count; i++, at += strlen(at) + 1)
            ops->bytes(call->reply, bytes_of_text(at));
    }
    buffer_deinit(&pairs->text);
}

static enum outcome reset(struct call *call)
{
    engine_stats_reset(server_of(call)->engine);
    server_totals_reset(server_of(call));
    call->reply->ops->word(call->reply, "RESET");
    return OUTCOME_DONE;
}

/* Words after the section say nothing to memcached either. */
enum outcome admin_cache_stats(struct call *call)
{
    static const struct {
        const char *name;
        void (*gather)(struct call *call, struct pairs *pairs);
    } sections[] = {{"settings", settings}, {"items", items}, {"conns", conns}, {"sizes", sizes}};
    void (*gather)(struct call * call, struct pairs * pairs) = call->argc == 1 ? general : NULL;
    struct pairs pairs = {.count = 0};

    for (size_t i = 0; call->argc > 1 && i < sizeof(sections) / sizeof(sections[0]); i++)
        if (bytes_equal(call->argv[1], bytes_of_text(sections[i].name)))
            gather = sections[i].gather;
    if (gather == NULL) {
        if (bytes_equal(call->argv[1], BYTES("reset")))
            return reset(call);
        reply_error(call->reply, "ERROR", BYTES(""));
        return OUTCOME_DONE;
    }
    buffer_init(&pairs.text, STATS_SIZE_MAX);
    gather(call, &pairs);
    emit(call, &pairs);
    return OUTCOME_DONE;
}
