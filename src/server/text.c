/* SPDX-License-Identifier: MIT */
#include "server/text.h"

#include <stdarg.h>
#include <stdio.h>

void text_append(struct buffer *buffer, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    int size = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (size < 0)
        return;
    sink_write(&buffer->sink, text, (size_t)size < sizeof(text) ? (size_t)size : sizeof(text) - 1);
}
