/* SPDX-License-Identifier: MIT
 *
 * CONFIG: the option table, read and written by clients.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "command/call.h"
#include "command/glob.h"
#include "server/admin.h"
#include "server/log.h"
#include "server/server_options.h"
#include "server/session.h"
#include "server/text.h"

enum { NAME_SIZE_MAX = 64, SET_COUNT_MAX = 64 };

/* Option names have no case, and neither have patterns for them. */
static bool asked_for(const struct call *call, const struct option *option)
{
    for (uint32_t i = 2; i < call->argc; i++) {
        char pattern[NAME_SIZE_MAX];
        size_t size = call->argv[i].size;

        if (size > sizeof(pattern))
            continue;
        for (size_t j = 0; j < size; j++) {
            char c = call->argv[i].data[j];

            pattern[j] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
        }
        if (glob_match(bytes_of(pattern, size), bytes_of_text(option->name)))
            return true;
    }
    return false;
}

enum outcome admin_config_get(struct call *call)
{
    const struct reply_ops *ops = call->reply->ops;
    const struct option *shown[OPTIONS_MAX];
    char *values[OPTIONS_MAX];
    uint32_t count = 0;
    bool whole = true;

    for (uint32_t i = 0; i < option_count() && whole; i++) {
        if (!asked_for(call, option_at(i)))
            continue;
        shown[count] = option_at(i);
        values[count] = options_show(&server_of(call)->options, shown[count]);
        whole = values[count++] != NULL;
    }
    if (whole)
        ops->map(call->reply, count);
    else
        reply_status(call->reply, STATUS_NO_MEMORY);
    for (uint32_t i = 0; i < count; i++) {
        if (whole) {
            ops->bytes(call->reply, bytes_of_text(shown[i]->name));
            ops->bytes(call->reply, bytes_of_text(values[i]));
        }
        alloc_free(values[i]);
    }
    return OUTCOME_DONE;
}

static void refuse(struct call *call, const struct option *option, const char *why)
{
    reply_errorf(call->reply, "ERR", "CONFIG SET failed (possibly related to argument '%s') - %s",
                 option->name, why);
}

/* Reads argument pair `pair`; everything is read before anything is stored. */
static bool read_pair(struct call *call, uint32_t pair, const struct option **options,
                      struct option_value *value)
{
    struct bytes name = call->argv[2 + 2 * pair], text = call->argv[3 + 2 * pair];
    const struct option *option = option_find(name);
    char message[OPTION_MESSAGE_SIZE];

    if (option == NULL) {
        reply_errorf(call->reply, "ERR",
                     "Unknown option or number of arguments for CONFIG SET - '%.*s'",
                     SHOWN(name, 100));
        return false;
    }
    for (uint32_t i = 0; i < pair; i++) {
        if (options[i] == option) {
            refuse(call, option, "duplicate parameter");
            return false;
        }
    }
    struct bytes joined = {NULL, 0};
    if (option->kind == OPTION_OUTPUT_LIMITS) { /* those of classes that are not named stay */
        text = joined = options_text_with(&server_of(call)->options, option, text);
        if (joined.data == NULL) {
            refuse(call, option, "out of memory");
            return false;
        }
    }
    bool good = option_parse(option, text, value, message);
    alloc_free((char *)(uintptr_t)joined.data);
    if (option->when != OPTION_LIVE &&
        !(good && options_hold(&server_of(call)->options, option, value))) {
        if (good)
            alloc_free(value->text);
        good = false;
        snprintf(message, sizeof(message), "can't set immutable config");
    }
    if (!good) {
        refuse(call, option, message);
        return false;
    }
    options[pair] = option;
    return true;
}

/* Those that cannot change have the values they are set to, and are left alone. */
static uint32_t keep_live(const struct option **options, struct option_value *values,
                          uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (options[i]->when != OPTION_LIVE) {
            alloc_free(values[i].text);
            continue;
        }
        options[kept] = options[i];
        values[kept++] = values[i];
    }
    return kept;
}

enum outcome admin_config_set(struct call *call)
{
    struct server *server = server_of(call);
    const struct option *options[SET_COUNT_MAX];
    struct option_value values[SET_COUNT_MAX];
    uint32_t count = (call->argc - 2) / 2, done = 0, failed;
    char message[OPTION_MESSAGE_SIZE];

    if (call->argc % 2 != 0) {
        reply_wrong_arity(call->reply, call->command);
        return OUTCOME_DONE;
    }
    if (count > SET_COUNT_MAX)
        return call_status(call, STATUS_SYNTAX);
    while (done < count && read_pair(call, done, options, &values[done]))
        done++;
    if (done < count) {
        while (done > 0)
            alloc_free(values[--done].text);
        return OUTCOME_DONE;
    }
    count = keep_live(options, values, count);
    if (!server_options_set(server, options, values, count, &failed, message)) {
        refuse(call, options[failed], message);
        return OUTCOME_DONE;
    }
    for (uint32_t i = 0; i < count; i++)
        log_line(LOG_VERBOSE, "client %llu changed %s", (unsigned long long)session_of(call)->id,
                 options[i]->name);
    return call_status(call, STATUS_OK);
}

enum outcome admin_config_rewrite(struct call *call)
{
    struct server *server = server_of(call);
    char message[OPTION_MESSAGE_SIZE];

    if (server->options.config[0] == '\0')
        reply_errorf(call->reply, "ERR", "The server is running without a config file");
    else if (!server_options_rewrite(server, message))
        reply_errorf(call->reply, "ERR", "Rewriting config file: %s", message);
    else
        return call_status(call, STATUS_OK);
    return OUTCOME_DONE;
}

enum outcome admin_config_resetstat(struct call *call)
{
    struct server *server = server_of(call);

    engine_stats_reset(server->engine);
    server_totals_reset(server);
    return call_status(call, STATUS_OK);
}

enum outcome admin_config_help(struct call *call)
{
    static const char *const lines[] = {
        "GET <pattern>",
        "    Return parameters matching the glob-like <pattern> and their values.",
        "SET <directive> <value>",
        "    Set the configuration <directive> to <value>.",
        "RESETSTAT",
        "    Reset statistics reported by the INFO command.",
        "REWRITE",
        "    Rewrite the configuration file.",
        NULL,
    };
    return admin_help(call, "CONFIG", lines);
}
