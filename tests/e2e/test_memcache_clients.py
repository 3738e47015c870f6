# SPDX-License-Identifier: MIT
"""python3-pymemcache does a round trip of its operations, and Redis clients see the same keys."""
import pytest

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
