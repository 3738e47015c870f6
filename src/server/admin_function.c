/* SPDX-License-Identifier: MIT
 *
 * FUNCTION: there is no engine that could run functions, so there are no libraries, and these
 * commands say what Redis says of none.
 */
#include <string.h>

#include "command/call.h"
#include "command/payload.h"
#include "server/admin.h"

enum outcome admin_function_delete(struct call *call)
{
    reply_errorf(call->reply, "ERR", "Library not found");
    return OUTCOME_DONE;
}

enum outcome admin_function_dump(struct call *call)
{
    char payload[PAYLOAD_FOOTER_SIZE];

    call->reply->ops->bytes(call->reply, bytes_of(payload, payload_seal(payload, 0)));
    return OUTCOME_DONE;
}

enum outcome admin_function_flush(struct call *call)
{
    if (call->argc > 3)
        return admin_bad_syntax(call, "FUNCTION");
    if (call->argc == 3 && !bytes_equal_text_nocase(call->argv[2], "sync") &&
        !bytes_equal_text_nocase(call->argv[2], "async")) {
        reply_errorf(call->reply, "ERR", "FUNCTION FLUSH only supports SYNC|ASYNC option");
        return OUTCOME_DONE;
    }
    return call_status(call, STATUS_OK);
}

enum outcome admin_function_kill(struct call *call)
{
    reply_errorf(call->reply, "NOTBUSY", "No scripts in execution right now.");
    return OUTCOME_DONE;
}

enum outcome admin_function_list(struct call *call)
{
    bool named = false, with_code = false;

    for (uint32_t i = 2; i < call->argc; i++) {
        struct bytes word = call->argv[i];

        if (!with_code && bytes_equal_text_nocase(word, "withcode")) {
            with_code = true;
        } else if (!named && bytes_equal_text_nocase(word, "libraryname")) {
            if (++i == call->argc) {
                reply_errorf(call->reply, "ERR", "library name argument was not given");
                return OUTCOME_DONE;
            }
            named = true;
        } else {
            reply_errorf(call->reply, "ERR", "Unknown argument %.*s", SHOWN(word, 128));
            return OUTCOME_DONE;
        }
    }
    call->reply->ops->list(call->reply, 0);
    return OUTCOME_DONE;
}

/* The first line of a library names its engine: "#!lua name=...". */
static void refuse_library(struct reply *reply, struct bytes code)
{
    const char *line_end = code.size > 0 ? memchr(code.data, '\n', code.size) : NULL;
    struct bytes engine;

    if (code.size < 2 || code.data[0] != '#' || code.data[1] != '!') {
        reply_errorf(reply, "ERR", "Missing library metadata");
        return;
    }
    if (line_end == NULL) {
        reply_errorf(reply, "ERR", "Invalid library metadata");
        return;
    }
    engine = bytes_of(code.data + 2, (size_t)(line_end - code.data) - 2);
    const char *blank = memchr(engine.data, ' ', engine.size);
    if (blank != NULL)
        engine.size = (size_t)(blank - engine.data);
    reply_errorf(reply, "ERR", "Engine '%.*s' not found", SHOWN(engine, 128));
}

enum outcome admin_function_load(struct call *call)
{
    for (uint32_t i = 2; i + 1 < call->argc; i++) {
        if (!bytes_equal_text_nocase(call->argv[i], "replace")) {
            reply_errorf(call->reply, "ERR", "Unknown option given: %.*s",
                         SHOWN(call->argv[i], 128));
            return OUTCOME_DONE;
        }
    }
    refuse_library(call->reply, call->argv[call->argc - 1]);
    return OUTCOME_DONE;
}

enum outcome admin_function_restore(struct call *call)
{
    struct bytes payload = call->argv[2];

    if (call->argc > 4)
        return admin_bad_syntax(call, "FUNCTION");
    if (call->argc == 4 && !bytes_equal_text_nocase(call->argv[3], "append") &&
        !bytes_equal_text_nocase(call->argv[3], "replace") &&
        !bytes_equal_text_nocase(call->argv[3], "flush"))
        reply_errorf(
            call->reply, "ERR",
            "Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE.");
    else if (!payload_is_whole(payload))
        reply_errorf(call->reply, "ERR", "DUMP payload version or checksum are wrong");
    else if (payload.size > PAYLOAD_FOOTER_SIZE)
        reply_errorf(call->reply, "ERR", "no engine runs functions, so none can be restored");
    else
        reply_status(call->reply, STATUS_OK);
    return OUTCOME_DONE;
}

enum outcome admin_function_stats(struct call *call)
{
    const struct reply_ops *ops = call->reply->ops;

    ops->map(call->reply, 2);
    ops->bytes(call->reply, BYTES("running_script"));
    ops->missing(call->reply);
    ops->bytes(call->reply, BYTES("engines"));
    ops->map(call->reply, 0);
    return OUTCOME_DONE;
}

enum outcome admin_function_help(struct call *call)
{
    static const char *const lines[] = {
        "DELETE <LIBRARY NAME>",
        "    Refused: there are no libraries.",
        "DUMP",
        "    Return a serialized payload of no libraries.",
        "FLUSH [ASYNC|SYNC]",
        "    Delete all the libraries: there are none.",
        "KILL",
        "    Refused: no function runs.",
        "LIST [LIBRARYNAME PATTERN] [WITHCODE]",
        "    Return general information on all the libraries: there are none.",
        "LOAD [REPLACE] <FUNCTION CODE>",
        "    Refused: no engine runs functions.",
        "RESTORE <PAYLOAD> [FLUSH|APPEND|REPLACE]",
        "    Accept a payload of no libraries.",
        "STATS",
        "    Return information about the running function, of which there is none.",
        NULL,
    };
    return admin_help(call, "FUNCTION", lines);
}
