# SPDX-License-Identifier: MIT
"""MEMORY: what keys cost, where the rest went, and what is amiss."""
import pytest

import harness
from harness import command

ResponseError = harness.redis.ResponseError
PAGE = 4096


@pytest.mark.quick
def test_usage_is_what_a_key_takes(server):
    client = server.client()
    client.set("k", "")
    least = client.memory_usage("k")
    assert 16 <= least <= 32
    client.set("k", "x" * 1000)
    assert 1010 <= client.memory_usage("k") <= 1050
    before = client.memory_usage("k", samples=0)
    client.expire("k", 100)
    assert before <= client.memory_usage("k", samples=5) <= before + 32
    client.set("k" * 3000, "")
    assert client.memory_usage("k" * 3000) > 3000
    client.set("k", "x" * 100000)
    assert 100000 <= client.memory_usage("k") <= 100000 + 2 * PAGE
    client.copy("k", "twin")
    assert client.memory_usage("twin") > 100000  # shared, but told in full
    client.set("long" * 5000, "x")
    assert 20000 <= client.memory_usage("long" * 5000) <= 20000 + 2 * PAGE
    assert client.memory_usage("missing") is None
    reads = client.info("stats")
    client.memory_usage("k")
    after = client.info("stats")
    assert reads["keyspace_hits"] == after["keyspace_hits"]
    assert reads["keyspace_misses"] == after["keyspace_misses"]


@pytest.mark.quick
def test_usage_forgets_keys_that_have_expired(server):
    client = server.client()
    client.set("k", "v", px=1)
    harness.wait_until(lambda: client.pttl("k") == -2, "the key has expired")
    assert client.memory_usage("k") is None


@pytest.mark.quick
def test_what_memory_does_not_understand_is_refused(server):
    client = server.client()
    client.set("k", "v")
    for words, text in (
            (["USAGE", "k", "SAMPLES"], "syntax error"),
            (["USAGE", "k", "SAMPLES", -1], "syntax error"),
            (["USAGE", "k", "SAMPLES", "x"], "value is not an integer or out of range"),
            (["USAGE", "missing", "x", 1], "syntax error"),
            (["USAGE"], r"wrong number of arguments for 'memory\|usage' command"),
            (["STATS", "x"], r"wrong number of arguments for 'memory\|stats' command"),
            (["FREE"], "unknown subcommand 'FREE'. Try MEMORY HELP.")):
        with pytest.raises(ResponseError, match=text):
            client.execute_command("MEMORY", *words)
    raw = server.raw()
    assert raw.ask("COMMAND", "GETKEYS", "MEMORY", "USAGE", "k") == b"*1"
    assert raw.line() == b"$1" and raw.line() == b"k"


def test_stats_agree_with_info_and_with_what_is_stored(server):
    client = server.client()
    empty = client.memory_stats()
    assert empty["keys.count"] == 0 and empty["replication.backlog"] == 0
    pipe = client.pipeline(transaction=False)
    for i in range(20000):
        pipe.set(f"key:{i}", "x" * 500)
    pipe.set("huge", "x" * 8_000_000)
    pipe.execute()
    stats, info = client.memory_stats(), client.info("memory")
    assert stats["keys.count"] == 20001
    assert 18_300_000 < stats["dataset.bytes"] < 20_000_000
    assert stats["total.allocated"] == stats["allocator.active"] == info["used_memory"]
    assert stats["dataset.bytes"] == info["used_memory_dataset"]
    assert stats["overhead.total"] == info["used_memory_overhead"]
    assert stats["overhead.total"] == stats["total.allocated"] - stats["dataset.bytes"]
    assert stats["allocator.allocated"] == info["allocator_allocated"] <= stats["total.allocated"]
    assert stats["overhead.db.hashtable.lut"] == info["table_bytes"] > 20001 * 8
    assert stats["peak.allocated"] >= stats["total.allocated"] > empty["total.allocated"]
    assert 900 < stats["keys.bytes-per-key"] < 1200
    assert 80 < float(stats["dataset.percentage"]) <= 100
    assert float(stats["peak.percentage"]) <= 100
    assert float(stats["allocator-rss.ratio"]) >= 1
    client.flushall()
    harness.wait_until(lambda: client.memory_stats()["dataset.bytes"] < 1_000_000,
                       "the memory is free again")
    assert client.memory_stats()["keys.count"] == 0
    assert client.memory_stats()["peak.allocated"] >= stats["total.allocated"]


@pytest.mark.quick
def test_ratios_are_numbers_of_the_protocol(server):
    raw = server.raw()
    raw.send(command("HELLO", 3) + command("PING", "begin"))
    while raw.line() != b"begin":
        pass
    raw.send(command("MEMORY", "STATS") + command("QUIT"))
    lines = raw.rest().split(b"\r\n")
    assert lines[0] == b"%28"
    assert lines[lines.index(b"peak.percentage") + 1][:1] == b","
    assert lines[lines.index(b"peak.allocated") + 1][:1] == b":"


def test_the_doctor_sees_what_happened(server):
    client = server.client()
    assert b"Nothing is amiss" in client.execute_command("MEMORY", "DOCTOR")
    for i in range(40):
        client.set(i, "x" * 1_000_000)
    client.config_set("maxmemory", client.info("memory")["used_memory"] + 1_000_000)
    assert b"The limit is near" in client.execute_command("MEMORY", "DOCTOR")
    client.config_set("maxmemory", 0)
    client.flushall()
    harness.wait_until(lambda: b"at its peak the data took" in
                       client.execute_command("MEMORY", "DOCTOR"), "the memory is free again")


@pytest.mark.quick
def test_purge_and_the_allocators_report(server):
    client = server.client()
    client.set("k", "x" * 100000)
    assert client.execute_command("MEMORY", "PURGE") in (True, b"OK")
    report = client.execute_command("MEMORY", "MALLOC-STATS").decode()
    assert "Everything else:\n" in report
    named = dict(line.split() for line in report.split("\n\n")[0].splitlines()[1:])
    assert list(named) == ["mapped", "used", "entries", "tables", "retired", "reserve"]
    assert int(named["mapped"]) == int(named["used"]) + int(named["reserve"])
    assert int(named["entries"]) > 100000
    assert len(report.split("Everything else:\n")[1]) > 10
