/* SPDX-License-Identifier: MIT
 *
 * `larder-bench`: subcommands and their options. stdout carries results only.
 */
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "engine.h"
#include "null.h"
#include "os/thread.h"

static void usage_error(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void usage_error(const char *format, ...)
{
    va_list arguments;
    fputs("larder-bench: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputs("; see larder-bench --help\n", stderr);
    exit(2);
}

static uint64_t number_option(const char *name, uint64_t min, uint64_t max)
{
    uint64_t value;
    if (!number_parse_u64(bytes_of_text(optarg), &value) || value < min || value > max)
        usage_error("--%s wants a number from %llu to %llu, not '%s'", name,
                    (unsigned long long)min, (unsigned long long)max, optarg);
    return value;
}

/* What getopt_long did not like, told by ourselves. */
static void bad_option(int why, const char *argument) __attribute__((noreturn));

static void bad_option(int why, const char *argument)
{
    if (why == ':')
        usage_error("%s wants a value", argument);
    usage_error("'%s' is not an option here", argument);
}

static void help(void)
{
    puts(
        "usage: larder-bench engine [OPTIONS]   what the engine costs, in this process\n"
        "       larder-bench null [OPTIONS]     a server that stores nothing: the wire's floor\n"
        "\n"
        "larder-bench engine\n"
        "  --json              results as JSON instead of a table\n"
        "  --large N           also N keys probed at random: single reads, batches of 16, and\n"
        "                      the rows large/miss and large/set\n"
        "  --threads N         most threads of the scaling tier, which takes 1, 2, 4 ... of\n"
        "                      them; 0 leaves the tier out (default: twice the CPUs)\n"
        "  --operations N      per figure and repetition (default 200000)\n"
        "  --repetitions N     of each row and large figure, interleaved (default 15)\n"
        "  --window-ms N       duration of one scaling figure (default 200)\n"
        "  --windows N         of each scaling figure, interleaved (default 5)\n"
        "\n"
        "A figure is the median of the repetitions; ns/op is the mean over the operations of one.\n"
        "Rows, each with what it adds to the one before:");
    rows_describe();
    puts("Scaling: `control` has a map per thread, `engine` one store for all; keys are spread\n"
         "(1,000 at random), hot (one), or zipf (1,000 at exponent 0.99, 90 reads to 10 writes).\n"
         "What build the figures come from is told on stderr. Figures of a build that is not\n"
         "optimized, asserts, or runs under a sanitizer are marked: they are not a cost.\n"
         "\n"
         "larder-bench null\n"
         "  --io NAME           io_uring or epoll (default: io_uring where it works)\n"
         "  --port N            TCP port; 0 turns TCP off (default 6379)\n"
         "  --bind ADDRESS      its address (default 127.0.0.1)\n"
         "  --unixsocket PATH   listens there too\n"
         "  --threads N         event loops (default 1)\n"
         "  --batch-wait-us N   longest wait for a batch; 0 never waits (default 200)\n"
         "\n"
         "Parses RESP, answers +OK to SET and 512 constant bytes to everything else, until SIGINT\n"
         "or SIGTERM.");
}

enum { OPTION_HELP = 'h', OPTION_FIRST = 256 };

static int engine_command(int argc, char **argv)
{
    enum { JSON = OPTION_FIRST, LARGE, THREADS, OPERATIONS, REPETITIONS, WINDOW, WINDOWS };
    static const struct option table[] = {
        {"json", no_argument, NULL, JSON},
        {"large", required_argument, NULL, LARGE},
        {"threads", required_argument, NULL, THREADS},
        {"operations", required_argument, NULL, OPERATIONS},
        {"repetitions", required_argument, NULL, REPETITIONS},
        {"window-ms", required_argument, NULL, WINDOW},
        {"windows", required_argument, NULL, WINDOWS},
        {"help", no_argument, NULL, OPTION_HELP},
        {0},
    };
    struct engine_options options = {
        .operations = 200000,
        .repetitions = 15,
        .threads_max = 2 * thread_cpu_count(),
        .window_ms = 200,
        .windows = 5,
    };
    int option;
    while ((option = getopt_long(argc, argv, ":h", table, NULL)) != -1) {
        switch (option) {
        case JSON:
            options.json = true;
            break;
        case LARGE:
            options.large_count = number_option("large", 1, 1000000000);
            break;
        case THREADS:
            options.threads_max = (uint32_t)number_option("threads", 0, 1024);
            break;
        case OPERATIONS:
            options.operations = number_option("operations", 1, 1000000000);
            break;
        case REPETITIONS:
            options.repetitions = (uint32_t)number_option("repetitions", 1, 10000);
            break;
        case WINDOW:
            options.window_ms = (uint32_t)number_option("window-ms", 1, 600000);
            break;
        case WINDOWS:
            options.windows = (uint32_t)number_option("windows", 1, 10000);
            break;
        case OPTION_HELP:
            help();
            return 0;
        default:
            bad_option(option, argv[optind - 1]);
        }
    }
    if (optind < argc)
        usage_error("'%s' is not expected", argv[optind]);
    return engine_main(&options);
}

static enum loop_io io_option(void)
{
    if (strcmp(optarg, "io_uring") == 0)
        return LOOP_IO_URING;
    if (strcmp(optarg, "epoll") == 0)
        return LOOP_IO_EPOLL;
    usage_error("--io wants io_uring or epoll, not '%s'", optarg);
}

static int null_command(int argc, char **argv)
{
    enum { IO = OPTION_FIRST, PORT, BIND, UNIXSOCKET, THREADS, BATCH_WAIT };
    static const struct option table[] = {
        {"io", required_argument, NULL, IO},
        {"port", required_argument, NULL, PORT},
        {"bind", required_argument, NULL, BIND},
        {"unixsocket", required_argument, NULL, UNIXSOCKET},
        {"threads", required_argument, NULL, THREADS},
        {"batch-wait-us", required_argument, NULL, BATCH_WAIT},
        {"help", no_argument, NULL, OPTION_HELP},
        {0},
    };
    struct null_options options = {
        .io = LOOP_IO_AUTO, .bind = "127.0.0.1", .port = 6379, .threads = 1, .batch_wait_us = 200};
    int option;
    while ((option = getopt_long(argc, argv, ":h", table, NULL)) != -1) {
        switch (option) {
        case IO:
            options.io = io_option();
            break;
        case PORT:
            options.port = (uint16_t)number_option("port", 0, 65535);
            break;
        case BIND:
            options.bind = optarg;
            break;
        case UNIXSOCKET:
            options.unixsocket = optarg;
            break;
        case THREADS:
            options.threads = (uint32_t)number_option("threads", 1, 1024);
            break;
        case BATCH_WAIT:
            options.batch_wait_us = (uint32_t)number_option("batch-wait-us", 0, 1000000);
            break;
        case OPTION_HELP:
            help();
            return 0;
        default:
            bad_option(option, argv[optind - 1]);
        }
    }
    if (optind < argc)
        usage_error("'%s' is not expected", argv[optind]);
    if (options.port == 0 && options.unixsocket == NULL)
        usage_error("--port 0 needs --unixsocket: there is nothing to listen on");
    return null_main(&options);
}

int main(int argc, char **argv)
{
    opterr = 0;
    if (argc < 2)
        usage_error("a subcommand is missing: engine or null");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        help();
        return 0;
    }
    const char *name = argv[1];
    if (strcmp(name, "engine") == 0)
        return engine_command(argc - 1, argv + 1);
    if (strcmp(name, "null") == 0)
        return null_command(argc - 1, argv + 1);
    usage_error("'%s' is not a subcommand; there are engine and null", name);
}
