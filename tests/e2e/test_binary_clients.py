# SPDX-License-Identifier: MIT
"""memcached's binary protocol with clients that others wrote, beside clients of Redis: memccapable,
which checks every opcode, pylibmc (libmemcached), which speaks text too, and memjs."""
import shutil
import struct
import subprocess

import pytest

import harness
import test_js_clients

HEAD = struct.Struct(">BBHBBHIIQ")
GET, SET, DELETE, NOOP, APPEND, SETQ = 0x00, 0x01, 0x04, 0x0a, 0x0e, 0x11
OK, NOT_FOUND, TOO_LARGE = 0, 1, 3


def packet(opcode, key=b"", extras=b"", value=b"", opaque=0):
    return HEAD.pack(0x80, opcode, len(key), len(extras), 0, 0,
                     len(extras) + len(key) + len(value), opaque, 0) + extras + key + value


def store(opcode, key, value, opaque=0):
    return packet(opcode, key, bytes(8), value, opaque)


def take(raw, size):
    while len(raw.buffer) < size:
        more = raw.socket.recv(1 << 20)
        assert more, "the connection was closed"
        raw.buffer += more
    taken, raw.buffer = raw.buffer[:size], raw.buffer[size:]
    return taken


def reply(raw):
    """(opcode, status, opaque, value without extras)"""
    magic, opcode, key_size, extras_size, _, status, size, opaque, _ = HEAD.unpack(take(raw, 24))
    assert (magic, key_size) == (0x81, 0)
    return opcode, status, opaque, take(raw, size)[extras_size:]


@pytest.fixture
def tcp_server(start, io):
    return start("--io", io, "--threads", "2", tcp=True)


def test_memccapable_finds_nothing_wrong(tcp_server):
    if not shutil.which("memccapable"):
        pytest.skip("no memccapable (package libmemcached-tools)")
    done = subprocess.run(["memccapable", "-h", "127.0.0.1", "-p", str(tcp_server.port), "-b"],
                          capture_output=True, text=True, timeout=harness.PATIENCE_S)
    results = [line.split()[-1] for line in done.stdout.splitlines() if "[" in line]
    assert len(results) >= 27 and set(results) == {"[pass]"}, done.stdout


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "text"])
def test_pylibmc_reads_what_it_wrote(server, binary):
    pylibmc = pytest.importorskip("pylibmc")
    client = pylibmc.Client([server.path], binary=binary, behaviors={"cas": True})
    redis = server.client()

    assert client.set("k", "v", time=100)
    assert client.get("k") == "v"
    assert redis.get("k") == b"v"
    assert 0 < redis.ttl("k") <= 100
    assert redis.set("k", "from redis")
    assert client.get("k") == b"from redis"
    assert client.get("missing") is None
    assert client.add("k", "w") is False
    assert client.replace("k", "w") is True
    assert client.append("k", "x") and client.prepend("k", "y")
    assert client.get("k") == "ywx"
    assert client.set_multi({f"m{i}": i for i in range(100)}) == []
    assert client.get_multi([f"m{i}" for i in range(200)]) == {f"m{i}": i for i in range(100)}
    assert client.set("n", 41)
    assert client.incr("n") == 42 and client.decr("n", 2) == 40
    assert redis.incr("n") == 41 and client.get("n") == 41
    with pytest.raises(pylibmc.NotFound):
        client.incr("missing")
    value, version = client.gets("k")
    assert client.cas("k", "swapped", version) is True
    assert client.cas("k", "again", version) is False
    assert client.get("k") == "swapped"
    assert client.touch("k", 50)
    assert 0 < redis.ttl("k") <= 50
    big = bytes(range(256)) * 2000
    assert client.set("big", big) and client.get("big") == big
    assert client.delete("k") is True and client.delete("k") is False
    assert client.delete_multi([f"m{i}" for i in range(100)]) is True
    (_, stats), = client.get_stats()
    assert int(stats["curr_items"]) == redis.dbsize() == 2
    assert client.flush_all()
    assert redis.dbsize() == 0


def test_pylibmc_authenticates_by_sasl(start, io):
    pylibmc = pytest.importorskip("pylibmc")
    server = start("--io", io, "--requirepass", "secret", tcp=True)  # libmemcached wants TCP here
    address = [f"127.0.0.1:{server.port}"]
    client = pylibmc.Client(address, binary=True, username="default", password="secret")
    assert client.set("k", "v") and client.get("k") == "v"
    stranger = pylibmc.Client(address, binary=True, username="default", password="wrong")
    with pytest.raises(pylibmc.Error):
        stranger.set("k", "w")
    assert client.get("k") == "v"


def test_memjs_reads_what_it_wrote(tcp_server):
    test_js_clients.play(tcp_server, "memjs.js", str(tcp_server.port))


def test_a_value_that_is_too_large_is_swallowed(start, io):
    """At every size that is received in another way."""
    server = start("--io", io, "--threads", "1", "--proto-max-bulk-len", "1mb")
    raw = server.raw()
    for size in ((1 << 20) + 1, 5 << 20):
        for opcode in (SET, SETQ):
            raw.send(store(SET, b"k", b"v") + store(opcode, b"k", bytes(size), 7)
                     + packet(GET, b"k", opaque=8))
            assert reply(raw)[:2] == (SET, OK)
            assert reply(raw) == (opcode, TOO_LARGE, 7, b"Too large.")
            assert reply(raw) == (GET, NOT_FOUND, 8, b"Not found")
        raw.send(store(SET, b"k", b"v") + packet(APPEND, b"k", b"", bytes(size), 9)
                 + packet(GET, b"k"))
        assert reply(raw)[:2] == (SET, OK)
        assert reply(raw) == (APPEND, TOO_LARGE, 9, b"Too large.")
        assert reply(raw)[3] == b"v"
    raw.send(store(SET, b"k", bytes(1 << 20)) + packet(GET, b"k"))
    assert reply(raw)[:2] == (SET, OK)
    assert len(reply(raw)[3]) == 1 << 20


def test_a_value_for_which_there_is_no_memory_is_swallowed(start, io):
    server = start("--io", io, "--threads", "1", "--maxmemory-policy", "noeviction")
    server.client().config_set("maxmemory", "1")
    raw = server.raw()
    raw.send(store(SET, b"k", bytes(300000)) + packet(GET, b"k") + packet(NOOP))
    assert reply(raw)[1:] == (0x82, 0, b"Out of memory allocating item")
    assert reply(raw)[1] == NOT_FOUND
    assert reply(raw)[:2] == (NOOP, OK)


def test_pipelines_larger_than_any_buffer_keep_their_order(server):
    raw = server.raw()
    count = 3000
    value = b"x" * 500
    raw.send(b"".join(store(SETQ, b"k%d" % i, value + b"%d" % i) for i in range(count)))
    raw.send(packet(NOOP))
    assert reply(raw)[:2] == (NOOP, OK)
    raw.send(b"".join(packet(GET, b"k%d" % i, opaque=i) for i in range(count)))
    for i in range(count):
        assert reply(raw) == (GET, OK, i, value + b"%d" % i)
    raw.send(b"".join(packet(DELETE, b"k%d" % (i // 2), opaque=i) for i in range(2 * count)))
    for i in range(2 * count):
        assert reply(raw)[1:3] == (NOT_FOUND if i % 2 else OK, i)
