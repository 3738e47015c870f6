/* SPDX-License-Identifier: MIT
 *
 * One place that option values come from (a configuration file with what it includes, the
 * environment, the flags) while it is read. Every mistake is worded here, together with its place
 * and what was probably meant. One thread.
 */
#ifndef LARDER_SERVER_OPTION_SOURCE_H
#define LARDER_SERVER_OPTION_SOURCE_H

#include "server/options.h"

struct option_source {
    struct options *options;
    char *message;               /* OPTION_MESSAGE_SIZE; set when a function here returns false */
    const char *prefix;          /* before the name in messages: "--" for flags */
    char place[256];             /* "FILE:LINE: " or nothing */
    uint32_t depth;              /* files that are being read, one including the next */
    bool mentioned[OPTIONS_MAX]; /* lists: the first mention replaces, later ones add */
};

void option_source_init(struct option_source *source, struct options *options, char *message,
                        const char *prefix);
/* NULL: there is no such option. */
const struct option *option_source_find(struct option_source *source, struct bytes name);
bool option_source_set(struct option_source *source, const struct option *option,
                       struct bytes text);
/* The same for several words; only options that have words may be given more than one. */
bool option_source_set_words(struct option_source *source, const struct option *option,
                             const struct bytes *words, uint32_t count);

#endif
