# SPDX-License-Identifier: MIT
"""Flags, environment, file, CONFIG: one table serves them all."""
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
    (["--port", "0", "stray"], "unexpected argument 'stray'"),
    (["-p", "1"], "unexpected argument '-p'"),
])
def test_a_wrong_flag_ends_with_2_and_names_what_was_meant(args, message):
    ended = harness.run(*args)
    assert ended.returncode == 2
    assert message in ended.stderr


@pytest.mark.parametrize("name, value, message", [
    ("LARDER_MAXMEMROY", "1gb", "did you mean 'LARDER_maxmemory'?"),
    ("LARDER_PORT", "abc", "bad value 'abc' for LARDER_port"),
])
def test_a_wrong_variable_ends_with_2(name, value, message):
    ended = harness.run(env={name: value})
    assert ended.returncode == 2
    assert message.lower() in ended.stderr.lower()


@pytest.mark.parametrize("text, message", [
    ("maxmemory 1gb\nmaxmemroy 2gb\n", ":2: unknown option 'maxmemroy'; did you mean 'maxmemory'?"),
    ("port\n", ":1: port wants a value"),
    ("port 1 2\n", ":1: port wants one value"),
    ("requirepass \"abc\n", ":1: requirepass wants its quotes closed"),
    ("\n# fine\n  timeout soon\n", ":3: bad value 'soon' for timeout"),
    ("config other\n", ":1: a file cannot name another file"),
])
def test_a_wrong_line_ends_with_2_and_its_number(tmp_path, text, message):
    path = tmp_path / "larder.conf"
    path.write_text(text)
    ended = harness.run(str(path))
    assert ended.returncode == 2
    assert message in ended.stderr


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
    assert told.returncode == 0 and "--maxmemory" in told.stdout
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
    assert client.config_get("DATABASES") == {"databases": "16"}
    assert client.config_get("nothing*") == {}
