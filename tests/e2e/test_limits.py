# SPDX-License-Identifier: MIT
"""Limits of connections that change while these are open."""
import os
import selectors
import socket

import pytest
import redis

import harness
from harness import command

MB = 1 << 20


def ran(client, ident):
    return int(client.client_list(client_id=[ident])[0]["tot-cmds"])


def test_a_timeout_set_later_closes_connections_that_are_open(server):
    idle = [server.raw() for _ in range(4)]
    assert all(raw.ask("PING") == b"+PONG" for raw in idle)
    client = server.client()
    assert client.config_set("timeout", "100ms")
    assert all(raw.closed() for raw in idle)
    assert server.client().config_set("timeout", "0")


def test_a_timeout_does_not_count_while_a_client_is_paused(server):
    client, raw = server.client(), server.raw()
    assert client.config_set("timeout", "300ms")
    assert client.execute_command("CLIENT PAUSE", 1200, "WRITE")
    assert raw.ask("SET", "k", "v") == b"+OK"


def test_a_soft_limit_raised_later_frees_connections_that_it_stalled(start, io):
    server = start("--io", io, "--threads", "2", "--client-output-soft-limit", "16kb")
    client, raw = server.client(), server.raw()
    client.set("k", b"x" * 100000)
    ident = raw.ask("CLIENT", "ID")[1:].decode()
    raw.send(command("GET", "k") * 100)
    harness.wait_until(lambda: ran(client, ident) > 1, "it began")
    assert ran(client, ident) < 50
    assert client.config_set("client-output-soft-limit", "1gb")
    harness.wait_until(lambda: ran(client, ident) == 101, "it went on without being read")
    for _ in range(100):
        assert raw.line() == b"$100000" and len(raw.line()) == 100000


def test_a_stall_timeout_set_later_drops_slow_readers_and_logs_them(server):
    client, raw = server.client(), server.raw()
    client.set("k", b"x" * MB)
    ident = raw.ask("CLIENT", "ID")[1:].decode()
    raw.send(command("GET", "k") * 100)
    harness.wait_until(lambda: client.info("memory")["mem_clients_output"] > MB // 2,
                       "it is behind")
    assert client.config_set("client-output-stall-timeout", "100ms")
    harness.wait_until(lambda: client.client_list(client_id=[ident]) == [], "it is dropped")
    assert f"client {ident} takes no replies and was closed" in server.log()
    assert client.ping()


def test_sizes_of_requests_follow_what_is_set(server):
    client, raws = server.client(), [server.raw() for _ in range(4)]
    for raw in raws:
        raw.send(command("SET", "k", "x" * 2 * MB))
        assert raw.line() == b"+OK"
    assert client.config_set("proto-max-bulk-len", "1mb")
    client.ping()
    for raw in raws:
        raw.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1048577\r\n")
        assert raw.rest() == b"-ERR Protocol error: invalid bulk length\r\n"
    assert client.config_get("proto-max-bulk-len") == {"proto-max-bulk-len": str(MB)}
    assert client.config_set("proto-max-bulk-len", "512mb")
    assert client.set("k", b"x" * 2 * MB)


def output_limit(client):
    return client.config_get("client-output-buffer-limit")["client-output-buffer-limit"]


def test_output_buffer_limits_are_set_by_class(start, io):
    server = start("--io", io, "--client-output-buffer-limit", "pubsub", "1mb", "0", "0",
                   "normal", "2mb", "1mb", "5")
    client = server.client(decode_responses=True)
    assert output_limit(client) == ("normal 2097152 1048576 5 slave 268435456 67108864 60 "
                                    "pubsub 1048576 0 0")
    assert client.config_set("client-output-buffer-limit", "replica 1 2 3 normal 0 0 0")
    assert output_limit(client) == "normal 0 0 0 slave 1 2 3 pubsub 1048576 0 0"
    for wrong, why in (("normal 1 2", "Wrong number of arguments in buffer limit"),
                       ("master 1 2 3", "Invalid client class specified in buffer limit"),
                       ("normal 1 x 3", "Error in hard, soft or soft_seconds setting"),
                       ("normal 1 2 -3", "Error in hard, soft or soft_seconds setting")):
        with pytest.raises(redis.ResponseError, match=why):
            client.config_set("client-output-buffer-limit", wrong)
    assert output_limit(client) == "normal 0 0 0 slave 1 2 3 pubsub 1048576 0 0"


def test_a_wrong_output_buffer_limit_in_a_file_is_named(tmp_path):
    file = tmp_path / "larder.conf"
    file.write_text("port 0\nclient-output-buffer-limit normal 1mb 1mb\n")
    done = harness.run(str(file), "--check-config")
    assert done.returncode == 2
    assert f"{file}:2: bad value" in done.stderr and "Wrong number of arguments" in done.stderr


def test_what_exceeds_the_hard_limit_is_dropped_and_logged(server):
    client, raw = server.client(decode_responses=True), server.raw()
    client.set("k", "x" * 100000)
    ident = raw.ask("CLIENT", "ID")[1:].decode()
    assert client.config_set("client-output-buffer-limit", "normal 65536 0 0")
    raw.send(command("GET", "k"))
    assert raw.closed()
    harness.wait_until(lambda: f"client {ident} was closed: more waits for it" in server.log(),
                       "it is logged")
    assert client.info("stats")["client_output_buffer_limit_disconnections"] == 1
    assert client.config_set("client-output-buffer-limit", "normal 0 0 0")
    assert len(client.get("k")) == 100000


def test_who_takes_too_long_over_the_soft_limit_is_dropped(server):
    client, raw = server.client(), server.raw()
    client.set("k", b"x" * MB)
    assert client.config_set("client-output-buffer-limit", "normal 0 100kb 0")
    raw.send(command("GET", "k") * 10)
    harness.wait_until(lambda: int(client.info("clients")["connected_clients"]) == 1, "it is gone")


def keepalive_of(server, port):
    """The kernel's timer of the server's end of a connection, in seconds; 0: there is none."""
    for line in open("/proc/net/tcp").readlines()[1:]:
        fields = line.split()
        ports = [int(end.split(":")[1], 16) for end in fields[1:3]]
        if ports == [server.port, port]:
            active, when = fields[5].split(":")
            return int(when, 16) / os.sysconf("SC_CLK_TCK") if active == "02" else 0
    raise AssertionError("no such connection")


def test_tcp_keepalive_holds_for_connections_to_come(start, io):
    server = start("--io", io, "--tcp-keepalive", "100", tcp=True)
    client = server.client()

    def silence_s():
        raw = server.raw(socket.AF_INET)
        assert raw.ask("PING") == b"+PONG"
        return keepalive_of(server, raw.socket.getsockname()[1])

    assert 50 < silence_s() <= 101
    assert client.config_set("tcp-keepalive", "1000")
    assert 500 < silence_s() <= 1001
    assert client.config_set("tcp-keepalive", "0")
    assert silence_s() == 0
    with pytest.raises(redis.ResponseError, match="between 0 and 32767"):
        client.config_set("tcp-keepalive", "32768")


def test_who_sends_on_after_a_protocol_error_still_reads_it(server):
    for _ in range(20):
        raw = server.raw()
        raw.send(b"*1\r\n$4\r\nPING\r\n*x\r\n" + b"y" * 60000)
        raw.send(b"z" * 60000)
        assert raw.line() == b"+PONG"
        assert raw.line() == b"-ERR Protocol error: invalid multibulk length"
        assert raw.socket.recv(100) == b""


def test_clients_that_read_are_all_served_while_buffers_run_out(start, io):
    """More connections than receive buffers, each stalled by its own replies time and again."""
    server = start("--io", io, "--threads", "1", "--client-output-soft-limit", "16kb")
    server.client().set("big", b"v" * 20000)
    request = (command("GET", "big") + command("ECHO", "y" * 3000)) * 100
    reply_size = 100 * (len("$20000\r\n") + 20002 + len("$3000\r\n") + 3002)
    raws = [server.raw() for _ in range(200)]
    selector = selectors.DefaultSelector()
    for raw in raws:
        raw.socket.setblocking(False)
        raw.unsent, raw.due = memoryview(request), reply_size
        selector.register(raw.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, raw)
    while selector.get_map():
        events = selector.select(harness.PATIENCE_S)
        assert events, f"{len(selector.get_map())} clients wait for ever"
        for key, ready in events:
            raw = key.data
            if ready & selectors.EVENT_WRITE:
                raw.unsent = raw.unsent[raw.socket.send(raw.unsent):]
                if not raw.unsent:
                    selector.modify(raw.socket, selectors.EVENT_READ, raw)
            if ready & selectors.EVENT_READ:
                raw.due -= len(raw.socket.recv(MB))
                if raw.due == 0:
                    selector.unregister(raw.socket)
    for raw in raws:
        raw.close()
    harness.wait_until(lambda: server.client().info("clients")["connected_clients"] == 1,
                       "all connections are gone")


def test_another_class_of_output_begins_with_its_own_limits(start, io):
    server = start("--io", io, "--threads", "1", "--client-output-soft-limit", "1gb",
                   "--client-output-buffer-limit", "pubsub 0 64kb 3600")
    client, raw = server.client(), server.raw()
    ident = raw.ask("CLIENT", "ID")[1:].decode()
    assert raw.ask("MONITOR") == b"+OK"
    for _ in range(4):
        client.set("k", b"x" * MB)
    harness.wait_until(lambda: int(client.client_list(client_id=[ident])[0]["tot-mem"]) > MB,
                       "it is behind")
    raw.send(command("RESET") + command("CLIENT", "SETNAME", "back"))
    harness.wait_until(lambda: client.client_list(client_id=[ident])[0]["name"] == "back",
                       "it is an ordinary client")
    assert client.config_set("client-output-buffer-limit", "pubsub 0 64kb 0")  # looks at all
    while raw.line() != b"+RESET":
        pass
    assert raw.line() == b"+OK" and raw.ask("PING") == b"+PONG"
