/* SPDX-License-Identifier: MIT
 *
 * Where option values come from at start-up: a file, the environment and flags, in this order of
 * rising precedence. Every mistake is fatal and named together with what was probably meant.
 */
#include <ctype.h>
#include <stdio.h>

#include "base/alloc.h"
#include "os/process.h"
#include "server/options.h"

enum { CONFIG_FILE_SIZE_MAX = 1024 * 1024 };

/* One of the three sources while it is read. */
struct source {
    struct options *options;
    char *message;
    const char *prefix;          /* before the name in messages: "--" for flags */
    char place[128];             /* "FILE:LINE: " or nothing */
    bool mentioned[OPTIONS_MAX]; /* lists: the first mention replaces, later ones add */
};

static void source_init(struct source *source, struct options *options, char *message,
                        const char *prefix)
{
    memset(source, 0, sizeof(*source));
    source->options = options;
    source->message = message;
    source->prefix = prefix;
}

static const struct option *find(struct source *source, struct bytes name)
{
    const struct option *option = option_find(name);

    if (option == NULL)
        snprintf(source->message, OPTION_MESSAGE_SIZE,
                 "%sunknown option '%s%.*s'; did you mean '%s%s'?", source->place, source->prefix,
                 (int)(name.size < 100 ? name.size : 100), name.data, source->prefix,
                 option_nearest(name)->name);
    return option;
}

static bool set(struct source *source, const struct option *option, struct bytes text)
{
    char why[OPTION_MESSAGE_SIZE];
    struct option_value value;
    uint32_t index = (uint32_t)(option - option_at(0));

    if (option->when == OPTION_FIXED && !bytes_equal_text_nocase(text, option->default_text)) {
        snprintf(source->message, OPTION_MESSAGE_SIZE,
                 "%sbad value '%.*s' for %s%s: it is always '%s'", source->place,
                 (int)(text.size < 100 ? text.size : 100), text.data, source->prefix, option->name,
                 option->default_text);
        return false;
    }
    if (!option_parse(option, text, &value, why)) {
        snprintf(source->message, OPTION_MESSAGE_SIZE, "%sbad value '%.*s' for %s%s: %.200s",
                 source->place, (int)(text.size < 100 ? text.size : 100), text.data, source->prefix,
                 option->name, why);
        return false;
    }
    if (option->kind == OPTION_LIST && source->mentioned[index]) {
        const char *old = options_text(source->options, option);
        size_t size = strlen(old) + 1 + strlen(value.text) + 1;
        char *both = alloc_get(size);

        if (both == NULL) {
            alloc_free(value.text);
            snprintf(source->message, OPTION_MESSAGE_SIZE, "out of memory");
            return false;
        }
        snprintf(both, size, "%s %s", old, value.text);
        alloc_free(value.text);
        value.text = both;
    }
    source->mentioned[index] = true;
    options_store(source->options, option, value);
    return true;
}

/* ---- file */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Takes the next word off `*at`, in place; quotes may surround it and backslashes escape inside
 * double quotes. Returns NULL at the end of the line; `*bad` is set when a quote stays open. */
static char *next_word(char **at, bool *bad)
{
    char *from = *at, *word, *to;

    while (is_blank(*from))
        from++;
    if (*from == '\0')
        return NULL;
    if (*from != '"' && *from != '\'') {
        word = from;
        while (*from != '\0' && !is_blank(*from))
            from++;
    } else {
        char quote = *from++;

        word = to = from;
        for (; *from != quote && *from != '\0'; from++) {
            if (quote == '"' && *from == '\\' && from[1] != '\0')
                from++;
            *to++ = *from;
        }
        *bad = *from != quote || (from[1] != '\0' && !is_blank(from[1]));
        if (*from == '\0')
            return NULL;
        *to = '\0';
    }
    if (*from != '\0')
        *from++ = '\0';
    *at = from;
    return word;
}

static bool read_line(struct source *source, char *line)
{
    bool bad = false;
    char *at = line, *name = next_word(&at, &bad), *value;
    uint32_t values = 0;

    if (name == NULL || name[0] == '#')
        return !bad;
    const struct option *option = find(source, bytes_of_text(name));
    if (option == NULL)
        return false;
    if (strcmp(option->name, "config") == 0) {
        snprintf(source->message, OPTION_MESSAGE_SIZE, "%sa file cannot name another file",
                 source->place);
        return false;
    }
    while ((value = next_word(&at, &bad)) != NULL && !bad) {
        if (++values > 1 && option->kind != OPTION_LIST)
            break;
        if (!set(source, option, bytes_of_text(value)))
            return false;
    }
    if (bad || values == 0 || (values > 1 && option->kind != OPTION_LIST)) {
        snprintf(source->message, OPTION_MESSAGE_SIZE, "%s%s wants %s", source->place, option->name,
                 bad           ? "its quotes closed"
                 : values == 0 ? "a value"
                               : "one value");
        return false;
    }
    return true;
}

static bool load_file(struct options *options, const char *path, char *message)
{
    struct source source;
    const char *why;
    char *text, *line;
    size_t size;
    bool good = true;

    if (process_read_file(path, CONFIG_FILE_SIZE_MAX, &text, &size, &why) != STATUS_OK) {
        snprintf(message, OPTION_MESSAGE_SIZE, "cannot read the configuration file '%.200s': %s",
                 path, why);
        return false;
    }
    source_init(&source, options, message, "");
    line = text;
    for (unsigned number = 1; good && line < text + size; number++) {
        char *end = strchr(line, '\n');

        if (end == NULL)
            end = line + strlen(line);
        *end = '\0';
        snprintf(source.place, sizeof(source.place), "%.100s:%u: ", path, number);
        good = read_line(&source, line);
        line = end + 1;
    }
    alloc_free(text);
    return good;
}

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
    struct source source;

    source_init(&source, options, message, "LARDER_");
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
        const struct option *option = find(&source, bytes_of(name, size));
        if (option == NULL || !set(&source, option, bytes_of_text(equals + 1)))
            return false;
    }
    return true;
}

/* ---- flags */

static bool is_flag(const char *argument)
{
    return strncmp(argument, "--", 2) == 0;
}

/* Reads the flag at argv[*index] with its values and moves `*index` past them. With `only_config`
 * nothing else is stored, since the file it names comes first. */
static bool load_flag(struct source *source, int argc, char **argv, int *index, bool only_config)
{
    const char *text = argv[(*index)++];
    uint32_t values = 0;

    if (!is_flag(text)) {
        snprintf(source->message, OPTION_MESSAGE_SIZE,
                 "unexpected argument '%.100s': options begin with --", text);
        return false;
    }
    const char *equals = strchr(text, '=');
    struct bytes name =
        equals != NULL ? bytes_of(text + 2, (size_t)(equals - text) - 2) : bytes_of_text(text + 2);
    const struct option *option = find(source, name);
    if (option == NULL)
        return false;
    bool store = !only_config || strcmp(option->name, "config") == 0;
    if (equals != NULL)
        return !store || set(source, option, bytes_of_text(equals + 1));
    while (*index < argc && !is_flag(argv[*index]) &&
           (values == 0 || option->kind == OPTION_LIST)) {
        if (store && !set(source, option, bytes_of_text(argv[*index])))
            return false;
        (*index)++;
        values++;
    }
    if (values > 0)
        return true;
    if (option->kind == OPTION_BOOL)
        return !store || set(source, option, BYTES("yes"));
    snprintf(source->message, OPTION_MESSAGE_SIZE, "--%s wants a value", option->name);
    return false;
}

static bool load_flags(struct options *options, int argc, char **argv, bool only_config,
                       char *message)
{
    struct source source;
    int index = 1;

    source_init(&source, options, message, "--");
    if (index < argc && argv[index][0] != '-')
        index++; /* the configuration file */
    while (index < argc)
        if (!load_flag(&source, argc, argv, &index, only_config))
            return false;
    return true;
}

enum options_load options_load(struct options *options, int argc, char **argv, char **environment,
                               char *message)
{
    struct source source;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return OPTIONS_HELP;
        if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-v") == 0)
            return OPTIONS_VERSION;
        if (strcmp(argv[i], "--dump-reference") == 0) {
            snprintf(message, OPTION_MESSAGE_SIZE, "%s", i + 1 < argc ? argv[i + 1] : "");
            return OPTIONS_REFERENCE;
        }
    }
    if (!load_environment(options, environment, true, message))
        return OPTIONS_BAD;
    source_init(&source, options, message, "");
    if (argc > 1 && argv[1][0] != '-' &&
        !set(&source, option_find(BYTES("config")), bytes_of_text(argv[1])))
        return OPTIONS_BAD;
    if (!load_flags(options, argc, argv, true, message))
        return OPTIONS_BAD;
    if (options->config[0] != '\0') {
        char *path = options_show(options, option_find(BYTES("config")));
        bool good = path != NULL && load_file(options, path, message);

        alloc_free(path);
        if (!good)
            return OPTIONS_BAD;
    }
    if (!load_environment(options, environment, false, message) ||
        !load_flags(options, argc, argv, false, message))
        return OPTIONS_BAD;
    return OPTIONS_RUN;
}
