# SPDX-License-Identifier: MIT
"""The modes of redis-cli, redis-benchmark, and every operation of redis-py whose command exists."""
import datetime
import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import time

import pytest
import redis

import harness

pytestmark = pytest.mark.quick

DELETE_LINE = b"\x15"  # Ctrl-U


def cli(server, *args, stdin=None):
    done = harness.redis_tool(server, "redis-cli", *args, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


class Terminal:
    """redis-cli at a terminal, in a folder of its own."""

    def __init__(self, server, *args):
        controller, terminal = pty.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 300, 0, 0))
        self.process = subprocess.Popen(
            ["redis-cli", "-s", server.path, *args], stdin=terminal, stdout=terminal,
            stderr=terminal, start_new_session=True, preexec_fn=harness.die_with_parent,
            env={**harness.clean_environment(), "TERM": "xterm", "HOME": server.folder})
        os.close(terminal)
        self.descriptor = controller
        self.seen = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.descriptor)

    def type(self, data):
        self.seen = ""
        os.write(self.descriptor, data)

    def wait_for(self, pattern):
        """Reads until the pattern has come."""
        end = time.monotonic() + harness.PATIENCE_S
        while not re.search(pattern, self.seen):
            assert time.monotonic() < end, f"not seen: {pattern}; but: {self.seen!r}"
            if select.select([self.descriptor], [], [], 0.1)[0]:
                self.seen += os.read(self.descriptor, 65536).decode(errors="replace")


@pytest.fixture
def filled(server):
    """Strings of 10 to 1000 bytes, the last being the largest."""
    server.client().mset({f"key:{i}": "x" * 10 * i for i in range(1, 101)})
    return server


# ---- redis-cli

def test_stat_shows_lines_of_figures(filled):
    if not shutil.which("redis-cli"):
        pytest.skip("no redis-cli")
    with Terminal(filled, "--stat", "-i", "0.05") as terminal:
        terminal.wait_for(r"keys +mem +clients +blocked +requests +connections")
        terminal.wait_for(r"(?:\n100 +\d[\d.]*[BKMG] +1 +0 +\d+ \(\+\d+\) +\d+ *\r){3}")


def test_bigkeys_finds_the_largest(filled):
    report = cli(filled, "--bigkeys")
    assert "Sampled 100 keys in the keyspace!" in report
    assert re.search(r"Biggest string found ['\"]+key:100['\"]+ has 1000 bytes", report), report
    assert "100 strings with 50500 bytes (100.00% of keys, avg size 505.00)" in report


def test_memkeys_finds_what_takes_the_most_memory(filled):
    report = cli(filled, "--memkeys")
    assert "Sampled 100 keys in the keyspace!" in report
    largest = re.search(r"Biggest string found ['\"]+key:100['\"]+ has (\d+) bytes", report)
    assert largest and 1000 < int(largest[1]) < 1400, report
    total = re.search(r"100 strings with (\d+) bytes", report)
    assert total and int(total[1]) > 50500, report


def test_latency_is_measured(server):
    smallest, largest, average, count = cli(server, "--latency", "-i", "0.1").split()
    assert 0 <= int(smallest) <= float(average) <= int(largest) and int(count) > 0


def test_scan_finds_keys_by_pattern(filled):
    assert sorted(cli(filled, "--scan").split()) == sorted(f"key:{i}" for i in range(1, 101))
    assert sorted(cli(filled, "--scan", "--pattern", "key:1*").split()) == sorted(
        f"key:{i}" for i in range(1, 101) if str(i).startswith("1"))
    assert cli(filled, "--scan", "--pattern", "nothing*") == ""


def test_pipe_loads_many_and_counts_errors(server):
    load = b"".join(harness.command("SET", f"k{i}", i) for i in range(20000)).decode()
    assert cli(server, "--pipe", stdin=load).splitlines()[-1] == "errors: 0, replies: 20000"
    assert server.client().dbsize() == 20000
    done = harness.redis_tool(server, "redis-cli", "--pipe",
                              stdin="SET a x\r\nINCR a\r\nNOPE\r\nSET b 1\r\n")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "errors: 2, replies: 4"
    assert server.client().mget("a", "b") == [b"x", b"1"]


def test_arguments_come_from_standard_input(server):
    assert cli(server, "-x", "SET", "k", stdin="two words\n") == "OK\n"
    assert server.client().get("k") == b"two words\n"


def test_replies_are_shown_in_every_form(server):
    client = server.client()
    client.set("k", "a\x01b")
    assert cli(server, "--no-raw", "GET", "k") == '"a\\x01b"\n'
    assert cli(server, "--no-raw", "MGET", "k", "missing") == '1) "a\\x01b"\n2) (nil)\n'
    assert cli(server, "--no-raw", "DEL", "k") == "(integer) 1\n"
    assert cli(server, "--csv", "MGET", "k", "missing") == "NULL,NULL\n"
    assert cli(server, "-3", "--no-raw", "CONFIG", "GET", "maxclients") == \
        '1# "maxclients" => "10000"\n'
    assert cli(server, "-3", "--no-raw", "GET", "missing") == "(nil)\n"
    assert cli(server, "-r", "3", "INCR", "n") == "1\n2\n3\n"
    assert cli(server, "-n", "5", "SET", "k", "v") == "OK\n"
    assert server.client(db=5).get("k") == b"v"
    done = harness.redis_tool(server, "redis-cli", "-e", "INCR", "k", "x")
    if "Unrecognized option" not in done.stderr:
        assert done.returncode == 1
        assert "ERR wrong number of arguments for 'incr' command" in done.stderr


def test_json_is_what_the_reply_was(server):
    if "Unrecognized option" in harness.redis_tool(server, "redis-cli", "--json", "PING").stderr:
        pytest.skip("redis-cli has no --json")
    server.client().set("k", 'v "1"')
    assert json.loads(cli(server, "--json", "GET", "k")) == 'v "1"'
    assert json.loads(cli(server, "--json", "MGET", "k", "missing")) == ['v "1"', None]
    assert json.loads(cli(server, "--json", "CONFIG", "GET", "maxclients")) == \
        {"maxclients": "10000"}
    assert json.loads(cli(server, "--json", "HELLO"))["proto"] == 3
    docs = json.loads(cli(server, "--json", "COMMAND", "DOCS", "getex"))["getex"]
    assert [argument["name"] for argument in docs["arguments"]] == ["key", "expiration"]


def test_hints_say_what_may_follow(server):
    version = harness.redis_tool(server, "redis-cli", "--version").stdout
    if int(re.search(r"(\d+)\.", version)[1]) < 7:
        pytest.skip("redis-cli before 7 does not ask the server")
    with Terminal(server) as terminal:
        terminal.wait_for("> ")
        for typed, hint in (
                ("delifeq ", "key value"),
                ("set ", r"key value \[NX\|XX\|IFEQ comparison-value\] \[GET\] \[EX seconds\|"
                         r"PX milliseconds\|EXAT unix-time-seconds\|PXAT unix-time-milliseconds\|"
                         r"KEEPTTL\]"),
                ("mset ", r"key value \[key value \.\.\.\]"),
                ("client no-evict ", r"ON\|OFF"),
                ("client list TYPE ", r"NORMAL\|MASTER\|REPLICA\|PUBSUB"),
                ("config set ", r"parameter value \[parameter value \.\.\.\]")):
            terminal.type(typed.encode())
            terminal.wait_for(hint)
            terminal.type(DELETE_LINE)


# ---- redis-benchmark

BENCHMARKS = ("ping_inline", "ping_mbulk", "set", "get", "incr", "mset")


def rates(output):
    return re.findall(r"^ *([\w() ]+): \d[\d.]* requests per second", output.replace("\r", "\n"),
                      re.M)


def test_benchmarks_run(server):
    for options in [], ["-P", "16"], ["--threads", "2", "-r", "1000", "-d", "1000"]:
        done = harness.redis_tool(server, "redis-benchmark", "-q", "-n", "1000", "-t",
                                  ",".join(BENCHMARKS), *options)
        assert done.returncode == 0 and done.stderr == ""
        assert rates(done.stdout) == ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR",
                                      "MSET (10 keys)"]
    done = harness.redis_tool(server, "redis-benchmark", "-q", "-n", "1000", "APPEND", "k", "v")
    assert done.returncode == 0
    assert server.client().strlen("k") == 1000


def test_a_default_run_of_benchmarks_ends_at_the_first_command_that_is_unknown(server):
    """Lists are what comes next in it; the run ends there with the server's error."""
    done = harness.redis_tool(server, "redis-benchmark", "-q", "-n", "1000")
    assert rates(done.stdout) == ["PING_INLINE", "PING_MBULK", "SET", "GET", "INCR"]
    assert done.returncode == 1
    assert done.stderr.startswith("Error from server: ERR unknown command 'LPUSH'")


# ---- redis-py

class Later:
    """Any number of seconds or milliseconds, of which little may have gone."""

    def __init__(self, most, gone):
        self.most, self.gone = most, gone

    def __eq__(self, other):
        return self.most - self.gone <= other <= self.most


PATIENCE_MS = harness.PATIENCE_S * 1000
TIME = 4_000_000_000  # in 2096

STEPS = (
    # strings
    (("set", "s", "v"), True),
    (("set", "s", "w", {"nx": True}), None),
    (("set", "s", "w", {"get": True}), b"v"),
    (("get", "s"), b"w"),
    (("get", "missing"), None),
    (("append", "s", "xyz"), 4),
    (("strlen", "s"), 4),
    (("getrange", "s", 1, -2), b"xy"),
    (("substr", "s", 0, 1), b"wx"),
    (("setrange", "s", 6, "!"), 7),
    (("get", "s"), b"wxyz\0\0!"),
    (("getset", "s", "new"), b"wxyz\0\0!"),
    (("setnx", "s", "x"), False),
    (("setnx", "t", "x"), True),
    (("setex", "e", 100, "v"), True),
    (("ttl", "e"), Later(100, harness.PATIENCE_S)),
    (("psetex", "e", 200_000, "v"), True),
    (("pttl", "e"), Later(200_000, PATIENCE_MS)),
    (("getex", "e", {"persist": True}), b"v"),
    (("ttl", "e"), -1),
    (("getex", "e", {"ex": datetime.timedelta(seconds=100)}), b"v"),
    (("ttl", "e"), Later(100, harness.PATIENCE_S)),
    (("getdel", "e"), b"v"),
    (("ttl", "e"), -2),
    (("mset", {"a": 1, "b": "two"}), True),
    (("mget", "a", "missing", "b"), [b"1", None, b"two"]),
    (("msetnx", {"a": 2, "c": 3}), False),
    (("msetnx", {"c": 3, "d": 4}), True),
    (("incr", "a"), 2),
    (("incrby", "a", 40), 42),
    (("decr", "a"), 41),
    (("decrby", "a", 41), 0),
    (("incrbyfloat", "f", 1.5), 1.5),
    (("execute_command", "LCS", "s", "b", "LEN"), 1),
    (("execute_command", "DELIFEQ", "b", "three"), 0),
    (("execute_command", "DELIFEQ", "b", "two"), 1),
    # keys
    (("exists", "a", "a", "missing"), 2),
    (("touch", "a", "c"), 2),
    (("type", "a"), b"string"),
    (("expire", "a", 100), True),
    (("expire", "a", 50, {"gt": True}), False),
    (("pexpire", "a", 100_000), True),
    (("expireat", "a", TIME), True),
    (("execute_command", "EXPIRETIME", "a"), TIME),
    (("pexpireat", "a", TIME * 1000 + 1), True),
    (("execute_command", "PEXPIRETIME", "a"), TIME * 1000 + 1),
    (("persist", "a"), True),
    (("persist", "a"), False),
    (("rename", "a", "z"), True),
    (("renamenx", "c", "z"), False),
    (("copy", "z", "y"), True),
    (("copy", "z", "y"), False),
    (("copy", "z", "y", {"replace": True}), True),
    (("move", "y", 3), True),
    (("move", "y", 3), False),
    (("object", "encoding", "z"), b"int"),
    (("object", "refcount", "z"), 1),
    (("delete", "s", "t", "c", "f"), 4),
    (("unlink", "d", "missing"), 1),
    (("dbsize",), 1),
    (("randomkey",), b"z"),
    (("keys", "*"), [b"z"]),
    (("swapdb", 0, 3), True),
    (("keys", "*"), [b"y"]),
    (("flushdb", {"asynchronous": True}), True),
    (("dbsize",), 0),
    (("flushall",), True),
    # connection
    (("ping",), True),
    (("echo", "hello"), b"hello"),
    (("select", 0), True),
)


def ask(client, name, *arguments):
    options = arguments[-1] if arguments and isinstance(arguments[-1], dict) else {}
    if name in ("mset", "msetnx") or not options:
        return getattr(client, name)(*arguments)
    return getattr(client, name)(*arguments[:-1], **options)


def test_redis_py_reads_what_it_wrote_with_every_command(server):
    client = server.client(single_connection_client=True)
    for step, expected in STEPS:
        assert ask(client, *step) == expected, step

    client.set("k", "dumped", px=100_000)
    dumped = client.dump("k")
    assert client.restore("copy", 0, dumped) and client.get("copy") == b"dumped"
    with pytest.raises(redis.ResponseError, match="BUSYKEY"):
        client.restore("copy", 0, dumped)
    assert client.restore("copy", 50_000, dumped, replace=True)
    assert client.pttl("copy") == Later(50_000, PATIENCE_MS)
    assert sorted(client.scan_iter("*o*", count=10)) == [b"copy"]
    for sub in "freq", "idletime":
        with pytest.raises(redis.ResponseError):
            client.object(sub, "k")

    with client.pipeline() as pipe:
        pipe.watch("k")
        pipe.unwatch()
        pipe.multi()
        pipe.set("k", 1).incr("k")
        assert pipe.execute() == [True, 2]
    client.execute_command("MULTI")
    assert client.execute_command("APPEND", "k", "never") == b"QUEUED"
    client.execute_command("DISCARD")
    assert client.get("k") == b"2"
    # The methods of these two send INCRBY and DECRBY.
    assert client.execute_command("INCR", "k") == 3 and client.execute_command("DECR", "k") == 2

    called = {name.removeprefix("cmdstat_").lower() for name in client.info("commandstats")}
    for category in "string", "keyspace", "transaction":
        listed = {name.decode() for name in client.execute_command(
            "COMMAND LIST", "FILTERBY", "ACLCAT", category)}
        assert listed - called - {"object|help"} == set()
