/* SPDX-License-Identifier: MIT
 *
 * The command table: one row per command in command/commands.def (what engine and library know) and
 * server/commands.def (what needs the running server). A row yields lookup, arity, flags, keys,
 * COMMAND's output, statistics and the generated reference.
 *
 *   COMMAND(name, handler, arity, flags, key_first, key_last, key_step, group, since, complexity,
 *           arguments, summary, [.keys = "..."], [.tips = "..."], [.categories = "..."])
 *
 * `name` is a string in lower case, at most COMMAND_NAME_SIZE_MAX bytes. `arity` counts the name;
 * negative: at least that many. `key_last` -1: up to the last argument. A subcommand is a row
 * SUBCOMMAND(parent, name, ...) with the same columns below its parent's; the dispatcher finds it
 * by argv[1]. A command that is nothing without a subcommand is a row
 * PARENT(name, arity, flags, group, since, complexity, arguments, summary). How `arguments` is
 * written says command/syntax.h, what `keys` may say command/key_spec.h; `tips` are Redis's, and
 * `categories` those of its ACL that do not follow from the other columns, both with spaces between
 * them.
 *
 * How keys decide about locks (command/dispatch.c): a command with keys that is not COMMAND_READ
 * runs under their locks; COMMAND_WRITE with several keys also marks the shards.
 */
#ifndef LARDER_COMMAND_COMMAND_H
#define LARDER_COMMAND_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "command/reply.h"
#include "command/request.h"
#include "engine/keyspace.h"

enum command_flag {
    COMMAND_READ = 1 << 0,     /* reads keys; runs without locks first */
    COMMAND_WRITE = 1 << 1,    /* changes keys; runs under the locks of its keys */
    COMMAND_GROWS = 1 << 2,    /* may need memory: refused above maxmemory */
    COMMAND_ALL_KEYS = 1 << 3, /* touches the whole keyspace: every shard is locked */
    COMMAND_CONTROL = 1 << 4,  /* runs at once inside MULTI (EXEC, DISCARD, WATCH, ...) */
    COMMAND_NO_AUTH = 1 << 5,  /* allowed before AUTH */
    COMMAND_FAST = 1 << 6,     /* O(1) or O(log n): shown by COMMAND */
    COMMAND_ADMIN = 1 << 7,    /* shown by COMMAND */
    COMMAND_NO_MULTI = 1 << 8, /* refused inside MULTI */
    COMMAND_UNLOCKED = 1 << 9, /* locks for itself in short spans unless inside EXEC (SCAN, KEYS) */
    COMMAND_EXECUTES = 1 << 10, /* runs under the locks of all queued requests (EXEC) */
    COMMAND_PARENT = 1 << 11,   /* has subcommands; set by command_table_add, not by rows */
    COMMAND_ITEM = 1 << 12,     /* only for requests with terms (command/item.h) */
    COMMAND_SUB = 1 << 15,      /* of the nearest row above that is none; set by SUBCOMMAND */
};

enum {
    COMMAND_NAME_SIZE_MAX = 23,
    COMMAND_FULL_NAME_SIZE = 2 * COMMAND_NAME_SIZE_MAX + 2, /* with the NUL behind it */
    COMMANDS_MAX = 512
};

struct client;

struct snapshot_check;

/* One execution of one command. Handlers use it through command/call.h. */
struct call {
    const struct command *command;
    uint32_t argc;
    struct bytes *argv;
    struct blob **blobs;            /* see struct request */
    uint64_t hash;                  /* of the first key */
    const struct item_terms *terms; /* of COMMAND_ITEM rows */
    struct access access;
    struct client *client;
    struct reply *reply;
    /* --- private to dispatch.c and call.h */
    const uint64_t *hashes;                /* of the first CALL_HASHES_MAX keys, or NULL */
    const struct snapshot_check *snapshot; /* reads of several keys without locks, or NULL */
    bool torn;                             /* the snapshot turned out to mix two states */
    bool time_fresh;                       /* access.now_ms was read for this call */
};

/* What a handler tells the dispatcher. */
enum outcome {
    OUTCOME_DONE, /* one reply was emitted */
    /* Nothing was emitted: lock the shards of the keys, or all if it has none, and call again. */
    OUTCOME_NEED_LOCK,
};

typedef enum outcome command_handler(struct call *call);

struct command {
    const char *name;         /* lower case; a subcommand's without its parent */
    command_handler *handler; /* NULL: only subcommands */
    int16_t arity;
    uint16_t flags;
    int16_t key_first, key_last, key_step;
    const char *group, *since, *complexity, *arguments, *summary;
    const char *keys, *tips, *categories; /* NULL: the usual ones; none; none */
    const struct command *parent; /* NULL for a top-level row; filled in by command_table_add */
    uint32_t id;                  /* index in the table, for statistics; likewise */
};

/* Initializers of struct command, for the files that make an array of a table's rows. */
#define COMMAND_ROW(name_, handler_, arity_, flags_, first_, last_, step_, group_, since_,         \
                    complexity_, arguments_, ...)                                                  \
    {.name = name_,                                                                                \
     .handler = handler_,                                                                          \
     .arity = arity_,                                                                              \
     .flags = flags_,                                                                              \
     .key_first = first_,                                                                          \
     .key_last = last_,                                                                            \
     .key_step = step_,                                                                            \
     .group = group_,                                                                              \
     .since = since_,                                                                              \
     .complexity = complexity_,                                                                    \
     .arguments = arguments_,                                                                      \
     .summary = __VA_ARGS__},
#define COMMAND_ROW_SUB(parent, name, handler, arity, flags, ...)                                  \
    COMMAND_ROW(name, handler, arity, (flags) | COMMAND_SUB, __VA_ARGS__)
#define COMMAND_ROW_PARENT(name, arity, flags, ...)                                                \
    COMMAND_ROW(name, NULL, arity, flags, 0, 0, 0, __VA_ARGS__)

/* Copies a table's rows; called before any lookup (single-threaded). Adding the same rows again
 * changes nothing. NO_MEMORY: more than COMMANDS_MAX rows in all. */
enum status command_table_add(const struct command *rows, uint32_t count) MUST_USE;
/* The rows of command/commands.def. */
const struct command *command_rows(uint32_t *out_count);

/* Case does not matter. NULL: unknown. Thread-safe after the tables are added. */
const struct command *command_find(struct bytes name);
/* The subcommand's row, or `parent` itself when it has none of that name. */
const struct command *command_find_sub(const struct command *parent, struct bytes name);
/* "get", or "config|get": written into `out` and returned. */
struct bytes command_full_name(const struct command *command, char out[COMMAND_FULL_NAME_SIZE]);
/* By its full name; NULL: there is none. */
const struct command *command_find_full(struct bytes name);
uint32_t command_count(void);
const struct command *command_at(uint32_t index);

/* Whether clients can ask for it by name. */
static inline bool command_has_name(const struct command *command)
{
    return (command->flags & COMMAND_ITEM) == 0;
}

static inline bool command_arity_ok(const struct command *command, uint32_t argc)
{
    return command->arity >= 0 ? argc == (uint32_t)command->arity
                               : argc >= (uint32_t)-command->arity;
}

#endif
