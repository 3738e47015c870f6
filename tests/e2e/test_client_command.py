# SPDX-License-Identifier: MIT
"""CLIENT LIST's figures and filters, CLIENT PAUSE over all workers."""
import socket

import harness
from harness import command

MB = 1 << 20



def shown(client, raw):
    """The entry of a raw connection, as another client sees it."""
    return client.client_list(client_id=[raw.ident])[0]


def named(raw):
    raw.ident = raw.ask("CLIENT", "ID")[1:].decode()
    return raw


def test_client_list_tells_what_a_transaction_holds(server):
    client, raw = server.client(), named(server.raw())
    assert shown(client, raw)["multi"] == "-1" and shown(client, raw)["watch"] == "0"
    assert raw.ask("WATCH", "a", "b", "a") == b"+OK"
    assert raw.ask("MULTI") == b"+OK"
    assert shown(client, raw)["multi"] == "0" and shown(client, raw)["watch"] == "2"
    for _ in range(3):
        assert raw.ask("SET", "k", "x" * 1000) == b"+QUEUED"
    told = shown(client, raw)
    assert told["multi"] == "3" and 3000 < int(told["multi-mem"]) < 6000
    assert int(told["tot-mem"]) > int(told["multi-mem"])
    assert raw.ask("DISCARD") == b"+OK"
    told = shown(client, raw)
    assert (told["multi"], told["watch"], told["multi-mem"]) == ("-1", "0", "0")


def test_client_list_tells_what_has_arrived_of_a_request(server):
    client, raw = server.client(), named(server.raw())
    assert shown(client, raw)["qbuf"] == "0"
    before = int(shown(client, raw)["tot-net-in"])
    raw.send(command("SET", "k", "x" * 5000)[:3000])
    harness.wait_until(lambda: int(shown(client, raw)["qbuf"]) == 3000, "it is shown")
    assert int(shown(client, raw)["tot-net-in"]) == before + 3000
    assert int(shown(client, raw)["tot-mem"]) > 3000
    raw.send(command("SET", "k", "x" * 5000)[3000:])
    assert raw.line() == b"+OK"
    assert shown(client, raw)["qbuf"] == "0" and shown(client, raw)["qbuf-free"] == "0"
    assert shown(client, raw)["tot-cmds"] == "2"


def test_client_list_tells_what_is_unsent(server):
    client, raw = server.client(), named(server.raw())
    client.set("big", b"x" * MB)
    assert shown(client, raw)["omem"] == "0" and shown(client, raw)["events"] == "r"
    raw.send(command("GET", "big") * 10)
    harness.wait_until(lambda: int(shown(client, raw)["omem"]) > 100000, "replies are waiting")
    assert shown(client, raw)["events"] == "rw"
    for _ in range(10):
        assert raw.line() == b"$%d" % MB and raw.line() == b"x" * MB
    harness.wait_until(lambda: shown(client, raw)["omem"] == "0", "all is sent")
    assert int(shown(client, raw)["tot-net-out"]) > 10 * MB


def test_client_list_filters_combine(start, io):
    server = start("--io", io, "--threads", "2", tcp=True)
    unix, tcp, more = named(server.raw()), named(server.raw(socket.AF_INET)), server.client()
    port = tcp.socket.getsockname()[1]
    assert [c["id"] for c in more.client_list()] == [unix.ident, tcp.ident, str(more.client_id())]

    def ids(*words):
        listed = more.execute_command("CLIENT LIST", *words)
        return [c["id"] for c in listed]

    assert ids("ADDR", f"127.0.0.1:{port}") == [tcp.ident]
    assert ids("LADDR", f"127.0.0.1:{server.port}") == [tcp.ident]
    assert ids("ADDR", f"{server.path}:0", "SKIPME", "yes") == [unix.ident]
    assert ids("ID", unix.ident, tcp.ident, "LADDR", f"{server.path}:0") == [unix.ident]
    assert ids("USER", "default", "TYPE", "normal", "SKIPME", "yes") == [unix.ident, tcp.ident]
    assert ids("MAXAGE", "1000000") == []
    assert more.execute_command("CLIENT KILL", "MAXAGE", 1000000) == 0
    assert more.execute_command("CLIENT KILL", "LADDR", f"127.0.0.1:{server.port}") == 1
    assert tcp.closed() and unix.ask("PING") == b"+PONG"


def test_client_list_shows_what_a_client_asked_for(server):
    client, raw = server.client(), named(server.raw())
    assert shown(client, raw)["flags"] == "U"
    raw.ask("CLIENT", "NO-EVICT", "on")
    raw.ask("CLIENT", "NO-TOUCH", "on")
    assert shown(client, raw)["flags"] == "UeT"
    raw.ask("RESET")
    assert shown(client, raw)["flags"] == "U"


def test_a_client_without_replies_is_served_and_counted(server):
    client, raw = server.client(), named(server.raw())
    before = int(shown(client, raw)["tot-net-out"])
    raw.send(command("CLIENT", "REPLY", "OFF") + command("SET", "k", "x" * 100000) +
             command("GET", "k") * 100 + command("MGET", "k", "k") + command("NOSUCH"))
    harness.wait_until(lambda: shown(client, raw)["tot-cmds"] == "105", "all has run")
    assert int(shown(client, raw)["tot-net-out"]) == before
    assert client.strlen("k") == 100000
    assert raw.ask("CLIENT", "REPLY", "ON") == b"+OK"
