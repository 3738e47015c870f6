# SPDX-License-Identifier: MIT
"""SLOWLOG and LATENCY: what took long, and nothing else."""
import pytest

import harness
from harness import command

ResponseError = harness.redis.ResponseError


@pytest.fixture
def debugger(start, io):
    return start("--io", io, "--threads", "2", "--enable-debug-command", "local")


def logged(client, count=-1):
    """The commands in the slow log, newest first."""
    return [entry["command"] for entry in client.slowlog_get(count)]


@pytest.mark.quick
def test_the_slow_log_takes_what_is_slower_than_it_was_told(debugger):
    client = debugger.client()
    client.client_setname("sleeper")
    for nobody in -1, 10 ** 12:
        client.config_set("slowlog-log-slower-than", nobody)
        client.slowlog_reset()
        client.execute_command("DEBUG", "SLEEP", "0.12")
        assert client.slowlog_len() == 0
    client.config_set("slowlog-log-slower-than", 100000)
    client.execute_command("DEBUG", "SLEEP", "0.12")
    client.config_set("slowlog-log-slower-than", -1)
    [(duration_us, address, name)] = [
        (duration_us, address, name)
        for _, _, duration_us, words, address, name in client.execute_command("SLOWLOG", "GET")
        if words == [b"DEBUG", b"SLEEP", b"0.12"]]
    assert duration_us >= 120000
    assert address.decode() == debugger.path + ":0"
    assert name == b"sleeper"


@pytest.mark.quick
def test_a_threshold_of_zero_logs_every_request_but_exec(server):
    client = server.client()
    client.config_set("slowlog-log-slower-than", 0)
    client.slowlog_reset()
    raw = server.raw()
    raw.send(command("SET", "k", "1") + command("GET", "k") * 3 + command("NOSUCH")
             + command("MULTI") + command("INCR", "k") + command("EXEC") + command("QUIT"))
    raw.rest()
    client.config_set("slowlog-log-slower-than", -1)
    assert logged(client) == [b"QUIT", b"INCR k", b"MULTI", b"GET k", b"GET k", b"GET k",
                              b"SET k 1", b"SLOWLOG RESET"]


@pytest.mark.quick
def test_the_slow_log_keeps_what_it_is_allowed_to(server):
    client = server.client()
    client.config_set("slowlog-log-slower-than", 0)
    for length in 0, 10:
        client.config_set("slowlog-max-len", length)
        client.slowlog_reset()
        for _ in range(50):
            client.ping()
        assert client.slowlog_len() == length
    assert len(logged(client, 5)) == 5
    assert len(logged(client)) == 10
    assert logged(client, 0) == []
    for bad in "-2", "x":
        with pytest.raises(ResponseError, match="count should be greater than or equal to -1"):
            client.execute_command("SLOWLOG", "GET", bad)
    client.config_set("slowlog-max-len", 1)
    client.ping()
    assert logged(client) == [b"PING"]


@pytest.mark.quick
def test_passwords_and_long_arguments_are_not_logged(server):
    client = server.client()
    client.config_set("slowlog-log-slower-than", 0)
    client.slowlog_reset()
    with pytest.raises(ResponseError):
        client.execute_command("AUTH", "secret1")
    client.execute_command("AUTH", "default", "secret2")
    client.execute_command("HELLO", "2", "SETNAME", "me", "AUTH", "default", "secret3")
    client.execute_command("CONFIG", "SET", "maxclients", "100", "requirepass", "secret4")
    client.config_set("requirepass", "")
    big = b"y" * 100000  # received into memory that the key then owns
    client.set("k", big)
    client.execute_command("MULTI")
    client.execute_command("SET", "k", big)
    client.execute_command("EXEC")
    client.config_set("slowlog-log-slower-than", -1)
    shown = logged(client)
    assert not any(b"secret" in words for words in shown)
    assert b"AUTH (redacted) (redacted)" in shown
    assert b"HELLO 2 SETNAME me AUTH (redacted) (redacted)" in shown
    assert b"CONFIG SET maxclients 100 requirepass (redacted)" in shown
    assert shown.count(b"SET k " + b"y" * 128 + b"... (99872 more bytes)") == 2


@pytest.mark.quick
def test_latency_notes_what_reaches_its_threshold(debugger):
    client = debugger.client()
    client.execute_command("DEBUG", "SLEEP", "0.02")
    assert client.execute_command("LATENCY", "LATEST") == []  # it is off
    assert b"is off" in client.execute_command("LATENCY", "DOCTOR")
    client.config_set("latency-monitor-threshold", 15)
    client.execute_command("DEBUG", "SLEEP", "0.02")
    client.execute_command("DEBUG", "SLEEP", "0.03")
    client.config_set("latency-monitor-threshold", 10 ** 9)  # nothing more
    latest = {name: rest for name, *rest in client.execute_command("LATENCY", "LATEST")}
    assert {b"command", b"loop-iteration"} <= set(latest)
    history = client.execute_command("LATENCY", "HISTORY", "command")
    assert history and all(ms >= 15 for _, ms in history)
    assert latest[b"command"][0] == history[-1][0] and latest[b"command"][2] >= 30
    graph = client.execute_command("LATENCY", "GRAPH", "command").decode()
    assert "command - high " in graph and "all time high" in graph
    report = client.execute_command("LATENCY", "DOCTOR").decode()
    assert "command: " in report and "SLOWLOG GET" in report
    assert client.execute_command("LATENCY", "RESET", "command", "nosuch") == 1
    assert client.execute_command("LATENCY", "HISTORY", "command") == []
    assert client.execute_command("LATENCY", "HISTORY", "nosuch") == []
    with pytest.raises(ResponseError, match="No samples available for event 'command'"):
        client.execute_command("LATENCY", "GRAPH", "command")
    assert client.execute_command("LATENCY", "RESET") >= 1
    assert client.execute_command("LATENCY", "LATEST") == []


@pytest.mark.quick
def test_histograms_are_cumulative_and_named(server):
    client = server.client()
    client.config_resetstat()
    assert histogram(client) == {"config|resetstat": 1}
    raw = server.raw()
    raw.send(command("SET", "k", "v") * 100 + command("QUIT"))
    raw.rest()
    client.client_id()
    client.client_getname()
    assert histogram(client, "set", "nosuch") == {"set": 100}
    assert histogram(client, "CLIENT") == {"client|getname": 1, "client|id": 1}
    assert histogram(client, "client|id") == {"client|id": 1}
    assert histogram(client, "nosuch") == {}


def histogram(client, *names):
    flat = client.execute_command("LATENCY", "HISTOGRAM", *names)
    calls = {}
    for name, (_, count, _, points) in zip(flat[::2], flat[1::2]):
        bounds, sums = points[::2], points[1::2]
        assert bounds == sorted(bounds) and sums == sorted(sums) and sums[-1] == count
        calls[name.decode()] = count
    return calls
