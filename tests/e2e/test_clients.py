# SPDX-License-Identifier: MIT
"""Real clients: redis-py, redis-cli, and RESP by hand. The modes of Redis's tools are in
test_redis_tools.py."""
import pytest
import redis

import harness
from harness import command

pytestmark = pytest.mark.quick


def cli(server, *args, stdin=None):
    return harness.redis_tool(server, "redis-cli", *args, stdin=stdin).stdout.strip()


def test_python_redis_reads_what_it_wrote(server):
    client = server.client()
    assert client.set("k", b"\x00\r\n\xff", ex=100)
    assert client.get("k") == b"\x00\r\n\xff"
    assert 90 < client.ttl("k") <= 100
    assert client.mset({f"m{i}": i for i in range(100)})
    assert client.mget([f"m{i}" for i in range(100)]) == [str(i).encode() for i in range(100)]
    assert sorted(client.scan_iter("m1*")) == sorted(
        f"m{i}".encode() for i in range(100) if str(i).startswith("1"))
    assert client.incrby("n", 5) == 5
    assert client.delete("k", "n", "missing") == 2
    assert client.dbsize() == 100
    assert client.flushall()
    assert client.dbsize() == 0


def test_python_redis_pipelines_and_transactions(server):
    client = server.client()
    with client.pipeline(transaction=False) as pipe:
        for i in range(5000):
            pipe.set(f"k{i}", i)
            pipe.get(f"k{i}")
        replies = pipe.execute()
    assert replies[1::2] == [str(i).encode() for i in range(5000)]
    with client.pipeline() as pipe:
        pipe.watch("k1")
        server.client().set("k1", "changed")
        pipe.multi()
        pipe.set("k1", "mine")
        with pytest.raises(redis.WatchError):
            pipe.execute()
    with client.pipeline() as pipe:
        assert pipe.incr("n").incr("n").execute() == [1, 2]


def test_redis_cli_talks(server):
    assert cli(server, "SET", "k", "v") == "OK"
    assert cli(server, "GET", "k") == "v"
    assert "proto 3" in cli(server, "-3", "HELLO")
    assert cli(server, "nonsense", "a") == \
        "ERR unknown command 'nonsense', with args beginning with: 'a'"
    assert cli(server, stdin="SET a \"quoted \\x41\"\nGET a\n").split("\n")[-1] == "quoted A"


def test_databases_are_apart(server):
    one, two = server.client(), server.client(db=5)
    one.set("k", 0)
    two.set("k", 5)
    assert (one.get("k"), two.get("k")) == (b"0", b"5")
    keyspace = one.info("keyspace")
    assert keyspace["db0"] == {"keys": 1, "expires": 0, "avg_ttl": 0}
    assert keyspace["db5"]["keys"] == 1
    with pytest.raises(redis.ResponseError, match="DB index is out of range"):
        one.execute_command("SELECT", 16)


def skip_hello(raw):
    """Reads the rest of a reply to HELLO, whose last field is ours."""
    while raw.line() != b"larder_version":
        pass
    raw.line(), raw.line()


def test_hello_chooses_the_protocol(server):
    raw = server.raw()
    assert raw.ask("HELLO", "4") == b"-NOPROTO unsupported protocol version"
    assert raw.ask("HELLO", "x") == b"-ERR Protocol version is not an integer or out of range"
    assert raw.ask("HELLO", "2", "NAME") == b"-ERR Syntax error in HELLO option 'NAME'"
    assert raw.ask("GET", "missing") == b"$-1"
    assert raw.ask("HELLO", "3", "SETNAME", "me") == b"%8"
    skip_hello(raw)
    assert raw.ask("GET", "missing") == b"_"
    assert raw.ask("CLIENT", "GETNAME") == b"$2"
    assert raw.line() == b"me"
    hello = server.client(decode_responses=True).execute_command("HELLO")
    told = dict(zip(hello[::2], hello[1::2]))
    assert hello[::2] == ["server", "version", "proto", "id", "mode", "role", "modules",
                          "larder_version"]
    assert told["server"] == "redis" and told["version"] == "7.2.4" and told["proto"] == 2
    assert told["larder_version"] and told["role"] == "master" and told["modules"] == []


def test_inline_requests_work_at_every_line_end(server):
    raw = server.raw()
    raw.send(b"\r\nSET k 'a b'\nGET k\r\n  PING  \r\nGET \"\\x6b\"\n")
    assert [raw.line() for _ in range(6)] == [b"+OK", b"$3", b"a b", b"+PONG", b"$3", b"a b"]


def test_requests_split_at_every_byte_are_served(server):
    request = command("SET", "key", "value") + b"GET key\r\n" + command("GET", "key")
    expected = b"+OK\r\n$5\r\nvalue\r\n$5\r\nvalue\r\n"
    for at in range(1, len(request)):
        raw = server.raw()
        raw.send(request[:at])
        raw.send(request[at:])
        raw.socket.shutdown(1)
        assert raw.rest() == expected, at


def test_quit_answers_and_closes(server):
    raw = server.raw()
    raw.send(command("SET", "k", "v") + command("QUIT") + command("SET", "k", "w"))
    assert raw.rest() == b"+OK\r\n+OK\r\n"
    assert server.client().get("k") == b"v"


def test_a_protocol_error_is_answered_and_closes(server):
    raw = server.raw()
    raw.send(command("SET", "k", "v") + b"*1\r\n:4\r\n" + command("PING"))
    assert raw.rest() == b"+OK\r\n-ERR Protocol error: expected '$', got ':'\r\n"


def test_command_tells_about_commands(server):
    client = server.client()
    assert client.command_count() == len(client.command())
    told = client.execute_command("COMMAND", "INFO", "get", "config|get")
    assert told["get"]["arity"] == 2 and told["config|get"]["arity"] == -3
    raw = server.raw()
    assert raw.ask("COMMAND", "INFO", "nothing") == b"*1"
    assert raw.line() == b"*-1"
    raw = server.raw()
    assert raw.ask("COMMAND", "DOCS", "set", "nothing") == b"*2"
    assert [raw.line() for _ in range(4)] == [b"$3", b"set", b"*12", b"$7"]
    assert "client" in cli(server, "COMMAND", "LIST").split("\n")
    assert cli(server, "COMMAND", "GETKEYS", "MSET", "a", "1", "b", "2") == "a\nb"
    with pytest.raises(redis.ResponseError, match="unknown subcommand 'X'. Try CLIENT HELP."):
        client.execute_command("CLIENT", "X")
    for parent in "CLIENT", "COMMAND", "CONFIG", "DEBUG", "FUNCTION", "MEMORY":
        assert cli(server, parent, "HELP").split("\n")[-2] == "HELP"


def test_info_tells_what_redis_tools_read(server):
    client = server.client()
    client.set("a", 1)
    client.get("a")
    client.get("b")
    info = client.info()
    assert info["redis_version"] == "7.2.4" and info["larder_version"]
    assert info["process_id"] == server.process.pid
    assert info["workers"] == 2 and info["connected_clients"] == 1
    assert info["keyspace_hits"] == 1 and info["keyspace_misses"] == 1
    assert info["used_memory"] > 0 and info["used_memory_peak"] >= info["used_memory"]
    assert info["maxmemory"] == 1 << 30 and info["maxmemory_policy"] == "noeviction"
    assert info["total_commands_processed"] >= 3 and info["total_connections_received"] >= 1
    assert info["db0"]["keys"] == 1
    for name in ("uptime_in_seconds", "used_memory_human", "used_memory_rss", "expired_keys",
                 "expire_lag_ms", "table_bytes", "retired_bytes", "reserve_bytes",
                 "longest_loop_iteration_us", "instantaneous_ops_per_sec", "wall_clock_drift_ms",
                 "used_cpu_sys", "used_cpu_user"):
        assert name in info, name
    assert {"connected_clients", "maxclients", "blocked_clients"} <= set(client.info("clients"))
    assert "used_memory" not in client.info("clients")
    assert client.execute_command("CONFIG", "RESETSTAT")
    assert client.info("stats")["keyspace_hits"] == 0
    assert client.info("stats")["total_commands_processed"] <= 2


def test_reset_brings_a_connection_back_to_its_beginning(server):
    raw = server.raw()
    assert raw.ask("HELLO", "3", "SETNAME", "me") == b"%8"
    skip_hello(raw)
    assert raw.ask("SELECT", "3") == b"+OK"
    assert raw.ask("MULTI") == b"+OK"
    assert raw.ask("RESET") == b"+RESET"
    assert raw.ask("EXEC") == b"-ERR EXEC without MULTI"
    assert raw.ask("CLIENT", "GETNAME") == b"$-1"
    client = server.client()
    raw.ask("SET", "k", "v")
    assert client.get("k") == b"v"


def test_debug_is_refused_unless_allowed(start):
    with pytest.raises(redis.ResponseError, match="DEBUG command not allowed"):
        start().client().execute_command("DEBUG", "SLEEP", 0)
    for allowed in "local", "yes":
        client = start("--enable-debug-command", allowed).client()
        assert client.execute_command("DEBUG", "SLEEP", "0.001")
        with pytest.raises(redis.ResponseError, match="as given"):
            client.execute_command("DEBUG", "ERROR", "as given")
