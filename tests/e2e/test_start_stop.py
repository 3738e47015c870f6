# SPDX-License-Identifier: MIT
"""How the server starts, refuses to start, and stops."""
import signal
import socket
import subprocess
import sys

import pytest
import redis

import harness
from harness import command


@pytest.mark.quick
def test_a_public_address_without_a_password_is_refused():
    ended = harness.run("--bind", "0.0.0.0", "--port", str(harness.free_port()))
    assert ended.returncode == 1
    assert "--requirepass" in ended.stderr and "--protected-mode no" in ended.stderr
    ended = harness.run("--bind", "127.0.0.1", "*", "--port", str(harness.free_port()))
    assert ended.returncode == 1


def test_a_public_address_is_served_with_a_password_or_without_protection(start):
    for flags in ["--requirepass", "secret"], ["--protected-mode", "no"]:
        server = start("--bind", "0.0.0.0", *flags, tcp=True)
        assert server.raw(socket.AF_INET).ask("AUTH", "default", "secret") == b"+OK"


@pytest.mark.quick
def test_a_port_in_use_ends_with_1_and_says_which():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = harness.run("--bind", "127.0.0.1", "--port", port)
    assert ended.returncode == 1
    assert port in ended.stderr and "--port" in ended.stderr


def test_a_socket_somebody_answers_on_is_refused_and_a_dead_one_replaced(start):
    server = start()
    assert harness.run("--port", "0", "--unixsocket", server.path).returncode == 1
    assert server.client().ping()
    server.process.kill()
    server.process.wait()
    server.process = subprocess.Popen(
        [harness.BINARY, "--port", "0", "--unixsocket", server.path],
        env=harness.clean_environment(), stderr=open(server.log_path, "w"),
        preexec_fn=harness.die_with_parent)
    harness.wait_until(lambda: "ready" in server.log(), "the second server is ready")
    assert server.client().ping()


def test_nothing_to_listen_on_is_refused():
    ended = harness.run("--port", "0")
    assert ended.returncode == 1 and "nothing to listen on" in ended.stderr


def test_ipv4_and_ipv6_loopback_are_served_by_default(start, io):
    if not socket.has_ipv6:
        pytest.skip("no IPv6")
    try:
        socket.socket(socket.AF_INET6).bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 loopback")
    server = start("--io", io, tcp=True)
    assert server.raw(socket.AF_INET).ask("SET", "k", "v") == b"+OK"
    six = server.raw(socket.AF_INET6)
    assert six.ask("GET", "k") == b"$1"
    assert six.line() == b"v"
    info = redis.Redis(host="::1", port=server.port).execute_command("CLIENT", "INFO")
    assert f"laddr=[::1]:{server.port}".encode() in info


def test_io_uring_refused_by_the_system_means_epoll_and_the_reason_is_logged_once(start):
    launcher = [sys.executable, str(harness.TOP / "tests/e2e/without_uring.py")]
    server = start("--threads", "2", launcher=launcher)
    assert server.client().info("server")["multiplexing_api"] == "epoll"
    assert server.client().set("k", "v")
    assert server.log().count("using epoll instead of io_uring") == 1


def test_io_uring_asked_for_explicitly_fails_where_it_is_refused():
    ended = subprocess.run(
        [sys.executable, str(harness.TOP / "tests/e2e/without_uring.py"), harness.BINARY,
         "--port", "0", "--unixsocket", "/tmp/never", "--io", "io_uring"],
        capture_output=True, text=True, timeout=harness.PATIENCE_S,
        env=harness.clean_environment(), preexec_fn=harness.die_with_parent)
    assert ended.returncode == 1
    assert "io_uring" in ended.stderr


def test_fewer_descriptors_lower_maxclients_with_a_warning(start, few_descriptors):
    server = start("--threads", "1", launcher=few_descriptors)
    assert "maxclients lowered from 10000" in server.log()
    assert int(server.client().config_get("maxclients")["maxclients"]) < 256


@pytest.mark.quick
def test_a_stop_answers_what_was_received(start, io):
    server = start("--io", io)
    clients = [server.raw() for _ in range(20)]
    for client in clients:
        assert client.ask("PING") == b"+PONG"
    server.client().set("big", b"x" * 100000)
    # Each pipeline lies in the server's socket buffer by the time send returns.
    for client in clients:
        client.send(command("GET", "big") + command("INCR", "n") * 500)
    server.signal(signal.SIGTERM)
    for client in clients:
        replies = client.rest()
        assert replies.startswith(b"$100000\r\n")
        assert replies.count(b":") == 500
    assert server.wait() == 0
    assert "stopping" in server.log() and "stopped" in server.log()


def test_a_stop_does_not_wait_longer_for_a_client_than_it_was_told(start, io):
    server = start("--io", io, "--shutdown-timeout", "200ms")
    server.client().set("big", b"x" * (8 << 20))
    deaf = server.raw()
    deaf.send(command("GET", "big") * 20)
    harness.wait_until(lambda: int(server.client().info("memory")["mem_clients_output"]) > 0,
                       "replies are waiting")
    server.signal(signal.SIGINT)
    assert server.wait() == 0
    assert "have not taken their replies" in server.log()


def test_a_second_signal_stops_at_once(start):
    server = start("--shutdown-timeout", "1h")
    server.client().set("big", b"x" * (8 << 20))
    deaf = server.raw()
    deaf.send(command("GET", "big") * 20)
    harness.wait_until(lambda: int(server.client().info("memory")["mem_clients_output"]) > 0,
                       "replies are waiting")
    server.signal()
    harness.wait_until(lambda: "stopping" in server.log(), "the first signal is seen")
    server.signal()
    assert server.wait() == 1
    server.stop = server.close


@pytest.mark.quick
@pytest.mark.parametrize("words", [[], ["NOSAVE"], ["NOW"], ["NOSAVE", "NOW", "FORCE"]])
def test_shutdown_closes_the_connection_and_ends_with_0(start, words):
    server = start()
    client = server.raw()
    client.send(command("SHUTDOWN", *words))
    assert client.rest() == b""
    assert server.wait() == 0


def test_shutdown_refuses_what_it_cannot_do(server):
    client = server.raw()
    assert client.ask("SHUTDOWN", "ABORT") == b"-ERR No shutdown in progress."
    assert client.ask("SHUTDOWN", "SAVE").startswith(b"-ERR")
    assert client.ask("SHUTDOWN", "LATER") == b"-ERR syntax error"
    assert client.ask("PING") == b"+PONG"


def test_the_socket_file_is_gone_afterwards(start):
    server = start()
    server.signal()
    assert server.wait() == 0
    assert not harness.os.path.exists(server.path)
