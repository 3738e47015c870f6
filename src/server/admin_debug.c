/* SPDX-License-Identifier: MIT
 *
 * DEBUG: what test suites of others ask for, where enable-debug-command lets them.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "command/call.h"
#include "command/object.h"
#include "command/payload.h"
#include "os/clock.h"
#include "server/admin.h"
#include "server/log.h"
#include "server/session.h"
#include "wire/resp_sample.h"

enum { SLEEP_S_MAX = 3600, ERROR_SIZE_MAX = 512 };

static bool debug_allowed(struct call *call)
{
    int64_t allowed = server_of(call)->options.enable_debug_command; /* no, local, yes */

    if (allowed == 2 || (allowed == 1 && session_local(session_of(call))))
        return true;
    reply_errorf(call->reply, "ERR",
                 "DEBUG command not allowed. If the enable-debug-command option is set to "
                 "\"local\", you can run it from a local connection, otherwise you need to set "
                 "this option in the configuration file, and then restart the server.");
    return false;
}

/* Stops everything its worker does, as a slow command would. */
enum outcome admin_debug_sleep(struct call *call)
{
    double seconds;

    if (!debug_allowed(call))
        return OUTCOME_DONE;
    if (!number_parse_double(call->argv[2], &seconds) || seconds < 0 || seconds > SLEEP_S_MAX)
        return call_status(call, STATUS_NOT_FLOAT);
    engine_thread_offline(call->client->thread);
    clock_sleep_us((uint64_t)(seconds * 1e6));
    engine_thread_online(call->client->thread);
    return call_status(call, STATUS_OK);
}

/* The first word is the code. */
enum outcome admin_debug_error(struct call *call)
{
    char line[ERROR_SIZE_MAX + 1];
    size_t size = call->argv[2].size < ERROR_SIZE_MAX ? call->argv[2].size : ERROR_SIZE_MAX;

    if (!debug_allowed(call))
        return OUTCOME_DONE;
    for (size_t i = 0; i < size; i++) {
        char c = call->argv[2].data[i];

        line[i] = c;
        if (c == '\r' || c == '\n' || c == '\0')
            line[i] = ' ';
    }
    line[size] = '\0';
    size_t code_size = strcspn(line, " ");
    bool has_text = line[code_size] != '\0';
    line[code_size] = '\0';
    reply_error(call->reply, line, bytes_of_text(line + code_size + has_text));
    return OUTCOME_DONE;
}

enum outcome admin_debug_log(struct call *call)
{
    if (!debug_allowed(call))
        return OUTCOME_DONE;
    log_line(LOG_WARNING, "DEBUG LOG: %.*s", (int)call->argv[2].size, call->argv[2].data);
    return call_status(call, STATUS_OK);
}

/* As Redis words it. When and how often keys are used is not kept: the last two are zero. */
enum outcome admin_debug_object(struct call *call)
{
    struct key key = call_key(call);
    struct footprint footprint;
    struct value value;
    char line[256];

    if (!debug_allowed(call))
        return OUTCOME_DONE;
    if (!keyspace_footprint(&call->access, &key, &footprint))
        return call_status(call, STATUS_NO_SUCH_KEY);
    keyspace_peek(&call->access, &key, &value);
    snprintf(line, sizeof(line),
             "Value at:%p refcount:%u encoding:%s serializedlength:%zu lru:0 lru_seconds_idle:0",
             footprint.address, object_holder_count(&value), object_encoding_name(&value),
             payload_value_size(&value));
    call->reply->ops->word(call->reply, line);
    return OUTCOME_DONE;
}

enum outcome admin_debug_protocol(struct call *call)
{
    if (debug_allowed(call) && !resp_sample(call->reply, call->argv[2]))
        reply_errorf(call->reply, "ERR",
                     "Wrong protocol type name. Please use one of the following: string|integer|"
                     "double|bignum|null|array|set|map|attrib|push|verbatim|true|false");
    return OUTCOME_DONE;
}

enum outcome admin_debug_set_active_expire(struct call *call)
{
    int64_t on;

    if (!debug_allowed(call))
        return OUTCOME_DONE;
    if (!number_parse_i64(call->argv[2], &on))
        return call_status(call, STATUS_NOT_INTEGER);
    engine_active_expiry_set(server_of(call)->engine, on != 0);
    return call_status(call, STATUS_OK);
}

enum outcome admin_debug_help(struct call *call)
{
    static const char *const lines[] = {
        "ERROR <string>",
        "    Return a Redis protocol error with <string> as message.",
        "LOG <message>",
        "    Write <message> to the server log.",
        "OBJECT <key>",
        "    Tell where the value of <key> lies and how it is kept.",
        "PROTOCOL <type>",
        "    Reply with a test value of the specified type. <type> can be: string,",
        "    integer, double, bignum, null, array, set, map, attrib, push, verbatim,",
        "    true, false.",
        "SET-ACTIVE-EXPIRE <0|1>",
        "    Whether keys that have expired go before somebody asks for them.",
        "SLEEP <seconds>",
        "    Stop the worker of this connection for <seconds>. Decimals allowed.",
        NULL,
    };
    return admin_help(call, "DEBUG", lines);
}
