# SPDX-License-Identifier: MIT
"""The admin port: health, readiness and metrics over HTTP."""
import http.client
import os
import re
import socket
import threading

import pytest

import harness

parser = pytest.importorskip("prometheus_client.parser", reason="no prometheus_client")


class Admin:
    """A server with an admin port."""

    def __init__(self, start, *flags, **options):
        self.port = harness.free_port()
        self.server = start("--admin-port", str(self.port), "--bind", "127.0.0.1", *flags,
                            **options)

    def raw(self):
        raw = harness.Raw.__new__(harness.Raw)
        raw.socket = socket.create_connection(("127.0.0.1", self.port), harness.PATIENCE_S)
        raw.buffer = b""
        return raw

    def ask(self, path, method="GET", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)
        connection.request(method, path, headers=headers or {})
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        return response, body

    def metrics(self):
        response, body = self.ask("/metrics")
        assert response.status == 200
        assert response.getheader("Content-Type") == "text/plain; version=0.0.4; charset=utf-8"
        return read_strictly(body)


def read_strictly(body):
    """{(name, labels): value} of an exposition in which everything is as the format wants it."""
    found = list(parser.text_string_to_metric_families(body))
    families = {f.name: f for f in found}
    assert len(families) == len(found), "no two differ only by _total"
    values, types = {}, {}
    assert body.endswith("\n") and "\r" not in body
    lines = body.splitlines()
    for i, line in enumerate(lines):
        words = line.split(" ", 3)
        if line.startswith("# HELP"):
            assert lines[i + 1].startswith(f"# TYPE {words[2]} ") and words[3]
        elif line.startswith("# TYPE"):
            assert words[2] not in types, "each metric comes once, in one piece"
            types[words[2]] = words[3]
            assert words[2].endswith("_total") == (words[3] == "counter"), line
        else:
            name = re.match(r"larder_[a-z0-9_]+(?=[ {])", line).group()
            family = re.sub("_(bucket|count|sum)$", "", name)
            assert (family if types.get(family) == "histogram" else name) == list(types)[-1]
    for family in families.values():
        assert family.documentation and family.type in ("counter", "gauge", "histogram")
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in values, key
            assert sample.value >= 0
            values[key] = sample.value
    return values


def value(metrics, name, **labels):
    return metrics[(f"larder_{name}", tuple(sorted(labels.items())))]


@pytest.mark.quick
def test_health_and_readiness_are_told(start):
    admin = Admin(start)
    for path, expected in (("/healthz", "alive\n"), ("/readyz", "ready\n"),
                           ("/readyz?verbose", "ready\n")):
        response, body = admin.ask(path)
        assert (response.status, body) == (200, expected)
        response, body = admin.ask(path, "HEAD")
        assert (response.status, body) == (200, "")
        assert int(response.getheader("Content-Length")) == len(expected)
    assert admin.ask("/")[0].status == 404
    assert admin.ask("/metrics/")[0].status == 404


def test_there_is_no_such_port_by_default(start):
    server = start()
    listening = [line for line in open(f"/proc/{server.process.pid}/net/tcp")
                 if line.split()[3] == "0A"]
    inodes = {line.split()[9] for line in listening}
    held = set()
    for fd in os.listdir(f"/proc/{server.process.pid}/fd"):
        try:
            target = os.readlink(f"/proc/{server.process.pid}/fd/{fd}")
        except OSError:
            continue
        held.update(re.findall(r"socket:\[(\d+)\]", target))
    assert not inodes & held
    assert server.client().config_get("admin-port") == {"admin-port": "0"}


def test_while_it_stops_the_server_lives_and_is_not_ready(start):
    admin = Admin(start, "--shutdown-timeout", "600")
    waiting = admin.raw()
    waiting.send(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert waiting.line() == b"HTTP/1.1 200 OK"
    # A client that takes no replies keeps the server from its end.
    slow = admin.server.raw()
    admin.server.client().set("big", b"x" * (32 << 20))
    slow.send(harness.command("GET", "big"))
    slow.line()
    admin.server.signal()
    harness.wait_until(lambda: admin.ask("/readyz")[0].status == 503, "it is not ready")
    assert admin.ask("/readyz")[1] == "stopping\n"
    assert admin.ask("/healthz")[0].status == 200
    assert value(admin.metrics(), "connected_clients") >= 1
    slow.close()
    assert admin.server.wait() == 0
    waiting.close()


@pytest.mark.quick
def test_metrics_are_the_figures_of_info(start):
    admin = Admin(start, "--enable-debug-command", "yes", "--maxclients", "77",
                  "--maxmemory", "200mb")
    client = admin.server.client()
    for i in range(10):
        client.set(f"k{i}", "v", ex=1000 if i < 3 else None)
    other = admin.server.client(db=3)
    other.set("there", 1)
    for key in ("k1", "k2", "none"):
        client.get(key)
    for request in (("DEBUG", "ERROR", "one"), ("NONE",), ("HELLO", "9")):
        with pytest.raises(Exception):
            client.execute_command(*request)
    info = client.info("everything")
    metrics = admin.metrics()
    assert value(metrics, "keyspace_hits_total") == info["keyspace_hits"] == 2
    assert value(metrics, "keyspace_misses_total") == info["keyspace_misses"] == 1
    assert value(metrics, "keys", db="0") == info["db0"]["keys"] == 10
    assert value(metrics, "keys_expiring", db="0") == info["db0"]["expires"] == 3
    assert value(metrics, "keys", db="3") == 1
    assert value(metrics, "connected_clients") == info["connected_clients"]
    assert value(metrics, "clients_limit") == 77
    assert value(metrics, "connections_total") == info["total_connections_received"]
    assert value(metrics, "memory_limit_bytes") == info["maxmemory"] == 200 << 20
    assert value(metrics, "memory_used_bytes") == info["used_memory"]
    assert value(metrics, "workers") == info["workers"]
    assert value(metrics, "network_received_bytes_total") >= info["total_net_input_bytes"]
    assert value(metrics, "build_info", version=info["larder_version"],
                 redis_version=info["redis_version"], io=info["multiplexing_api"]) == 1
    for name, figures in ((n[8:], f) for n, f in info.items() if n.startswith("cmdstat_")):
        # INFO itself is counted after it has answered.
        assert value(metrics, "commands_total", command=name) == figures["calls"] + (name == "info")
        assert value(metrics, "commands_failed_total", command=name) == figures["failed_calls"]
    assert value(metrics, "commands_total", command="set") == 11
    codes = {labels[0][1]: v for (name, labels), v in metrics.items()
             if name == "larder_errors_total"}
    assert codes == {"ERR": 1, "NOPROTO": 1, "one": 1}


def test_a_histogram_adds_up(start):
    admin = Admin(start)
    client = admin.server.client()
    for _ in range(500):
        client.ping()
    metrics = admin.metrics()
    buckets = sorted((float(dict(labels)["le"]), v) for (name, labels), v in metrics.items()
                     if name == "larder_command_latency_seconds_bucket" and
                     dict(labels)["command"] == "ping")
    counts = [v for _, v in buckets]
    assert counts == sorted(counts) and buckets[-1][0] == float("inf")
    assert counts[-1] == 500 == value(metrics, "command_latency_seconds_count", command="ping")
    total = value(metrics, "command_latency_seconds_sum", command="ping")
    assert total == value(metrics, "commands_seconds_total", command="ping") > 0
    # No call was longer than the bound of its bucket says.
    assert total <= sum((n - m) * le for (le, n), m in zip(buckets, [0, *counts])
                        if n > m)
    client.config_resetstat()
    metrics = admin.metrics()
    assert ("larder_commands_total", (("command", "ping"),)) not in metrics
    client.config_set("latency-tracking", "no")
    for _ in range(100):
        client.ping()
    metrics = admin.metrics()
    assert value(metrics, "command_latency_seconds_count", command="ping") == 0
    assert value(metrics, "commands_total", command="ping") == 100
    if value(metrics, "workers") <= 2:
        assert ("larder_command_latency_seconds_sum", (("command", "ping"),)) not in metrics


@pytest.mark.quick
def test_what_is_wrong_is_refused_and_closed(start):
    admin = Admin(start)
    for sent, status in ((b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", 405),
                         (b"DELETE /healthz HTTP/1.1\r\n", 405),
                         (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
                         (b"GET /healthz HTTP/2.0\r\n\r\n", 505),
                         (b"*1\r\n$4\r\nPING\r\n", 400),
                         (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 400),
                         (b"GET / HTTP/1.1\r\nX: " + b"x" * 9000, 431),
                         (b"x" * 9000, 414)):
        raw = admin.raw()
        raw.send(sent)
        answer = raw.rest()
        assert answer.startswith(b"HTTP/1.1 %d " % status), (sent[:40], answer)
        assert (b"\r\nAllow: GET, HEAD\r\n" in answer) == (status == 405)
        assert b"\r\nConnection: close\r\n" in answer and answer.count(b"HTTP/1.1") == 1
        raw.close()
    assert admin.ask("/healthz")[0].status == 200


@pytest.mark.quick
def test_a_host_by_another_name_is_refused_unless_it_is_configured(start):
    admin = Admin(start)
    paths = ("/metrics", "/readyz", "/healthz")
    for host in ("localhost", f"LOCALHOST:{admin.port}", "127.0.0.1", "10.1.2.3:80", "[::1]:9121"):
        assert [admin.ask(path, headers={"Host": host})[0].status for path in paths] == [200] * 3
    for host, status in (("evil.org", 403), ("127.0.0.1.evil.org", 403), ("", 403), ("[]", 400),
                         ("a b", 400)):
        for path in paths:
            response, body = admin.ask(path, headers={"Host": host})
            assert response.status == status and "larder_" not in body, host
            assert response.getheader("Connection") == "close"
    raw = admin.raw()
    raw.send(b"GET http://evil.org/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2)
    assert raw.rest().count(b"HTTP/1.1 403 Forbidden\r\n") == 1
    raw.close()
    old = admin.raw()
    old.send(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert old.rest().startswith(b"HTTP/1.1 200 OK\r\n")
    old.close()
    admin.server.client().config_set("http-allow-host", "metrics.example")
    assert admin.ask("/metrics", headers={"Host": "metrics.example:9121"})[0].status == 200
    assert admin.ask("/metrics", headers={"Host": "evil.org"})[0].status == 403


@pytest.mark.quick
def test_connections_are_kept_and_pipelines_answered_in_order(start):
    admin = Admin(start)
    raw = admin.raw()
    one = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for byte in one % b"healthz":
        raw.send(bytes([byte]))
    assert raw.line() == b"HTTP/1.1 200 OK"
    raw.send(one % b"readyz" + one % b"none" +
             b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" +
             one % b"never")
    text = raw.rest()
    assert re.findall(rb"HTTP/1.1 (\d+)", text) == [b"200", b"404", b"200"]
    assert text.endswith(b"alive\n")
    raw.close()
    old = admin.raw()
    old.send(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert old.rest().endswith(b"\r\n\r\nalive\n")
    old.close()


def test_a_request_that_does_not_come_is_given_up(start):
    admin = Admin(start)
    silent, partial = admin.raw(), admin.raw()
    partial.send(b"GET /healthz HT")
    assert partial.rest().startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert silent.rest().startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    silent.close()
    partial.close()


def test_visitors_are_few_and_no_clients(start):
    admin = Admin(start, "--maxclients", "4")
    visitors = [admin.raw() for _ in range(16)]
    for raw in visitors:
        raw.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert raw.line() == b"HTTP/1.1 200 OK"
    beyond = admin.raw()
    assert beyond.rest() == b""
    assert admin.server.client().info("clients")["connected_clients"] == 1
    for raw in (*visitors, beyond):
        raw.close()


def test_it_answers_while_workers_are_busy(start):
    admin = Admin(start, "--threads", "1", "--enable-debug-command", "yes")
    sleeper = admin.server.raw()
    sleeper.send(harness.command("DEBUG", "SLEEP", "3"))
    other = admin.server.raw()
    other.send(harness.command("PING"))
    assert admin.ask("/healthz")[0].status == 200
    assert ("larder_keys", (("db", "0"),)) in admin.metrics()
    assert sleeper.line() == b"+OK" and other.line() == b"+PONG"
    for raw in (sleeper, other):
        raw.close()


def test_many_scrapes_at_once_while_clients_work(start):
    admin = Admin(start)
    failures = []

    def scrape():
        try:
            for _ in range(20):
                admin.metrics()
        except Exception as failure:
            failures.append(failure)

    threads = [threading.Thread(target=scrape) for _ in range(4)]
    for thread in threads:
        thread.start()
    client = admin.server.client()
    while any(thread.is_alive() for thread in threads):
        client.set("a", 1)
        client.get("a")
    for thread in threads:
        thread.join()
    assert not failures


def test_a_port_in_use_is_told(start):
    admin = Admin(start)
    folder = admin.server.folder
    done = harness.run("--port", "0", "--unixsocket", f"{folder}/t", "--bind", "127.0.0.1",
                       "--admin-port", str(admin.port))
    assert done.returncode == 1
    assert f"127.0.0.1 port {admin.port}" in done.stderr and "admin port" in done.stderr
