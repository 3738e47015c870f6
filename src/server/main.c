/* SPDX-License-Identifier: MIT
 *
 * The program: reads its options, starts the server, and waits for it to end. Exit codes: 0 it
 * stopped as asked, 1 it could not start, 2 the options are wrong.
 */
#include <stdio.h>
#include <string.h>

#include "os/process.h"
#include "os/signal.h"
#include "server/addresses.h"
#include "server/admin.h"
#include "server/errors.h"
#include "server/log.h"
#include "server/server.h"

/* Signal handlers have no argument, so the server they speak of is here. */
static struct server server;
static _Atomic int stop_signals;

static void on_hangup(void)
{
    server_note_hangup(&server);
}

static void on_stop(void)
{
    if (atomic_fetch_add(&stop_signals, 1) > 0)
        signal_exit_now(1); /* asked twice: now */
    server_ask_stop(&server, SERVER_STOPS);
}

static int print_reference(const char *what)
{
    if (strcmp(what, "options") == 0) {
        options_print_reference();
    } else if (strcmp(what, "commands") == 0) {
        admin_print_commands();
    } else if (strcmp(what, "errors") == 0) {
        errors_print_reference();
    } else {
        fprintf(stderr, "larder: --dump-reference takes options, commands or errors\n");
        return 2;
    }
    return 0;
}

/* What the options say is right; whether a server can start with it is another question. */
static int check(void)
{
    char message[OPTION_MESSAGE_SIZE];

    if (!addresses_check(&server.options, message)) {
        fprintf(stderr, "larder: %s\n", message);
        return 1;
    }
    puts("larder: the configuration is good");
    return 0;
}

static int run(void)
{
    int code = 1;

    signal_catch_stop(on_stop);
    if (server_start(&server)) {
        server_run(&server);
        code = 0;
    } else if (server_stopping(&server)) {
        code = 0; /* asked to before it had started */
    }
    server_end(&server);
    if (code == 0)
        log_line(LOG_NOTICE, "stopped");
    return code;
}

int main(int argc, char **argv, char **environment)
{
    char message[OPTION_MESSAGE_SIZE];
    int code = 2;

    /* While options are read a stop may end the process as it likes, but nothing else may. */
    signal_ignore_harmless();
    signal_catch_hangup(on_hangup);
    process_standard_files_open();
    if (admin_tables_add() != STATUS_OK || options_init(&server.options) != STATUS_OK) {
        fprintf(stderr, "larder: memory is out\n");
        return 1;
    }
    server.arguments = (struct option_arguments){argc, argv, environment};
    switch (options_load(&server.options, &server.arguments, message)) {
    case OPTIONS_RUN:
        code = run();
        break;
    case OPTIONS_CHECK:
        code = check();
        break;
    case OPTIONS_HELP:
        code = options_print_help(message) ? 0 : 2;
        break;
    case OPTIONS_VERSION:
        printf("larder %s (speaks Redis %s)\n", LARDER_VERSION, SERVER_REDIS_VERSION);
        code = 0;
        break;
    case OPTIONS_REFERENCE:
        code = print_reference(message);
        break;
    default:
        fprintf(stderr, "larder: %s\n", message);
        break;
    }
    options_deinit(&server.options);
    return code;
}
