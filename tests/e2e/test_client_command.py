# SPDX-License-Identifier: MIT
"""CLIENT LIST's figures and filters, CLIENT PAUSE over all workers."""
import socket
import threading

import pytest

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


LONG_MS = 10 ** 9


def waits(client, raw):
    return "b" in shown(client, raw)["flags"]


def test_a_pause_of_writes_holds_writes_of_every_worker_until_it_is_ended(server):
    client, raws = server.client(), [named(server.raw()) for _ in range(4)]
    assert client.execute_command("CLIENT PAUSE", LONG_MS, "WRITE")
    for i, raw in enumerate(raws):
        raw.send(command("GET", "k") + command("SET", f"k{i}", "v") + command("GET", f"k{i}"))
        assert raw.line() == b"$-1"
    for raw in raws:
        harness.wait_until(lambda: waits(client, raw), "it waits")
    assert client.dbsize() == 0
    assert not any(raw.readable(0) for raw in raws)
    assert client.execute_command("CLIENT UNBLOCK", raws[0].ident) == 0
    assert client.execute_command("CLIENT UNPAUSE")
    for raw in raws:
        assert [raw.line() for _ in range(3)] == [b"+OK", b"$1", b"v"]
        assert not waits(client, raw)
    assert client.dbsize() == 4


def test_a_pause_ends_by_its_time(server):
    client, raws = server.client(), [server.raw() for _ in range(4)]
    assert client.execute_command("CLIENT PAUSE", 300)
    for raw in raws:
        raw.send(command("PING"))
    assert [raw.line() for raw in raws] == [b"+PONG"] * 4
    assert client.ping()


def test_what_is_refused_does_not_wait_for_the_end_of_a_pause(server):
    client, raw = server.client(), server.raw()
    assert client.execute_command("CLIENT PAUSE", LONG_MS, "ALL")
    assert raw.ask("NOSUCH").startswith(b"-ERR unknown command")
    assert raw.ask("GET") == b"-ERR wrong number of arguments for 'get' command"
    assert raw.ask("CLIENT", "NOSUCH").startswith(b"-ERR unknown subcommand")
    assert raw.ask("COMMAND", "NOSUCH").startswith(b"-ERR unknown subcommand")


def test_a_pause_of_everything_holds_reads_and_what_is_behind_them(server):
    client, raw = server.client(), server.raw()
    assert client.execute_command("CLIENT PAUSE", 500, "ALL")
    raw.send(command("GET", "k") + command("NOSUCH"))
    assert raw.line() == b"$-1" and raw.line().startswith(b"-ERR unknown command")


def test_a_pause_holds_what_its_own_client_sends_behind_it(server):
    client, raw = server.client(), named(server.raw())
    raw.send(command("CLIENT", "PAUSE", LONG_MS, "WRITE") + b"SET 'a b' \"1\"\r\nGET 'a b'\r\n")
    assert raw.line() == b"+OK"
    harness.wait_until(lambda: waits(client, raw), "it waits")
    assert client.dbsize() == 0
    assert client.execute_command("CLIENT UNPAUSE")
    assert [raw.line() for _ in range(3)] == [b"+OK", b"$1", b"1"]


def test_a_pause_of_writes_holds_transactions_that_write(server):
    client, raw, reader = server.client(), named(server.raw()), server.raw()
    assert raw.ask("MULTI") == b"+OK" and raw.ask("SET", "k", "v") == b"+QUEUED"
    assert reader.ask("MULTI") == b"+OK" and reader.ask("GET", "k") == b"+QUEUED"
    assert client.execute_command("CLIENT PAUSE", LONG_MS, "WRITE")
    raw.send(command("EXEC"))
    harness.wait_until(lambda: waits(client, raw), "it waits")
    assert reader.ask("EXEC") == b"*1" and reader.line() == b"$-1"
    assert client.execute_command("CLIENT UNPAUSE")
    assert raw.line() == b"*1" and raw.line() == b"+OK"


def test_a_pause_holds_big_values_and_loses_nothing(server):
    client, raw = server.client(), named(server.raw())
    assert client.execute_command("CLIENT PAUSE", LONG_MS, "WRITE")
    raw.send(command("SET", "k", "x" * MB, "EX", "1000"))
    harness.wait_until(lambda: waits(client, raw), "it waits")
    # More than a socket holds: a paused connection is not read.
    rest = command("APPEND", "k", "y" * 100000) * 3 + command("STRLEN", "k")
    sender = threading.Thread(target=raw.send, args=(rest,))
    sender.start()
    assert client.dbsize() == 0
    assert client.execute_command("CLIENT UNPAUSE")
    sender.join()
    assert [raw.line() for _ in range(5)] == [b"+OK"] + [
        b":%d" % (MB + 100000 * i) for i in (1, 2, 3, 3)]
    assert 900 < client.ttl("k") <= 1000


def test_a_later_pause_makes_none_shorter_or_milder(server):
    client, raw = server.client(), named(server.raw())
    assert client.execute_command("CLIENT PAUSE", LONG_MS, "WRITE")
    assert client.execute_command("CLIENT PAUSE", 1, "WRITE")
    raw.send(command("SET", "k", "v"))
    harness.wait_until(lambda: waits(client, raw), "it waits")
    assert client.get("k") is None
    assert client.execute_command("CLIENT UNPAUSE")
    assert raw.line() == b"+OK"


def test_a_client_can_be_killed_or_leave_while_it_waits(server):
    client, raws = server.client(), [named(server.raw()) for _ in range(3)]
    assert client.execute_command("CLIENT PAUSE", LONG_MS, "WRITE")
    for raw in raws:
        raw.send(command("SET", "k", "x" * 200000) + command("SET", "k", "v"))
        harness.wait_until(lambda: waits(client, raw), "it waits")
    assert client.execute_command("CLIENT KILL", "ID", raws[0].ident) == 1
    assert raws[0].closed()
    raws[1].close()
    raws[2].socket.shutdown(socket.SHUT_WR)
    assert raws[2].rest() == b""
    harness.wait_until(lambda: client.info("clients")["connected_clients"] == 1, "all are gone")
    assert client.execute_command("CLIENT UNPAUSE")
    assert client.get("k") is None


@pytest.mark.parametrize("kind", ["WRITE", "ALL"])
def test_clients_that_vanish_while_they_wait_make_room_for_others(start, io, kind):
    server = start("--io", io, "--threads", "2", "--maxclients", "20")
    client = server.client()
    assert client.execute_command("CLIENT", "PAUSE", 10 ** 9, kind)
    for n in range(100):
        raw = server.raw()
        raw.send(command("SET", "k", n) + b"x" * (n * 600))
        raw.close()
        if n % 10 == 0:
            harness.wait_until(lambda: server.descriptors() < 40, "those that left are gone")
    if kind == "WRITE":
        harness.wait_until(lambda: len(client.client_list()) == 1, "nobody else is left")
        assert client.execute_command("CLIENT", "UNPAUSE")
        assert client.get("k") is None


def test_a_stop_does_not_wait_for_a_pause(start, io):
    server = start("--io", io, "--threads", "2")
    raw = named(server.raw())
    assert raw.ask("CLIENT", "PAUSE", LONG_MS) == b"+OK"
    raw.send(command("SET", "k", "v"))
    server.stop()
    assert raw.rest() in (b"+OK\r\n", b"")


def test_a_pause_refuses_what_makes_no_sense(server):
    raw = server.raw()
    assert raw.ask("CLIENT", "PAUSE", "abc") == b"-ERR timeout is not an integer or out of range"
    assert raw.ask("CLIENT", "PAUSE", "-1") == b"-ERR timeout is negative"
    assert raw.ask("CLIENT", "PAUSE", 2 ** 63 - 1) == b"-ERR timeout is out of range"
    assert raw.ask("CLIENT", "PAUSE", "1", "SOME") == \
        b"-ERR CLIENT PAUSE mode must be WRITE or ALL"
    assert raw.ask("PING") == b"+PONG"
