# SPDX-License-Identifier: MIT
"""Limits of connections that change while these are open."""
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
