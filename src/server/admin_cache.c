/* SPDX-License-Identifier: MIT
 *
 * What clients of memcached ask of the server itself, for wires that have such requests. What is
 * told of statistics is in admin_cache_stats.c.
 *
 * Errors here have the words that begin memcached's errors for codes (CLIENT_ERROR, SERVER_ERROR,
 * ERROR, MEMLIMIT_...), so that "code text" is what such a client reads.
 */
#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "command/call.h"
#include "engine/keyspace.h"
#include "server/admin.h"
#include "server/flush.h"
#include "server/log.h"
#include "server/server_options.h"
#include "server/session.h"

enum { MEGABYTES_MIN = 8, MEGABYTES_MAX = 1000000000 };

enum outcome admin_cache_version(struct call *call)
{
    call->reply->ops->word(call->reply, LARDER_VERSION);
    return OUTCOME_DONE;
}

static bool parse_u32(struct bytes text, uint64_t *out)
{
    return number_parse_u64(text, out) && *out <= UINT32_MAX;
}

/* ---- emptying */

/* What is due in the past is due now. */
static int64_t due_ms(struct call *call, struct item_time time)
{
    int64_t now_ms = call_fresh_ms(call), at_ms = now_ms;

    if (time.form == ITEM_TIME_AT)
        at_ms = time.ms;
    else if (time.form == ITEM_TIME_AFTER)
        at_ms = time.ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + time.ms;
    return at_ms > now_ms ? at_ms : 0;
}

enum outcome admin_cache_flush(struct call *call)
{
    struct worker *worker = session_of(call)->worker;
    int64_t at_ms;

    if (call->access.locked) { /* the second time around */
        flush_plan(worker, 0);
        keyspace_flush(&call->access, 0);
        return call_status(call, STATUS_OK);
    }
    at_ms = due_ms(call, call->terms->time);
    if (at_ms == 0)
        return OUTCOME_NEED_LOCK;
    flush_plan(worker, at_ms);
    return call_status(call, STATUS_OK);
}

/* ---- options */

/* Sets an option whose value is a number. */
static bool set_number(struct call *call, const char *name, int64_t number)
{
    const struct option *option = option_find(bytes_of_text(name));
    struct option_value value = {.number = number};
    char message[OPTION_MESSAGE_SIZE];
    uint32_t failed;

    if (!server_options_set(server_of(call), &option, &value, 1, &failed, message))
        return false;
    log_line(LOG_VERBOSE, "client %llu changed %s", (unsigned long long)session_of(call)->id, name);
    return true;
}

/* memcached has 0 for nothing special, 1 for some and 2 for much. */
enum outcome admin_cache_verbosity(struct call *call)
{
    static const enum log_level levels[] = {LOG_WARNING, LOG_NOTICE, LOG_VERBOSE, LOG_DEBUG};
    uint64_t level;

    if (!parse_u32(call->argv[1], &level)) {
        reply_errorf(call->reply, "CLIENT_ERROR", "bad command line format");
        return OUTCOME_DONE;
    }
    if (!set_number(call, "loglevel", levels[level < 3 ? level : 3])) {
        reply_errorf(call->reply, "SERVER_ERROR", "the log level stays");
        return OUTCOME_DONE;
    }
    return call_status(call, STATUS_OK);
}

enum outcome admin_cache_memlimit(struct call *call)
{
    uint64_t megabytes;

    if (!parse_u32(call->argv[1], &megabytes))
        reply_error(call->reply, "ERROR", BYTES(""));
    else if (megabytes < MEGABYTES_MIN)
        reply_errorf(call->reply, "MEMLIMIT_TOO_SMALL", "cannot set maxbytes to less than %dm",
                     MEGABYTES_MIN);
    else if (megabytes > MEGABYTES_MAX)
        reply_errorf(call->reply, "MEMLIMIT_ADJUST_FAILED", "input value is megabytes not bytes");
    else if (!set_number(call, "maxmemory", (int64_t)megabytes * 1024 * 1024))
        reply_errorf(call->reply, "MEMLIMIT_ADJUST_FAILED", "out of bounds or unable to adjust");
    else
        return call_status(call, STATUS_OK);
    return OUTCOME_DONE;
}

/* ---- watching */

enum outcome admin_cache_watch(struct call *call)
{
    static const struct {
        const char *name;
        enum monitor_class class;
    } rows[] = {{"fetchers", MONITOR_FETCHES},
                {"mutations", MONITOR_MUTATIONS},
                {"deletions", MONITOR_DELETIONS},
                {"connevents", MONITOR_CONNECTIONS}};
    uint32_t classes = call->argc == 1 ? 1U << MONITOR_FETCHES : 0;

    for (uint32_t i = 1; i < call->argc; i++) {
        uint32_t found = 0;

        for (size_t j = 0; j < sizeof(rows) / sizeof(rows[0]); j++)
            if (bytes_equal(call->argv[i], bytes_of_text(rows[j].name)))
                found = 1U << rows[j].class;
        if (found == 0) {
            reply_error(call->reply, "ERROR", BYTES(""));
            return OUTCOME_DONE;
        }
        classes |= found;
    }
    enum status status = monitor_begin(session_of(call), classes);
    /* As memcached does, which hands the connection to those who write to it. */
    call->client->unheard = status == STATUS_OK;
    return call_status(call, status);
}

/* ---- stopping */

/* Every stop is a graceful one. Like memcached's, one that begins does not reply. */
enum outcome admin_cache_shutdown(struct call *call)
{
    struct session *session = session_of(call);

    if (!server_of(call)->options.memcache_shutdown) {
        reply_errorf(call->reply, "SERVER_ERROR", "shutdown not enabled");
        return OUTCOME_DONE;
    }
    if (call->argc > 2 || (call->argc == 2 && !bytes_equal(call->argv[1], BYTES("graceful")))) {
        reply_errorf(call->reply, "CLIENT_ERROR", "invalid shutdown mode");
        return OUTCOME_DONE;
    }
    log_line(LOG_NOTICE, "client %llu asked for a shutdown", (unsigned long long)session->id);
    conn_close_after_flush(session->conn);
    server_ask_stop(server_of(call), SERVER_STOPS);
    return OUTCOME_DONE;
}
