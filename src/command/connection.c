/* SPDX-License-Identifier: MIT
 *
 * Commands about the client itself that need no server.
 */
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
