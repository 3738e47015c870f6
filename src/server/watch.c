/* SPDX-License-Identifier: MIT
 *
 * See server/watch.h. There is one table of operations for each wire: its own, but that what is
 * told here passes through here first.
 */
#include "server/watch.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/ensure.h"
#include "command/call.h"
#include "command/handlers.h"
#include "os/clock.h"
#include "server/session.h"
#include "server/text.h"

/* Items are in no classes by size; memcached has 0 where there is no item. */
enum { ITEM_CLASS = 1 };

/* ---- lines */

static bool is_watched(const struct session *session, enum monitor_class class)
{
    return atomic_load_explicit(&session->worker->server->monitors[class], memory_order_relaxed) >
           0;
}

static struct buffer *begin(struct session *session, enum monitor_class class, const char *type)
{
    struct worker *worker = session->worker;
    struct buffer *lines = &worker->monitoring.lines;
    int64_t now_us = clock_engine_us();
    uint64_t id = atomic_fetch_add(&worker->server->watch_line_last, 1) + 1;

    monitor_line_begin(worker, class);
    text_append(lines, "ts=%lld.%d gid=%llu type=%s", (long long)(now_us / 1000000),
                (int)(now_us % 1000000), (unsigned long long)id, type);
    return lines;
}

static void end(struct session *session)
{
    sink_write(&session->worker->monitoring.lines.sink, "\n", 1);
    monitor_line_end(session->worker);
}

/* What could be taken for something else is written %XX. */
static void write_key(struct buffer *lines, struct bytes key)
{
    text_append(lines, " key=");
    for (size_t i = 0; i < key.size; i++) {
        unsigned char c = (unsigned char)key.data[i];

        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
            c == '-' || c == '.' || c == '_' || c == '~')
            sink_write(&lines->sink, &key.data[i], 1);
        else
            text_append(lines, "%%%02X", c);
    }
}

static void show_get(struct session *session, struct bytes key, bool found, size_t size)
{
    struct buffer *lines;

    if (!is_watched(session, MONITOR_FETCHES))
        return;
    lines = begin(session, MONITOR_FETCHES, "item_get");
    write_key(lines, key);
    text_append(lines, " status=%s clsid=%d cfd=%d size=%zu", found ? "found" : "not_found",
                found ? ITEM_CLASS : 0, session->fd, size);
    end(session);
}

/* `ttl_ms` not above 0: none, or none that matters. */
static void show_mutation(struct session *session, struct bytes key, const char *status,
                          const char *command, int64_t ttl_ms, size_t size)
{
    struct buffer *lines;

    if (!is_watched(session, MONITOR_MUTATIONS))
        return;
    lines = begin(session, MONITOR_MUTATIONS, "item_store");
    write_key(lines, key);
    text_append(lines, " status=%s cmd=%s ttl=%lld clsid=%d cfd=%d size=%zu", status, command,
                ttl_ms > 0 ? (long long)(ttl_ms + 999) / 1000 : 0, ITEM_CLASS, session->fd, size);
    end(session);
}

static void show_store(struct session *session, const struct item_terms *terms,
                       const struct item *item)
{
    static const char *const commands[] = {[ITEM_SET] = "set",
                                           [ITEM_ADD] = "add",
                                           [ITEM_REPLACE] = "replace",
                                           [ITEM_APPEND] = "append",
                                           [ITEM_PREPEND] = "prepend"};
    const char *status = item->outcome == ITEM_STORED    ? "stored"
                         : item->outcome == ITEM_MISSING ? "not_found"
                         : item->outcome == ITEM_DIFFERS ? "exists"
                                                         : "not_stored";

    show_mutation(session, item->key, status,
                  terms->options & ITEM_COMPARES ? "cas" : commands[terms->mode], item->ttl_ms,
                  item->size);
}

static void show_deletion(struct session *session, const struct item *item)
{
    struct buffer *lines;

    if (!is_watched(session, MONITOR_DELETIONS) || item->outcome != ITEM_DELETED)
        return;
    lines = begin(session, MONITOR_DELETIONS, "deleted");
    write_key(lines, item->key);
    text_append(lines, " cmd=delete clsid=%d size=%zu", ITEM_CLASS, item->size);
    end(session);
}

/* ---- connections */

/* "127.0.0.1:1234" or "[::1]:1234"; nothing on unix sockets. */
static void write_peer(struct buffer *lines, const struct session *session)
{
    const char *peer = session->peer, *colon = strrchr(peer, ':');
    int size = colon != NULL ? (int)(colon - peer) : 0;

    if (colon == NULL)
        text_append(lines, " rip=unix rport=0 transport=local");
    else if (peer[0] == '[')
        text_append(lines, " rip=%.*s rport=%s transport=tcp", size - 2, peer + 1, colon + 1);
    else
        text_append(lines, " rip=%.*s rport=%s transport=tcp", size, peer, colon + 1);
}

void watch_opened(struct session *session)
{
    struct buffer *lines;

    if (!is_watched(session, MONITOR_CONNECTIONS))
        return;
    lines = begin(session, MONITOR_CONNECTIONS, "conn_new");
    write_peer(lines, session);
    text_append(lines, " cfd=%d", session->fd);
    end(session);
}

void watch_closed(struct session *session)
{
    const char *reason = session->close_reason;
    struct buffer *lines;

    if (!is_watched(session, MONITOR_CONNECTIONS))
        return;
    if (reason == NULL)
        reason = server_stopping(session->worker->server) ? "shutdown" : "normal";
    lines = begin(session, MONITOR_CONNECTIONS, "conn_close");
    write_peer(lines, session);
    text_append(lines, " reason=%s cfd=%d", reason, session->fd);
    end(session);
}

/* ---- operations that tell */

static size_t number_size(uint64_t number)
{
    size_t size = 1;

    for (; number > 9; number /= 10)
        size++;
    return size;
}

static struct session *session_of_reply(struct reply *reply)
{
    return (struct session *)((char *)reply - offsetof(struct session, reply));
}

/* The key that the next reply is about; false: about none. */
static bool key_of_reply(const struct reply *reply, struct bytes *out)
{
    const struct request *request = reply->request;
    const struct command *command = request != NULL ? request->command : NULL;

    if (command == NULL || command->key_first == 0 || command->parent != NULL ||
        reply->index >= command_key_count(command, request->argc))
        return false;
    *out = request->argv[call_key_index(command, (uint32_t)reply->index)];
    return true;
}

/* Not every wire counts a list's elements. `index` is from before one was emitted. */
static void counted(struct reply *reply, uint64_t index)
{
    if (reply->left > 0 && reply->index == index) {
        reply->left--;
        reply->index++;
    }
}

/* What Redis's commands store: handlers, memcached's word for them, and where the value is. */
static const struct store {
    command_handler *handler;
    const char *word;
    uint32_t value; /* index of the argument; 0: none is stored as it is */
} stores[] = {
    {string_set, "set", 2},    {string_setex, "set", 3},       {string_psetex, "set", 3},
    {string_getset, "set", 2}, {string_mset, "set", 2},        {string_setnx, "add", 2},
    {string_msetnx, "add", 2}, {string_append, "append", 2},   {string_setrange, "set", 3},
    {string_incr, "set", 0},   {string_decr, "set", 0},        {string_incrby, "set", 0},
    {string_decrby, "set", 0}, {string_incrbyfloat, "set", 0}, {dump_restore, "set", 0},
};

static const struct store *store_of(const struct request *request)
{
    if (request == NULL || request->command == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
        if (stores[i].handler == request->command->handler)
            return &stores[i];
    return NULL;
}

/* The key as the command leaves it, whose locks are held until it has replied. */
static enum find look(const struct session *session, struct bytes key, struct value *out)
{
    const struct client *client = &session->client;
    struct access access = {.engine = client->engine,
                            .thread = client->thread,
                            .now_ms = clock_engine_ms(),
                            .db = client->db,
                            .locked = true};
    struct key hashed = key_of(client->hash_seed, key);

    return keyspace_peek(&access, &hashed, out);
}

static void show_stores(struct reply *reply, bool stored)
{
    struct session *session = session_of_reply(reply);
    const struct request *request = reply->request;
    const struct store *store;

    if (!is_watched(session, MONITOR_MUTATIONS) || (store = store_of(request)) == NULL)
        return;
    uint32_t count = command_key_count(request->command, request->argc);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = call_key_index(request->command, i);
        struct value value = {.expires_ms = EXPIRES_NEVER};
        size_t size = store->value != 0 ? request->argv[store->value + at - 1].size : 0;
        int64_t ttl_ms = 0;

        if (stored && look(session, request->argv[at], &value) == FIND_FOUND) {
            size = value.size;
            if (value.expires_ms != EXPIRES_NEVER)
                ttl_ms = value.expires_ms - clock_engine_ms();
        }
        show_mutation(session, request->argv[at], stored ? "stored" : "not_stored", store->word,
                      ttl_ms, size);
    }
}

/* After SET with GET and GETSET, whose reply tells the old value only. A condition that did not
 * hold has left another value, or the same: then nobody can tell. */
static void show_store_after_get(struct reply *reply)
{
    const struct request *request = reply->request;
    const struct store *store = store_of(request);
    struct value value;

    if (store == NULL || !is_watched(session_of_reply(reply), MONITOR_MUTATIONS))
        return;
    show_stores(reply,
                store->handler == string_getset ||
                    (look(session_of_reply(reply), request->argv[1], &value) == FIND_FOUND &&
                     bytes_equal(bytes_of(value.data, value.size), request->argv[store->value])));
}

static void watched_ok(struct reply *reply)
{
    uint64_t index = reply->index;

    show_stores(reply, true);
    session_of_reply(reply)->wire->reply_ops->ok(reply);
    counted(reply, index);
}

static void watched_stored(struct reply *reply)
{
    uint64_t index = reply->index;

    show_stores(reply, true);
    session_of_reply(reply)->wire->reply_ops->stored(reply);
    counted(reply, index);
}

static void watched_not_stored(struct reply *reply)
{
    uint64_t index = reply->index;

    show_stores(reply, false);
    session_of_reply(reply)->wire->reply_ops->not_stored(reply);
    counted(reply, index);
}

static void watched_integer(struct reply *reply, int64_t integer)
{
    uint64_t index = reply->index;
    const struct store *store = store_of(reply->request);

    /* SETRANGE with nothing changes nothing. */
    if (store != NULL &&
        (store->handler != string_setrange || reply->request->argv[store->value].size > 0))
        show_stores(reply, integer != 0 ||
                               (store->handler != string_setnx && store->handler != string_msetnx));
    session_of_reply(reply)->wire->reply_ops->integer(reply, integer);
    counted(reply, index);
}

static void watched_bytes(struct reply *reply, struct bytes bytes)
{
    uint64_t index = reply->index;

    show_stores(reply, true);
    session_of_reply(reply)->wire->reply_ops->bytes(reply, bytes);
    counted(reply, index);
}

static void watched_list(struct reply *reply, uint64_t count)
{
    session_of_reply(reply)->wire->reply_ops->list(reply, count);
    reply->left = count;
    reply->index = 0;
}

static void watched_value(struct reply *reply, const struct value *value)
{
    struct session *session = session_of_reply(reply);
    uint64_t index = reply->index;
    struct bytes key;

    if (key_of_reply(reply, &key))
        show_get(session, key, true, value->size);
    show_store_after_get(reply);
    session->wire->reply_ops->value(reply, value);
    counted(reply, index);
}

static void watched_missing(struct reply *reply)
{
    struct session *session = session_of_reply(reply);
    uint64_t index = reply->index;
    struct bytes key;

    if (key_of_reply(reply, &key))
        show_get(session, key, false, 0);
    show_store_after_get(reply);
    session->wire->reply_ops->missing(reply);
    counted(reply, index);
}

static void watched_item(struct reply *reply, const struct item *item)
{
    struct session *session = session_of_reply(reply);
    command_handler *handler = reply->request->command->handler;
    uint64_t index = reply->index;

    if (handler == item_set)
        show_store(session, reply->request->terms, item);
    else if (handler == item_delete)
        show_deletion(session, item);
    else if (handler != item_error)
        show_get(session, item->key, item->existed, item->existed ? item->size : 0);
    if (item->outcome == ITEM_COUNTED)
        show_mutation(session, item->key, "stored", item->existed ? "set" : "add", item->ttl_ms,
                      number_size(item->number));
    else if (item->outcome == ITEM_FOUND && !item->existed) /* it was made by being read */
        show_mutation(session, item->key, "stored", "add", item->ttl_ms, 0);
    session->wire->reply_ops->item(reply, item);
    counted(reply, index);
}

/* ---- who uses them */

#define WIRE(name) &wire_##name,
static const struct wire *const wires[] = {
#include "wire/wires.def"
};
#undef WIRE

static struct reply_ops watched_ops[sizeof(wires) / sizeof(wires[0])];

void watch_wrap(const struct reply_ops *own, struct reply_ops *out)
{
    *out = *own;
    out->ok = watched_ok;
    out->stored = watched_stored;
    out->not_stored = watched_not_stored;
    out->integer = watched_integer;
    out->bytes = watched_bytes;
    out->list = watched_list;
    out->value = watched_value;
    out->missing = watched_missing;
    out->item = watched_item;
}

void watch_init(void)
{
    for (size_t i = 0; i < sizeof(wires) / sizeof(wires[0]); i++)
        watch_wrap(wires[i]->reply_ops, &watched_ops[i]);
}

const struct reply_ops *watch_reply_ops(const struct session *session)
{
    size_t i = 0;

    if (!session->worker->observer.watched)
        return session->wire->reply_ops;
    while (i < sizeof(wires) / sizeof(wires[0]) && wires[i] != session->wire)
        i++;
    ENSURE(i < sizeof(wires) / sizeof(wires[0]));
    return &watched_ops[i];
}

void watch_refresh(struct worker *worker)
{
    bool watched = false;

    for (uint32_t class = MONITOR_FETCHES; class <= MONITOR_DELETIONS; class ++)
        watched |= atomic_load(&worker->server->monitors[class]) > 0;
    if (watched == worker->observer.watched)
        return;
    worker->observer.watched = watched;
    for (struct session *session = worker->first; session != NULL; session = session->next)
        if (session->wire != NULL)
            session->reply.ops = watch_reply_ops(session);
}
