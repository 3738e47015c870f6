/* SPDX-License-Identifier: MIT
 *
 * CLIENT: what connections there are, what they call themselves, and ending them.
 */
#include "server/admin_client.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "command/call.h"
#include "os/clock.h"
#include "server/admin.h"
#include "server/clients.h"

enum { LIST_SIZE_MAX = 512 * 1024 * 1024 };

/* As printf's "%.*s" takes it, cut to what an error line can show. */
#define SHOWN(bytes) (int)((bytes).size < 100 ? (bytes).size : 100), (bytes).data

/* ---- about the client itself */

bool admin_client_name(struct call *call, enum session_label which, struct bytes text)
{
    static const char *const wholes[] = {"Client names", "lib-name", "lib-ver"};

    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '!' || text.data[i] > '~') {
            reply_errorf(call->reply, "ERR",
                         "%s cannot contain spaces, newlines or special characters.",
                         wholes[which]);
            return false;
        }
    }
    enum status status = session_label_set(session_of(call), which, text);
    if (status != STATUS_OK)
        reply_status(call->reply, status);
    return status == STATUS_OK;
}

enum outcome admin_client_id(struct call *call)
{
    return call_integer(call, (int64_t)session_of(call)->id);
}

enum outcome admin_client_getname(struct call *call)
{
    struct bytes name = label_part(session_of(call)->label, SESSION_NAME);

    if (name.size == 0)
        return call_missing(call);
    call->reply->ops->bytes(call->reply, name);
    return OUTCOME_DONE;
}

enum outcome admin_client_setname(struct call *call)
{
    if (admin_client_name(call, SESSION_NAME, call->argv[2]))
        call->reply->ops->ok(call->reply);
    return OUTCOME_DONE;
}

enum outcome admin_client_setinfo(struct call *call)
{
    enum session_label which;

    if (bytes_equal_text_nocase(call->argv[2], "lib-name")) {
        which = SESSION_LIBRARY_NAME;
    } else if (bytes_equal_text_nocase(call->argv[2], "lib-ver")) {
        which = SESSION_LIBRARY_VERSION;
    } else {
        reply_errorf(call->reply, "ERR", "Unrecognized option '%.*s'", SHOWN(call->argv[2]));
        return OUTCOME_DONE;
    }
    if (admin_client_name(call, which, call->argv[3]))
        call->reply->ops->ok(call->reply);
    return OUTCOME_DONE;
}

static void emit_text(struct call *call, struct buffer *text)
{
    if (text->sink.failed)
        reply_status(call->reply, STATUS_NO_MEMORY);
    else
        call->reply->ops->text(call->reply, buffer_bytes(text));
    buffer_deinit(text);
}

/* The caller's own entry tells of the command that asks. */
static void show_self(struct call *call)
{
    struct session *self = session_of(call);

    session_show(self);
    atomic_store_explicit(&self->last_command, call->command, memory_order_relaxed);
}

enum outcome admin_client_info(struct call *call)
{
    struct client_view view;
    struct buffer text;

    buffer_init(&text, LIST_SIZE_MAX);
    show_self(call);
    client_view_of(session_of(call), &view);
    client_view_write(&view, clock_engine_ms(), &text);
    client_view_end(&view);
    emit_text(call, &text);
    return OUTCOME_DONE;
}

/* ---- LIST */

static bool parse_id(struct call *call, struct bytes text, uint64_t *out, const char *complaint)
{
    int64_t id;

    if (number_parse_i64(text, &id) && id > 0) {
        *out = (uint64_t)id;
        return true;
    }
    reply_errorf(call->reply, "ERR", "%s", complaint);
    return false;
}

/* Every connection is a normal client; the other types Redis has are known and empty. */
static bool parse_type(struct call *call, struct bytes text, bool *out_normal)
{
    static const char *const others[] = {"master", "replica", "slave", "pubsub"};

    *out_normal = bytes_equal_text_nocase(text, "normal");
    if (*out_normal)
        return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (bytes_equal_text_nocase(text, others[i]))
            return true;
    reply_errorf(call->reply, "ERR", "Unknown client type '%.*s'", SHOWN(text));
    return false;
}

static bool listed(const struct call *call, uint64_t id)
{
    for (uint32_t i = 3; i < call->argc; i++) {
        int64_t wanted;

        if (number_parse_i64(call->argv[i], &wanted) && (uint64_t)wanted == id)
            return true;
    }
    return false;
}

enum outcome admin_client_list(struct call *call)
{
    bool by_id = call->argc > 3 && bytes_equal_text_nocase(call->argv[2], "id");
    bool by_type = call->argc == 4 && bytes_equal_text_nocase(call->argv[2], "type");
    bool normal = true;
    struct client_view *views;
    struct buffer text;
    uint32_t count;
    uint64_t id;

    if (call->argc > 2 && !by_id && !by_type)
        return call_status(call, STATUS_SYNTAX);
    if (by_type && !parse_type(call, call->argv[3], &normal))
        return OUTCOME_DONE;
    for (uint32_t i = 3; by_id && i < call->argc; i++)
        if (!parse_id(call, call->argv[i], &id, "Invalid client ID"))
            return OUTCOME_DONE;
    show_self(call);
    enum status status = clients_snapshot(server_of(call), &views, &count);
    if (status != STATUS_OK)
        return call_status(call, status);
    buffer_init(&text, LIST_SIZE_MAX);
    int64_t now_ms = clock_engine_ms();
    for (uint32_t i = 0; i < count && normal; i++)
        if (!by_id || listed(call, views[i].id))
            client_view_write(&views[i], now_ms, &text);
    clients_snapshot_end(views, count);
    emit_text(call, &text);
    return OUTCOME_DONE;
}

/* ---- KILL */

struct filter {
    struct bytes address, local_address; /* size 0: any */
    uint64_t id;                         /* 0: any */
    bool normal, skip_me;
};

static bool parse_filter(struct call *call, uint32_t index, struct filter *filter)
{
    struct bytes name = call->argv[index], value = call->argv[index + 1];

    if (bytes_equal_text_nocase(name, "id"))
        return parse_id(call, value, &filter->id, "client-id should be greater than 0");
    if (bytes_equal_text_nocase(name, "type"))
        return parse_type(call, value, &filter->normal);
    if (bytes_equal_text_nocase(name, "addr")) {
        filter->address = value;
        return true;
    }
    if (bytes_equal_text_nocase(name, "laddr")) {
        filter->local_address = value;
        return true;
    }
    if (bytes_equal_text_nocase(name, "user")) {
        if (bytes_equal(value, BYTES("default")))
            return true;
        reply_errorf(call->reply, "ERR", "No such user '%.*s'", SHOWN(value));
        return false;
    }
    if (bytes_equal_text_nocase(name, "skipme") &&
        (bytes_equal_text_nocase(value, "yes") || bytes_equal_text_nocase(value, "no"))) {
        filter->skip_me = bytes_equal_text_nocase(value, "yes");
        return true;
    }
    reply_status(call->reply, STATUS_SYNTAX);
    return false;
}

static bool matches(const struct filter *filter, const struct client_view *view, uint64_t self)
{
    char text[160];

    if ((filter->id != 0 && view->id != filter->id) || !filter->normal ||
        (filter->skip_me && view->id == self))
        return false;
    client_view_address(view, text, sizeof(text));
    if (filter->address.size > 0 && !bytes_equal(filter->address, bytes_of_text(text)))
        return false;
    client_view_local_address(view, text, sizeof(text));
    return filter->local_address.size == 0 ||
           bytes_equal(filter->local_address, bytes_of_text(text));
}

/* Closes what matches and counts it; the caller itself after its reply. */
static enum status kill_matching(struct call *call, const struct filter *filter,
                                 uint32_t *out_count)
{
    struct session *self = session_of(call);
    struct server *server = server_of(call);
    struct client_view *views;
    uint32_t count;
    enum status status = clients_snapshot(server, &views, &count);

    *out_count = 0;
    if (status != STATUS_OK)
        return status;
    uint64_t *ids = alloc_get((count + 1) * sizeof(*ids));
    if (ids == NULL)
        status = STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < server->worker_count && status == STATUS_OK; i++) {
        uint32_t id_count = 0;

        for (uint32_t j = 0; j < count; j++) {
            if (views[j].worker != i || !matches(filter, &views[j], self->id))
                continue;
            ++*out_count;
            if (views[j].id == self->id)
                conn_close_after_flush(self->conn);
            else
                ids[id_count++] = views[j].id;
        }
        if (id_count > 0)
            status = clients_close(&server->workers[i], ids, id_count);
    }
    alloc_free(ids);
    clients_snapshot_end(views, count);
    return status;
}

enum outcome admin_client_kill(struct call *call)
{
    struct filter filter = {.normal = true, .skip_me = call->argc > 3};
    uint32_t count;

    if (call->argc == 3) {
        filter.address = call->argv[2];
        if (filter.address.size == 0) {
            reply_errorf(call->reply, "ERR", "No such client");
            return OUTCOME_DONE;
        }
    } else if (call->argc % 2 != 0) {
        return call_status(call, STATUS_SYNTAX);
    }
    for (uint32_t i = 2; i + 1 < call->argc; i += 2)
        if (!parse_filter(call, i, &filter))
            return OUTCOME_DONE;
    enum status status = kill_matching(call, &filter, &count);
    if (status != STATUS_OK)
        return call_status(call, status);
    if (call->argc > 3)
        return call_integer(call, count);
    if (count > 0)
        call->reply->ops->ok(call->reply);
    else
        reply_errorf(call->reply, "ERR", "No such client");
    return OUTCOME_DONE;
}

enum outcome admin_client_help(struct call *call)
{
    static const char *const lines[] = {
        "GETNAME",
        "    Return the name of the current connection.",
        "ID",
        "    Return the ID of the current connection.",
        "INFO",
        "    Return information about the current client connection.",
        "KILL <ip:port>",
        "    Kill connection made from <ip:port>.",
        "KILL <option> <value> [<option> <value> [...]]",
        "    Kill connections. Options are:",
        "    * ADDR (<ip:port>|<unixsocket>:0)",
        "      Kill connections made from the specified address",
        "    * LADDR (<ip:port>|<unixsocket>:0)",
        "      Kill connections made to specified local address",
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
        "      Kill connections by type.",
        "    * USER <username>",
        "      Kill connections authenticated by <username>.",
        "    * SKIPME (YES|NO)",
        "      Skip killing current connection (default: yes).",
        "    * ID <client-id>",
        "      Kill connections by client id.",
        "LIST [options ...]",
        "    Return information about client connections. Options:",
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
        "      Return clients of specified type.",
        "    * ID <client-id> [<client-id> ...]",
        "      Return clients with these ids.",
        "SETNAME <name>",
        "    Assign the name <name> to the current connection.",
        "SETINFO <option> <value>",
        "    Set client meta attr. Options are:",
        "    * LIB-NAME: the client lib name.",
        "    * LIB-VER: the client lib version.",
        NULL,
    };
    return admin_help(call, "CLIENT", lines);
}
