# SPDX-License-Identifier: MIT
"""HTTP with curl and over raw sockets: the keys of the other protocols, access, slow clients."""
import os
import select
import shutil
import socket
import subprocess
import time

import pytest

import harness

pytestmark = pytest.mark.quick
HOST = b"Host: localhost\r\n"


def curl(server, path, *args, data=None):
    """Status, headers in lower case, body."""
    if not shutil.which("curl"):
        pytest.skip("no curl")
    done = subprocess.run(["curl", "-sS", "-i", "-m", str(harness.PATIENCE_S), "--path-as-is",
                           "-H", "Expect:", *args, f"http://127.0.0.1:{server.port}{path}"],
                          input=data, capture_output=True, timeout=harness.PATIENCE_S)
    assert done.returncode == 0, done.stderr
    head, _, body = done.stdout.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), headers, body


def put(server, path, value, *args):
    return curl(server, path, "-X", "PUT", "--data-binary", "@-", "-H",
                "Content-Type: text/plain", *args, data=value)


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), harness.PATIENCE_S)


def until_closed(connection):
    got = bytearray()
    while True:
        part = connection.recv(1 << 20)
        if not part:
            return bytes(got)
        got += part


def received(client, port):
    """Bytes of the connection from this port that have come."""
    return sum(int(each["tot-net-in"]) for each in client.client_list()
               if each["addr"].endswith(f":{port}"))


def test_curl_reads_and_writes_what_redis_clients_do(start):
    server = start(tcp=True)
    client = server.client()
    value = os.urandom(300_000)
    status, headers, body = put(server, "/a%20b?ttl=100s", value)
    assert (status, body) == (201, b"")
    assert client.get("a b") == value and 90 <= client.ttl("a b") <= 100
    status, read, body = curl(server, "/a%20b")
    assert status == 200 and body == value and read["etag"] == headers["etag"]
    assert read["content-type"] == "text/plain" and read["age"] == "0"
    assert read["x-content-type-options"] == "nosniff"
    assert 90 <= int(read["cache-control"].removeprefix("max-age=")) <= 100
    client.set("a b", "of redis")
    status, changed, body = curl(server, "/a%20b")
    assert (status, body) == (200, b"of redis") and "cache-control" not in changed
    assert changed["content-type"] == "application/octet-stream"
    assert curl(server, "/a%20b", "-I")[1]["content-length"] == "8"
    assert curl(server, "/a%20b", "-r", "3-")[::2] == (206, b"redis")
    assert curl(server, "/a%20b", "-X", "DELETE")[0] == 204
    assert client.exists("a b") == 0 and curl(server, "/a%20b")[0] == 404


def test_a_version_is_told_compared_and_changes_with_the_value(start):
    server = start(tcp=True)
    first = put(server, "/k", b"1")[1]["etag"]
    assert curl(server, "/k", "-H", f"If-None-Match: {first}")[0] == 304
    assert curl(server, "/k", "-H", f"If-None-Match: W/{first}")[0] == 304
    assert curl(server, "/k", "-H", f"If-Match: {first}")[0] == 200
    assert curl(server, "/k", "-r", "0-0", "-H", f"If-Range: {first}")[0] == 206
    status, headers, _ = put(server, "/k", b"2", "-H", f"If-Match: {first}")
    assert status == 204 and headers["etag"] != first
    assert put(server, "/k", b"3", "-H", f"If-Match: {first}")[0] == 412
    assert curl(server, "/k", "-H", f"If-None-Match: {first}")[::2] == (200, b"2")
    server.client().append("k", "x")
    assert put(server, "/k", b"3", "-H", f"If-Match: {headers['etag']}")[0] == 412
    assert curl(server, "/k", "-X", "DELETE", "-H", f"If-Match: {headers['etag']}")[0] == 412
    last = curl(server, "/k")[1]["etag"]
    assert curl(server, "/k", "-X", "DELETE", "-H", f"If-Match: {last}")[0] == 204


def test_curl_sends_chunks_and_waits_to_be_told(start):
    server = start(tcp=True)
    value = os.urandom(3_000_000)
    for name in ("Transfer-Encoding: chunked", "Expect: 100-continue"):
        done = subprocess.run(["curl", "-sS", "-T", "-" if "chunked" in name else "/dev/stdin",
                               "-H", name, f"http://127.0.0.1:{server.port}/k"],
                              input=value, capture_output=True, timeout=harness.PATIENCE_S)
        assert (done.returncode, done.stdout) == (0, b""), done.stderr
        assert server.client().get("k") == value


def test_a_password_is_asked_of_each_request(start):
    server = start("--requirepass", "secret", tcp=True)
    status, headers, body = curl(server, "/k")
    assert status == 401 and "www-authenticate" in headers and b"error" in body
    assert put(server, "/k", b"x" * 500_000, "-u", "default:secret")[0] == 201
    assert curl(server, "/k", "-H", "Authorization: Bearer secret")[0] == 200
    assert curl(server, "/k", "-u", "default:wrong")[0] == 401
    assert put(server, "/k", b"x" * 500_000, "-u", "default:wrong")[0] == 401
    with connect(server) as connection:
        for credential, status in ((b"Authorization: Bearer secret\r\n", b"200"), (b"", b"401")):
            connection.sendall(b"HEAD /k HTTP/1.1\r\n" + HOST + credential + b"\r\n")
            assert connection.recv(1 << 16).split()[1] == status


def test_a_password_set_later_holds_for_open_connections(start):
    server = start(tcp=True)
    with connect(server) as connection:
        for status in (b"404", b"401"):
            connection.sendall(b"HEAD /k HTTP/1.1\r\n" + HOST + b"\r\n")
            assert connection.recv(1 << 16).split()[1] == status
            if status == b"404":
                server.client().config_set("requirepass", "secret")


@pytest.mark.parametrize("begun", [
    b"G", b"GET /k HT", b"GET /k HTTP/1.1\r\nHost: loc", b"GET /k HTTP/1.1\r\n" + HOST,
    b"PUT /k HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\nabc",
    b"PUT /k HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\nabc",
    b"PUT /k HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"])
def test_a_client_that_stops_inside_a_request_is_dropped(start, begun):
    server = start("--timeout", "1", tcp=True)
    with connect(server) as connection:
        connection.sendall(begun)
        assert until_closed(connection) == b""
    assert server.client().exists("k") == 0


def test_slow_clients_are_served_and_hold_up_nobody(start):
    server = start("--threads", "1", tcp=True)
    request = (b"PUT /slow HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello"
               b"GET /slow HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
    with connect(server) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(len(request)):
            connection.sendall(request[at:at + 1])
            time.sleep(0.002)
            if at % 20 == 0:
                assert curl(server, "/other")[0] == 404
        answer = until_closed(connection)
    assert answer.startswith(b"HTTP/1.1 201 ") and answer.endswith(b"\r\n\r\nhello")


def test_values_of_any_size_arrive_before_the_connection_closes(start):
    server = start(tcp=True)
    for size in (0, 1, 20_000, 5_000_000):
        server.client().set("k", b"v" * size)
        with connect(server) as connection:
            connection.sendall(b"GET /k HTTP/1.0\r\n\r\n")
            assert until_closed(connection).partition(b"\r\n\r\n")[2] == b"v" * size


def test_a_request_with_a_credential_waits_for_the_end_of_a_pause(start, io):
    server = start("--io", io, "--threads", "2", "--requirepass", "secret", tcp=True)
    client = server.client(password="secret", decode_responses=True)
    assert client.execute_command("CLIENT", "PAUSE", 10 ** 9, "WRITE")
    with connect(server) as connection:
        connection.sendall(b"PUT /k HTTP/1.1\r\n" + HOST + b"Authorization: Bearer secret\r\n"
                           b"Connection: close\r\nContent-Length: 1\r\n\r\nv")
        harness.wait_until(lambda: any("b" in c["flags"] for c in client.client_list()), "it waits")
        assert client.get("k") is None
        assert client.execute_command("CLIENT", "UNPAUSE")
        assert until_closed(connection).startswith(b"HTTP/1.1 201 ")
    assert client.get("k") == "v"


@pytest.mark.parametrize("framing,body", [
    (b"Content-Length: 100000\r\n\r\n", b"x" * 100_000),
    (b"Content-Length: 10000\r\n\r\n", b"x" * 10_000),
    (b"Content-Length: 10\r\n\r\n", b"x" * 10),
    (b"Transfer-Encoding: chunked\r\n\r\n", b"2710\r\n" + b"x" * 10_000 + b"\r\n0\r\n\r\n")],
    ids=["big", "small", "tiny", "chunked"])
def test_a_refused_request_stays_refused_when_the_password_goes(start, io, framing, body):
    server = start("--io", io, "--threads", "1", tcp=True)
    client = server.client(decode_responses=True)
    half = len(body) // 2
    with connect(server) as connection:
        port = connection.getsockname()[1]
        connection.sendall(b"HEAD /k HTTP/1.1\r\n" + HOST + b"\r\n")
        assert connection.recv(1 << 16).split()[1] == b"404"
        client.config_set("requirepass", "secret")
        sent = received(client, port)
        begun = b"PUT /k HTTP/1.1\r\n" + HOST + framing + body[:half]
        connection.sendall(begun)
        harness.wait_until(lambda: received(client, port) == sent + len(begun), "it has come")
        client.config_set("requirepass", "")
        connection.sendall(body[half:] + b"GET /k HTTP/1.1\r\n" + HOST +
                           b"Connection: close\r\n\r\n")
        answers = until_closed(connection)
    assert answers.startswith(b"HTTP/1.1 401 ") and answers.count(b"HTTP/1.1 404 ") == 1
    assert client.exists("k") == 0


def trickle(connection, data, pause_s=0.02):
    """Sends byte by byte until the server has something to say."""
    for at in range(len(data)):
        connection.sendall(data[at:at + 1])
        if select.select([connection], [], [], pause_s)[0]:
            return
    raise AssertionError("the server took all of it")


def is_timeout(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    return (head.startswith(b"HTTP/1.1 408 Request Timeout\r\n") and b"Connection: close" in head
            and body == b'{"error":"the request comes too slowly"}\n')


@pytest.mark.parametrize("begun,rest", [
    (b"", b"GET /" + b"x" * 10 ** 6),
    (b"GET /", b"x" * 10 ** 6),
    (b"GET /k HTTP/1.1\r\n" + HOST + b"X: ", b"y" * 10 ** 6),
    (b"PUT /k HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n", b"z" * 10 ** 6),
    (b"PUT /k HTTP/1.1\r\n" + HOST + b"Content-Length: 60000\r\n\r\n", b"z" * 10 ** 6),
    (b"PUT /k HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n",
     b"1\r\nx\r\n" * 10 ** 5),
    (b"GET /k HTTP/1.1\r\n" + HOST + b"Content-Length: 1000000\r\n\r\n", b"z" * 10 ** 6),
], ids=["method", "target", "header", "big-body", "body", "chunks", "unwanted-body"])
def test_a_request_that_comes_byte_by_byte_is_answered_408(start, io, begun, rest):
    server = start("--io", io, "--threads", "1", "--http-request-timeout", "300ms", tcp=True)
    with connect(server) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(begun)
        trickle(connection, rest)
        assert is_timeout(until_closed(connection))
    assert server.client().exists("k") == 0 and server.client().ping()


@pytest.mark.parametrize("size", [60_000, 1_000_000])
def test_what_comes_after_408_is_dropped(start, io, size):
    server = start("--io", io, "--threads", "1", "--http-request-timeout", "100ms", tcp=True)
    with connect(server) as connection:
        connection.sendall(b"PUT /k HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n" % size)
        answer = connection.recv(1 << 16)
        connection.sendall(b"x" * size + b"PUT /other HTTP/1.1\r\n" + HOST +
                           b"Content-Length: 1\r\n\r\nx")
        assert is_timeout(answer + until_closed(connection))
    assert server.client().dbsize() == 0


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_a_large_upload_may_take_longer_and_pause(start, io, chunked):
    server = start("--io", io, "--threads", "1", "--http-request-timeout", "500ms", tcp=True)
    part = b"x" * 200_000
    framing = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 1600000"
    with connect(server) as connection:
        connection.sendall(b"PUT /k HTTP/1.1\r\nConnection: close\r\n" + HOST + framing +
                           b"\r\n\r\n")
        for _ in range(8):
            connection.sendall(b"%x\r\n%b\r\n" % (len(part), part) if chunked else part)
            time.sleep(0.2)
        connection.sendall(b"0\r\n\r\n" if chunked else b"")
        assert until_closed(connection).startswith(b"HTTP/1.1 201 ")
    assert server.client().strlen("k") == 1_600_000


def test_between_requests_a_client_may_rest_and_each_has_its_own_time(start, io):
    server = start("--io", io, "--threads", "1", "--http-request-timeout", "300ms", tcp=True)
    request = b"HEAD /k HTTP/1.1\r\n" + HOST + b"\r\n"
    with connect(server) as connection:
        for _ in range(3):
            connection.sendall(request)
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 404 ")
            time.sleep(0.5)
        connection.sendall(request[:-20])
        for _ in range(20):  # there is always one that has begun
            time.sleep(0.05)
            connection.sendall(request[-20:] + request[:-20])
        answers = b""
        while answers.count(b"\r\n\r\n") < 20:
            answers += connection.recv(1 << 16)
        assert answers.count(b"HTTP/1.1 404 ") == 20 and b" 408 " not in answers


def test_pipelined_requests_are_answered_before_the_one_that_does_not_come(start, io):
    server = start("--io", io, "--threads", "1", "--http-request-timeout", "200ms", tcp=True)
    server.client().set("k", b"v" * 3_000_000)
    with connect(server) as connection:
        connection.sendall((b"GET /k HTTP/1.1\r\n" + HOST + b"\r\n") * 3 + b"GET /k HT")
        answers = until_closed(connection)
    first, *others = answers.split(b"HTTP/1.1 ")[1:]
    assert first.startswith(b"200 OK") and len(others) == 3
    assert answers.count(b"v" * 3_000_000) == 3 and is_timeout(b"HTTP/1.1 " + others[2])


def test_a_client_that_is_slow_to_read_has_all_the_time(start, io):
    server = start("--io", io, "--threads", "1", "--http-request-timeout", "200ms", tcp=True)
    server.client().set("k", b"v" * 5_000_000)
    request = b"GET /k HTTP/1.1\r\n" + HOST + b"\r\n"
    with connect(server) as connection:
        connection.sendall(request * 4 + request[:-2] + b"Connection: close\r\n\r\n")
        harness.wait_until(lambda: server.client().info("memory")["mem_clients_output"] > 1 << 20,
                           "it is behind")
        time.sleep(0.6)
        answers = until_closed(connection)
    assert answers.count(b"HTTP/1.1 200 OK") == 5 and answers.count(b"HTTP/1.1 ") == 5
    assert answers.count(b"v" * 5_000_000) == 5


def test_other_protocols_and_time_out_0_leave_a_client_its_time(start, io):
    server = start("--io", io, "--threads", "1", "--http-request-timeout", "100ms", tcp=True)
    client = server.client()
    raws = [server.raw() for _ in range(3)]
    for raw, part in zip(raws, (b"*1\r\n$4\r\nPI", b"ge", b"\x80")):
        raw.send(part)
    time.sleep(0.5)
    raws[0].send(b"NG\r\n")
    raws[1].send(b"t nosuch\r\n")
    raws[2].send(b"\x0b" + bytes(22))
    assert raws[0].line() == b"+PONG" and raws[1].line() == b"END"
    assert raws[2].socket.recv(1 << 16).startswith(b"\x81\x0b")
    client.config_set("http-request-timeout", 0)
    with connect(server) as connection:
        connection.sendall(b"GET /k HTTP/1.1\r\n" + HOST)
        time.sleep(0.5)
        assert not select.select([connection], [], [], 0)[0]
        client.config_set("http-request-timeout", "100ms")
        assert is_timeout(until_closed(connection))


def test_a_request_that_waits_for_the_end_of_a_pause_is_not_slow(start, io):
    server = start("--io", io, "--threads", "1", "--http-request-timeout", "100ms", tcp=True)
    client = server.client(decode_responses=True)
    assert client.execute_command("CLIENT", "PAUSE", 10 ** 9, "WRITE")
    with connect(server) as connection:
        connection.sendall(b"PUT /k HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\n\r\nv"
                           b"GET /k HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n")
        harness.wait_until(lambda: any("b" in c["flags"] for c in client.client_list()), "it waits")
        time.sleep(0.5)
        assert client.execute_command("CLIENT", "UNPAUSE")
        answers = until_closed(connection)
    assert answers.startswith(b"HTTP/1.1 201 ") and answers.endswith(b"\r\n\r\nv")
