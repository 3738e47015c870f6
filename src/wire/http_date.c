/* SPDX-License-Identifier: MIT */
#include "wire/http_date.h"

#include <stddef.h>
#include <string.h>

struct date {
    int64_t year, month, day, hour, minute, second; /* the month from 1 */
};

static const char month_names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
static const char *const day_names[] = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday"};

/* Reads by a pattern: D a digit of the day, Y year, h m s of the time; N the first byte of a
 * month's name and two `.`; `_` a blank or a digit of the day; everything else is itself. */
static bool read_pattern(struct bytes text, const char *pattern, struct date *date)
{
    if (text.size != strlen(pattern))
        return false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        int64_t *field = NULL;

        switch (pattern[i]) {
        case '_':
            if (c == ' ')
                continue;
            /* fall through */
        case 'D':
            field = &date->day;
            break;
        case 'Y':
            field = &date->year;
            break;
        case 'h':
            field = &date->hour;
            break;
        case 'm':
            field = &date->minute;
            break;
        case 's':
            field = &date->second;
            break;
        case 'N':
            while (date->month < 12 && memcmp(month_names + 3 * date->month, text.data + i, 3) != 0)
                date->month++;
            if (date->month++ == 12)
                return false;
            i += 2;
            continue;
        default:
            if (c != pattern[i])
                return false;
            continue;
        }
        if (c < '0' || c > '9')
            return false;
        *field = *field * 10 + (c - '0');
    }
    return true;
}

/* Length of a day's name, short or whole, at the start; 0: there is none. */
static size_t day_name_size(struct bytes text, bool whole)
{
    for (size_t i = 0; i < sizeof(day_names) / sizeof(day_names[0]); i++) {
        size_t size = whole ? strlen(day_names[i]) : 3;

        if (text.size > size && memcmp(text.data, day_names[i], size) == 0)
            return size;
    }
    return 0;
}

static int64_t days_of_month(const struct date *date)
{
    static const char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (date->year % 4 == 0 && date->year % 100 != 0) || date->year % 400 == 0;

    return days[date->month - 1] + (date->month == 2 && leap);
}

/* Days since 1970, in years that begin with March, so that the leap day is the last. */
static int64_t days_since_1970(const struct date *date)
{
    int64_t year = date->month > 2 ? date->year : date->year - 1;
    int64_t month = date->month > 2 ? date->month - 3 : date->month + 9;
    int64_t day_of_year = (153 * month + 2) / 5 + date->day - 1;

    return year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719468;
}

static bool read_date(struct bytes text, struct date *date)
{
    static const struct date nothing;
    size_t name = day_name_size(text, false), whole = day_name_size(text, true);
    struct bytes rest = bytes_of(text.data + name, text.size - name);

    *date = nothing;
    if (name > 0 && read_pattern(rest, ", DD N.. YYYY hh:mm:ss GMT", date))
        return true;
    *date = nothing;
    if (name > 0 && read_pattern(rest, " N.. _D hh:mm:ss YYYY", date))
        return true;
    *date = nothing;
    rest = bytes_of(text.data + whole, text.size - whole);
    if (whole == 0 || !read_pattern(rest, ", DD-N..-YY hh:mm:ss GMT", date))
        return false;
    date->year += date->year < 70 ? 2000 : 1900;
    return true;
}

bool http_date_parse(struct bytes text, int64_t *out_ms)
{
    struct date date;

    if (!read_date(text, &date) || date.year == 0 || date.day == 0 ||
        date.day > days_of_month(&date) || date.hour > 23 || date.minute > 59 || date.second > 60)
        return false;
    int64_t hours = days_since_1970(&date) * 24 + date.hour;

    *out_ms = ((hours * 60 + date.minute) * 60 + date.second) * 1000;
    return true;
}
