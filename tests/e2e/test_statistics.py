# SPDX-License-Identifier: MIT
"""What the server says of the commands it has run: INFO, counters, percentiles, resets."""
import pytest

import harness
from harness import command

# What tools read and would miss: redis_exporter, redis-cli, dashboards.
FIELDS = {
    "server": ["redis_version", "redis_mode", "os", "arch_bits", "process_id", "run_id", "tcp_port",
               "uptime_in_seconds", "uptime_in_days", "hz", "config_file", "executable",
               "atomicvar_api"],
    "clients": ["connected_clients", "maxclients", "blocked_clients", "tracking_clients",
                "watching_clients", "pubsub_clients"],
    "memory": ["used_memory", "used_memory_human", "used_memory_rss", "used_memory_peak",
               "used_memory_overhead", "used_memory_dataset", "used_memory_startup", "maxmemory",
               "maxmemory_policy", "total_system_memory", "mem_fragmentation_ratio",
               "mem_allocator", "allocator_active", "mem_clients_normal"],
    "persistence": ["loading", "rdb_bgsave_in_progress", "rdb_last_save_time", "aof_enabled",
                    "rdb_last_bgsave_status", "aof_last_write_status"],
    "stats": ["total_connections_received", "total_commands_processed", "keyspace_hits",
              "instantaneous_ops_per_sec", "instantaneous_input_kbps", "total_error_replies",
              "total_net_input_bytes", "expired_keys", "evicted_keys", "pubsub_channels",
              "latest_fork_usec", "total_reads_processed", "eventloop_cycles",
              "eventloop_duration_sum", "eventloop_duration_cmd_sum"],
    "replication": ["role", "connected_slaves", "master_replid", "master_repl_offset"],
    "cpu": ["used_cpu_sys", "used_cpu_user", "used_cpu_sys_children"],
    "cluster": ["cluster_enabled"],
}


def sections(text):
    return [line[2:].lower() for line in text.splitlines() if line.startswith("# ")]


def info_text(client, *words):
    return client.execute_command("INFO", *words, NEVER_DECODE=True).decode()


@pytest.fixture
def plain(server):
    """A client whose INFO is the text as it came."""
    client = server.client()
    client.response_callbacks.pop("INFO")
    return client


def stat(client, name):
    for line in info_text(client, "everything").splitlines():
        if line.startswith(name + ":"):
            return line.split(":", 1)[1]
    return None


@pytest.mark.quick
def test_sections_are_those_asked_for(plain):
    default = sections(info_text(plain))
    assert default == ["server", "clients", "memory", "persistence", "stats", "replication", "cpu",
                       "modules", "errorstats", "cluster", "keyspace"]
    assert sections(info_text(plain, "default")) == default
    everything = sections(info_text(plain, "everything"))
    assert set(everything) == {*default, "commandstats", "latencystats"}
    assert sections(info_text(plain, "ALL")) == everything
    assert sections(info_text(plain, "cpu", "Server", "cpu")) == ["server", "cpu"]
    assert set(sections(info_text(plain, "default", "commandstats"))) == {*default, "commandstats"}
    assert info_text(plain, "nosuch") == ""


@pytest.mark.quick
@pytest.mark.parametrize("section", FIELDS)
def test_fields_that_tools_read_are_there_once(plain, section):
    lines = info_text(plain, section).splitlines()[1:]
    names = [line.split(":", 1)[0] for line in lines]
    assert not set(FIELDS[section]) - set(names)
    assert len(names) == len(set(names))
    assert all(line.split(":", 1)[1] for line in lines if not line.startswith("config_file"))


@pytest.mark.quick
def test_calls_failures_and_refusals_are_counted(plain):
    plain.config_resetstat()
    plain.set("k", "v")
    for words in [("INCR", "k"), ("SET", "k"), ("NOSUCH",), ("CONFIG", "NOSUCH"),
                  ("PING", "a", "b")]:
        with pytest.raises(harness.redis.ResponseError):
            plain.execute_command(*words)
    assert stat(plain, "cmdstat_set").endswith("rejected_calls=1,failed_calls=0")
    assert stat(plain, "cmdstat_set").startswith("calls=1,usec=")
    assert stat(plain, "cmdstat_incr").startswith("calls=1,")
    assert stat(plain, "cmdstat_incr").endswith("rejected_calls=0,failed_calls=1")
    assert stat(plain, "cmdstat_ping").endswith("rejected_calls=0,failed_calls=1")
    assert stat(plain, "cmdstat_config|resetstat").startswith("calls=1,")
    assert stat(plain, "errorstat_ERR") == "count=5"
    assert stat(plain, "total_error_replies") == "5"


@pytest.mark.quick
def test_what_exec_runs_is_counted_as_if_it_ran_alone(plain):
    plain.config_resetstat()
    with pytest.raises(harness.redis.ResponseError):
        plain.execute_command("EXEC")
    pipe = plain.pipeline(transaction=True)
    pipe.set("k", "v").incrby("k", 2).get("k")
    assert [type(reply) for reply in pipe.execute(raise_on_error=False)] == [
        bool, harness.redis.ResponseError, bytes]
    assert stat(plain, "cmdstat_set").endswith("rejected_calls=0,failed_calls=0")
    assert stat(plain, "cmdstat_incrby").endswith("rejected_calls=0,failed_calls=1")
    assert stat(plain, "cmdstat_exec").startswith("calls=2,")
    assert stat(plain, "cmdstat_exec").endswith("rejected_calls=0,failed_calls=1")
    assert stat(plain, "errorstat_ERR") == "count=2"


@pytest.mark.quick
def test_a_pipeline_counts_every_request(server, plain):
    plain.config_resetstat()
    raw = server.raw()
    raw.send((command("SET", "k", "v") + command("GET", "k") * 40 + command("INCR", "k")) * 50
             + command("QUIT"))
    assert raw.rest().endswith(b"+OK\r\n")
    assert stat(plain, "cmdstat_set").startswith("calls=50,")
    assert stat(plain, "cmdstat_get").startswith("calls=2000,")
    assert stat(plain, "cmdstat_incr").startswith("calls=50,")
    assert stat(plain, "cmdstat_incr").endswith("failed_calls=50")


@pytest.mark.quick
def test_refusals_for_want_of_memory_or_password_are_counted(start, io):
    server = start("--io", io, "--threads", "2", "--requirepass", "secret")
    client = server.client(password="secret")
    client.response_callbacks.pop("INFO")
    stranger = server.raw()
    assert stranger.ask("GET", "k").startswith(b"-NOAUTH")
    assert stranger.ask("AUTH", "wrong").startswith(b"-WRONGPASS")
    client.config_set("maxmemory", "1")
    with pytest.raises(harness.redis.ResponseError):
        client.set("k", "v")
    assert stat(client, "errorstat_NOAUTH") == "count=1"
    assert stat(client, "acl_access_denied_auth") == "1"
    assert stat(client, "errorstat_OOM") == "count=1"
    assert stat(client, "cmdstat_set").startswith("calls=0,")
    assert stat(client, "cmdstat_get").endswith("rejected_calls=1,failed_calls=0")


@pytest.mark.quick
def test_percentiles_are_chosen_and_tracking_can_rest(plain):
    plain.config_resetstat()
    plain.config_set("latency-tracking", "no")
    plain.set("k", "v")
    assert stat(plain, "latency_percentiles_usec_set") is None
    plain.config_set("latency-tracking", "yes")
    assert stat(plain, "latency_percentiles_usec_set") is None
    plain.set("k", "v")
    shown = stat(plain, "latency_percentiles_usec_set")
    assert [part.split("=")[0] for part in shown.split(",")] == ["p50", "p99", "p99.9"]
    plain.config_set("latency-tracking-info-percentiles", "0.0 50.50 100.0")
    assert plain.config_get("latency-tracking-info*") == {
        "latency-tracking-info-percentiles": "0 50.5 100"}
    shown = stat(plain, "latency_percentiles_usec_set")
    values = [float(part.split("=")[1]) for part in shown.split(",")]
    assert values == sorted(values) and values[0] > 0
    for bad, why in [("10 a", "Invalid latency-tracking-info-percentiles parameters"),
                     ("10 101", "should sit between")]:
        with pytest.raises(harness.redis.ResponseError, match=why):
            plain.config_set("latency-tracking-info-percentiles", bad)
        assert plain.config_get("latency-tracking-info*") == {
            "latency-tracking-info-percentiles": "0 50.5 100"}
    plain.config_set("latency-tracking-info-percentiles", "")
    assert stat(plain, "latency_percentiles_usec_set") == ""


def test_a_reset_ends_the_counts_of_every_worker(start, io):
    server = start("--io", io, "--threads", "4")
    clients = [server.client() for _ in range(8)]
    for client in clients:
        client.response_callbacks.pop("INFO")
        client.set("k", "v")
    assert stat(clients[0], "cmdstat_set").startswith("calls=8,")
    clients[3].config_resetstat()
    assert stat(clients[0], "cmdstat_set") is None
    assert stat(clients[0], "total_error_replies") == "0"
    clients[5].set("k", "v")
    assert stat(clients[0], "cmdstat_set").startswith("calls=1,")


@pytest.mark.quick
def test_clients_that_watch_are_counted(server, plain):
    raw = server.raw()
    for words in [("WATCH", "a", "b"), ("WATCH", "c")]:
        assert raw.ask(*words) == b"+OK"
        assert stat(plain, "watching_clients") == "1"
    assert raw.ask("UNWATCH") == b"+OK"
    assert stat(plain, "watching_clients") == "0"
    assert raw.ask("WATCH", "a") == b"+OK"
    raw.close()
    harness.wait_until(lambda: stat(plain, "watching_clients") == "0", "it has gone")


def test_percentiles_that_are_none_stop_the_start():
    done = harness.run("--port", "0", "--latency-tracking-info-percentiles", "50 101")
    assert done.returncode == 2
    assert "should sit between [0.0,100.0]" in done.stderr
