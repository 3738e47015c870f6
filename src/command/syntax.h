/* SPDX-License-Identifier: MIT
 *
 * The `arguments` column of a command's row, read into the tree that COMMAND DOCS tells.
 *
 *   key                a value; what type it has follows from its name, and from the row's columns
 *                      where it is a key
 *   NX                 a token, which is written as it is
 *   EX seconds         a token in front of a value; of several values, of all as one block
 *   [ ... ]            may be left out
 *   < ... >            one thing
 *   a | b              one of several
 *   key [key ...]      once or more often: a bracket that repeats what stands before it; it may
 *                      repeat several (`key value [key value ...]`) and a token with its value
 *   [section ...]      any number
 *   < ... >...         once or more often
 *   condition=[ ... ]  the name of what follows, where it has none of its own or is shown as
 *                      another (`addr=ip:port`); people are not shown it
 *
 * Everything points into the column, which outlives the tree.
 */
#ifndef LARDER_COMMAND_SYNTAX_H
#define LARDER_COMMAND_SYNTAX_H

#include "base/status.h"
#include "command/command.h"

enum argument_type {
    ARGUMENT_STRING,
    ARGUMENT_INTEGER,
    ARGUMENT_DOUBLE,
    ARGUMENT_KEY,
    ARGUMENT_PATTERN,
    ARGUMENT_UNIX_TIME,
    ARGUMENT_PURE_TOKEN,
    ARGUMENT_ONEOF,
    ARGUMENT_BLOCK,
};

enum { SYNTAX_ARGUMENTS_MAX = 64 };

struct argument {
    enum argument_type type;
    struct bytes name;    /* of any case; told in lower case */
    struct bytes display; /* what people are shown; of ONEOF and BLOCK nothing */
    struct bytes token;   /* empty: none */
    bool optional, multiple;
    bool multiple_token; /* the token is repeated too */
    uint32_t key;        /* which of the command's keys this is, from 0; of a KEY only */
    struct argument *next, *children;
    /* --- private: where in the column it begins, with its token and behind it */
    uint32_t start, value;
};

struct syntax {
    struct argument *first; /* NULL: the command takes no arguments */
    uint32_t count;
    struct argument arguments[SYNTAX_ARGUMENTS_MAX + 1]; /* private */
};

/* SYNTAX: the column is not well formed, or has more than SYNTAX_ARGUMENTS_MAX parts. */
enum status syntax_parse(const struct command *command, struct syntax *out) MUST_USE;

/* "pure-token" and so on. */
const char *argument_type_name(enum argument_type type);

/* How many bytes at the beginning of a part of a column are a name that people are not shown. */
size_t syntax_label_size(const char *text);

#endif
