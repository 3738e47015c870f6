/* SPDX-License-Identifier: MIT
 *
 * SHUTDOWN and DEBUG.
 */
#include "base/number.h"
#include "command/call.h"
#include "os/clock.h"
#include "server/admin.h"
#include "server/log.h"
#include "server/session.h"

enum { SLEEP_S_MAX = 3600 };

/* Like Redis, a shutdown that begins does not reply: the connection closes. */
enum outcome admin_shutdown(struct call *call)
{
    struct session *session = session_of(call);
    bool abort = false, save = false, no_save = false;
    enum server_stop how = SERVER_STOPS;

    for (uint32_t i = 1; i < call->argc; i++) {
        if (bytes_equal_text_nocase(call->argv[i], "nosave"))
            no_save = true;
        else if (bytes_equal_text_nocase(call->argv[i], "save"))
            save = true;
        else if (bytes_equal_text_nocase(call->argv[i], "now"))
            how = SERVER_STOPS_NOW;
        else if (bytes_equal_text_nocase(call->argv[i], "abort"))
            abort = true;
        else if (!bytes_equal_text_nocase(call->argv[i], "force"))
            return call_status(call, STATUS_SYNTAX);
    }
    if ((abort && call->argc > 2) || (save && no_save))
        return call_status(call, STATUS_SYNTAX);
    if (abort) {
        reply_errorf(call->reply, "ERR", "No shutdown in progress.");
        return OUTCOME_DONE;
    }
    if (save) {
        log_line(LOG_WARNING, "refused SHUTDOWN SAVE: this server saves nothing");
        reply_errorf(call->reply, "ERR", "Errors trying to SHUTDOWN. Check logs.");
        return OUTCOME_DONE;
    }
    log_line(LOG_NOTICE, "client %llu asked for a shutdown", (unsigned long long)session->id);
    conn_close_after_flush(session->conn);
    server_ask_stop(server_of(call), how);
    return OUTCOME_DONE;
}

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

enum outcome admin_debug_error(struct call *call)
{
    if (debug_allowed(call))
        reply_errorf(call->reply, "ERR", "%.*s", (int)call->argv[2].size, call->argv[2].data);
    return OUTCOME_DONE;
}

enum outcome admin_debug_log(struct call *call)
{
    if (!debug_allowed(call))
        return OUTCOME_DONE;
    log_line(LOG_WARNING, "DEBUG LOG: %.*s", (int)call->argv[2].size, call->argv[2].data);
    return call_status(call, STATUS_OK);
}

enum outcome admin_debug_help(struct call *call)
{
    static const char *const lines[] = {
        "ERROR <string>",
        "    Return a Redis protocol error with <string> as message.",
        "LOG <message>",
        "    Write <message> to the server log.",
        "SLEEP <seconds>",
        "    Stop the worker of this connection for <seconds>. Decimals allowed.",
        NULL,
    };
    return admin_help(call, "DEBUG", lines);
}
