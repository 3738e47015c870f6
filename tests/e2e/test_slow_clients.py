# SPDX-License-Identifier: MIT
"""Clients of every protocol that are slow to speak, stop speaking, or never listen."""
import os
import socket
import time

import pytest

import harness
from harness import command

MB = 1 << 20
VALUE = b"v" * 1000


def binary_get(key):
    return b"\x80\0" + bytes([0, len(key)]) + bytes(7) + bytes([len(key)]) + bytes(12) + key


def http_get(key):
    return b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % key


# What asks for the key "item", which holds VALUE, and how the answer ends and begins.
RESP = command("GET", "item"), VALUE + b"\r\n", b"$1000\r\n"
INLINE = b"GET item\r\n", VALUE + b"\r\n", b"$1000\r\n"
TEXT = b"get item\r\n", VALUE + b"\r\nEND\r\n", b"VALUE item 0 1000\r\n"
META = b"mg item v\r\n", VALUE + b"\r\n", b"VA 1000\r\n"
BINARY = binary_get(b"item"), VALUE, b"\x81\0\0\0\x04\0\0\0"
HTTP = http_get(b"item"), b"\r\n\r\n" + VALUE, b"HTTP/1.1 200 OK\r\n"
PROTOCOLS = {"resp": RESP, "inline": INLINE, "text": TEXT, "meta": META, "binary": BINARY,
             "http": HTTP}


def answer(raw, end):
    """What comes until it ends so."""
    while not raw.buffer.endswith(end):
        more = raw.socket.recv(MB)
        assert more, f"closed after {raw.buffer[:200]}"
        raw.buffer += more
    taken, raw.buffer = raw.buffer, b""
    return taken


def test_the_first_bytes_may_come_one_a_second(start, uring):
    """Which protocol it is turns out slowly; both event loops at once, to spend the time once."""
    servers = [start("--io", io, "--threads", "2")
               for io in ("io_uring", "epoll") if io != "io_uring" or uring]
    slow = []
    for server in servers:
        assert server.client().set("item", VALUE)
        slow += [(server.raw(), *protocol) for protocol in PROTOCOLS.values()]
    for i in range(8):
        for raw, request, *_ in slow:
            raw.send(request[i:i + 1])
        time.sleep(1)
        for server in servers:
            assert server.client().get("item") == VALUE
        assert not any(raw.readable(0) for raw, *_ in slow)
    for raw, request, end, begin in slow:
        raw.send(request[8:])
        assert answer(raw, end).startswith(begin)
        raw.send(request)
        assert answer(raw, end).startswith(begin)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_who_half_closes_gets_every_answer_and_then_the_end(server, protocol):
    request, end, begin = PROTOCOLS[protocol]
    assert server.client().set("item", VALUE)
    raw = server.raw()
    raw.send(request * 500 + request[:-2])  # the last one will never be whole
    raw.socket.shutdown(socket.SHUT_WR)
    told = raw.rest()
    assert told.startswith(begin) and told.endswith(end) and told.count(VALUE) == 500


DEAF = {"text": b"get item\r\n", "meta": b"mg item v\r\n", "binary": binary_get(b"item"),
        "http": http_get(b"item")}


def fill(raw, request):
    """Sends until nobody takes any more, for a while or ever."""
    raw.socket.settimeout(0.3)
    try:
        for _ in range(200):
            raw.send(request * 100)
    except (socket.timeout, BrokenPipeError, ConnectionResetError):
        return
    raise AssertionError("a client that takes no replies was listened to all the time")


@pytest.mark.parametrize("protocol", DEAF)
def test_who_takes_no_replies_is_not_listened_to_and_costs_little(server, protocol):
    client = server.client()
    client.set("item", os.urandom(100_000))
    client.set("kept", b"kept")
    deaf, others = server.raw(), [server.client() for _ in range(4)]
    fill(deaf, DEAF[protocol])
    for _ in range(50):
        assert all(other.get("kept") == b"kept" for other in others)
    assert 0 < client.info("memory")["mem_clients_output"] < 8 * MB
    deaf.close()
    harness.wait_until(lambda: client.info("memory")["mem_clients_output"] == 0, "it is forgotten")


@pytest.mark.parametrize("protocol", DEAF)
def test_who_takes_no_replies_is_dropped_by_the_output_limit(server, protocol):
    client = server.client(decode_responses=True)
    client.set("item", "x" * 100_000)
    assert client.config_set("client-output-buffer-limit", "normal 512kb 0 0")
    deaf = server.raw()
    try:
        fill(deaf, DEAF[protocol])
    except AssertionError:
        pass  # once it is dropped what it still sends is read to no end
    harness.wait_until(lambda: client.info("clients")["connected_clients"] == 1, "it is gone")
    assert client.info("stats")["client_output_buffer_limit_disconnections"] == 1
    assert "more waits for it than client-output-buffer-limit allows" in server.log()
    assert client.info("memory")["mem_clients_output"] == 0
