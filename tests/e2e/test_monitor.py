# SPDX-License-Identifier: MIT
"""MONITOR across workers: everything once and in order, whatever the monitoring client does."""
import collections
import random
import re
import socket
import threading

import pytest

import harness
from harness import command

pytestmark = pytest.mark.quick
MB = 1 << 20
SHOWN = re.compile(rb'\+(\d+)\.(\d{6}) \[(\d+) (.+?)\] (".*")')


def monitor(server, family=socket.AF_UNIX):
    raw = server.raw(family)
    raw.ident = raw.ask("CLIENT", "ID")[1:].decode()
    assert raw.ask("MONITOR") == b"+OK"
    return raw


def shown(raw):
    """The next request it is shown: time in microseconds, database, address, quoted words."""
    line = raw.line()
    match = SHOWN.fullmatch(line)
    assert match, line[:200]
    return int(match[1]) * 10 ** 6 + int(match[2]), int(match[3]), match[4], match[5]


def all_at_once(functions):
    """Runs them in threads of their own; a failure of one is ours."""
    failures = []

    def guarded(function):
        try:
            function()
        except BaseException as failure:  # told by the test's thread
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(f,)) for f in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def pipelines(server, name, count, seed):
    """Sends numbered requests in pipelines of random lengths, some inside transactions."""
    raw, dice, sent = server.raw(), random.Random(seed), 0
    while sent < count:
        size = min(dice.randint(1, 60), count - sent)
        requests = [command("SET", name, n) for n in range(sent, sent + size)]
        wrap = dice.random() < 0.2
        if wrap:
            requests = [command("MULTI"), *requests, command("EXEC")]
        raw.send(b"".join(requests))
        for _ in range(size + 1 + size + 1 if wrap else size):
            raw.line()
        sent += size
    raw.close()


def test_every_request_of_every_worker_is_shown_once_and_in_order(start, io):
    server = start("--io", io, "--threads", "4")
    clients, count = 8, 3000
    monitors = [monitor(server) for _ in range(3)]

    def watch(raw):
        seen, last = collections.Counter(), b""
        while sum(seen.values()) < clients * count:
            _, db, address, last = shown(raw)
            assert db == 0 and address == b"unix:" + server.path.encode()
            if last in (b'"MULTI"', b'"EXEC"', b'"CLIENT" "ID"'):
                continue
            name, number = re.fullmatch(rb'"SET" "c(\d)" "(\d+)"', last).groups()
            assert int(number) == seen[name], (name, number, seen[name])
            seen[name] += 1

    all_at_once([lambda r=r: watch(r) for r in monitors] +
                [lambda i=i: pipelines(server, f"c{i}", count, i) for i in range(clients)])
    # Nothing more comes but what is asked now; the last EXEC may still be on its way.
    assert server.raw().ask("PING") == b"+PONG"
    for raw in monitors:
        words = shown(raw)[3]
        while words == b'"EXEC"':
            words = shown(raw)[3]
        assert words == b'"PING"'


def test_what_was_answered_is_shown_before_what_is_asked_next(start, io):
    server = start("--io", io, "--threads", "4")
    watching, asking = monitor(server), [server.raw() for _ in range(4)]
    times = []
    for n in range(400):
        assert asking[n % 4].ask("SET", "k", n) == b"+OK"
    for n in range(400):
        time_us, _, _, words = shown(watching)
        assert words == b'"SET" "k" "%d"' % n
        times.append(time_us)
    assert times == sorted(times)


def test_addresses_are_those_of_client_list(start, io):
    server = start("--io", io, "--threads", "2", tcp=True)
    watching = monitor(server, socket.AF_INET)
    for family, form in (socket.AF_INET, b"127.0.0.1:%d"), (socket.AF_INET6, b"[::1]:%d"):
        raw = server.raw(family)
        assert raw.ask("PING") == b"+PONG"
        assert shown(watching)[2] == form % raw.socket.getsockname()[1]


def test_a_client_that_does_not_read_is_closed_and_delays_nobody(start, io):
    server = start("--io", io, "--threads", "2")
    asleep, awake = [monitor(server) for _ in range(2)], monitor(server)
    client = server.client(decode_responses=True)
    raw, value = server.raw(), "x" * MB
    for n in range(48):  # who reads at once never has two of them waiting
        assert raw.ask("SET", f"k{n % 4}", value) == b"+OK"
        words = shown(awake)[3]
        assert words.startswith(b'"SET" "k%d" ' % (n % 4)) and len(words) > MB
    raw.close()
    idents = {raw.ident for raw in asleep}
    harness.wait_until(lambda: not idents & {c["id"] for c in client.client_list()},
                       "both are closed")
    for raw in asleep:
        assert (f"client {raw.ident} was closed: more waits for it than client-output-buffer-limit"
                in server.log())
        assert len(raw.rest()) < 40 * MB
    assert [c["flags"] for c in client.client_list() if c["id"] == awake.ident] == ["OU"]


def test_a_line_larger_than_the_backlog_closes_who_should_see_it(server):
    watching, raw = monitor(server), server.raw()
    assert raw.ask("SET", "k", b"\0" * (10 * MB)) == b"+OK"  # 40 MB between quotes
    assert watching.closed()
    assert f"client {watching.ident} monitors and was closed" in server.log()
    watching = monitor(server)
    raw.send(command("GET", "k", b"\0" * (10 * MB)))  # refused, so nothing is to be shown
    assert raw.line().startswith(b"-ERR wrong number of arguments")
    assert raw.ask("PING") == b"+PONG"
    assert shown(watching)[3] == b'"PING"'


def test_clients_that_monitor_come_and_go_under_load(start, io):
    server = start("--io", io, "--threads", "4")
    stop = threading.Event()

    def ask():
        raw = server.raw()
        while not stop.is_set():
            raw.send(command("INCR", "n") * 20)
            for _ in range(20):
                raw.line()

    def come_and_go(seed):
        dice, client = random.Random(seed), server.client(decode_responses=True)
        expected = (b'"INCR" "n"', b'"CLIENT" "ID"', b'"RESET"', b'"GET" "nothing"', b'"QUIT"')
        for n in range(60):
            raw = monitor(server)
            for _ in range(dice.randint(0, 50)):
                assert shown(raw)[3] in expected
            way = n % 4
            if way == 0:
                client.execute_command("CLIENT", "KILL", "ID", raw.ident)
                raw.rest()
            elif way == 1:
                raw.send(command("RESET"))
                while raw.line() != b"+RESET":
                    pass
                assert raw.ask("GET", "nothing") == b"$-1"
            elif way == 2:
                raw.send(command("QUIT"))
                assert raw.rest().endswith(b"+OK\r\n")
            raw.close()

    def both():
        try:
            all_at_once([lambda s=s: come_and_go(s) for s in range(3)])
        finally:
            stop.set()

    all_at_once([ask, ask, both])
    client = server.client(decode_responses=True)
    harness.wait_until(lambda: all("O" not in c["flags"] for c in client.client_list()),
                       "all are gone")
    assert client.ping()


def test_client_list_shows_who_monitors_under_load(start, io):
    server = start("--io", io, "--threads", "4")
    watching = [monitor(server) for _ in range(2)]
    idents, rounds = {raw.ident for raw in watching}, 50
    stop = threading.Event()

    def watch(raw):
        while shown(raw)[3] != b'"ECHO" "the end"':
            pass

    def ask():
        raw = server.raw()
        while not stop.is_set():
            raw.send(command("PING") * 30)
            for _ in range(30):
                assert raw.line() == b"+PONG"

    def listing():
        client = server.client(decode_responses=True)
        try:
            for _ in range(rounds):
                told = {c["id"] for c in client.client_list() if "O" in c["flags"]}
                assert told == idents
            assert client.info("clients")["connected_clients"] >= 3
        finally:
            stop.set()
            client.echo("the end")

    all_at_once([lambda r=r: watch(r) for r in watching] + [ask, ask, listing])


def test_requests_that_waited_for_a_pause_are_shown_when_they_run(server):
    client, watching, raw = server.client(decode_responses=True), monitor(server), server.raw()
    ident = raw.ask("CLIENT", "ID")[1:].decode()
    assert shown(watching)[3] == b'"CLIENT" "ID"'
    client.execute_command("CLIENT", "PAUSE", 10 ** 9, "WRITE")
    raw.send(command("SET", "k", "a") + command("SET", "k", b"b" * 70000) + command("PING"))
    harness.wait_until(lambda: client.client_list(client_id=[ident])[0]["flags"] == "bU",
                       "it waits")
    assert watching.ask("GET", "k") == b"-ERR Replica can't interact with the keyspace"
    client.execute_command("CLIENT", "UNPAUSE")
    words = [shown(watching)[3] for _ in range(3)]
    assert words[0] == b'"SET" "k" "a"' and words[2] == b'"PING"'
    assert words[1] == b'"SET" "k" "' + b"b" * 70000 + b'"'
    assert [raw.line() for _ in range(3)] == [b"+OK", b"+OK", b"+PONG"]


def test_client_reply_off_stops_what_is_shown(server):
    client = server.client(decode_responses=True)
    assert client.ping()  # what it says of itself when it connects is not to be shown
    watching = monitor(server)
    watching.send(command("CLIENT", "REPLY", "OFF") + command("CLIENT", "SETNAME", "quiet"))
    harness.wait_until(lambda: "quiet" in {c["name"] for c in client.client_list()}, "it is off")
    assert client.ping()
    assert watching.ask("CLIENT", "REPLY", "ON") == b"+OK"
    assert shown(watching)[3] == b'"CLIENT" "REPLY" "ON"'


def test_a_client_that_monitors_is_never_idle(start, io):
    server = start("--io", io, "--threads", "2", "--timeout", "1")
    watching, idle = monitor(server), server.raw()
    assert idle.closed()
    assert server.raw().ask("PING") == b"+PONG"
    assert shown(watching)[3] == b'"PING"'
    assert watching.ask("RESET") == b"+RESET"
    assert watching.closed()


def test_the_server_stops_while_it_is_monitored(start, io):
    server = start("--io", io, "--threads", "4")
    watching, askers = [monitor(server) for _ in range(4)], [server.raw() for _ in range(8)]
    for raw in askers:
        raw.send(command("PING") * 2000)
    server.signal()
    all_at_once([raw.rest for raw in watching + askers])
    assert server.wait() == 0
