/* SPDX-License-Identifier: MIT */
#include "base/status.h"

static const char *const codes[] = {
#define STATUS(name, code, text) code,
#include "base/statuses.def"
#undef STATUS
};

static const char *const texts[] = {
#define STATUS(name, code, text) text,
#include "base/statuses.def"
#undef STATUS
};

const char *status_code(enum status status)
{
    return codes[status];
}

const char *status_text(enum status status)
{
    return texts[status];
}
