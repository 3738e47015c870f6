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
#include "server/monitor.h"
#include "server/pause.h"

enum { LIST_SIZE_MAX = 512 * 1024 * 1024 };

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
        reply_errorf(call->reply, "ERR", "Unrecognized option '%.*s'", SHOWN(call->argv[2], 100));
        return OUTCOME_DONE;
    }
    if (admin_client_name(call, which, call->argv[3]))
        call->reply->ops->ok(call->reply);
    return OUTCOME_DONE;
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
    return admin_text(call, &text);
}

/* ---- which clients LIST and KILL are about */

struct filter {
    struct bytes address, local_address; /* where the next two say so; else any */
    bool has_address, has_local_address;
    const struct bytes *ids; /* texts of integers */
    uint32_t id_count;       /* 0: any */
    int64_t age_min_s;       /* 0: any */
    bool normal, skip_me;
};

static bool complain(struct call *call, const char *complaint)
{
    reply_errorf(call->reply, "ERR", "%s", complaint);
    return false;
}

/* Every connection is a normal client; the other types Redis has are known and empty. */
static bool filter_type(struct call *call, struct bytes text, struct filter *filter)
{
    static const char *const others[] = {"master", "primary", "replica", "slave", "pubsub"};

    filter->normal = bytes_equal_text_nocase(text, "normal");
    if (filter->normal)
        return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (bytes_equal_text_nocase(text, others[i]))
            return true;
    reply_errorf(call->reply, "ERR", "Unknown client type '%.*s'", SHOWN(text, 100));
    return false;
}

static bool filter_address(struct call *call, struct bytes text, struct filter *filter)
{
    (void)call;
    filter->address = text;
    filter->has_address = true;
    return true;
}

static bool filter_local_address(struct call *call, struct bytes text, struct filter *filter)
{
    (void)call;
    filter->local_address = text;
    filter->has_local_address = true;
    return true;
}

static bool filter_user(struct call *call, struct bytes text, struct filter *filter)
{
    (void)filter; /* there is one user */
    if (bytes_equal(text, BYTES("default")))
        return true;
    reply_errorf(call->reply, "ERR", "No such user '%.*s'", SHOWN(text, 100));
    return false;
}

static bool filter_skip_me(struct call *call, struct bytes text, struct filter *filter)
{
    filter->skip_me = bytes_equal_text_nocase(text, "yes");
    if (filter->skip_me || bytes_equal_text_nocase(text, "no"))
        return true;
    reply_status(call->reply, STATUS_SYNTAX);
    return false;
}

static bool filter_age(struct call *call, struct bytes text, struct filter *filter)
{
    if (!number_parse_i64(text, &filter->age_min_s))
        return complain(call, "maxage is not an integer or out of range");
    return filter->age_min_s > 0 || complain(call, "maxage should be greater than 0");
}

static const struct {
    const char *name;
    bool (*parse)(struct call *call, struct bytes text, struct filter *filter);
} filters[] = {{"type", filter_type}, {"addr", filter_address},   {"laddr", filter_local_address},
               {"user", filter_user}, {"skipme", filter_skip_me}, {"maxage", filter_age}};

enum { FILTER_COUNT = sizeof(filters) / sizeof(filters[0]) };

/* FILTER_COUNT: none of these, but perhaps ID, which takes several words. */
static size_t filter_find(struct bytes name)
{
    size_t i = 0;

    while (i < FILTER_COUNT && !bytes_equal_text_nocase(name, filters[i].name))
        i++;
    return i;
}

/* The words from `*index` on, up to the next filter where there may be several. */
static bool filter_ids(struct call *call, uint32_t *index, bool several, struct filter *filter)
{
    int64_t id;

    filter->ids = &call->argv[*index];
    filter->id_count = 0;
    do {
        if (!number_parse_i64(call->argv[*index], &id) || id <= 0)
            return complain(call,
                            several ? "Invalid client ID" : "client-id should be greater than 0");
        filter->id_count++;
        ++*index;
    } while (several && *index < call->argc && filter_find(call->argv[*index]) == FILTER_COUNT);
    return true;
}

/* All arguments from argv[2] on; ID takes several words, or one. */
static bool parse_filters(struct call *call, bool several, struct filter *filter)
{
    uint32_t at = 2;

    while (at + 1 < call->argc) {
        size_t which = filter_find(call->argv[at]);

        at++;
        if (which < FILTER_COUNT) {
            if (!filters[which].parse(call, call->argv[at], filter))
                return false;
            at++;
        } else if (!bytes_equal_text_nocase(call->argv[at - 1], "id")) {
            break;
        } else if (!filter_ids(call, &at, several, filter)) {
            return false;
        }
    }
    if (at == call->argc)
        return true;
    reply_status(call->reply, STATUS_SYNTAX);
    return false;
}

static bool is_listed(const struct filter *filter, uint64_t id)
{
    for (uint32_t i = 0; i < filter->id_count; i++) {
        int64_t wanted;

        if (number_parse_i64(filter->ids[i], &wanted) && (uint64_t)wanted == id)
            return true;
    }
    return filter->id_count == 0;
}

static bool matches(const struct filter *filter, const struct client_view *view, uint64_t self,
                    int64_t now_ms)
{
    char text[CLIENT_ADDRESS_SIZE];

    if (!filter->normal || !is_listed(filter, view->id) || (filter->skip_me && view->id == self) ||
        (now_ms - view->opened_ms) / 1000 < filter->age_min_s)
        return false;
    client_view_address(view, text);
    if (filter->has_address && !bytes_equal(filter->address, bytes_of_text(text)))
        return false;
    client_view_local_address(view, text);
    return !filter->has_local_address || bytes_equal(filter->local_address, bytes_of_text(text));
}

enum outcome admin_client_list(struct call *call)
{
    struct filter filter = {.normal = true};
    struct client_view *views;
    struct buffer text;
    uint32_t count;

    if (!parse_filters(call, true, &filter))
        return OUTCOME_DONE;
    show_self(call);
    enum status status = clients_snapshot(server_of(call), &views, &count);
    if (status != STATUS_OK)
        return call_status(call, status);
    buffer_init(&text, LIST_SIZE_MAX);
    int64_t now_ms = clock_engine_ms();
    for (uint32_t i = 0; i < count; i++)
        if (matches(&filter, &views[i], session_of(call)->id, now_ms))
            client_view_write(&views[i], now_ms, &text);
    clients_snapshot_end(views, count);
    return admin_text(call, &text);
}

/* ---- KILL */

/* Closes what matches and counts it; the caller itself after its reply. */
static enum status kill_matching(struct call *call, const struct filter *filter,
                                 uint32_t *out_count)
{
    struct session *self = session_of(call);
    struct server *server = server_of(call);
    struct client_view *views;
    uint32_t count;
    int64_t now_ms = clock_engine_ms();
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
            if (views[j].worker != i || !matches(filter, &views[j], self->id, now_ms))
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
        filter_address(call, call->argv[2], &filter);
    } else if (!parse_filters(call, false, &filter)) {
        return OUTCOME_DONE;
    }
    enum status status = kill_matching(call, &filter, &count);
    if (status != STATUS_OK)
        return call_status(call, status);
    if (call->argc > 3)
        return call_integer(call, count);
    if (count > 0)
        call->reply->ops->ok(call->reply);
    else
        complain(call, "No such client");
    return OUTCOME_DONE;
}

/* ---- what a client asks for itself */

/* Sets `*out` to what argv[2] says. */
static enum outcome set_switch(struct call *call, bool *out)
{
    bool on = bytes_equal_text_nocase(call->argv[2], "on");

    if (!on && !bytes_equal_text_nocase(call->argv[2], "off"))
        return call_status(call, STATUS_SYNTAX);
    *out = on;
    return call_status(call, STATUS_OK);
}

enum outcome admin_client_no_evict(struct call *call)
{
    return set_switch(call, &session_of(call)->no_evict);
}

enum outcome admin_client_no_touch(struct call *call)
{
    return set_switch(call, &session_of(call)->no_touch);
}

/* Only ON answers. What is emitted after OFF and SKIP goes nowhere. */
enum outcome admin_client_reply(struct call *call)
{
    struct session *session = session_of(call);

    if (bytes_equal_text_nocase(call->argv[2], "on")) {
        if (session->monitor != NULL)
            monitor_turn(session->worker); /* what came meanwhile is not shown */
        session_skip_replies(session, false, 0);
    } else if (bytes_equal_text_nocase(call->argv[2], "off")) {
        session_skip_replies(session, true, 0);
    } else if (bytes_equal_text_nocase(call->argv[2], "skip")) {
        session_skip_replies(session, session->replies_off, 2);
    } else {
        return call_status(call, STATUS_SYNTAX);
    }
    call->reply->ops->ok(call->reply);
    return OUTCOME_DONE;
}

/* ---- other clients' waits */

enum outcome admin_client_pause(struct call *call)
{
    enum pause_kind kind = PAUSE_ALL;
    int64_t timeout_ms, now_ms = clock_engine_ms();

    if (call->argc > 4)
        return admin_bad_syntax(call, "CLIENT");
    if (call->argc == 4 && bytes_equal_text_nocase(call->argv[3], "write"))
        kind = PAUSE_WRITES;
    if (call->argc == 4 && kind == PAUSE_ALL && !bytes_equal_text_nocase(call->argv[3], "all"))
        complain(call, "CLIENT PAUSE mode must be WRITE or ALL");
    else if (!number_parse_i64(call->argv[2], &timeout_ms))
        complain(call, "timeout is not an integer or out of range");
    else if (timeout_ms < 0)
        complain(call, "timeout is negative");
    else if (timeout_ms > INT64_MAX - now_ms)
        complain(call, "timeout is out of range");
    else {
        pause_begin(server_of(call), now_ms + timeout_ms, kind);
        call->reply->ops->ok(call->reply);
    }
    return OUTCOME_DONE;
}

enum outcome admin_client_unpause(struct call *call)
{
    return call_status(call, pause_end(server_of(call)));
}

/* No command waits for anything that could be ended early; a pause is not ended by this. */
enum outcome admin_client_unblock(struct call *call)
{
    int64_t id;

    if (call->argc > 4) {
        return admin_bad_syntax(call, "CLIENT");
    } else if (call->argc == 4 && !bytes_equal_text_nocase(call->argv[3], "timeout") &&
               !bytes_equal_text_nocase(call->argv[3], "error")) {
        complain(call, "CLIENT UNBLOCK reason should be TIMEOUT or ERROR");
    } else if (!number_parse_i64(call->argv[2], &id)) {
        reply_status(call->reply, STATUS_NOT_INTEGER);
    } else {
        call->reply->ops->integer(call->reply, 0);
    }
    return OUTCOME_DONE;
}

#define FILTER_LINES                                                                               \
    "    * ADDR <ip:port>|<unixsocket>:0: the client's address.",                                  \
        "    * ID <client-id>: the client's; LIST takes several.",                                 \
        "    * LADDR <ip:port>|<unixsocket>:0: the address it connected to.",                      \
        "    * MAXAGE <seconds>: connected for at least so long.",                                 \
        "    * SKIPME (YES|NO): without the current connection (default: yes to KILL).",           \
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB): of this type.",                                \
        "    * USER <username>: authenticated as <username>."

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
        "    Kill connections that match all of the options:",
        FILTER_LINES,
        "LIST [<option> <value> [...]]",
        "    Return information about client connections that match all of the options:",
        FILTER_LINES,
        "NO-EVICT (ON|OFF)",
        "    Protect the current connection from the eviction of clients.",
        "NO-TOUCH (ON|OFF)",
        "    Let commands of the current connection not count as use of their keys.",
        "PAUSE <timeout> [WRITE|ALL]",
        "    Suspend all, or just write, requests of clients for <timeout> milliseconds.",
        "REPLY (ON|OFF|SKIP)",
        "    Control the replies sent to the current connection.",
        "SETINFO <option> <value>",
        "    Tell which library the client uses. Options are:",
        "    * LIB-NAME: its name.",
        "    * LIB-VER: its version.",
        "SETNAME <name>",
        "    Assign the name <name> to the current connection.",
        "UNBLOCK <client-id> [TIMEOUT|ERROR]",
        "    Unblock the specified blocked client.",
        "UNPAUSE",
        "    End a pause.",
        NULL,
    };
    return admin_help(call, "CLIENT", lines);
}
