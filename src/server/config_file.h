/* SPDX-License-Identifier: MIT
 *
 * Configuration files: one option a line, in the form that Redis reads (base/words.h); comments
 * begin with # and have a line of their own; `include PATH` reads other files at that place, by
 * pattern too, relative to the working directory. One thread.
 */
#ifndef LARDER_SERVER_CONFIG_FILE_H
#define LARDER_SERVER_CONFIG_FILE_H

#include "server/option_source.h"

enum { CONFIG_FILE_SIZE_MAX = 1024 * 1024, CONFIG_WORDS_MAX = 64 };

struct config_line {
    struct bytes words[CONFIG_WORDS_MAX];
    uint32_t count; /* 0: nothing but blanks or a comment */
};

/* Takes the words of a line without its end, decoding them in place. False: `*why` says what the
 * line wants. */
bool config_line_split(char *text, size_t size, struct config_line *out, const char **why);
bool config_line_includes(const struct config_line *line);

/* The text without the byte order mark that some editors begin a file with. */
struct bytes config_text_start(struct bytes text);

/* Reads a file into the source's options. False: the source's message says what is wrong where. */
bool config_file_load(struct option_source *source, const char *path);
/* The same for the text of the file that messages call `path`; changes the text. */
bool config_text_load(struct option_source *source, const char *path, char *text, size_t size);

#endif
