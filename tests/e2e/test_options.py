# SPDX-License-Identifier: MIT
"""Flags, environment, file, CONFIG: one table serves them all."""
import concurrent.futures
import pathlib

import pytest
import redis

import harness

pytestmark = pytest.mark.quick


def config(server, name):
    return server.client(decode_responses=True).config_get(name)[name]


@pytest.mark.parametrize("args, message", [
    (["--maxmemroy", "1gb"], "did you mean '--maxmemory'?"),
    (["--maxclient=5"], "did you mean '--maxclients'?"),
    (["--unixsoket", "/x"], "did you mean '--unixsocket'?"),
    (["--port"], "--port wants a value"),
    (["--port", "70000"], "must be between 0 and 65535"),
    (["--port", "x"], "bad value 'x' for --port"),
    (["--maxmemory", "12qb"], "bad value '12qb' for --maxmemory"),
    (["--maxmemory", "120%"], "bad value '120%' for --maxmemory"),
    (["--timeout", "-1"], "bad value '-1' for --timeout"),
    (["--io", "iouring"], "the nearest is io_uring"),
    (["--maxmemory-policy", "allkeys-lruu"], "the nearest is allkeys-lru"),
    (["--protected-mode", "maybe"], "'yes' or 'no'"),
    (["--unixsocketperm", "9"], "octal"),
    (["--databases", "4"], "it is always '16'"),
    (["--port", "0", "stray"], "cannot read the configuration file 'stray'"),
    (["--port", "0", "/dev/null", "--timeout", "5", "stray"],
     "unexpected argument 'stray': options begin with --, and the configuration file is "
     "'/dev/null'"),
    (["--verison"], "did you mean '--version'?"),
    (["--halp"], "did you mean '--help'?"),
    (["--chek-config"], "did you mean '--check-config'?"),
    (["--prot", "1"], "unknown option '--prot'; did you mean '--port'?"),
    (["-p", "1"], "unexpected argument '-p'"),
])
def test_a_wrong_flag_ends_with_2_and_names_what_was_meant(args, message):
    ended = harness.run(*args)
    assert ended.returncode == 2
    assert message in ended.stderr


@pytest.mark.parametrize("name, value, message", [
    ("LARDER_MAXMEMROY", "1gb",
     "unknown option 'LARDER_MAXMEMROY'; did you mean 'LARDER_MAXMEMORY'?"),
    ("LARDER_tcp_backlgo", "1",
     "unknown option 'LARDER_tcp_backlgo'; did you mean 'LARDER_TCP_BACKLOG'?"),
    ("LARDER_CHEK_CONFIG", "yes", "unknown option 'LARDER_CHEK_CONFIG'\n"),
    ("LARDER_PORT", "abc", "bad value 'abc' for LARDER_PORT"),
])
def test_a_wrong_variable_ends_with_2(name, value, message):
    ended = harness.run(env={name: value})
    assert ended.returncode == 2
    assert message in ended.stderr


@pytest.mark.parametrize("name", ["--frobnicate", "--x", "--replicaof", "--hz"])
def test_nothing_is_suggested_that_is_far_from_what_was_written(name):
    ended = harness.run(name, "1")
    assert (ended.returncode, ended.stderr) == (2, f"larder: unknown option '{name}'\n")


# What is wrong with the last line of a file, and what is said of it.
WRONG_LINES = [
    ("maxmemory 1gb\nmaxmemroy 2gb", "unknown option 'maxmemroy'; did you mean 'maxmemory'?"),
    ("maxmemory 1gb\n\n\nMAXCLIENT 5", "unknown option 'MAXCLIENT'; did you mean 'maxclients'?"),
    ("port", "port wants a value"),
    ("port 1 2", "port wants one value"),
    ("port abc", "bad value 'abc' for port: argument couldn't be parsed into an integer"),
    ("port 65536", "bad value '65536' for port: argument must be between 0 and 65535 inclusive"),
    ("port ''", "bad value '' for port: argument couldn't be parsed into an integer"),
    ("port 6379 # the usual",
     "port wants nothing behind its value: a comment has a line of its own"),
    ("bind 127.0.0.1 #local", "bind wants nothing behind its value: a comment has a line of"),
    ("save 900 1", "bad value '900 1' for save: it is always '' (empty: nothing is saved to disk)"),
    ('requirepass "abc', "requirepass wants its quotes closed"),
    ("requirepass 'abc", "requirepass wants its quotes closed"),
    ('requirepass "a"b', "requirepass wants its quotes closed"),
    ('"requirepass', "the line wants its quotes closed"),
    ('requirepass "a\\x00b"', "argument must not contain a zero byte"),
    ("bind" + " 127.0.0.1" * 64, "bind wants fewer words on one line"),
    ("\n# fine\n  timeout soon",
     "bad value 'soon' for timeout: argument couldn't be parsed into an integer or a duration"),
    ("timeout -1", "bad value '-1' for timeout: argument must be between 0 and"),
    ("maxmemory 12qb",
     "bad value '12qb' for maxmemory: argument must be a memory or percent value"),
    ("proto-max-bulk-len 1zb", "argument must be a memory value"),
    ("protected-mode maybe", "argument must be 'yes' or 'no'"),
    ("unixsocketperm 9", "argument couldn't be parsed as an octal number"),
    ("unixsocketperm 1777", "argument must be between 0 and 777 inclusive"),
    ("loglevel loud", "argument(s) must be one of the following: debug, verbose, notice, warning, "
     "nothing; the nearest is"),
    ("daemonize yes", "it is always 'no' (larder stays in the foreground"),
    ("appendonly yes", "it is always 'no'"),
    ("config other", "config cannot stand in a file; did you mean 'include'?"),
    ("include", "include wants one path"),
    ("include a b", "include wants one path"),
    ("include ''", "include wants one path"),
    ("include /nonexistent/x", "cannot read the configuration file '/nonexistent/x': "
     "No such file or directory"),
    ("include /", "cannot read the configuration file '/': Is a directory"),
]


@pytest.mark.parametrize("text, message", WRONG_LINES)
def test_a_wrong_line_ends_with_2_and_names_file_line_and_what_was_meant(
        tmp_path, text, message):
    path = tmp_path / "larder.conf"
    path.write_bytes(text.encode() + b"\n")
    ended = harness.run(str(path), "--check-config")
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"larder: {path}:{text.count(chr(10)) + 1}: ")
    assert message in ended.stderr


@pytest.mark.parametrize("end", ["", "\r\n", "\n\n"])
def test_a_wrong_last_line_is_found_whatever_its_end(tmp_path, end):
    path = tmp_path / "larder.conf"
    path.write_bytes(f"maxclients 5\nport abc{end}".encode())
    ended = harness.run("--config", str(path))
    assert ended.returncode == 2
    assert f"{path}:2: bad value 'abc' for port" in ended.stderr


def test_a_mistake_in_an_included_file_names_that_file(tmp_path):
    outer, inner = tmp_path / "outer.conf", tmp_path / "inner.conf"
    outer.write_text(f"maxclients 5\ninclude {inner}\n")
    inner.write_text("# inner\nprot 5\n")
    ended = harness.run(str(outer), "--check-config")
    assert ended.returncode == 2
    assert f"{inner}:2: unknown option 'prot'; did you mean 'port'?" in ended.stderr


def test_files_that_include_each_other_without_end_are_refused(tmp_path):
    loop, other = tmp_path / "loop.conf", tmp_path / "other.conf"
    loop.write_text(f"include {loop}\n")
    ended = harness.run(str(loop), "--check-config")
    assert ended.returncode == 2
    assert ended.stderr == f"larder: {loop}:1: '{loop}' includes itself\n"
    loop.write_text(f"\ninclude {other}\n")
    other.write_text(f"include {loop}\n")
    ended = harness.run(str(loop), "--check-config")
    assert ended.returncode == 2
    assert ended.stderr == f"larder: {other}:1: '{loop}' includes itself by way of '{other}'\n"
    for i in range(17):
        (tmp_path / f"{i}.conf").write_text(f"include {tmp_path}/{i + 1}.conf\n")
    ended = harness.run(f"{tmp_path}/0.conf", "--check-config")
    assert ended.returncode == 2
    assert f"{tmp_path}/15.conf:1: files may include each other to a depth of 16" in ended.stderr


def test_a_byte_order_mark_begins_no_word(tmp_path):
    path = tmp_path / "larder.conf"
    path.write_bytes(b"\xef\xbb\xbfmaxclients none\n")
    ended = harness.run(str(path), "--check-config")
    assert ended.stderr.startswith(f"larder: {path}:1: bad value 'none' for maxclients: ")


def test_a_file_that_is_too_large_is_refused(tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text("# much to say\n" * 200000)
    ended = harness.run(str(path), "--check-config")
    assert ended.returncode == 2 and "it is too large" in ended.stderr


def test_includes_are_read_where_they_stand_and_patterns_in_their_order(tmp_path):
    """Relative paths start at the working directory, as in Redis; a pattern may fit nothing."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/1.conf").write_text("maxclients 11\ntcp-backlog 11\ntimeout 11\n")
    (tmp_path / "d/2.conf").write_text("include d/deep.inc\n")
    (tmp_path / "d/deep.inc").write_text("tcp-backlog 22\n")
    (tmp_path / "main.conf").write_text(
        "maxclients 1\nINCLUDE \"d/*.conf\"\ninclude none*\ntimeout 33\nport 0\n"
        f"unixsocket {tmp_path}/s\n")
    with harness.background("main.conf", cwd=tmp_path, path=tmp_path / "s") as client:
        assert client.config_get("maxclients") == {"maxclients": "11"}
        told = client.info("server")
        assert told["config_file"] == f"{tmp_path}/main.conf"
        assert told["executable"] == str(pathlib.Path(harness.BINARY).resolve())
        assert told["process_supervised"] == "no"
        assert client.config_get("tcp-backlog") == {"tcp-backlog": "22"}
        assert client.config_get("timeout") == {"timeout": "33"}


@pytest.mark.parametrize("line, value", [
    ("requirepass plain", "plain"),
    ('requirepass "a b"', "a b"),
    ("requirepass 'a \\' b'", "a ' b"),
    ('requirepass "\\x41\\x20\\"\\\\\\t"', 'A "\\\t'),
    ('  \trequirepass\t"x"  \r', "x"),
    ('requirepass pre"fix"', "prefix"),
    ("requirepass a#b", "a#b"),
    ("REQUIREPASS Upper", "Upper"),
])
def test_words_of_a_line_are_quoted_as_in_redis(start, tmp_path, line, value):
    path = tmp_path / "larder.conf"
    path.write_text(line + "\n")
    client = start("--config", str(path)).client(password=value, decode_responses=True)
    assert client.config_get("requirepass") == {"requirepass": value}


def test_check_config_starts_nothing_and_reads_all_sources(tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text(f"port 0\nunixsocket {tmp_path}/s\n")
    ended = harness.run(str(path), "--check-config", "--maxclients", "7")
    assert (ended.returncode, ended.stdout) == (0, "larder: the configuration is good\n")
    assert not (tmp_path / "s").exists()
    assert harness.run("--check-config").returncode == 0
    assert harness.run("--check-config", env={"LARDER_PORT": "x"}).returncode == 2
    assert harness.run("--check-config", "--maxclients", "none").returncode == 2


def test_the_file_may_stand_anywhere_among_the_flags(tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text(f"port 0\nunixsocket {tmp_path}/s\ntimeout 5\nmaxclients 11\n")
    for words in ["--check-config", path], ["--timeout", "5", path, "--check-config"], [
            "--check-config", "--protected-mode", "no", path, "--maxclients", "7"]:
        assert harness.run(*map(str, words)).returncode == 0
    with harness.background("--timeout", "7", str(path), "--bind", "127.0.0.1", cwd=tmp_path,
                            path=tmp_path / "s") as client:
        assert client.config_get("timeout") == {"timeout": "7"}
        assert client.config_get("maxclients") == {"maxclients": "11"}
        assert client.config_get("config") == {"config": str(path)}


@pytest.mark.parametrize("words, file, environment, message", [
    (["--bind", "0.0.0.0"], "", {}, "refusing to start: --bind 0.0.0.0 lets"),
    ([], "", {"LARDER_BIND": "0.0.0.0"}, "refusing to start: LARDER_BIND=0.0.0.0 lets"),
    ([], "bind 127.0.0.1 ::*", {}, "refusing to start: bind ::* of FILE lets"),
    (["--port", "0"], "", {}, "nothing to listen on"),
    (["--bind", "nosuchhost"], "", {},
     'cannot listen on "nosuchhost": not an IPv4 or IPv6 address'),
    (["--bind", "192.0.2.77"], "", {}, "cannot listen on 192.0.2.77 port 6379: "),
    (["--bind", "-192.0.2.77"], "", {}, "nothing to listen on"),
    (["--bind", *["127.0.0.1"] * 33], "", {}, "too many addresses to listen on: at most 32"),
])
def test_check_config_refuses_what_a_start_refuses(tmp_path, words, file, environment, message):
    path = tmp_path / "larder.conf"
    path.write_text(file + "\n")
    checked = harness.run(str(path), *words, "--check-config", env=environment)
    started = harness.run(str(path), *words, env=environment)
    message = message.replace("FILE", str(path))
    assert checked.returncode == started.returncode == 1
    assert checked.stderr.startswith(f"larder: {message}") and not checked.stdout
    assert checked.stderr[len("larder: "):] in started.stderr


def test_check_config_does_not_mind_that_a_server_runs(start):
    server = start(tcp=True)
    assert harness.run("--check-config", "--port", str(server.port)).returncode == 0


def test_a_missing_file_ends_with_2():
    ended = harness.run("--config", "/nonexistent/larder.conf")
    assert ended.returncode == 2
    assert "cannot read the configuration file" in ended.stderr


def test_flags_win_over_environment_over_file_over_defaults(start, tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text('# limits\nmaxclients 111\ntimeout 1h\ntcp-backlog 99\nrequirepass "a b"\n')
    server = start("--config", str(path), "--timeout", "7", "--timeout", "5m",
                   env={"LARDER_MAXCLIENTS": "222", "LARDER_TIMEOUT": "9"})
    client = server.client(password="a b", decode_responses=True)
    assert client.config_get("timeout")["timeout"] == "300"
    assert client.config_get("maxclients")["maxclients"] == "222"
    assert client.config_get("tcp-backlog")["tcp-backlog"] == "99"
    assert client.config_get("proto-max-bulk-len")["proto-max-bulk-len"] == "536870912"


def test_lists_add_up_within_a_source_and_replace_a_weaker_one(start, tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text("bind 127.0.0.1 127.0.0.2\nbind 127.0.0.3\n")
    assert config(start("--config", str(path)), "bind") == "127.0.0.1 127.0.0.2 127.0.0.3"
    server = start("--config", str(path), "--bind", "127.0.0.4", "127.0.0.5", "--bind=127.0.0.6")
    assert config(server, "bind") == "127.0.0.4 127.0.0.5 127.0.0.6"
    assert config(start(), "bind") == "127.0.0.1 -::1"


def test_what_a_container_platform_says_about_a_neighbour_is_ignored(start):
    server = start("--maxclients", "5", env={
        "LARDER_SERVICE_HOST": "10.0.0.1", "LARDER_PORT": "tcp://10.0.0.1:6379",
        "LARDER_PORT_6379_TCP_ADDR": "10.0.0.1"})
    assert config(server, "maxclients") == "5"


def test_sizes_and_durations_take_units(start):
    server = start("--client-output-soft-limit", "64kb", "--batch-wait", "1ms",
                   "--client-output-stall-timeout", "1500ms", "--maxmemory", "50%")
    assert config(server, "client-output-soft-limit") == "65536"
    assert config(server, "batch-wait") == "1000"
    assert config(server, "client-output-stall-timeout") == "1500ms"
    assert int(config(server, "maxmemory")) > 1 << 20


def test_help_version_and_reference_are_printed():
    told = harness.run("--help")
    assert told.returncode == 0 and "--maxmemory" in told.stdout and "--port" in told.stdout
    told = harness.run("--help", "memory")
    assert told.returncode == 0 and "--maxmemory" in told.stdout and "--port" not in told.stdout
    told = harness.run("--help", "nothing")
    assert told.returncode == 2 and "no group of options 'nothing'" in told.stderr
    assert "network memory threads security server" in told.stderr
    assert harness.run("--version").stdout.startswith("larder ")
    for what, word in ("options", "`maxmemory`"), ("commands", "`get key`"), ("errors", "`OOM`"):
        told = harness.run("--dump-reference", what)
        assert told.returncode == 0 and word in told.stdout
    assert harness.run("--dump-reference", "nothing").returncode == 2


def test_config_set_takes_effect_at_once_or_not_at_all(server):
    client = server.client(decode_responses=True)
    client.config_set("maxmemory", "64mb")
    assert config(server, "maxmemory") == str(64 << 20)
    assert client.info("memory")["maxmemory"] == 64 << 20
    with pytest.raises(redis.ResponseError, match="maxmemory"):
        for i in range(100):
            client.set(f"k{i}", b"x" * (1 << 20))
    client.flushall()
    client.config_set("maxmemory", 0)
    assert client.set("k", "v")

    for bad in (["maxmemory", "1gb", "maxclients", "none"], ["maxmemory", "1gb", "nonsense", "1"],
                ["maxmemory", "1gb", "maxmemory", "2gb"], ["maxmemory", "1gb", "port", "1"]):
        with pytest.raises(redis.ResponseError):
            client.execute_command("CONFIG", "SET", *bad)
        assert config(server, "maxmemory") == "0"
    assert client.execute_command("CONFIG", "SET", "maxmemory", "1gb", "loglevel", "debug") == "OK"
    assert client.config_get("max*") == {
        "maxmemory": str(1 << 30), "maxmemory-policy": "noeviction",
        "maxclients": config(server, "maxclients")}
    with pytest.raises(redis.ResponseError, match="immutable"):
        client.config_set("port", 1)


def test_config_set_of_what_is_so_is_fine_for_options_that_cannot_change(start):
    server = start("--bind", "127.0.0.1", tcp=True)
    client = server.client(decode_responses=True)
    for name, value in [("save", ""), ("appendonly", "no"), ("port", server.port),
                        ("bind", "127.0.0.1"), ("PROTECTED-MODE", "YES"), ("databases", "16")]:
        assert client.config_set(name, value)
    assert client.execute_command("CONFIG", "SET", "save", "", "maxclients", "77", "io", "auto")
    assert config(server, "maxclients") == "77"
    for name, value in [("save", "900 1"), ("appendonly", "yes"), ("port", "1"), ("port", "x"),
                        ("bind", "127.0.0.2"), ("databases", "17")]:
        with pytest.raises(redis.ResponseError, match=f"argument '{name}'. - can't set immutable"):
            client.execute_command("CONFIG", "SET", "maxclients", "78", name, value)
    assert config(server, "maxclients") == "77"


def test_config_set_of_several_changes_all_or_none(server):
    client = server.client()
    before = client.config_get("max*")
    with pytest.raises(redis.ResponseError):
        client.execute_command("CONFIG", "SET", "maxmemory", "64mb", "maxclients", "100000000")
    assert client.config_get("max*") == before


def test_config_answers_what_redis_tools_ask(server):
    client = server.client(decode_responses=True)
    assert client.config_get("save") == {"save": ""}
    assert client.config_get("appendonly") == {"appendonly": "no"}
    assert client.config_get("cluster-enabled") == {"cluster-enabled": "no"}
    assert client.config_get("notify-keyspace-events") == {"notify-keyspace-events": ""}
    assert client.config_get("DATABASES") == {"databases": "16"}
    assert client.config_get("nothing*") == {}


def test_config_rewrite_without_a_file_is_refused(server):
    with pytest.raises(redis.ResponseError, match="^The server is running without a config file$"):
        server.client().config_rewrite()


def test_config_rewrite_writes_what_a_restart_reads(start, tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text("# ours\nmaxclients 50\n\nrequirepass old\n")
    server = start("--config", str(path))
    client = server.client(password="old", decode_responses=True)
    client.execute_command("CONFIG", "SET", "maxclients", "60", "requirepass", "a \"b\"",
                           "maxmemory", "512mb")
    assert client.config_rewrite()
    text = path.read_text()
    assert text.startswith("# ours\nmaxclients 60\n\nrequirepass \"a \\\"b\\\"\"\n")
    assert "\n# Generated by CONFIG REWRITE\n" in text and f"maxmemory {512 << 20}\n" in text
    assert "CONFIG REWRITE executed with success" in server.log()
    again = start("--config", str(path), "--maxmemory", "512mb")
    client = again.client(password='a "b"', decode_responses=True)
    assert client.config_get("maxclients") == {"maxclients": "60"}


def test_config_rewrite_that_fails_says_why_and_changes_nothing(start, tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text("maxclients 50\n")
    server = start("--config", str(path))
    path.write_text("maxclients 50\nprot 1\n")
    with pytest.raises(redis.ResponseError, match="^Rewriting config file: .*:2: unknown option"):
        server.client().config_rewrite()
    assert path.read_text() == "maxclients 50\nprot 1\n"
    path.unlink()
    path.mkdir()
    with pytest.raises(redis.ResponseError,
                       match=f"^Rewriting config file: cannot read '{path}': Is a directory$"):
        server.client().config_rewrite()
    assert "CONFIG REWRITE failed" in server.log()


def test_config_rewrite_makes_a_file_that_is_gone(start, tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text("maxclients 50\n")
    server = start("--config", str(path))
    path.unlink()
    assert server.client().config_rewrite()
    text = path.read_text()
    assert text.startswith("# Generated by CONFIG REWRITE\n") and "maxclients 50\n" in text
    assert harness.run("--check-config", str(path)).returncode == 0


def test_config_rewrite_from_many_clients_at_once_leaves_a_good_file(start, tmp_path):
    path = tmp_path / "larder.conf"
    path.write_text("# ours\nmaxclients 50\n")
    server = start("--config", str(path), "--threads", "2")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        def work(number):
            client = server.client()
            for i in range(20):
                client.config_set("maxclients", 100 + number * 20 + i)
                client.config_rewrite()
        list(pool.map(work, range(4)))
    assert path.read_text().startswith("# ours\nmaxclients 1")
    assert f"maxclients {config(server, 'maxclients')}\n" in path.read_text()
