/* SPDX-License-Identifier: MIT
 *
 * Commands about the client itself that need no server.
 */
#include "base/number.h"
#include "command/call.h"
#include "command/handlers.h"

enum outcome connection_ping(struct call *call)
{
    if (call->argc > 2)
        reply_wrong_arity(call->reply, call->command);
    else if (call->argc == 2)
        call->reply->ops->bytes(call->reply, call->argv[1]);
    else
        call->reply->ops->word(call->reply, "PONG");
    return OUTCOME_DONE;
}

enum outcome connection_echo(struct call *call)
{
    call->reply->ops->bytes(call->reply, call->argv[1]);
    return OUTCOME_DONE;
}

enum outcome connection_select(struct call *call)
{
    int64_t db;
    if (!number_parse_i64(call->argv[1], &db))
        return call_status(call, STATUS_NOT_INTEGER);
    if (db < INT32_MIN || db > INT32_MAX) {
        reply_errorf(call->reply, "ERR", "value is out of range, value must between %d and %d",
                     INT32_MIN, INT32_MAX);
        return OUTCOME_DONE;
    }
    if (db < 0 || db >= ENGINE_DATABASES)
        return call_status(call, STATUS_DB_INDEX);
    call->client->db = (uint32_t)db;
    return call_status(call, STATUS_OK);
}
