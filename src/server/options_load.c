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

    option_source_init(&source, options, message, "LARDER_");
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
        const struct option *option = option_source_find(&source, bytes_of(name, size));
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

/* Reads the flag at argv[*index] with its values and moves `*index` past them. With `only_config`
 * nothing else is stored, since the file it names comes first. */
static bool load_flag(struct option_source *source, int argc, char **argv, int *index,
                      bool only_config)
{
    const char *text = argv[(*index)++];
    struct bytes words[CONFIG_WORDS_MAX];
    uint32_t count = 0;

    if (is_check(text))
        return true;
    if (!is_flag(text)) {
        snprintf(source->message, OPTION_MESSAGE_SIZE,
                 "unexpected argument '%.100s': options begin with --", text);
        return false;
    }
    const char *equals = strchr(text, '=');
    struct bytes name =
        equals != NULL ? bytes_of(text + 2, (size_t)(equals - text) - 2) : bytes_of_text(text + 2);
    const struct option *option = option_source_find(source, name);
    if (option == NULL)
        return false;
    bool store = !only_config || strcmp(option->name, "config") == 0;
    if (equals != NULL)
        return !store || option_source_set(source, option, bytes_of_text(equals + 1));
    while (*index < argc && !is_flag(argv[*index]) && count < CONFIG_WORDS_MAX &&
           (count == 0 || option_has_words(option)))
        words[count++] = bytes_of_text(argv[(*index)++]);
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
    struct option_source source;
    int index = 1;

    option_source_init(&source, options, message, "--");
    if (index < argc && argv[index][0] != '-')
        index++; /* the configuration file */
    while (index < argc)
        if (!load_flag(&source, argc, argv, &index, only_config))
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
    option_source_init(&source, options, message, "");
    if (argc > 1 && argv[1][0] != '-' &&
        !option_source_set(&source, option_find(BYTES("config")), bytes_of_text(argv[1])))
        return OPTIONS_BAD;
    if (!load_flags(options, argc, argv, true, message))
        return OPTIONS_BAD;
    if (options->config[0] != '\0') {
        char *path = options_show(options, option_find(BYTES("config")));

        if (path == NULL) {
            snprintf(message, OPTION_MESSAGE_SIZE, "out of memory");
            return OPTIONS_BAD;
        }
        option_source_init(&source, options, message, "");
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
