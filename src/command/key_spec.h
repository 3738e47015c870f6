/* SPDX-License-Identifier: MIT
 *
 * What a command does with its keys, in Redis's words: the `keys` column of its row.
 *
 *   RO access                          each word is a flag: RO RW OW RM, then access update insert
 *                                      delete
 *   RW access delete; OW update        several keys of which each has flags of its own
 *   RW access update if GET else OW update    flags depend on a token among the arguments
 *
 * A row without the column reads (COMMAND_READ: "RO access") or does everything ("RW access
 * update").
 */
#ifndef LARDER_COMMAND_KEY_SPEC_H
#define LARDER_COMMAND_KEY_SPEC_H

#include "command/command.h"

enum { KEY_SPECS_MAX = 4 };

struct key_spec {
    struct bytes flags;     /* with spaces between them */
    struct bytes token;     /* empty, or what the flags depend on */
    struct bytes otherwise; /* the flags without the token */
    int32_t first;          /* position of the first key */
    int32_t last;           /* of the last one: counted from `first`, or below 0 from the end */
    int32_t step;
};

/* Returns how many there are: none for a command without keys, one for all keys, or one each. */
uint32_t key_specs(const struct command *command, struct key_spec out[KEY_SPECS_MAX]);
/* The specification that the `nth` key falls under, of `count`. */
static inline uint32_t key_spec_index(uint32_t nth, uint32_t count)
{
    return nth < count ? nth : count - 1;
}
/* The flags of a request's keys. */
struct bytes key_spec_flags(const struct key_spec *spec, const struct command *command,
                            uint32_t argc, const struct bytes *argv);

#endif
