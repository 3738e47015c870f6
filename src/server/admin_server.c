/* SPDX-License-Identifier: MIT
 *
 * SHUTDOWN, MONITOR and TIME.
 */
#include <stdio.h>

#include "command/call.h"
#include "os/clock.h"
#include "server/admin.h"
#include "server/log.h"
#include "server/monitor.h"
#include "server/session.h"

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

/* Like Redis, a client that monitors already gets no reply. */
enum outcome admin_monitor(struct call *call)
{
    if (call->client->in_multi) {
        reply_errorf(call->reply, "ERR", "MONITOR isn't allowed for DENY BLOCKING client");
        return OUTCOME_DONE;
    }
    if (session_of(call)->monitor != NULL)
        return OUTCOME_DONE;
    return call_status(call, monitor_begin(session_of(call), 1U << MONITOR_REQUESTS));
}

/* What absolute times of expiry are measured against. */
enum outcome admin_time(struct call *call)
{
    int64_t now_us = clock_engine_us();
    char seconds[24], micros[24];

    snprintf(seconds, sizeof(seconds), "%lld", (long long)(now_us / 1000000));
    snprintf(micros, sizeof(micros), "%lld", (long long)(now_us % 1000000));
    call->reply->ops->list(call->reply, 2);
    call->reply->ops->bytes(call->reply, bytes_of_text(seconds));
    call->reply->ops->bytes(call->reply, bytes_of_text(micros));
    return OUTCOME_DONE;
}
