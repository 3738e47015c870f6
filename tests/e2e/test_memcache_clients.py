# SPDX-License-Identifier: MIT
"""memcached's text protocol with clients that others wrote, python3-pymemcache and memccapable, and
what takes several connections: a delayed flush, watching."""
import shutil
import socket
import subprocess
import time

import pytest

import harness

pymemcache = pytest.importorskip("pymemcache", reason="no python3-pymemcache")


@pytest.fixture
def client(server):
    client = pymemcache.client.base.Client(server.path, default_noreply=False, timeout=10)
    yield client
    client.close()


def test_pymemcache_stores_reads_and_deletes(client):
    assert client.set("k", b"v", flags=5)
    assert client.get("k") == b"v"
    assert client.get("missing") is None
    assert not client.add("k", b"x") and client.add("n", b"x")
    assert client.replace("k", b"w") and not client.replace("missing", b"w")
    assert client.append("k", b">") and client.prepend("k", b"<")
    assert client.get_many(["k", "n", "missing"]) == {"k": b"<w>", "n": b"x"}
    assert client.delete("k") and not client.delete("k")
    assert client.set_many({f"m{i}": str(i).encode() for i in range(100)}) == []
    assert client.get_many([f"m{i}" for i in range(100)]) == \
        {f"m{i}": str(i).encode() for i in range(100)}
    assert client.delete_many(["m1", "m2"]) and client.get("m1") is None


def test_pymemcache_compares_counts_and_touches(client):
    client.set("k", b"a")
    value, version = client.gets("k")
    assert value == b"a"
    assert client.cas("k", b"b", version) is True
    assert client.cas("k", b"c", version) is False
    assert client.cas("missing", b"c", version) is None
    client.set("n", b"10")
    assert client.incr("n", 5) == 15 and client.decr("n", 20) == 0
    assert client.incr("missing", 1) is None
    assert client.touch("k", 100) and not client.touch("missing", 100)
    with pytest.raises(pymemcache.exceptions.MemcacheClientError):
        client.incr("k", 1)


def test_ten_thousand_keys_in_one_line(client):
    keys = [f"key-{i}-{'x' * (i % 40)}" for i in range(10000)]
    client.set_many({key: key.encode() for key in keys[::2]}, noreply=True)
    assert client.get_many(keys) == {key: key.encode() for key in keys[::2]}


def test_noreply_and_big_values(client):
    client.set("k", b"x" * 1000000, noreply=True)
    assert client.get("k") == b"x" * 1000000
    client.delete("k", noreply=True)
    assert client.get("k") is None


def test_memccapable_finds_nothing_wrong(start, io):
    if not shutil.which("memccapable"):
        pytest.skip("no memccapable (package libmemcached-tools)")
    server = start("--io", io, "--threads", "2", tcp=True)
    done = subprocess.run(["memccapable", "-h", "127.0.0.1", "-p", str(server.port), "-a"],
                          capture_output=True, text=True, timeout=harness.PATIENCE_S)
    assert done.stdout.count("[pass]") >= 27 and "FAIL" not in done.stdout, done.stdout


def test_a_value_that_is_too_large_is_swallowed_and_the_old_one_gone(start, io):
    """At sizes that are received in different ways; where something else was asked than to replace
    it, the old value stays."""
    server = start("--io", io, "--threads", "1", "--proto-max-bulk-len", "1mb")
    raw, refusal = server.raw(), b"SERVER_ERROR object too large for cache"
    for size in ((1 << 20) + 1, 5 << 20):
        value = b"get k\r\n" * (size // 7) + b"x" * (size % 7)
        for line, gone in ((b"set k 0 0 %d", True), (b"ms k %d", True), (b"ms aw== %d b", True),
                           (b"set k 0 0 %d noreply", True), (b"append k 0 0 %d", False),
                           (b"add k 0 0 %d", False), (b"cas k 0 0 %d 1", False)):
            raw.send(b"set k 0 0 1\r\nv\r\n" + line % size + b"\r\n" + value + b"\r\nget k\r\n")
            assert raw.line() == b"STORED"
            if b"noreply" not in line:
                assert raw.line() == refusal
            if not gone:
                assert (raw.line(), raw.line()) == (b"VALUE k 0 1", b"v")
            assert raw.line() == b"END", line


def test_a_delayed_flush_empties_the_cache_once_for_all(server):
    raw, redis = server.raw(), server.client()
    redis.set("k", "v")
    raw.send(b"flush_all 1000\r\nflush_all 1\r\nget k\r\n")
    assert [raw.line() for _ in range(5)] == [b"OK", b"OK", b"VALUE k 0 1", b"v", b"END"]
    harness.wait_until(lambda: redis.dbsize() == 0, "the flush")
    redis.set("k", "later")
    raw.send(b"get k\r\n")
    assert [raw.line() for _ in range(3)] == [b"VALUE k 0 5", b"later", b"END"]


def test_a_flush_now_takes_the_place_of_one_to_come(server):
    raw, redis = server.raw(), server.client()
    raw.send(b"flush_all 1\r\nflush_all\r\nset k 0 0 1\r\nv\r\n")
    assert [raw.line() for _ in range(3)] == [b"OK", b"OK", b"STORED"]
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        assert redis.get("k") == b"v"


def watched_line(raw):
    """The fields of the next line."""
    while b"\n" not in raw.buffer:
        more = raw.socket.recv(65536)
        assert more, "the connection was closed"
        raw.buffer += more
    line, raw.buffer = raw.buffer.split(b"\n", 1)
    return dict(field.split(b"=", 1) for field in line.split(b" "))


def test_watch_shows_what_clients_of_all_protocols_do_on_all_threads(server):
    watcher = server.raw()
    watcher.send(b"watch fetchers mutations deletions connevents\r\n")
    assert watcher.line() == b"OK"
    for i in range(8):
        redis, raw = server.raw(), server.raw()
        assert redis.ask("GET", f"redis{i}") == b"$-1"
        raw.send(b"set text%d 0 60 3\r\nabc\r\ndelete text%d\r\n" % (i, i))
        assert (raw.line(), raw.line()) == (b"STORED", b"DELETED")
        raw.close()
        redis.close()
    seen = {word: [] for word in (b"conn_new", b"item_get", b"item_store", b"deleted",
                                  b"conn_close")}
    while len(seen[b"conn_close"]) < 16:
        fields = watched_line(watcher)
        seen[fields[b"type"]].append(fields)
    gets = {fields[b"key"]: fields[b"status"] for fields in seen[b"item_get"]}
    assert gets == {b"redis%d" % i: b"not_found" for i in range(8)}
    stores = {fields[b"key"]: (fields[b"status"], fields[b"cmd"], fields[b"ttl"], fields[b"size"])
              for fields in seen[b"item_store"]}
    assert stores == {b"text%d" % i: (b"stored", b"set", b"60", b"3") for i in range(8)}
    assert sorted(fields[b"key"] for fields in seen[b"deleted"]) == \
        [b"text%d" % i for i in range(8)]
    assert len(seen[b"conn_new"]) == 16
    numbers = [int(fields[b"gid"]) for kind in seen.values() for fields in kind]
    assert len(set(numbers)) == len(numbers)


def test_watch_mutations_shows_stores_of_every_protocol(server):
    watcher, redis, raw = server.raw(), server.client(), server.raw()
    watcher.send(b"watch mutations\r\n")
    assert watcher.line() == b"OK"
    redis.set("plain", "abc")
    pipe = redis.pipeline()
    pipe.setex("first", 90, "a").mget("plain", "none").append("first", "bc").get("plain")
    assert pipe.execute() == [True, [b"abc", None], 3, b"abc"]
    raw.send(b"set text 0 0 4\r\nabcd\r\n")
    assert raw.line() == b"STORED"
    large = b"x" * 200_000
    redis.set("large", large)
    http = server.raw()
    http.send(b"PUT /web HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nabcde")
    assert http.line().startswith(b"HTTP/1.1 20")
    binary = server.raw()
    binary.send(b"\x80\x01\0\x03\x08\0\0\0\0\0\0\x11" + bytes(12) + bytes(8) + b"binabcdef")
    seen = [watched_line(watcher) for _ in range(7)]
    assert [(fields[b"key"], fields[b"cmd"], fields[b"ttl"], fields[b"size"])
            for fields in seen] == [
        (b"plain", b"set", b"0", b"3"), (b"first", b"set", b"90", b"1"),
        (b"first", b"append", b"90", b"3"), (b"text", b"set", b"0", b"4"),
        (b"large", b"set", b"0", b"200000"), (b"web", b"set", b"0", b"5"),
        (b"bin", b"set", b"0", b"6")]
    assert {fields[b"status"] for fields in seen} == {b"stored"}


def test_nobody_listens_to_who_watches(server):
    watcher, redis = server.raw(), server.client()
    # What comes in the same packet counts as little as what comes later.
    watcher.send(b"watch mutations\r\nset a 0 0 1\r\nx\r\nversion\r\nnonsense\r\n")
    assert watcher.line() == b"OK"
    watcher.send(b"get a\r\nset b 0 0 1\r\nx\r\nflush_all\r\nversion\r\nquit\r\n" +
                 b"set c 0 0 200000\r\n" + b"x" * 200_000 + b"\r\n")
    redis.set("k", "v")
    assert watched_line(watcher)[b"key"] == b"k"
    assert redis.keys("*") == [b"k"]
    time.sleep(0.2)
    redis.set("l", "v")
    assert watched_line(watcher)[b"key"] == b"l"
    watcher.socket.shutdown(socket.SHUT_WR)
    assert watcher.closed()
