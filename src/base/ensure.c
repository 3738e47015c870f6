/* SPDX-License-Identifier: MIT */
#include "base/ensure.h"

#include <stdio.h>
#include <stdlib.h>

void ensure_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "larder: bug: %s does not hold (%s:%d)\n", condition, file, line);
    abort();
}
