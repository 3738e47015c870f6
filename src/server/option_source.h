/* SPDX-License-Identifier: MIT
 *
 * One place that option values come from (a configuration file with what it includes, the
 * environment, the flags) while it is read. Every mistake is worded here, together with its place
 * and what was probably meant. One thread.
 */
#ifndef LARDER_SERVER_OPTION_SOURCE_H
#define LARDER_SERVER_OPTION_SOURCE_H

#include "server/options.h"

enum { CONFIG_DEPTH_MAX = 16 };

struct option_source {
    struct options *options;
    char *message; /* OPTION_MESSAGE_SIZE; set when a function here returns false */
    enum option_origin origin;
    char place[256]; /* "FILE:LINE: " or nothing */
    uint32_t depth;  /* files that are being read, one including the next: */
    const char *paths[CONFIG_DEPTH_MAX];
    bool mentioned[OPTIONS_MAX]; /* lists: the first mention replaces, later ones add */
};

void option_source_init(struct option_source *source, struct options *options, char *message,
                        enum option_origin origin);
/* "--bind 1.2.3.4", "LARDER_BIND=1.2.3.4" or "bind 1.2.3.4 of FILE": as the option was given. */
void options_origin_write(const struct options *options, const struct option *option,
                          const char *value, char *out, size_t size);
/* NULL: there is no such option; `written` is its name as it stands there. */
const struct option *option_source_find(struct option_source *source, struct bytes name,
                                        struct bytes written);
bool option_source_set(struct option_source *source, const struct option *option,
                       struct bytes text);
/* The same for several words; only options that have words may be given more than one. */
bool option_source_set_words(struct option_source *source, const struct option *option,
                             const struct bytes *words, uint32_t count);

#endif
