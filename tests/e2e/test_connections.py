# SPDX-License-Identifier: MIT
"""What connections do to the server: half-closed, deaf, huge, killed, and very many."""
import contextlib
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import harness
from harness import command

MB = 1 << 20


@pytest.mark.quick
def test_a_half_closed_connection_gets_all_replies_and_then_the_end(server):
    raw = server.raw()
    raw.send(command("SET", "k", "v" * 1000) + command("GET", "k") * 2000 + b"*2\r\n$3\r\nGE")
    raw.socket.shutdown(socket.SHUT_WR)
    assert raw.rest() == b"+OK\r\n" + (b"$1000\r\n" + b"v" * 1000 + b"\r\n") * 2000


def test_a_half_closed_connection_over_tcp_too(start, io):
    server = start("--io", io, tcp=True)
    raw = server.raw(socket.AF_INET)
    raw.send(command("SET", "k", "v" * MB) + command("GET", "k") * 20)
    raw.socket.shutdown(socket.SHUT_WR)
    assert raw.rest() == b"+OK\r\n" + (b"$%d\r\n" % MB + b"v" * MB + b"\r\n") * 20


def test_a_client_that_never_reads_is_dropped_and_harms_nobody(start, io):
    server = start("--io", io, "--threads", "2", "--client-output-stall-timeout", "1")
    client = server.client()
    for i in range(100):
        client.set(f"kept{i}", os.urandom(100))
    client.set("big", b"x" * MB)
    before = client.info("memory")["used_memory"]
    deaf = server.raw()
    deaf.socket.settimeout(0.2)
    try:
        deaf.send(command("GET", "big") * 1000)
    except socket.timeout:
        pass
    # Others on both workers are served meanwhile.
    others = [server.client() for _ in range(4)]
    peak = 0
    for _ in range(50):
        assert all(other.get("kept1") is not None for other in others)
        peak = max(peak, client.info("memory")["mem_clients_output"])
    assert 0 < peak < 64 * MB
    harness.wait_until(lambda: client.info("clients")["connected_clients"] == 5,
                       "the deaf client is dropped")
    assert client.info("memory")["mem_clients_output"] == 0
    assert client.dbsize() == 101
    harness.wait_until(lambda: client.info("memory")["used_memory"] <= before + MB,
                       "nothing is held for it")


def test_a_client_that_reads_late_gets_everything(server):
    client = server.client()
    client.set("big", b"x" * MB)
    late = server.raw()
    late.send(command("GET", "big") * 50 + command("QUIT"))
    harness.wait_until(lambda: client.info("memory")["mem_clients_output"] > 0, "it is behind")
    assert late.rest() == (b"$%d\r\n" % MB + b"x" * MB + b"\r\n") * 50 + b"+OK\r\n"


@pytest.mark.quick
@pytest.mark.parametrize("size", [65535, 65536, 65537, 100000, MB, 8 * MB])
def test_big_values_come_back_as_they_went(server, size):
    value = random.Random(size).randbytes(size)
    client = server.client()
    assert client.set("k", value)
    assert client.get("k") == value
    assert client.mset({"a": value, "b": b"small", "c": value})
    assert client.mget("a", "b", "c") == [value, b"small", value]
    with client.pipeline() as pipe:
        pipe.set("t", value).get("t").strlen("t")
        assert pipe.execute() == [True, value, size]


def test_big_values_arrive_in_pieces_among_other_requests(server):
    value = random.Random(1).randbytes(300000)
    stream = (command("SET", "k", value) + command("STRLEN", "k") +
              command("MSET", "a", value, "b", "x", "c", value) + command("GET", "b")) * 3
    dice = random.Random(2)
    raw = server.raw()
    at = 0
    while at < len(stream):
        size = dice.choice([1, 7, 100, 5000, 70000])
        raw.send(stream[at:at + size])
        at += size
    for _ in range(3):
        assert [raw.line() for _ in range(5)] == [b"+OK", b":300000", b"+OK", b"$1", b"x"]
    assert server.client().get("c") == value


@pytest.mark.parametrize("size_mb", [64] + ([512] if os.environ.get("LARDER_TEST_ALL") else []))
def test_a_huge_value_does_not_stall_other_clients(start, io, size_mb):
    server = start("--io", io, "--threads", "2", "--maxmemory", "3gb")
    value = os.urandom(MB) * size_mb
    other = server.client()
    other.set("small", "1")
    client = server.client()
    seen = []
    work = threading.Thread(target=lambda: (client.set("huge", value),
                                            seen.append(client.get("huge") == value)))
    work.start()
    asked = 0
    while work.is_alive():
        assert other.get("small") == b"1"
        asked += 1
    work.join()
    assert seen == [True] and asked > 10
    assert other.delete("huge") == 1


@pytest.mark.quick
def test_a_value_there_is_no_memory_for_is_refused_and_the_stream_goes_on(start, io):
    server = start("--io", io, "--maxmemory", "32mb")
    client = server.client()
    client.set("kept", "1")
    raw = server.raw()
    raw.send(command("SET", "k", b"x" * (48 * MB)) + command("GET", "kept") + command("MULTI"))
    assert raw.line().startswith(b"-OOM")
    assert [raw.line() for _ in range(3)] == [b"$1", b"1", b"+OK"]
    raw.send(command("SET", "k", b"x" * (48 * MB)) + command("EXEC"))
    assert raw.line().startswith(b"-OOM")
    assert raw.line().startswith(b"-EXECABORT")
    assert client.get("k") is None and client.get("kept") == b"1"


@pytest.mark.quick
def test_big_arguments_of_commands_that_store_nothing_pass_the_limit(start, io):
    server = start("--io", io, "--maxmemory", "1")
    raw = server.raw()
    big = b"k" * 300000
    raw.send(command("DEL", big) + command("SETNX", big, "1") + command("GET", big)
             + command("ECHO", big) + command("PING"))
    assert raw.line() == b":0"
    assert raw.line().startswith(b"-OOM")
    assert [raw.line() for _ in range(4)] == [b"$-1", b"$300000", big, b"+PONG"]


@pytest.mark.quick
def test_a_value_above_the_limit_is_a_protocol_error(start, io):
    server = start("--io", io, "--proto-max-bulk-len", "1mb")
    raw = server.raw()
    raw.send(b"*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$%d\r\n" % (MB + 1))
    assert raw.rest() == b"-ERR Protocol error: invalid bulk length\r\n"


@pytest.mark.quick
@pytest.mark.parametrize("words", [
    ["DEL"] + [b"k" * 300000] * 5, # nothing of it is stored, so maxmemory bounds nothing
    ["MSET"] + [b"k" * 60000, b"v" * 66000] * 20, # small arguments between stored ones
])
def test_a_request_above_the_query_limit_is_a_protocol_error(start, io, words):
    server = start("--io", io, "--client-query-buffer-limit", "1mb")
    raw = server.raw()
    raw.send(command(*words[:3]))
    assert raw.line() in (b":0", b"+OK")
    with contextlib.suppress(ConnectionError): # it need not take all of it
        raw.send(command(*words))
    assert raw.rest() == b"-ERR Protocol error: too big request\r\n"
    assert server.client().ping()


CHAOS = """
import os, random, socket, sys
dice = random.Random(int(sys.argv[2]))
def command(*words):
    return b"*%d\\r\\n" % len(words) + b"".join(b"$%d\\r\\n%s\\r\\n" % (len(w), w) for w in words)
while True:
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(sys.argv[1])
        for _ in range(dice.randrange(20)):
            key = b"c%d" % dice.randrange(50)
            value = b"v" * dice.choice([1, 100, 20000, 70000, 500000])
            s.sendall(command(b"SET", key, value) + command(b"GET", key) * dice.randrange(5))
            if dice.random() < 0.3:
                s.sendall(command(b"SET", key, value)[:dice.randrange(1, len(value))])
                break
            if dice.random() < 0.5:
                s.recv(100000)
"""


def test_clients_killed_at_random_points_leave_nothing_behind(server):
    dice = random.Random(7)
    client = server.client()
    client.set("kept", "1")
    before = server.descriptors()
    for turn in range(15):
        workers = [subprocess.Popen([sys.executable, "-c", CHAOS, server.path, str(turn * 4 + i)],
                                    preexec_fn=harness.die_with_parent) for i in range(4)]
        # The pause only decides where in its work each dies.
        time.sleep(dice.uniform(0.05, 0.2))
        for worker in workers:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
    harness.wait_until(lambda: client.info("clients")["connected_clients"] == 1, "all are gone")
    assert client.get("kept") == b"1"
    assert server.descriptors() <= before
    assert client.info("memory")["mem_clients_output"] == 0


def test_memory_of_replies_goes_back_to_the_system(server):
    maps = pathlib.Path(f"/proc/{server.process.pid}/maps").read_text()
    if "mimalloc" not in maps:
        pytest.skip("the C library's allocator keeps what it likes")
    client = server.client()
    client.set("k", b"v" * 15000)
    before_kb = server.resident_kb()
    raw = server.raw()
    raw.send(command("MGET", *["k"] * 10000))
    assert raw.line() == b"*10000"
    assert server.resident_kb() > before_kb + 100000
    raw.close()
    harness.wait_until(lambda: server.resident_kb() < before_kb + 60000, "memory is given back")


def test_ten_thousand_connections_leave_no_growth(server, many_descriptors):
    def round_of(count):
        opened = [server.raw() for _ in range(count)]
        for raw in opened:
            raw.send(b"PING\r\n")
        for raw in opened:
            assert raw.line() == b"+PONG"
        # While all are open: what closed ones leave goes back when the allocator likes.
        resident_kb = server.resident_kb()
        for raw in opened:
            raw.close()
        harness.wait_until(lambda: client.info("clients")["connected_clients"] == 1,
                           "all are closed")
        return resident_kb

    client = server.client()
    client.config_set("maxclients", 10100)
    client.ping()
    before = server.descriptors()
    first_kb = round_of(10000)
    for _ in range(3):
        last_kb = round_of(10000)
    assert server.descriptors() == before
    assert last_kb <= first_kb + 4096


@pytest.mark.quick
def test_connections_are_spread_evenly(server):
    clients = [server.client() for _ in range(20)]
    for client in clients:
        client.ping()
    workers = [c["worker"] for c in clients[0].client_list()]
    assert workers.count("0") == workers.count("1") == 10


STORM = """
import socket, sys
address, count = sys.argv[1], int(sys.argv[2])
for _ in range(count):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(address)
        s.sendall(b"PING\\r\\n")
        assert s.recv(64) == b"+PONG\\r\\n"
"""


def test_a_storm_of_connections_harms_nobody_and_leaves_nothing_behind(start, io):
    server = start("--io", io, "--threads", "2")
    steady = [server.raw() for _ in range(50)]
    client = server.client()
    assert client.ping() and all(raw.ask("PING") == b"+PONG" for raw in steady)
    before = server.descriptors(), client.info("clients")["connected_clients"]
    storms = [subprocess.Popen([sys.executable, "-c", STORM, server.path, "2500"])
              for _ in range(3)]
    rounds = 0
    while any(storm.poll() is None for storm in storms):
        assert all(raw.ask("PING") == b"+PONG" for raw in steady)
        rounds += 1
    assert all(storm.returncode == 0 for storm in storms) and rounds > 0
    harness.wait_until(
        lambda: (server.descriptors(), client.info("clients")["connected_clients"]) == before,
        "everything is as before")
    stats = client.info("stats")
    assert stats["total_connections_received"] == 7551 and stats["rejected_connections"] == 0
