/* SPDX-License-Identifier: MIT
 *
 * What clients of memcached ask of the server, run by rows against a worker without a thread.
 */
#include "../command/harness.h"
#include "server/admin.h"
#include "server/flush.h"
#include "server/log.h"
#include "server/session.h"
#include "server/watch.h"

struct fixture {
    struct server server;
    struct worker *worker;
    struct session session;
    struct item_terms terms;
    struct buffer answer;
    int64_t line_last;
    char text[1 << 16];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct engine_config config = {.shards = 4, .start_ms = clock_engine_ms()};
    const char *why;

    assert_non_null(f);
    log_level_set(LOG_NOTHING);
    assert_int_equal(admin_tables_add(), STATUS_OK);
    assert_int_equal(options_init(&f->server.options), STATUS_OK);
    f->server.options.io = LOOP_IO_EPOLL;
    f->server.started_ms = clock_engine_ms();
    assert_int_equal(engine_create(&config, &f->server.engine), STATUS_OK);
    f->worker = aligned_alloc(__alignof__(struct worker), sizeof(*f->worker));
    assert_non_null(f->worker);
    assert_int_equal(worker_init(f->worker, &f->server, 0, &why), STATUS_OK);
    f->server.workers = f->worker;
    f->server.worker_count = 1;
    client_init(&f->session.client, f->server.engine, f->worker->engine_thread);
    f->session.client.authenticated = true;
    f->session.client.clock_ms = clock_engine_ms;
    f->session.client.item_counts = &f->worker->observer.stats.items;
    f->session.worker = f->worker;
    f->session.id = 7;
    buffer_init(&f->answer, 1 << 20);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    client_deinit(&f->session.client);
    worker_deinit(f->worker);
    engine_destroy(f->server.engine);
    options_deinit(&f->server.options);
    buffer_deinit(&f->answer);
    free(f->worker);
    free(f);
    return 0;
}

static void show_item(struct reply *reply, const struct item *item)
{
    show_number(reply, 'i', item->outcome);
}

/* Words of a line; what it answers as text, as in command/harness.h. */
static const char *run(struct fixture *f, const char *line)
{
    struct reply_ops own = harness_ops, ops;
    struct wire wire = {.reply_ops = &own};
    struct bytes argv[16];
    struct request request = {.argv = argv, .terms = &f->terms};
    struct command_counts *counts;

    own.item = show_item;
    ops = own;
    if (f->worker->observer.watched)
        watch_wrap(&own, &ops);
    f->session.wire = &wire;
    for (const char *at = line; *at != '\0'; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");

        argv[request.argc++] = bytes_of(at, size);
        at += size;
    }
    buffer_clear(&f->answer);
    f->session.reply = (struct reply){.ops = &ops, .sink = &f->answer.sink, .request = &request};
    engine_thread_online(f->worker->engine_thread);
    dispatch_prepare(&f->session.client, &request);
    assert_non_null(request.command);
    if (dispatch_run(&f->session.client, &request, clock_engine_ms(), &f->session.reply) ==
        DISPATCH_RAN) {
        counts = &f->worker->observer.stats.commands[request.command->id];
        command_counts_add(counts, 1, 1000, true);
        if (f->session.reply.errored)
            counter_add(&counts->failed, 1);
    }
    struct bytes answer = buffer_bytes(&f->answer);
    assert_in_range(answer.size, 1, sizeof(f->text) - 1);
    memcpy(f->text, answer.data, answer.size);
    f->text[answer.size - 1] = '\0';
    return f->text;
}

static const char *run_with(struct fixture *f, const char *line, struct item_terms terms)
{
    f->terms = terms;
    const char *answer = run(f, line);
    f->terms = (struct item_terms){.mode = 0};
    return answer;
}

/* The value that `section` of the statistics has for `name`. */
static const char *stat(struct fixture *f, const char *section, const char *name)
{
    static char value[512];
    char line[64], shown[80];

    snprintf(line, sizeof(line), "cache-stats%s%s", section[0] != '\0' ? " " : "", section);
    snprintf(shown, sizeof(shown), " \"%s\" \"", name);
    const char *at = strstr(run(f, line), shown);
    if (at == NULL)
        return "(none)";
    at += strlen(shown);
    snprintf(value, sizeof(value), "%.*s", (int)strcspn(at, "\""), at);
    return value;
}

#define EXPECT_STAT(name, value) assert_string_equal(stat(f, "", name), value)

static void rows_are_out_of_reach_without_terms(void **state)
{
    struct fixture *f = *state;
    static const char *const names[] = {"item-auth",      "item-noop",     "cache-version",
                                        "cache-stats",    "cache-flush",   "cache-verbosity",
                                        "cache-memlimit", "cache-shutdown"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct bytes argv[] = {bytes_of_text(names[i])};
        struct request request = {.argc = 1, .argv = argv};

        dispatch_prepare(&f->session.client, &request);
        assert_null(request.command);
        request.terms = &f->terms;
        dispatch_prepare(&f->session.client, &request);
        assert_non_null(request.command);
    }
}

static void version_is_a_plain_number(void **state)
{
    struct fixture *f = *state;
    const char *version = run(f, "cache-version");

    assert_string_equal(version, "+" LARDER_VERSION);
    assert_int_equal(strspn(version + 1, "0123456789."), strlen(version + 1));
    assert_string_equal(run(f, "item-noop"), "OK");
}

static void only_who_authenticates_may_go_on(void **state)
{
    struct fixture *f = *state;
    const struct option *option = option_find(BYTES("requirepass"));

    options_store(&f->server.options, option, (struct option_value){.text = strdup("secret")});
    f->session.client.authenticated = false;
    assert_string_equal(run(f, "cache-stats"), "-NOAUTH Authentication required.");
    assert_string_equal(run(f, "cache-flush"), "-NOAUTH Authentication required.");
    assert_string_equal(run(f, "item-auth default wrong"),
                        "-WRONGPASS invalid username-password pair or user is disabled.");
    assert_string_equal(run(f, "item-auth somebody secret"),
                        "-WRONGPASS invalid username-password pair or user is disabled.");
    assert_false(f->session.client.authenticated);
    assert_string_equal(run(f, "item-auth default secret"), "OK");
    assert_true(f->session.client.authenticated);
    EXPECT_STAT("auth_cmds", "3");
    EXPECT_STAT("auth_errors", "2");
    assert_string_equal(stat(f, "settings", "auth_enabled_sasl"), "yes");

    struct bytes argv[] = {BYTES("item-auth"), BYTES("default"), BYTES("secret")};
    struct request request = {.argc = 3, .argv = argv, .terms = &f->terms};
    dispatch_prepare(&f->session.client, &request);
    assert_false(admin_is_secret(&request, 0));
    assert_true(admin_is_secret(&request, 1) && admin_is_secret(&request, 2));
}

static void statistics_count_what_item_commands_met(void **state)
{
    struct fixture *f = *state;
    const struct item_terms plain = {.mode = ITEM_SET};
    const struct item_terms soon = {.time = {ITEM_TIME_AFTER, 60000}};

    run_with(f, "item-set k n 5", plain);
    run_with(f, "item-set k n 6", (struct item_terms){.mode = ITEM_ADD});
    run_with(f, "item-set k n 7", (struct item_terms){.options = ITEM_COMPARES, .compare = 99});
    run_with(f, "item-set k n 7",
             (struct item_terms){.options = ITEM_CHOOSES_VERSION, .version = 3});
    run_with(f, "item-set k n 7", (struct item_terms){.options = ITEM_COMPARES, .compare = 3});
    run_with(f, "item-set none n 7", (struct item_terms){.options = ITEM_COMPARES, .compare = 3});
    run_with(f, "item-count k n", (struct item_terms){.mode = ITEM_RAISE, .delta = 1});
    run_with(f, "item-count none n", (struct item_terms){.mode = ITEM_RAISE, .delta = 1});
    run_with(f, "item-count k n", (struct item_terms){.mode = ITEM_LOWER, .delta = 1});
    run_with(f, "item-count new n",
             (struct item_terms){.mode = ITEM_LOWER, .options = ITEM_VIVIFIES});
    run_with(f, "item-touch k n", soon);
    run_with(f, "item-touches k none", soon);
    run_with(f, "item-gets k none none", plain);
    run(f, "get k");
    run_with(f, "item-delete k n", plain);
    run_with(f, "item-delete k n", plain);
    EXPECT_STAT("cmd_set", "6");
    EXPECT_STAT("cas_hits", "1");
    EXPECT_STAT("cas_badval", "1");
    EXPECT_STAT("cas_misses", "1");
    EXPECT_STAT("incr_hits", "1");
    EXPECT_STAT("incr_misses", "1");
    EXPECT_STAT("decr_hits", "1");
    EXPECT_STAT("decr_misses", "1");
    EXPECT_STAT("cmd_touch", "3");
    EXPECT_STAT("touch_hits", "2");
    EXPECT_STAT("touch_misses", "1");
    EXPECT_STAT("cmd_get", "7");
    EXPECT_STAT("get_hits", "4");
    EXPECT_STAT("get_misses", "3");
    EXPECT_STAT("delete_hits", "1");
    EXPECT_STAT("delete_misses", "1");
    EXPECT_STAT("curr_items", "1");
    EXPECT_STAT("total_items", "2");
    EXPECT_STAT("pointer_size", sizeof(void *) == 8 ? "64" : "32");
    EXPECT_STAT("evictions", "(none)");
    run(f, "set k v");
    EXPECT_STAT("cmd_set", "7");
    assert_string_equal(stat(f, "items", "items:1:number"), "2");
    assert_string_equal(run(f, "cache-stats sizes"), "*1 \"sizes_status\" \"disabled\"");
    assert_string_equal(run(f, "cache-stats nonsense"), "-ERROR ");
    assert_string_equal(run(f, "cache-stats reset"), "+RESET");
    observer_refresh(f->worker);
    EXPECT_STAT("cmd_set", "0");
    EXPECT_STAT("cmd_get", "0");
    EXPECT_STAT("touch_hits", "0");
    EXPECT_STAT("curr_items", "2");
}

static void a_flush_happens_now_or_when_it_is_due(void **state)
{
    struct fixture *f = *state;
    int64_t start_ms = clock_engine_ms();
    const struct item_time times[] = {
        {ITEM_TIME_KEPT, 0}, {ITEM_TIME_NEVER, 0}, {ITEM_TIME_AFTER, -5}, {ITEM_TIME_AT, 1000}};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        run(f, "set a 1");
        run(f, "set b 1");
        f->session.client.db = 1;
        run(f, "set a 1");
        assert_string_equal(run_with(f, "cache-flush", (struct item_terms){.time = times[i]}),
                            "OK");
        assert_string_equal(run(f, "dbsize"), ":1");
        f->session.client.db = 0;
        assert_string_equal(run(f, "dbsize"), ":0");
    }
    assert_string_equal(stat(f, "items", "items:1:number"), "(none)");
    run(f, "set a 1");
    run_with(f, "cache-flush", (struct item_terms){.time = {ITEM_TIME_AFTER, 60000}});
    assert_in_range(f->server.flush_at_ms, start_ms + 60000, clock_engine_ms() + 60000);
    assert_false(flush_is_due(&f->server, start_ms + 59999));
    f->worker->now_ms = start_ms + 59999;
    flush_run(f->worker);
    assert_string_equal(run(f, "dbsize"), ":1");

    /* A later request takes the place of what was planned. */
    run_with(f, "cache-flush", (struct item_terms){.time = {ITEM_TIME_AT, start_ms + 90000}});
    assert_false(flush_is_due(&f->server, start_ms + 89999));
    assert_true(flush_is_due(&f->server, start_ms + 90000));
    f->worker->now_ms = start_ms + 90000;
    flush_run(f->worker);
    assert_string_equal(run(f, "dbsize"), ":0");
    assert_false(flush_is_due(&f->server, INT64_MAX));
    run(f, "set a 1");
    flush_run(f->worker);
    assert_string_equal(run(f, "dbsize"), ":1");

    run_with(f, "cache-flush", (struct item_terms){.time = {ITEM_TIME_AFTER, INT64_MAX}});
    assert_int_equal(f->server.flush_at_ms, INT64_MAX);
    run(f, "cache-flush");
    assert_int_equal(f->server.flush_at_ms, 0);
    EXPECT_STAT("cmd_flush", "8");
}

static void verbosity_chooses_the_level_of_the_log(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *line;
        enum log_level level;
        const char *shown;
    } rows[] = {{"cache-verbosity 0", LOG_WARNING, "0"},
                {"cache-verbosity 1", LOG_NOTICE, "1"},
                {"cache-verbosity 2", LOG_VERBOSE, "2"},
                {"cache-verbosity 3", LOG_DEBUG, "3"},
                {"cache-verbosity 4294967295", LOG_DEBUG, "3"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(run(f, rows[i].line), "OK");
        assert_int_equal(f->server.options.loglevel, rows[i].level);
        assert_string_equal(stat(f, "settings", "verbosity"), rows[i].shown);
    }
    assert_string_equal(run(f, "cache-verbosity some"), "-CLIENT_ERROR bad command line format");
    assert_string_equal(run(f, "cache-verbosity 4294967296"),
                        "-CLIENT_ERROR bad command line format");
    assert_int_equal(f->server.options.loglevel, LOG_DEBUG);
}

static void memlimit_is_maxmemory_in_megabytes(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(run(f, "cache-memlimit 64"), "OK");
    assert_int_equal(engine_memory_max(f->server.engine), 64 * 1024 * 1024);
    EXPECT_STAT("limit_maxbytes", "67108864");
    assert_string_equal(stat(f, "settings", "maxbytes"), "67108864");
    assert_string_equal(run(f, "cache-memlimit 7"),
                        "-MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m");
    assert_string_equal(run(f, "cache-memlimit 1000000001"),
                        "-MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes");
    assert_string_equal(run(f, "cache-memlimit many"), "-ERROR ");
    assert_int_equal(engine_memory_max(f->server.engine), 64 * 1024 * 1024);
}

/* The lines that were written since the last call, without what differs each time, and the classes
 * they have. */
static const char *lines_of(struct fixture *f)
{
    struct buffer *lines = &f->worker->monitoring.lines;
    struct bytes all = buffer_bytes(lines);
    size_t size = 0;

    for (size_t at = 0; at < all.size;) {
        uint32_t head[2];
        char line[1024], *type;

        memcpy(head, all.data + at, sizeof(head));
        at += sizeof(head);
        assert_in_range(head[1], 1, sizeof(line) - 1);
        snprintf(line, sizeof(line), "%.*s", (int)head[1], all.data + at);
        at += head[1];
        long long seconds, id;
        int micros;
        assert_int_equal(sscanf(line, "ts=%lld.%d gid=%lld ", &seconds, &micros, &id), 3);
        assert_int_equal(id, ++f->line_last);
        type = strstr(line, "type=");
        assert_non_null(type);
        size += (size_t)snprintf(f->text + size, sizeof(f->text) - size, "%u %s", head[0], type);
    }
    f->text[size] = '\0';
    buffer_clear(lines);
    return f->text;
}

static void watch_all(struct fixture *f)
{
    for (int class = MONITOR_FETCHES; class < MONITOR_CLASSES; class ++)
        f->server.monitors[class] = 1;
    observer_refresh(f->worker);
    assert_true(f->worker->observer.watched);
    f->session.fd = 9;
}

static void watchers_are_told_what_became_of_items(void **state)
{
    struct fixture *f = *state;
    const struct item_terms plain = {.mode = ITEM_SET};

    run_with(f, "item-set k n 55555", plain);
    assert_string_equal(lines_of(f), "");
    watch_all(f);
    run_with(f, "item-set k n 55555", (struct item_terms){.time = {ITEM_TIME_AFTER, 60000}});
    run_with(f, "item-set k n 6", (struct item_terms){.mode = ITEM_ADD});
    run_with(f, "item-set k n 7", (struct item_terms){.options = ITEM_COMPARES, .compare = 99});
    run_with(f, "item-set no n 7", (struct item_terms){.options = ITEM_COMPARES, .compare = 99});
    assert_string_equal(
        lines_of(f), "2 type=item_store key=k status=stored cmd=set ttl=60 clsid=1 cfd=9 size=5\n"
                     "2 type=item_store key=k status=not_stored cmd=add ttl=60 clsid=1 cfd=9 "
                     "size=1\n"
                     "2 type=item_store key=k status=exists cmd=cas ttl=60 clsid=1 cfd=9 size=1\n"
                     "2 type=item_store key=no status=not_found cmd=cas ttl=0 clsid=1 cfd=9 "
                     "size=1\n");
    run_with(f, "item-get k n", plain);
    run_with(f, "item-gets no k", plain);
    run(f, "get k");
    run(f, "mget no k other k");
    assert_string_equal(lines_of(f),
                        "1 type=item_get key=k status=found clsid=1 cfd=9 size=5\n"
                        "1 type=item_get key=no status=not_found clsid=0 cfd=9 size=0\n"
                        "1 type=item_get key=k status=found clsid=1 cfd=9 size=5\n"
                        "1 type=item_get key=k status=found clsid=1 cfd=9 size=5\n"
                        "1 type=item_get key=no status=not_found clsid=0 cfd=9 size=0\n"
                        "1 type=item_get key=k status=found clsid=1 cfd=9 size=5\n"
                        "1 type=item_get key=other status=not_found clsid=0 cfd=9 size=0\n"
                        "1 type=item_get key=k status=found clsid=1 cfd=9 size=5\n");
    run(f, "dbsize");
    run(f, "keys *");
    run(f, "get a\001%,");
    run_with(f, "item-count k n", (struct item_terms){.mode = ITEM_RAISE, .delta = 1});
    run_with(f, "item-delete k n", plain);
    run_with(f, "item-delete k n", plain);
    assert_string_equal(lines_of(f),
                        "1 type=item_get key=a%01%25%2C status=not_found clsid=0 cfd=9 size=0\n"
                        "1 type=item_get key=k status=found clsid=1 cfd=9 size=5\n"
                        "2 type=item_store key=k status=stored cmd=set ttl=60 clsid=1 cfd=9 "
                        "size=5\n"
                        "3 type=deleted key=k cmd=delete clsid=1 size=5\n");
    f->server.monitors[MONITOR_FETCHES] = 0;
    run(f, "get k");
    assert_string_equal(lines_of(f), "");
    for (int class = 0; class < MONITOR_CLASSES; class ++)
        f->server.monitors[class] = 0;
    observer_refresh(f->worker);
    assert_false(f->worker->observer.watched);
}

/* Runs it, and expects one line about key k. */
static void expect_store(struct fixture *f, const char *line, const char *expected)
{
    char text[256];

    run(f, line);
    snprintf(text, sizeof(text), "2 type=item_store key=k %s\n", expected);
    assert_string_equal(lines_of(f), text);
}

static void watchers_are_told_of_what_redis_commands_store(void **state)
{
    struct fixture *f = *state;

    watch_all(f);
    f->server.monitors[MONITOR_FETCHES] = 0;
    expect_store(f, "set k abc", "status=stored cmd=set ttl=0 clsid=1 cfd=9 size=3");
    expect_store(f, "set k d nx", "status=not_stored cmd=set ttl=0 clsid=1 cfd=9 size=1");
    expect_store(f, "set k d xx ex 50", "status=stored cmd=set ttl=50 clsid=1 cfd=9 size=1");
    expect_store(f, "set k efg get nx", "status=not_stored cmd=set ttl=0 clsid=1 cfd=9 size=3");
    expect_store(f, "set k efg get", "status=stored cmd=set ttl=0 clsid=1 cfd=9 size=3");
    expect_store(f, "setex k 70 ab", "status=stored cmd=set ttl=70 clsid=1 cfd=9 size=2");
    expect_store(f, "psetex k 70000 a", "status=stored cmd=set ttl=70 clsid=1 cfd=9 size=1");
    expect_store(f, "setnx k abc", "status=not_stored cmd=add ttl=0 clsid=1 cfd=9 size=3");
    expect_store(f, "append k bcd", "status=stored cmd=append ttl=70 clsid=1 cfd=9 size=4");
    expect_store(f, "setrange k 5 x", "status=stored cmd=set ttl=70 clsid=1 cfd=9 size=6");
    expect_store(f, "getset k 99", "status=stored cmd=set ttl=0 clsid=1 cfd=9 size=2");
    expect_store(f, "incr k", "status=stored cmd=set ttl=0 clsid=1 cfd=9 size=3");
    expect_store(f, "decrby k 1", "status=stored cmd=set ttl=0 clsid=1 cfd=9 size=2");
    expect_store(f, "incrbyfloat k 0.25", "status=stored cmd=set ttl=0 clsid=1 cfd=9 size=5");
    expect_store(f, "setrange k 5 x", "status=stored cmd=set ttl=0 clsid=1 cfd=9 size=6");
    run(f, "setrange k 5"); /* what changes nothing and what fails is not told */
    run(f, "get k");
    run(f, "incr k");
    run(f, "set k");
    run(f, "expire k 60");
    assert_string_equal(lines_of(f), "");
    run(f, "del k");
    expect_store(f, "set k v xx get", "status=not_stored cmd=set ttl=0 clsid=1 cfd=9 size=1");
    run(f, "mset k 1 l 22");
    run(f, "msetnx m 1 l 333");
    assert_string_equal(lines_of(f),
                        "2 type=item_store key=k status=stored cmd=set ttl=0 clsid=1 cfd=9 size=1\n"
                        "2 type=item_store key=l status=stored cmd=set ttl=0 clsid=1 cfd=9 size=2\n"
                        "2 type=item_store key=m status=not_stored cmd=add ttl=0 clsid=1 cfd=9 "
                        "size=1\n"
                        "2 type=item_store key=l status=not_stored cmd=add ttl=0 clsid=1 cfd=9 "
                        "size=3\n");
    run_with(
        f, "item-touch v n",
        (struct item_terms){.options = ITEM_VIVIFIES, .vivify_time = {ITEM_TIME_AFTER, 30000}});
    run_with(f, "item-count n n",
             (struct item_terms){.mode = ITEM_RAISE, .options = ITEM_VIVIFIES, .initial = 10});
    assert_string_equal(
        lines_of(f), "2 type=item_store key=v status=stored cmd=add ttl=30 clsid=1 cfd=9 size=0\n"
                     "2 type=item_store key=n status=stored cmd=add ttl=0 clsid=1 cfd=9 size=2\n");
}

static void watchers_are_told_of_connections(void **state)
{
    struct fixture *f = *state;

    watch_opened(&f->session);
    assert_string_equal(lines_of(f), "");
    watch_all(f);
    watch_opened(&f->session);
    strcpy(f->session.peer, "127.0.0.1:5555");
    watch_opened(&f->session);
    strcpy(f->session.peer, "[::1]:44");
    watch_closed(&f->session);
    f->session.close_reason = "idle_timeout";
    watch_closed(&f->session);
    assert_string_equal(lines_of(f),
                        "4 type=conn_new rip=unix rport=0 transport=local cfd=9\n"
                        "4 type=conn_new rip=127.0.0.1 rport=5555 transport=tcp cfd=9\n"
                        "4 type=conn_close rip=::1 rport=44 transport=tcp reason=normal cfd=9\n"
                        "4 type=conn_close rip=::1 rport=44 transport=tcp reason=idle_timeout "
                        "cfd=9\n");
    assert_string_equal(run(f, "cache-watch fetchers nonsense"), "-ERROR ");
    assert_string_equal(run(f, "cache-watch evictions"), "-ERROR ");
}

static void shutdown_is_refused_unless_allowed(void **state)
{
    struct fixture *f = *state;

    assert_string_equal(run(f, "cache-shutdown"), "-SERVER_ERROR shutdown not enabled");
    assert_string_equal(run(f, "cache-shutdown graceful"), "-SERVER_ERROR shutdown not enabled");
    assert_string_equal(stat(f, "settings", "shutdown_command"), "no");
    f->server.options.memcache_shutdown = 1;
    assert_string_equal(stat(f, "settings", "shutdown_command"), "yes");
    assert_string_equal(run(f, "cache-shutdown soon"), "-CLIENT_ERROR invalid shutdown mode");
    assert_string_equal(run(f, "cache-shutdown graceful now"),
                        "-CLIENT_ERROR invalid shutdown mode");
    assert_false(server_stopping(&f->server));
}

int main(void)
{
#define FIXTURE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(rows_are_out_of_reach_without_terms),
        FIXTURE_TEST(version_is_a_plain_number),
        FIXTURE_TEST(only_who_authenticates_may_go_on),
        FIXTURE_TEST(statistics_count_what_item_commands_met),
        FIXTURE_TEST(a_flush_happens_now_or_when_it_is_due),
        FIXTURE_TEST(verbosity_chooses_the_level_of_the_log),
        FIXTURE_TEST(memlimit_is_maxmemory_in_megabytes),
        FIXTURE_TEST(watchers_are_told_what_became_of_items),
        FIXTURE_TEST(watchers_are_told_of_what_redis_commands_store),
        FIXTURE_TEST(watchers_are_told_of_connections),
        FIXTURE_TEST(shutdown_is_refused_unless_allowed),
    };
    return cmocka_run_group_tests_name("server/admin_cache", tests, NULL, NULL);
}
