/* SPDX-License-Identifier: MIT
 *
 * See server/server_options.h. `options_lock` makes one change follow the other, so that what takes
 * effect last is what was stored last.
 */
#include "server/server_options.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "os/file.h"
#include "os/process.h"
#include "server/addresses.h"
#include "server/admin_port.h"
#include "server/config_rewrite.h"
#include "server/log.h"
#include "server/worker.h"

enum {
    /* Descriptors that are not a client's: files, listeners, rings and wake-ups of the loops. */
    DESCRIPTORS_SPARE = 32,
    DESCRIPTORS_PER_WORKER = 8,
    DESCRIPTORS_ADMIN_PORT = ADMIN_LISTENERS_MAX + ADMIN_CONNECTIONS_MAX + 4,
};

bool server_clients_fit(struct server *server, struct options *options)
{
    uint64_t clients = (uint64_t)options->maxclients;
    uint64_t other = DESCRIPTORS_SPARE + (uint64_t)server->threads * DESCRIPTORS_PER_WORKER;
    other += options->admin_port != 0 ? DESCRIPTORS_ADMIN_PORT : 0;
    uint64_t limit = process_descriptors_raise(clients + other);
    uint64_t possible = limit > other ? limit - other : 1;

    if (clients <= possible)
        return true;
    log_line(LOG_WARNING,
             "maxclients lowered from %llu to %llu: this process may open %llu descriptors; raise "
             "the limit with ulimit -n %llu",
             (unsigned long long)clients, (unsigned long long)possible, (unsigned long long)limit,
             (unsigned long long)(clients + other));
    options->maxclients = (int64_t)possible;
    return false;
}

bool server_keepalive_set(struct server *server)
{
    uint32_t silence_s = (uint32_t)((server->options.tcp_keepalive_us + 999999) / 1000000);

    for (uint32_t i = 0; i < server->listener_count; i++)
        if (server->listeners[i].kind == LISTENER_TCP &&
            socket_set_keepalive(server->listeners[i].fd, silence_s) != IO_OK)
            return false;
    return true;
}

/* ---- acting on changes */

static bool changed_maxmemory(struct server *server, char *message)
{
    (void)message;
    engine_memory_max_set(server->engine, (uint64_t)server->options.maxmemory);
    return true;
}

static bool changed_maxclients(struct server *server, char *message)
{
    if (server_clients_fit(server, &server->options))
        return true;
    snprintf(message, OPTION_MESSAGE_SIZE,
             "The operating system is not able to handle the specified number of clients, try "
             "with %lld",
             (long long)server->options.maxclients);
    return false;
}

static bool changed_password(struct server *server, char *message)
{
    (void)message;
    server->guarded = options_password_set(&server->options);
    return true;
}

static bool changed_limits(struct server *server, char *message)
{
    for (uint32_t i = 0; i < server->worker_count; i++) {
        if (!worker_limits_changed(&server->workers[i])) {
            snprintf(message, OPTION_MESSAGE_SIZE, "out of memory");
            return false;
        }
    }
    return true;
}

static bool changed_keepalive(struct server *server, char *message)
{
    if (server_keepalive_set(server))
        return true;
    snprintf(message, OPTION_MESSAGE_SIZE, "the system refuses it");
    return false;
}

static bool changed_log(struct server *server, char *message)
{
    (void)message;
    log_level_set((enum log_level)server->options.loglevel);
    log_format_set((enum log_format)server->options.log_format);
    return true;
}

static bool changed_observed(struct server *server, char *message)
{
    (void)message;
    server_observed_changed(server);
    return true;
}

static bool changed(struct server *server, const struct option *option, char *message)
{
    static const struct {
        size_t offset;
        bool (*act)(struct server *server, char *message);
    } hooks[] = {
        {offsetof(struct options, maxmemory), changed_maxmemory},
        {offsetof(struct options, maxclients), changed_maxclients},
        {offsetof(struct options, requirepass), changed_password},
        {offsetof(struct options, loglevel), changed_log},
        {offsetof(struct options, log_format), changed_log},
        {offsetof(struct options, timeout_us), changed_limits},
        {offsetof(struct options, http_request_timeout_us), changed_limits},
        {offsetof(struct options, output_soft_bytes), changed_limits},
        {offsetof(struct options, output_stall_us), changed_limits},
        {offsetof(struct options, query_size_max), changed_limits},
        {offsetof(struct options, argument_size_max), changed_limits},
        {offsetof(struct options, latency_tracking), changed_observed},
        {offsetof(struct options, latency_threshold_ms), changed_observed},
        {offsetof(struct options, slowlog_threshold_us), changed_observed},
        {offsetof(struct options, slowlog_count_max), changed_observed},
        {offsetof(struct options, output_limits), changed_limits},
        {offsetof(struct options, tcp_keepalive_us), changed_keepalive},
    };

    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
        if (hooks[i].offset == option->offset)
            return hooks[i].act(server, message);
    return true; /* it is read where it is used */
}

/* ---- setting */

/* Puts the old values back, and tells those of the first `told` that may know of the new: a change
 * that failed may have reached some workers. */
static void take_back(struct server *server, const struct option *const *options,
                      const struct option_value *old, uint32_t count, uint32_t told)
{
    char ignored[OPTION_MESSAGE_SIZE];

    for (uint32_t i = count; i-- > 0;)
        options_store(&server->options, options[i], old[i]);
    for (uint32_t i = 0; i < told; i++)
        (void)changed(server, options[i], ignored);
}

/* Whether anybody may take the password away; looked at before it is gone, not afterwards. */
static bool may_lose_password(struct server *server, const struct option *option,
                              const struct option_value *value, char *message)
{
    struct address address;

    if (option->offset != offsetof(struct options, requirepass) || value->text[0] != '\0' ||
        !addresses_need_password(&server->options, &address))
        return true;
    snprintf(message, OPTION_MESSAGE_SIZE,
             "without a password anybody who reaches %s could read and change everything; the "
             "server would have to be started with protected-mode no",
             address.text);
    return false;
}

/* Under the lock. */
static bool set_all(struct server *server, const struct option *const *options,
                    struct option_value *values, uint32_t count, uint32_t *out_failed,
                    char *message)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!may_lose_password(server, options[i], &values[i], message)) {
            *out_failed = i;
            while (count > 0)
                alloc_free(values[--count].text);
            return false;
        }
    }
    /* From here on `values` holds what was there before. */
    for (uint32_t i = 0; i < count; i++)
        values[i] = options_exchange(&server->options, options[i], values[i]);
    for (uint32_t i = 0; i < count; i++) {
        if (!changed(server, options[i], message)) {
            take_back(server, options, values, count, i + 1);
            *out_failed = i;
            return false;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        alloc_free(values[i].text);
    return true;
}

bool server_options_set(struct server *server, const struct option *const *options,
                        struct option_value *values, uint32_t count, uint32_t *out_failed,
                        char *message)
{
    lock_acquire(&server->options_lock);
    bool good = set_all(server, options, values, count, out_failed, message);
    lock_release(&server->options_lock);
    return good;
}

bool server_options_rewrite(struct server *server, char *message)
{
    /* `config` is read at the start and stays. */
    lock_acquire(&server->options_lock);
    bool good = config_rewrite(&server->options, server->options.config, message);
    lock_release(&server->options_lock);
    if (good)
        log_line(LOG_NOTICE, "CONFIG REWRITE executed with success.");
    else
        log_line(LOG_WARNING, "CONFIG REWRITE failed: %s", message);
    return good;
}

/* ---- reloading */

static void reopen_log(struct server *server)
{
    const char *why;

    if (!log_open(server->options.logfile, &why))
        log_line(LOG_WARNING, "cannot open the log file '%s' anew, going on with the old one: %s",
                 server->options.logfile, why);
}

/* Collects what differs from the running values; false: memory is out. */
static bool compare(struct server *server, struct options *fresh, const struct option **options,
                    struct option_value *values, uint32_t *count)
{
    for (uint32_t i = 0; i < option_count(); i++) {
        const struct option *option = option_at(i);
        struct option_value value;

        if (options_equal(fresh, &server->options, option))
            continue;
        if (option->when != OPTION_LIVE) {
            log_line(LOG_WARNING, "%s has changed and takes effect at the next start",
                     option->name);
            continue;
        }
        if (!options_copy(fresh, option, &value))
            return false;
        options[*count] = option;
        values[(*count)++] = value;
    }
    return true;
}

static bool apply(struct server *server, struct options *fresh)
{
    const struct option *options[OPTIONS_MAX];
    struct option_value values[OPTIONS_MAX];
    char message[OPTION_MESSAGE_SIZE];
    uint32_t count = 0, failed;
    bool good = false;

    server_clients_fit(server, fresh);
    lock_acquire(&server->options_lock);
    if (!compare(server, fresh, options, values, &count)) {
        while (count > 0)
            alloc_free(values[--count].text);
        log_line(LOG_WARNING, "configuration not reloaded: memory is out");
    } else if (!set_all(server, options, values, count, &failed, message)) {
        log_line(LOG_WARNING, "configuration not reloaded: %s: %s", options[failed]->name, message);
    } else {
        for (uint32_t i = 0; i < count; i++)
            log_line(LOG_NOTICE, "%s has changed", options[i]->name);
        log_line(LOG_NOTICE, "configuration reloaded, options changed: %u", count);
        good = true;
    }
    lock_release(&server->options_lock);
    return good;
}

bool server_reload(struct server *server)
{
    struct options fresh;
    char message[OPTION_MESSAGE_SIZE];
    bool good = false;

    reopen_log(server);
    if (file_may_block(server->options.config)) { /* this thread minds signals */
        log_line(LOG_WARNING, "configuration not reloaded: '%s' is not a regular file",
                 server->options.config);
        return false;
    }
    if (options_init(&fresh) != STATUS_OK) {
        log_line(LOG_WARNING, "configuration not reloaded: memory is out");
        return false;
    }
    if (options_load(&fresh, &server->arguments, message) == OPTIONS_BAD)
        log_line(LOG_WARNING, "configuration not reloaded, nothing has changed: %s", message);
    else
        good = apply(server, &fresh);
    options_deinit(&fresh);
    return good;
}
