/* SPDX-License-Identifier: MIT
 *
 * The option table and the values: reading, storing and showing them. Where values come from at
 * start-up is server/options_load.c.
 */
#include "server/options.h"

#include <ctype.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/ensure.h"
#include "base/number.h"
#include "os/memory.h"
#include "server/option_texts.h"

static const struct option rows[] = {
#define OPTION(field, name, kind, default_text, min, max, choices, when, group, help)              \
    {name, OPTION_##kind, OPTION_##when, default_text, min,                                        \
     max,  choices,       group,         help,         offsetof(struct options, field)},
#include "server/options.def"
#undef OPTION
};

enum {
    ROW_COUNT = sizeof(rows) / sizeof(rows[0]),
    NAME_SIZE_MAX = 64,
    TEXT_SIZE_MAX = 1024 * 1024
};
_Static_assert((int)ROW_COUNT <= (int)OPTIONS_MAX, "what is kept per option has room");

uint32_t option_count(void)
{
    return ROW_COUNT;
}

const struct option *option_at(uint32_t index)
{
    return &rows[index];
}

bool option_has_words(const struct option *option)
{
    return option->kind == OPTION_LIST || option->kind == OPTION_PERCENTILES ||
           option->kind == OPTION_OUTPUT_LIMITS;
}

static bool is_text(const struct option *option)
{
    return option->kind == OPTION_TEXT || option_has_words(option);
}

static _Atomic int64_t *number_field(struct options *options, const struct option *option)
{
    return (_Atomic int64_t *)(void *)((char *)options + option->offset);
}

static char **text_field(const struct options *options, const struct option *option)
{
    return (char **)(void *)((char *)(uintptr_t)options + option->offset);
}

const struct option *option_find(struct bytes name)
{
    for (uint32_t i = 0; i < ROW_COUNT; i++)
        if (bytes_equal_text_nocase(name, rows[i].name))
            return &rows[i];
    return NULL;
}

/* Levenshtein's distance, one row of the matrix at a time, case ignored. */
static size_t edit_distance(struct bytes a, struct bytes b)
{
    size_t row[NAME_SIZE_MAX + 1];

    if (a.size > NAME_SIZE_MAX || b.size > NAME_SIZE_MAX)
        return a.size + b.size;
    for (size_t j = 0; j <= b.size; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.size; j++) {
            bool same =
                tolower((unsigned char)a.data[i - 1]) == tolower((unsigned char)b.data[j - 1]);
            size_t best = diagonal + (same ? 0 : 1);

            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[b.size];
}

/* With more than a third of the letters amiss, or half of a short name, nobody can tell what was
 * meant. */
static bool is_near(size_t distance, size_t size)
{
    return distance * 3 <= size || (distance <= 2 && distance * 2 <= size);
}

const char *option_nearest_name(struct bytes name, bool flags)
{
    static const char *const others[] = {"help", "version", "check-config"};
    uint32_t others_count = flags ? sizeof(others) / sizeof(others[0]) : 0;
    const char *nearest = NULL;
    size_t least = SIZE_MAX;

    for (uint32_t i = 0; i < ROW_COUNT + others_count; i++) {
        const char *candidate = i < ROW_COUNT ? rows[i].name : others[i - ROW_COUNT];
        size_t distance = edit_distance(name, bytes_of_text(candidate));

        if (distance < least) {
            least = distance;
            nearest = candidate;
        }
    }
    return is_near(least, name.size) ? nearest : NULL;
}

bool option_choice_next(const char **at, struct bytes *out)
{
    if (*at == NULL || **at == '\0')
        return false;
    *out = bytes_of(*at, strcspn(*at, "|"));
    *at += out->size;
    if (**at == '|')
        (*at)++;
    return true;
}

struct bytes option_nearest_choice(const struct option *option, struct bytes text)
{
    const char *at = option->choices;
    struct bytes choice, nearest = {"", 0};
    size_t least = SIZE_MAX;

    while (option_choice_next(&at, &choice)) {
        size_t distance = edit_distance(text, choice);

        if (distance < least) {
            least = distance;
            nearest = choice;
        }
    }
    return nearest;
}

static bool parse_choice(const struct option *option, struct bytes text, int64_t *out,
                         char *message)
{
    const char *at = option->choices;
    struct bytes choice;
    size_t size;

    for (*out = 0; option_choice_next(&at, &choice); ++*out)
        if (edit_distance(text, choice) == 0)
            return true;
    snprintf(message, OPTION_MESSAGE_SIZE, "argument(s) must be one of the following: ");
    for (at = option->choices; option_choice_next(&at, &choice);) {
        size = strlen(message);
        snprintf(message + size, OPTION_MESSAGE_SIZE - size, "%.*s%s", (int)choice.size,
                 choice.data, *at != '\0' ? ", " : "");
    }
    return false;
}

static bool parse_percent(struct bytes text, int64_t *out)
{
    double percent;

    if (text.size == 0 || text.data[text.size - 1] != '%' ||
        !number_parse_double(bytes_of(text.data, text.size - 1), &percent) || percent <= 0 ||
        percent > 100)
        return false;
    *out = (int64_t)((double)os_memory_limit_bytes() * percent / 100);
    return true;
}

static bool parse_octal(struct bytes text, int64_t *out)
{
    int64_t number = 0;

    if (text.size == 0 || text.size > 6)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '7')
            return false;
        number = number * 8 + (text.data[i] - '0');
    }
    *out = number;
    return true;
}

/* Everything but ENUM and texts. `*wants` says what the kind takes. */
static bool parse_number(const struct option *option, struct bytes text, int64_t *out,
                         const char **wants)
{
    int64_t unit_us = option->kind == OPTION_SECONDS ? 1000000 : 1;
    uint64_t number = 0;
    bool good = false;

    switch (option->kind) {
    case OPTION_BOOL:
        *wants = "argument must be 'yes' or 'no'";
        *out = bytes_equal_text_nocase(text, "yes");
        return *out != 0 || bytes_equal_text_nocase(text, "no");
    case OPTION_INTEGER:
        *wants = "argument couldn't be parsed into an integer";
        return number_parse_i64(text, out);
    case OPTION_OCTAL:
        *wants = "argument couldn't be parsed as an octal number";
        return parse_octal(text, out);
    case OPTION_MEMORY:
        *wants = "argument must be a memory or percent value";
        if (parse_percent(text, out))
            return true;
        good = number_parse_size(text, &number);
        break;
    case OPTION_SIZE:
        *wants = "argument must be a memory value";
        good = number_parse_size(text, &number);
        break;
    default:
        *wants = "argument couldn't be parsed into an integer or a duration (10, 250ms, 5m)";
        good = number_parse_duration_us(text, (uint64_t)unit_us, &number);
        if (!good && number_parse_i64(text, out) && *out < 0)
            return true; /* it will be found to be too small */
        break;
    }
    *out = (int64_t)number;
    return good && number <= INT64_MAX;
}

static char *copy_text(struct bytes text)
{
    char *copy = alloc_get(text.size + 1);

    if (copy != NULL) {
        if (text.size != 0)
            memcpy(copy, text.data, text.size);
        copy[text.size] = '\0';
    }
    return copy;
}

static void show_number(const struct option *option, int64_t number, char *out, size_t size);

/* Texts that have a form are stored in one way of writing them. */
static bool parse_text(const struct option *option, struct bytes text, char **out, char *message)
{
    struct percentiles percentiles;
    struct output_limits limits;
    struct buffer written;
    bool good = true;

    if (memchr(text.data, '\0', text.size) != NULL) {
        snprintf(message, OPTION_MESSAGE_SIZE, "argument must not contain a zero byte");
        return false;
    }
    buffer_init(&written, TEXT_SIZE_MAX);
    if (option->kind == OPTION_PERCENTILES) {
        good = option_percentiles_parse(text, &percentiles, message);
        if (good)
            option_percentiles_write(&percentiles, &written.sink);
    } else if (option->kind == OPTION_OUTPUT_LIMITS) {
        good = option_output_limits_parse(text, &limits, message);
        if (good)
            option_output_limits_write(&limits, &written.sink);
    } else {
        sink_write_bytes(&written.sink, text);
    }
    if (good) {
        *out = written.sink.failed ? NULL : copy_text(buffer_bytes(&written));
        good = *out != NULL;
        if (!good)
            snprintf(message, OPTION_MESSAGE_SIZE, "out of memory");
    }
    buffer_deinit(&written);
    return good;
}

bool option_parse(const struct option *option, struct bytes text, struct option_value *out,
                  char *message)
{
    const char *wants = NULL;

    *out = (struct option_value){0, NULL};
    if (is_text(option))
        return parse_text(option, text, &out->text, message);
    if (option->kind == OPTION_ENUM)
        return parse_choice(option, text, &out->number, message);
    if (!parse_number(option, text, &out->number, &wants)) {
        snprintf(message, OPTION_MESSAGE_SIZE, "%s", wants);
        return false;
    }
    if (option->kind != OPTION_BOOL && (out->number < option->min || out->number > option->max)) {
        char least[32], most[32];

        show_number(option, option->min, least, sizeof(least));
        show_number(option, option->max, most, sizeof(most));
        snprintf(message, OPTION_MESSAGE_SIZE, "argument must be between %s and %s inclusive",
                 least, most);
        return false;
    }
    return true;
}

struct option_value options_exchange(struct options *options, const struct option *option,
                                     struct option_value value)
{
    struct option_value old = {0};

    if (!is_text(option)) {
        old.number = atomic_exchange(number_field(options, option), value.number);
        return old;
    }
    lock_acquire(&options->lock);
    char **field = text_field(options, option);
    old.text = *field;
    *field = value.text;
    lock_release(&options->lock);
    return old;
}

void options_store(struct options *options, const struct option *option, struct option_value value)
{
    alloc_free(options_exchange(options, option, value).text);
}

/* Durations take the unit of a bare number where they come out whole, else a smaller one. */
static void show_duration(int64_t unit_us, int64_t duration_us, char *out, size_t size)
{
    if (duration_us % unit_us == 0)
        snprintf(out, size, "%lld", (long long)(duration_us / unit_us));
    else if (duration_us % 1000 == 0)
        snprintf(out, size, "%lldms", (long long)(duration_us / 1000));
    else
        snprintf(out, size, "%lldus", (long long)duration_us);
}

static void show_number(const struct option *option, int64_t number, char *out, size_t size)
{
    const char *at = option->choices;
    struct bytes choice = {"", 0};

    switch (option->kind) {
    case OPTION_BOOL:
        snprintf(out, size, "%s", number != 0 ? "yes" : "no");
        break;
    case OPTION_OCTAL:
        snprintf(out, size, "%llo", (unsigned long long)number);
        break;
    case OPTION_SECONDS:
        show_duration(1000000, number, out, size);
        break;
    case OPTION_MICROSECONDS:
        show_duration(1, number, out, size);
        break;
    case OPTION_ENUM:
        for (int64_t i = 0; i <= number; i++)
            option_choice_next(&at, &choice);
        snprintf(out, size, "%.*s", (int)choice.size, choice.data);
        break;
    default:
        snprintf(out, size, "%lld", (long long)number);
        break;
    }
}

bool options_copy(struct options *options, const struct option *option, struct option_value *out)
{
    *out = (struct option_value){0, NULL};
    if (!is_text(option)) {
        out->number = atomic_load(number_field(options, option));
        return true;
    }
    lock_acquire(&options->lock);
    out->text = copy_text(bytes_of_text(*text_field(options, option)));
    lock_release(&options->lock);
    return out->text != NULL;
}

bool options_equal(struct options *a, struct options *b, const struct option *option)
{
    if (is_text(option))
        return strcmp(*text_field(a, option), *text_field(b, option)) == 0;
    return atomic_load(number_field(a, option)) == atomic_load(number_field(b, option));
}

bool options_hold(struct options *options, const struct option *option,
                  const struct option_value *value)
{
    if (!is_text(option))
        return atomic_load(number_field(options, option)) == value->number;
    lock_acquire(&options->lock);
    bool same = strcmp(*text_field(options, option), value->text) == 0;
    lock_release(&options->lock);
    return same;
}

char *options_show(struct options *options, const struct option *option)
{
    char number[64];
    char *copy;

    if (!is_text(option)) {
        show_number(option, atomic_load(number_field(options, option)), number, sizeof(number));
        return copy_text(bytes_of_text(number));
    }
    lock_acquire(&options->lock);
    copy = copy_text(bytes_of_text(*text_field(options, option)));
    lock_release(&options->lock);
    return copy;
}

struct bytes options_text_with(struct options *options, const struct option *option,
                               struct bytes text)
{
    lock_acquire(&options->lock);
    const char *old = *text_field(options, option);
    size_t old_size = strlen(old), size = old_size + 1 + text.size;
    char *both = alloc_get(size);

    if (both != NULL) {
        memcpy(both, old, old_size);
        both[old_size] = ' ';
        if (text.size > 0)
            memcpy(both + old_size + 1, text.data, text.size);
    }
    lock_release(&options->lock);
    return bytes_of(both, size);
}

bool options_password_is(struct options *options, struct bytes given)
{
    lock_acquire(&options->lock);
    size_t size = strlen(options->requirepass);
    unsigned char difference = given.size == size ? 0 : 1;

    for (size_t i = 0; i < given.size; i++)
        difference |=
            (unsigned char)given.data[i] ^ (unsigned char)options->requirepass[i < size ? i : size];
    lock_release(&options->lock);
    return difference == 0;
}

bool options_password_set(struct options *options)
{
    lock_acquire(&options->lock);
    bool set = options->requirepass[0] != '\0';
    lock_release(&options->lock);
    return set;
}

enum status options_init(struct options *options)
{
    char message[OPTION_MESSAGE_SIZE];

    memset(options, 0, sizeof(*options));
    for (uint32_t i = 0; i < ROW_COUNT; i++) {
        struct option_value value;

        if (!option_parse(&rows[i], bytes_of_text(rows[i].default_text), &value, message)) {
            ENSURE(is_text(&rows[i])); /* a default in the table is always good */
            options_deinit(options);
            return STATUS_NO_MEMORY;
        }
        options_store(options, &rows[i], value);
    }
    return STATUS_OK;
}

void options_deinit(struct options *options)
{
    for (uint32_t i = 0; i < ROW_COUNT; i++) {
        if (!is_text(&rows[i]))
            continue;
        alloc_free(*text_field(options, &rows[i]));
        *text_field(options, &rows[i]) = NULL;
    }
}
