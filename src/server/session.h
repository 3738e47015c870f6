/* SPDX-License-Identifier: MIT
 *
 * A session: what the server knows of one connection, and the way of its bytes through wire and
 * dispatcher. Owned by its worker's thread.
 *
 * Other threads see sessions in their worker's list, under its sessions_lock, to describe them
 * (server/clients.h). They read only the fields marked `shown`: constant, atomic, or written by the
 * owner under that lock.
 */
#ifndef LARDER_SERVER_SESSION_H
#define LARDER_SERVER_SESSION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "command/client.h"
#include "command/command.h"
#include "net/loop.h"
#include "server/worker.h"
#include "wire/wire.h"

/* How a client calls itself; one immutable block, replaced whole. */
struct label {
    _Atomic uint32_t holders;
    struct bytes name, library_name, library_version; /* in `text` */
    char text[];
};

/* A request that has not arrived whole. */
struct pending {
    struct parser parser;
    struct blob *blob;    /* its big argument, being received, or NULL */
    size_t discard_bytes; /* of a big argument there was no memory for: still to come */
    size_t unstored_size; /* of big arguments that maxmemory does not bound */
    bool refused;         /* such an argument was met */
};

/* How a request comes, as the loop's sweep sees it. */
struct pace {
    bool begun;        /* there is one that has not come whole, */
    uint64_t commands; /* the one after so many; */
    uint32_t since_ms; /* its bytes are counted from here on, in the loop's time, */
    uint64_t bytes;    /* when the connection had received so many */
};

/* Bits of `state`; above them how many requests are queued and how many keys watched. */
enum session_state {
    SESSION_DB = 0xff,
    SESSION_RESP_SHIFT = 8,
    SESSION_IN_MULTI = 1 << 12,
    SESSION_CLOSES = 1 << 13, /* once its replies are sent */
    SESSION_WAITS = 1 << 14,  /* for the end of a pause */
    SESSION_UNIX = 1 << 15,   /* came over a unix socket */
    SESSION_NO_EVICT = 1 << 16,
    SESSION_NO_TOUCH = 1 << 17,
    SESSION_MONITORS = 1 << 18,
    SESSION_QUEUED_SHIFT = 20,
    SESSION_WATCHED_SHIFT = 42,
    SESSION_COUNT_MAX = (1 << 22) - 1 /* larger counts are shown as this */
};

struct session {
    struct client client; /* first: see session_of */
    struct reply reply;
    struct conn *conn;
    struct worker *worker;   /* shown */
    const struct wire *wire; /* NULL until the first bytes have told */
    struct pending *pending; /* NULL unless a request is unfinished */
    /* Requests that wait for the end of a pause, at most a batch; the connection is held then. */
    struct request_copy *waiting_first, *waiting_last;
    uint64_t glance_hash;            /* of the key that `glance` fetches memory for; 0: none */
    struct session *next, *previous; /* shown */
    struct label *label;             /* shown, under the lock; NULL: nothing was set */
    uint64_t id;                     /* shown */
    int64_t opened_ms;               /* shown; engine time */
    _Atomic int64_t active_ms;       /* shown; when bytes last arrived */
    _Atomic(const struct command *) last_command; /* shown; NULL: none yet */
    _Atomic uint64_t state;                       /* shown; enum session_state */
    _Atomic uint64_t queued_bytes;                /* shown; by MULTI */
    counter commands;                             /* shown; requests that have run */
    const struct listener *listener;              /* shown */
    int fd;                                       /* shown */
    bool replies_off;                             /* CLIENT REPLY OFF */
    uint8_t skips;                                /* requests that get no reply, this one first */
    struct monitor *monitor;                      /* NULL: it neither MONITORs nor watches */
    const char *close_reason;                     /* as a watcher is told; NULL: the usual one */
    const struct wire *likely_wire;               /* while `wire` is NULL, if bytes have come */
    struct pace pace;                             /* where the wire hurries */
    bool no_evict, no_touch;                      /* asked for and shown, without effect yet */
    char peer[48], local[48]; /* shown; "127.0.0.1:1234", empty on unix sockets */
};

extern const struct loop_handler session_handler;

/* Commands of this server only run for sessions. */
static inline struct session *session_of(const struct call *call)
{
    return (struct session *)call->client;
}

static inline struct server *server_of(const struct call *call)
{
    return session_of(call)->worker->server;
}

enum session_label { SESSION_NAME, SESSION_LIBRARY_NAME, SESSION_LIBRARY_VERSION };

/* Replaces one part of the label. */
enum status session_label_set(struct session *session, enum session_label which, struct bytes text)
    MUST_USE;
void label_release(struct label *label); /* NULL is fine */
/* The part's text, or nothing. */
struct bytes label_part(const struct label *label, enum session_label which);

/* How many of the requests from the current one on get no reply; all while replies_off is set. */
void session_skip_replies(struct session *session, bool off, uint8_t count);
/* Brings `state` up to date; after a command changed what it shows. */
void session_show(struct session *session);
/* True when it came over a unix socket or from this machine. */
bool session_local(const struct session *session);

#endif
