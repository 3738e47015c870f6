/* SPDX-License-Identifier: MIT
 *
 * The server's options: one table (server/options.def) from which flags, file, environment, CONFIG,
 * `--help` and the reference all follow.
 *
 * A `struct options` holds one value of each. Numbers are atomic: any thread reads them at any
 * time. Texts belong to the structure; those that may change while the server runs (LIVE) are only
 * touched under `lock`, the others are set before the threads start.
 */
#ifndef LARDER_SERVER_OPTIONS_H
#define LARDER_SERVER_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "os/thread.h"

enum option_kind {
    OPTION_BOOL,
    OPTION_INTEGER,
    OPTION_OCTAL,
    OPTION_SIZE,
    OPTION_MEMORY,
    OPTION_SECONDS,
    OPTION_MICROSECONDS,
    OPTION_ENUM,
    OPTION_TEXT,
    OPTION_LIST,
    OPTION_PERCENTILES,
    OPTION_OUTPUT_LIMITS,
};

enum option_when { OPTION_LIVE, OPTION_STARTUP, OPTION_FIXED };

struct option {
    const char *name;
    enum option_kind kind;
    enum option_when when;
    const char *default_text;
    int64_t min, max;
    const char *choices; /* "a|b|c" */
    const char *group, *help;
    size_t offset; /* of the field in struct options */
};

#define OPTION_TYPE_BOOL _Atomic int64_t
#define OPTION_TYPE_INTEGER _Atomic int64_t
#define OPTION_TYPE_OCTAL _Atomic int64_t
#define OPTION_TYPE_SIZE _Atomic int64_t
#define OPTION_TYPE_MEMORY _Atomic int64_t
#define OPTION_TYPE_SECONDS _Atomic int64_t
#define OPTION_TYPE_MICROSECONDS _Atomic int64_t
#define OPTION_TYPE_ENUM _Atomic int64_t
#define OPTION_TYPE_TEXT char *
/* Words, one blank between two. */
#define OPTION_TYPE_LIST char *
#define OPTION_TYPE_PERCENTILES char *
#define OPTION_TYPE_OUTPUT_LIMITS char *

/* Where a value comes from; what comes later wins. */
enum option_origin { OPTION_DEFAULT, OPTION_OF_FILE, OPTION_OF_ENVIRONMENT, OPTION_OF_FLAGS };

enum { OPTIONS_MAX = 128 };

struct options {
#define OPTION(field, name, kind, ...) OPTION_TYPE_##kind field;
#include "server/options.def"
#undef OPTION
    struct lock lock;
    unsigned char origins[OPTIONS_MAX]; /* enum option_origin, of the start */
};

/* A value that was read but not stored. */
struct option_value {
    int64_t number;
    char *text; /* owned; NULL for numbers */
};

enum option_message { OPTION_MESSAGE_SIZE = 1024 };

/* Every option at its default. */
enum status options_init(struct options *options) MUST_USE;
void options_deinit(struct options *options);

/* At most OPTIONS_MAX. */
uint32_t option_count(void);
const struct option *option_at(uint32_t index);
/* Case does not matter. NULL: unknown. */
const struct option *option_find(struct bytes name);
/* The option whose name takes the fewest edits to reach; with `flags` it may be one of the flags
 * that are no options, too. NULL: none is near enough to be meant. */
const char *option_nearest_name(struct bytes name, bool flags);
/* The next of a row's choices, beginning with `*at` at `choices`; false at the end. */
bool option_choice_next(const char **at, struct bytes *out);
struct bytes option_nearest_choice(const struct option *option, struct bytes text);
/* Reads `text`; on false `message` (OPTION_MESSAGE_SIZE) says what the option wants. */
bool option_parse(const struct option *option, struct bytes text, struct option_value *out,
                  char *message);
/* Whether the value is a row of words, each written by itself in a file or after a flag. */
bool option_has_words(const struct option *option);
/* The option's text with `text` behind it, which the caller frees; `data` is NULL: memory is out.
 */
struct bytes options_text_with(struct options *options, const struct option *option,
                               struct bytes text);
/* Takes over the value's text. */
void options_store(struct options *options, const struct option *option, struct option_value value);
/* The same, and gives the old value with its text to the caller. */
struct option_value options_exchange(struct options *options, const struct option *option,
                                     struct option_value value);
/* Whether the option has the same value in both. Not for two threads that set options. */
bool options_equal(struct options *a, struct options *b, const struct option *option);
/* Whether the option has this value. */
bool options_hold(struct options *options, const struct option *option,
                  const struct option_value *value);
/* False: memory is out. */
bool options_copy(struct options *options, const struct option *option, struct option_value *out);
/* The value as CONFIG GET shows it; the caller frees it. NULL: memory is out. */
char *options_show(struct options *options, const struct option *option);
/* True when `given` is the password; takes the same time for every wrong one of its length. */
bool options_password_is(struct options *options, struct bytes given);
bool options_password_set(struct options *options);

enum options_load {
    OPTIONS_RUN,       /* start the server */
    OPTIONS_CHECK,     /* --check-config was given, and everything is right */
    OPTIONS_HELP,      /* --help [GROUP]: `message` holds the group or nothing */
    OPTIONS_VERSION,   /* --version was given */
    OPTIONS_REFERENCE, /* --dump-reference WHAT: `message` holds WHAT */
    OPTIONS_BAD,       /* `message` says why */
};

/* What the program was started with. */
struct option_arguments {
    int argc;
    char **argv;
    char **environment;
};

/* Reads, each overriding the one before: configuration file, environment, flags. */
enum options_load options_load(struct options *options, const struct option_arguments *arguments,
                               char *message);

/* `--help`; an empty group is all of them. False: there is no such group. */
bool options_print_help(const char *group);
/* The Markdown table of the reference. */
void options_print_reference(void);

#endif
