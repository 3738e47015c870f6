/* SPDX-License-Identifier: MIT
 *
 * Larder, the cache, inside your program: the whole public interface, and its manual.
 *
 *     struct larder *cache;
 *     if (larder_open(NULL, &cache) != LARDER_OK)
 *         return 1;
 *     (void)larder_set(cache, larder_text("greeting"), larder_text("hello"), NULL, NULL);
 *
 *     char buffer[64];
 *     size_t size;
 *     bool found;
 *     if (larder_get(cache, larder_text("greeting"), buffer, sizeof buffer, &size, &found) ==
 *             LARDER_OK && found)
 *         printf("%.*s\n", (int)size, buffer);
 *     larder_close(cache);
 *
 * Build with `cc app.c $(pkg-config --cflags --libs larder)`. examples/embed.c is a whole program.
 *
 * THREADS. Every function may be called from any thread at any time, except larder_open and
 * larder_close where they say otherwise. A thread needs no preparation: it is registered by its
 * first call on a handle and forgotten when it ends or when the handle is closed. Reads take no
 * lock. A signal handler may call nothing here, and a child made by fork() must not use handles
 * that it inherited.
 *
 * BRACKETS. A call alone costs a look at the clock and a note that this thread is reading. Between
 * larder_enter and larder_leave that is paid once for all calls of the thread.
 *
 * KEYS AND VALUES are bytes: any length up to 512 MB, NUL and empty ones included. What is passed
 * in is copied; nothing is kept. What comes out is copied into your memory, or shown to your
 * function (a `larder_visit`) in place.
 *
 * DATABASES. A thread begins in database 0 of 16. The command SELECT changes it for the later calls
 * of that thread on that handle, functions and commands alike.
 *
 * TIME is in milliseconds. A time to live counts from the call; LARDER_NEVER means none. Expired
 * keys are never seen again, and their memory comes back within a second.
 *
 * RESULTS. Functions that can fail return an `enum larder_status`; anything but LARDER_OK means
 * that nothing was changed and no output was written. Ordinary outcomes (no such key, condition not
 * met) are not failures and come in a `bool`. Outputs come last; those marked "may be NULL" can be
 * left out.
 */
#ifndef LARDER_H
#define LARDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LARDER_API __attribute__((visibility("default")))
#define LARDER_MUST_USE __attribute__((warn_unused_result))

/* A cache. Any number of them may be open; they share nothing. */
struct larder;

/* Borrowed bytes. `data` may be NULL when `size` is 0. */
struct larder_bytes {
    const char *data;
    size_t size;
};

/* A C string without its NUL. */
static inline struct larder_bytes larder_text(const char *text)
{
    struct larder_bytes bytes = {text, strlen(text)};
    return bytes;
}

/* A time to live that does not end. */
#define LARDER_NEVER INT64_MAX

/* ---- failures */

/* The numbers are stable only within one version. The functions of this header return the first
 * few; the rest name the errors of commands, which arrive as replies (LARDER_REPLY_ERROR). */
enum larder_status {
    LARDER_OK,
    LARDER_NO_MEMORY,   /* the limit or the system's memory is reached */
    LARDER_SYSTEM,      /* the system refused a thread or a thread-local key */
    LARDER_SYNTAX,      /* options that exclude each other; a command without a name */
    LARDER_WRONG_TYPE,  /* the key holds another kind of value */
    LARDER_NOT_INTEGER, /* larder_incr on something else; a time to live out of range */
    LARDER_NOT_FLOAT,
    LARDER_INTEGER_OVERFLOW, /* larder_incr beyond 64 bits */
    LARDER_DECREMENT_OVERFLOW,
    LARDER_FLOAT_OVERFLOW,
    LARDER_VALUE_TOO_LARGE, /* a key or value above 512 MB */
    LARDER_OFFSET_RANGE,
    LARDER_NO_SUCH_KEY,
    LARDER_DB_INDEX,
    LARDER_CURSOR,
    LARDER_NESTED_MULTI,
    LARDER_EXEC_WITHOUT_MULTI,
    LARDER_DISCARD_WITHOUT_MULTI,
    LARDER_WATCH_IN_MULTI,
    LARDER_EXEC_ABORTED,
    LARDER_NO_AUTH,
    LARDER_WRONG_PASSWORD,
    LARDER_NO_PROTOCOL,
    LARDER_TRANSACTION_TOO_LARGE
};

/* A sentence in static memory; never NULL. */
LARDER_API const char *larder_status_text(enum larder_status status);

/* ---- opening and closing */

enum larder_clock {
    LARDER_CLOCK_SYSTEM, /* the host's, corrected so that it never steps */
    LARDER_CLOCK_MANUAL  /* larder_set_time alone moves it: for simulations and tests */
};

/* Zero in a field means its default, so `struct larder_options options = {0};` is a good start. */
struct larder_options {
    uint64_t memory_max_bytes; /* for entries and tables; what exceeds it is refused. 0: no limit */
    uint32_t threads;          /* that will write at the same time, about. 0: one per CPU */
    uint32_t shards;           /* parts that are locked apart, at most 1,024. 0: chosen from the
                                  two above */
    uint64_t hash_seed;        /* 0: random, as it should be where others choose the keys */
    enum larder_clock clock;
    int64_t start_ms; /* LARDER_CLOCK_MANUAL: its first time, ms since 1970. 0: now */
    /* Two background threads reclaim memory, expire keys and prepare growth. Without (always so
     * with the manual clock) the program calls larder_maintain. */
    bool no_background;
};

/* `options` may be NULL. Fails with NO_MEMORY or SYSTEM. */
LARDER_API LARDER_MUST_USE enum larder_status larder_open(const struct larder_options *options,
                                                          struct larder **out);
/* Forgets everything. No other thread may be in a call or a bracket on this handle, nor begin one;
 * threads that used it earlier may live on. Replies stay until they are freed. NULL is ignored. */
LARDER_API void larder_close(struct larder *larder);

/* ---- brackets */

/* Begins a bracket; nests. Fails with NO_MEMORY or SYSTEM. Within a bracket the system's clock is
 * read once (a time to live still counts from the call), and memory that others free is kept from
 * reuse: leave every few milliseconds, and before waiting for anything. */
LARDER_API LARDER_MUST_USE enum larder_status larder_enter(struct larder *larder);
/* Ends the bracket that this thread began last. */
LARDER_API void larder_leave(struct larder *larder);

/* ---- reading */

/* A value in place: valid until the function that got it returns. */
struct larder_value {
    const char *data;
    size_t size;
    int64_t expires_ms; /* ms since 1970, by the handle's clock; LARDER_NEVER: does not expire */
};

/* Sees the value of the key with this index, or NULL when there is none. It may run while the key
 * is locked: it must be quick and must not call into the library. */
typedef void larder_visit(void *argument, size_t index, const struct larder_value *value);

/* Copies the first `room` bytes of the value into `buffer`. `*out_size` is the size of the whole
 * value: above `room`, the copy was cut. `*out_size` is 0 when the key is not `*out_found`. */
LARDER_API LARDER_MUST_USE enum larder_status larder_get(struct larder *larder,
                                                         struct larder_bytes key, void *buffer,
                                                         size_t room, size_t *out_size,
                                                         bool *out_found);
/* Calls `visit` once, with index 0. */
LARDER_API LARDER_MUST_USE enum larder_status larder_get_with(struct larder *larder,
                                                              struct larder_bytes key,
                                                              larder_visit *visit, void *argument);
/* Calls `visit` for each key in order. Much faster than single reads where the data is larger than
 * the CPU's caches, since the memory of many keys is fetched at once. Each key is read for itself:
 * for one moment's view of several keys use the command MGET. */
LARDER_API LARDER_MUST_USE enum larder_status larder_get_many(struct larder *larder,
                                                              const struct larder_bytes *keys,
                                                              size_t count, larder_visit *visit,
                                                              void *argument);
/* Time left to live. LARDER_NEVER: the key does not expire. Written only when the key is found. */
LARDER_API LARDER_MUST_USE enum larder_status larder_ttl(struct larder *larder,
                                                         struct larder_bytes key,
                                                         int64_t *out_ttl_ms, bool *out_found);

/* ---- writing */

enum larder_condition {
    LARDER_ALWAYS,
    LARDER_IF_MISSING, /* only a new key */
    LARDER_IF_PRESENT  /* only a key that exists */
};

struct larder_set_options {
    int64_t ttl_ms; /* 0 and LARDER_NEVER: the key does not expire; negative is refused */
    enum larder_condition condition;
    bool keep_ttl; /* the key lives as long as it would have; excludes ttl_ms */
};

/* `options` and `out_stored` (false: the condition did not hold) may be NULL. Fails with NO_MEMORY,
 * SYSTEM, SYNTAX, NOT_INTEGER or VALUE_TOO_LARGE. */
LARDER_API LARDER_MUST_USE enum larder_status larder_set(struct larder *larder,
                                                         struct larder_bytes key,
                                                         struct larder_bytes value,
                                                         const struct larder_set_options *options,
                                                         bool *out_stored);
/* `out_deleted` (false: there was none) may be NULL. */
LARDER_API LARDER_MUST_USE enum larder_status larder_delete(struct larder *larder,
                                                            struct larder_bytes key,
                                                            bool *out_deleted);
/* Adds to the decimal integer that the key holds; a missing key counts from 0 and does not expire.
 * The time to live stays. `out_value` may be NULL. */
LARDER_API LARDER_MUST_USE enum larder_status larder_incr(struct larder *larder,
                                                          struct larder_bytes key, int64_t delta,
                                                          int64_t *out_value);
/* Gives a key a new time to live. 0 and less delete it, LARDER_NEVER makes it stay. `out_found` may
 * be NULL. */
LARDER_API LARDER_MUST_USE enum larder_status larder_expire(struct larder *larder,
                                                            struct larder_bytes key, int64_t ttl_ms,
                                                            bool *out_found);

/* ---- commands */

enum larder_reply_kind {
    LARDER_REPLY_OK,           /* done */
    LARDER_REPLY_STORED,       /* the write took effect */
    LARDER_REPLY_NOT_STORED,   /* its condition did not hold */
    LARDER_REPLY_MISSING,      /* no such key or element */
    LARDER_REPLY_MISSING_LIST, /* EXEC did not run */
    LARDER_REPLY_BYTES,        /* data, size */
    LARDER_REPLY_WORD,         /* data, size: a short fixed word (PONG, QUEUED) */
    LARDER_REPLY_TEXT,         /* data, size: meant for people */
    LARDER_REPLY_INTEGER,      /* integer */
    LARDER_REPLY_NUMBER,       /* number */
    LARDER_REPLY_BOOLEAN,      /* integer: 0 or 1 */
    LARDER_REPLY_LIST,         /* items, count */
    LARDER_REPLY_SET,          /* items, count; their order means nothing */
    LARDER_REPLY_MAP,          /* items, count: key, value, key, value, ... (count is even) */
    LARDER_REPLY_ERROR         /* data, size: the sentence; code: "ERR", "WRONGTYPE", ... */
};

/* One reply, or one part of one. Fields that the kind does not name are 0. */
struct larder_reply {
    enum larder_reply_kind kind;
    const char *code;
    const char *data; /* a NUL follows, not counted */
    size_t size;
    int64_t integer;
    double number;
    const struct larder_reply *items;
    size_t count;
};

/* Runs a command, its name being argv[0]: those of docs/reference/commands.md but the ones that are
 * about a server and its connections (CONFIG, CLIENT, INFO ...). MULTI and WATCH hold for the
 * calling thread: the commands that it gives until EXEC are queued, while the functions of this
 * header still act at once.
 *
 * The command's own errors are replies. The call itself fails with SYNTAX when there is no argv[0]
 * or more than 2,147,483,647 arguments, else with NO_MEMORY or SYSTEM; only where NO_MEMORY struck
 * while the reply was written has the command run. `*out_reply` belongs to the caller, on any
 * thread, until larder_reply_free. */
LARDER_API LARDER_MUST_USE enum larder_status larder_command(struct larder *larder, size_t argc,
                                                             const struct larder_bytes *argv,
                                                             struct larder_reply **out_reply);
/* Frees a whole reply, its parts included. NULL is ignored. */
LARDER_API void larder_reply_free(struct larder_reply *reply);

/* ---- housekeeping */

struct larder_stats {
    uint64_t keys;             /* in all databases */
    uint64_t keys_expiring;    /* of these, with a time to live */
    uint64_t memory_max_bytes; /* 0: no limit */
    uint64_t used_bytes;       /* memory held for entries and tables */
    uint64_t live_bytes;       /* of this, occupied by entries that can be read */
    uint64_t table_bytes;      /* of this, the hash tables */
    uint64_t retired_bytes;    /* waiting for readers to leave their brackets */
    uint64_t hits, misses;     /* reads of single keys */
    uint64_t inserted;
    uint64_t deleted; /* and all other ways to go: expired ones are among them */
    uint64_t expired;
};

/* Approximate while other threads write. */
LARDER_API void larder_stats(struct larder *larder, struct larder_stats *out);

/* Only with LARDER_CLOCK_MANUAL: it is `now_ms` now. An earlier time is ignored. */
LARDER_API void larder_set_time(struct larder *larder, int64_t now_ms);
/* Only without background threads: one round of their work, in which it steps aside for 100 us
 * whenever another thread waits for the same lock. True: more is waiting. Does nothing while
 * another thread is at it. Call it a few times per second. */
LARDER_API bool larder_maintain(struct larder *larder);

#ifdef __cplusplus
}
#endif

#endif
