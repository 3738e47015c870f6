/* SPDX-License-Identifier: MIT
 *
 * HELLO, AUTH (item-auth too), QUIT, RESET: who a connection is and how it speaks. There is one
 * user, "default".
 */
#include "base/number.h"
#include "command/call.h"
#include "server/admin.h"
#include "server/admin_client.h"
#include "server/session.h"

/* Without a password set the default user takes any. */
static bool authenticate(struct call *call, struct bytes user, struct bytes password)
{
    struct options *options = &server_of(call)->options;
    bool good = bytes_equal(user, BYTES("default")) &&
                (!options_password_set(options) || options_password_is(options, password));

    if (good)
        call->client->authenticated = true;
    else
        reply_status(call->reply, STATUS_WRONG_PASSWORD);
    return good;
}

enum outcome admin_auth(struct call *call)
{
    bool named = call->argc == 3;

    if (call->argc > 3)
        return call_status(call, STATUS_SYNTAX);
    if (!named && !options_password_set(&server_of(call)->options)) {
        reply_errorf(call->reply, "ERR",
                     "AUTH <password> called without any password configured for the default "
                     "user. Are you sure your configuration is correct?");
        return OUTCOME_DONE;
    }
    if (authenticate(call, named ? call->argv[1] : BYTES("default"), call->argv[named ? 2 : 1]))
        call->reply->ops->ok(call->reply);
    return OUTCOME_DONE;
}

enum outcome admin_item_auth(struct call *call)
{
    if (authenticate(call, call->argv[1], call->argv[2]))
        call->reply->ops->ok(call->reply);
    return OUTCOME_DONE;
}

static void greet(struct call *call)
{
    const struct reply_ops *ops = call->reply->ops;
    struct reply *reply = call->reply;

    ops->map(reply, 8);
    ops->bytes(reply, BYTES("server"));
    ops->bytes(reply, BYTES("redis"));
    ops->bytes(reply, BYTES("version"));
    ops->bytes(reply, BYTES(SERVER_REDIS_VERSION));
    ops->bytes(reply, BYTES("proto"));
    ops->integer(reply, reply->version);
    ops->bytes(reply, BYTES("id"));
    ops->integer(reply, (int64_t)session_of(call)->id);
    ops->bytes(reply, BYTES("mode"));
    ops->bytes(reply, BYTES("standalone"));
    ops->bytes(reply, BYTES("role"));
    ops->bytes(reply, BYTES("master"));
    ops->bytes(reply, BYTES("modules"));
    ops->list(reply, 0);
    /* Last, since clients that speak RESP2 find Redis's fields by their places. */
    ops->bytes(reply, BYTES("larder_version"));
    ops->bytes(reply, BYTES(LARDER_VERSION));
}

enum outcome admin_hello(struct call *call)
{
    int64_t version = call->reply->version;
    struct bytes name = {NULL, 0};
    bool named = false, authenticates = false;
    struct bytes user = {NULL, 0}, password = {NULL, 0};

    if (call->argc >= 2) {
        if (!number_parse_i64(call->argv[1], &version)) {
            reply_errorf(call->reply, "ERR", "Protocol version is not an integer or out of range");
            return OUTCOME_DONE;
        }
        if (version < 2 || version > 3)
            return call_status(call, STATUS_NO_PROTOCOL);
    }
    for (uint32_t i = 2; i < call->argc; i++) {
        uint32_t left = call->argc - 1 - i;

        if (bytes_equal_text_nocase(call->argv[i], "auth") && left >= 2) {
            authenticates = true;
            user = call->argv[i + 1];
            password = call->argv[i + 2];
            i += 2;
        } else if (bytes_equal_text_nocase(call->argv[i], "setname") && left >= 1) {
            named = true;
            name = call->argv[++i];
        } else {
            reply_errorf(call->reply, "ERR", "Syntax error in HELLO option '%.*s'",
                         SHOWN(call->argv[i], 100));
            return OUTCOME_DONE;
        }
    }
    if (authenticates && !authenticate(call, user, password))
        return OUTCOME_DONE;
    if (!call->client->authenticated) {
        reply_errorf(call->reply, "NOAUTH",
                     "HELLO must be called with the client already authenticated, otherwise the "
                     "HELLO <proto> AUTH <user> <pass> option can be used to authenticate the "
                     "client and select the RESP protocol version at the same time");
        return OUTCOME_DONE;
    }
    if (named && !admin_client_name(call, SESSION_NAME, name))
        return OUTCOME_DONE;
    call->reply->version = (uint32_t)version;
    greet(call);
    return OUTCOME_DONE;
}

bool admin_is_secret(const struct request *request, uint32_t index)
{
    command_handler *handler = request->command->handler;
    const struct bytes *argv = request->argv;

    if (index == 0)
        return false;
    if (handler == admin_auth || handler == admin_item_auth)
        return true;
    if (handler == admin_hello) /* after AUTH: user, password */
        return (index >= 3 && bytes_equal_text_nocase(argv[index - 1], "auth")) ||
               (index >= 4 && bytes_equal_text_nocase(argv[index - 2], "auth"));
    return handler == admin_config_set && index >= 3 && index % 2 == 1 &&
           bytes_equal_text_nocase(argv[index - 1], "requirepass");
}

enum outcome admin_quit(struct call *call)
{
    call->reply->ops->ok(call->reply);
    conn_close_after_flush(session_of(call)->conn);
    return OUTCOME_DONE;
}

enum outcome admin_reset(struct call *call)
{
    struct session *session = session_of(call);
    enum status status = session_label_set(session, SESSION_NAME, (struct bytes){NULL, 0});

    if (status != STATUS_OK)
        return call_status(call, status);
    if (session->monitor != NULL)
        monitor_turn(session->worker); /* what has run is still shown */
    monitor_end(session);
    client_reset(call->client);
    session->no_evict = session->no_touch = false;
    session_skip_replies(session, false, 0);
    call->client->authenticated = !options_password_set(&server_of(call)->options);
    call->reply->version = 2;
    call->reply->ops->word(call->reply, "RESET");
    return OUTCOME_DONE;
}
