/* SPDX-License-Identifier: MIT
 *
 * Where option values come from: a file (server/config_file.c), the environment and flags, in this
 * order of rising precedence. The first mistake ends it.
 */
#include <ctype.h>
#include <stdio.h>

#include <string.h>

#include "base/alloc.h"
#include "server/config_file.h"
#include "server/option_source.h"
#include "server/options.h"

/* ---- environment */

/* Container platforms describe a service called "larder" to its neighbours in variables of this
 * form (LARDER_PORT=tcp://10.0.0.1:6379): they are no options of ours. */
static bool is_service_link(const char *name, const char *value)
{
    return strncmp(name, "SERVICE_", 8) == 0 || strncmp(name, "PORT_", 5) == 0 ||
           (strcmp(name, "PORT") == 0 && strstr(value, "://") != NULL);
}

static bool load_environment(struct options *options, char **environment, bool only_config,
                             char *message)
{
    struct option_source source;

    option_source_init(&source, options, message, OPTION_OF_ENVIRONMENT);
    for (char **at = environment; *at != NULL; at++) {
        char name[100];
        const char *equals = strchr(*at, '=');

        if (equals == NULL || strncmp(*at, "LARDER_", 7) != 0 ||
            (size_t)(equals - *at) >= sizeof(name))
            continue;
        size_t size = (size_t)(equals - *at) - 7;
        memcpy(name, *at + 7, size);
        name[size] = '\0';
        if (is_service_link(name, equals + 1))
            continue;
        for (char *c = name; *c != '\0'; c++)
            *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
        if (only_config && strcmp(name, "config") != 0)
            continue;
        const struct option *option =
            option_source_find(&source, bytes_of(name, size), bytes_of(*at, size + 7));
        if (option == NULL || !option_source_set(&source, option, bytes_of_text(equals + 1)))
            return false;
    }
    return true;
}

/* ---- flags */

static bool is_flag(const char *argument)
{
    return strncmp(argument, "--", 2) == 0;
}

static bool is_check(const char *argument)
{
    return strcmp(argument, "--check-config") == 0;
}

/* The flags while they are read. */
struct flags {
    struct option_source source;
    int argc, index;
    char **argv;
    bool only_config; /* nothing else is stored, since the file it names comes first */
    const char *file; /* the word that is no flag and no flag's value */
};

static bool load_file_name(struct flags *flags, const char *text)
{
    if (flags->file == NULL && text[0] != '-') {
        flags->file = text;
        return option_source_set(&flags->source, option_find(BYTES("config")), bytes_of_text(text));
    }
    snprintf(flags->source.message, OPTION_MESSAGE_SIZE,
             "unexpected argument '%.100s': options begin with --%s%.100s%s", text,
             flags->file != NULL ? ", and the configuration file is '" : "",
             flags->file != NULL ? flags->file : "", flags->file != NULL ? "'" : "");
    return false;
}

/* Reads the word at argv[index], if it is a flag with its values, and moves `index` past them. */
static bool load_flag(struct flags *flags)
{
    struct option_source *source = &flags->source;
    const char *text = flags->argv[flags->index++];
    struct bytes words[CONFIG_WORDS_MAX];
    uint32_t count = 0;

    if (is_check(text))
        return true;
    if (!is_flag(text))
        return load_file_name(flags, text);
    const char *equals = strchr(text, '=');
    struct bytes name =
        equals != NULL ? bytes_of(text + 2, (size_t)(equals - text) - 2) : bytes_of_text(text + 2);
    const struct option *option = option_source_find(source, name, bytes_of(text, name.size + 2));
    if (option == NULL)
        return false;
    bool store = !flags->only_config || strcmp(option->name, "config") == 0;
    if (equals != NULL)
        return !store || option_source_set(source, option, bytes_of_text(equals + 1));
    while (flags->index < flags->argc && !is_flag(flags->argv[flags->index]) &&
           count < CONFIG_WORDS_MAX && (count == 0 || option_has_words(option)))
        words[count++] = bytes_of_text(flags->argv[flags->index++]);
    if (count == 0 && option->kind == OPTION_BOOL)
        words[count++] = BYTES("yes");
    if (count > 0)
        return !store || option_source_set_words(source, option, words, count);
    snprintf(source->message, OPTION_MESSAGE_SIZE, "--%s wants a value", option->name);
    return false;
}

static bool load_flags(struct options *options, int argc, char **argv, bool only_config,
                       char *message)
{
    struct flags flags = {.argc = argc, .index = 1, .argv = argv, .only_config = only_config};

    option_source_init(&flags.source, options, message, OPTION_OF_FLAGS);
    while (flags.index < argc)
        if (!load_flag(&flags))
            return false;
    return true;
}

static enum options_load help(int argc, char **argv, int index, char *message)
{
    bool named = index + 1 < argc && !is_flag(argv[index + 1]);

    snprintf(message, OPTION_MESSAGE_SIZE, "%s", named ? argv[index + 1] : "");
    return OPTIONS_HELP;
}

enum options_load options_load(struct options *options, const struct option_arguments *arguments,
                               char *message)
{
    int argc = arguments->argc;
    char **argv = arguments->argv, **environment = arguments->environment;
    struct option_source source;
    bool check = false;

    for (int i = 1; i < argc; i++) {
        check = check || is_check(argv[i]);
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help(argc, argv, i, message);
        if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-v") == 0)
            return OPTIONS_VERSION;
        if (strcmp(argv[i], "--dump-reference") == 0) {
            snprintf(message, OPTION_MESSAGE_SIZE, "%s", i + 1 < argc ? argv[i + 1] : "");
            return OPTIONS_REFERENCE;
        }
    }
    if (!load_environment(options, environment, true, message))
        return OPTIONS_BAD;
    if (!load_flags(options, argc, argv, true, message))
        return OPTIONS_BAD;
    if (options->config[0] != '\0') {
        char *path = options_show(options, option_find(BYTES("config")));

        if (path == NULL) {
            snprintf(message, OPTION_MESSAGE_SIZE, "out of memory");
            return OPTIONS_BAD;
        }
        option_source_init(&source, options, message, OPTION_OF_FILE);
        bool good = config_file_load(&source, path);

        alloc_free(path);
        if (!good)
            return OPTIONS_BAD;
    }
    if (!load_environment(options, environment, false, message) ||
        !load_flags(options, argc, argv, false, message))
        return OPTIONS_BAD;
    return check ? OPTIONS_CHECK : OPTIONS_RUN;
}
