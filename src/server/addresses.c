/* SPDX-License-Identifier: MIT */
#include "server/addresses.h"

#include <stdio.h>
#include <string.h>

#include "net/listener.h"
#include "server/option_source.h"

bool address_next(struct bytes *rest, struct address *out)
{
    struct bytes word;

    if (!bytes_next_word(rest, &word))
        return false;
    out->optional = word.data[0] == '-';
    snprintf(out->text, sizeof(out->text), "%.*s", (int)word.size - out->optional,
             word.data + out->optional);
    return true;
}

bool address_exists(const struct address *address, uint16_t port, char *message,
                    size_t message_size)
{
    return listener_try_tcp(address->text, port, message, message_size) == IO_OK;
}

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0 ||
           strcmp(address, "localhost") == 0;
}

bool addresses_need_password(const struct options *options, struct address *out)
{
    struct bytes rest = bytes_of_text(options->bind);

    if (!options->protected_mode || options->port == 0)
        return false;
    while (address_next(&rest, out))
        if (!is_loopback(out->text))
            return true;
    return false;
}

/* Anybody who reaches the port could read and change everything. */
static void refuse(const struct options *options, const struct address *address, char *message)
{
    const struct option *bind = option_find(BYTES("bind"));
    char given[ADDRESS_SIZE + 64];

    options_origin_write(options, bind, address->text, given, sizeof(given));
    snprintf(message, OPTION_MESSAGE_SIZE,
             "refusing to start: %s lets other machines connect and there is no password. Set one "
             "with --requirepass, bind to 127.0.0.1 only, or, where something else keeps "
             "strangers out, add --protected-mode no",
             given);
}

bool addresses_check(struct options *options, char *message)
{
    struct bytes rest = bytes_of_text(options->bind);
    uint32_t mentioned = options->unixsocket[0] != '\0', found = mentioned;
    struct address address;

    while (options->port != 0 && address_next(&rest, &address)) {
        mentioned++;
        if (address_exists(&address, (uint16_t)options->port, message, OPTION_MESSAGE_SIZE))
            found++;
        else if (!address.optional)
            return false;
    }
    if (found == 0) {
        snprintf(message, OPTION_MESSAGE_SIZE,
                 "nothing to listen on: give --port, --bind or --unixsocket");
        return false;
    }
    if (mentioned > ADDRESSES_MAX) {
        snprintf(message, OPTION_MESSAGE_SIZE, "too many addresses to listen on: at most %d",
                 ADDRESSES_MAX);
        return false;
    }
    if (options_password_set(options) || !addresses_need_password(options, &address))
        return true;
    refuse(options, &address, message);
    return false;
}
