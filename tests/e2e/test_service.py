# SPDX-License-Identifier: MIT
"""What the service manager hears: systemd's notifications and watchdog, and the pid file."""
import os
import signal
import socket

import pytest

import harness

pytestmark = pytest.mark.quick


class Manager:
    """Takes the place of systemd at a datagram socket."""

    def __init__(self, name):
        self.name = name
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + name[1:] if name.startswith("@") else name)
        self.socket.settimeout(harness.PATIENCE_S)

    def hear(self):
        """The next message as a dictionary, heartbeats aside."""
        while True:
            lines = self.socket.recv(65536).decode().split("\n")
            fields = dict(line.split("=", 1) for line in lines)
            if "WATCHDOG" not in fields:
                return fields

    def heartbeats(self):
        """How many have come and were not counted yet, which nothing but heartbeats did."""
        count = 0
        self.socket.setblocking(False)
        try:
            while True:
                assert self.socket.recv(65536) == b"WATCHDOG=1"
                count += 1
        except BlockingIOError:
            return count
        finally:
            self.socket.settimeout(harness.PATIENCE_S)


@pytest.fixture(params=["path", "abstract"])
def manager(request, tmp_path):
    name = str(tmp_path / "notify") if request.param == "path" else f"@larder-test-{os.getpid()}"
    manager = Manager(name)
    yield manager
    manager.socket.close()


def test_ready_reloading_and_stopping_are_told_in_order(start, manager, tmp_path):
    config = tmp_path / "larder.conf"
    config.write_text("maxclients 50\n")
    server = start("--config", str(config), "--threads", "1", env={"NOTIFY_SOCKET": manager.name})
    ready = {"READY": "1", "STATUS": f"ready to accept connections on {server.path}"}
    assert manager.hear() == ready
    assert server.client().info("server")["process_supervised"] == "systemd"
    last_us = 0
    for _ in range(2):
        server.signal(signal.SIGHUP)
        told = manager.hear()
        assert told["RELOADING"] == "1" and int(told["MONOTONIC_USEC"]) > last_us
        last_us = int(told["MONOTONIC_USEC"])
        assert manager.hear() == ready
    config.write_text("maxclients none\n")
    server.signal(signal.SIGHUP)
    assert manager.hear()["RELOADING"] == "1"
    told = manager.hear()
    assert told["READY"] == "1" and "goes on with the configuration it had" in told["STATUS"]
    server.signal()
    assert manager.hear()["STOPPING"] == "1"
    assert server.wait() == 0


def test_the_clock_of_a_reload_is_the_systems_monotonic_one(start, manager):
    server = start("--threads", "1", env={"NOTIFY_SOCKET": manager.name})
    manager.hear()
    before_us = harness.time.clock_gettime_ns(harness.time.CLOCK_MONOTONIC) // 1000
    server.signal(signal.SIGHUP)
    told_us = int(manager.hear()["MONOTONIC_USEC"])
    after_us = harness.time.clock_gettime_ns(harness.time.CLOCK_MONOTONIC) // 1000
    assert before_us <= told_us <= after_us


def test_a_start_that_fails_is_not_ready(manager):
    ended = harness.run("--port", "0", "--unixsocket", "/nonexistent/s", "--maxmemory", "64mb",
                        env={"NOTIFY_SOCKET": manager.name})
    assert ended.returncode == 1
    assert manager.heartbeats() == 0


@pytest.mark.parametrize("name, why", [
    ("relative", "NOTIFY_SOCKET is neither a path nor an abstract name"),
    ("vsock:2:1234", "NOTIFY_SOCKET is neither a path nor an abstract name"),
    ("@", "NOTIFY_SOCKET is neither a path nor an abstract name"),
    ("/" + "x" * 200, "NOTIFY_SOCKET is neither a path nor an abstract name"),
    ("/nonexistent/notify", "No such file or directory"),
    ("@nobody-listens-here", "Connection refused"),
])
def test_a_manager_that_cannot_be_told_is_logged_and_stops_nothing(start, name, why):
    server = start("--threads", "1", env={"NOTIFY_SOCKET": name})
    assert server.client().ping()
    harness.wait_until(lambda: f"cannot notify the service manager: {why}" in server.log(),
                       "it is logged")


def test_heartbeats_come_while_every_worker_turns_and_not_while_one_does_not(start, tmp_path):
    manager = Manager(str(tmp_path / "notify"))
    server = start("--threads", "2", "--enable-debug-command", "yes",
                   env={"NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "4000000"})
    assert manager.hear()["READY"] == "1"
    assert "WatchdogSec" not in server.log()
    for _ in range(2):
        assert manager.socket.recv(100) == b"WATCHDOG=1"
    # The same process answers on its other worker all the time.
    sleeper, awake = server.raw(), server.raw()
    assert awake.ask("PING") == b"+PONG"
    manager.heartbeats()
    sleeper.send(harness.command("DEBUG", "SLEEP", "5"))
    while not sleeper.readable(0.1):
        assert awake.ask("PING") == b"+PONG"
    assert sleeper.line() == b"+OK"
    # One may have gone out before the worker slept, and one after it woke; without the look at
    # the workers there would be five.
    assert manager.heartbeats() <= 2
    assert manager.socket.recv(100) == b"WATCHDOG=1"
    manager.socket.close()
    server.signal()
    assert server.wait() == 0


@pytest.mark.parametrize("env, warned", [
    ({"WATCHDOG_USEC": "1000000"}, True),
    ({"WATCHDOG_USEC": "1000000", "WATCHDOG_PID": "1"}, False),
    ({"WATCHDOG_USEC": "soon"}, False),
])
def test_a_watchdog_too_short_is_warned_of_and_another_process_s_is_none(start, env, warned):
    server = start("--threads", "1", env=env)
    assert ("raise WatchdogSec" in server.log()) == warned


# ---- the pid file

def test_the_pid_file_holds_the_process_while_it_serves(start, tmp_path):
    path = tmp_path / "pid"
    path.write_text("left by one that was killed\n")
    server = start("--threads", "1", "--pidfile", str(path))
    assert path.read_text() == f"{server.process.pid}\n"
    assert path.stat().st_mode & 0o777 == 0o644
    assert server.client().config_get("pidfile") == {"pidfile": str(path)}
    assert os.listdir(tmp_path) == ["pid"]
    server.signal()
    assert server.wait() == 0
    assert not path.exists()


def test_the_pid_file_is_no_way_through_a_link(start, tmp_path):
    target = tmp_path / "target"
    target.write_text("precious")
    (tmp_path / "pid").symlink_to(target)
    start("--threads", "1", "--pidfile", str(tmp_path / "pid"))
    assert target.read_text() == "precious"
    assert not (tmp_path / "pid").is_symlink()


@pytest.mark.parametrize("content", [None, "1\n", "", "x" * 10000])
def test_a_pid_file_that_is_another_s_stays(start, tmp_path, content):
    path = tmp_path / "pid"
    server = start("--threads", "1", "--pidfile", str(path))
    if content is None:
        path.unlink()
    else:
        path.write_text(content)
    server.signal()
    assert server.wait() == 0
    assert not path.exists() if content is None else path.read_text() == content


def test_a_pid_file_that_cannot_be_written_ends_the_start(tmp_path):
    socket_path = tmp_path / "s"
    for path, why in [("/nonexistent/pid", "No such file or directory"),
                      (str(tmp_path), "Is a directory"), ("x" * 5000, "File name too long")]:
        ended = harness.run("--port", "0", "--unixsocket", str(socket_path), "--maxmemory", "64mb",
                            "--pidfile", path)
        assert ended.returncode == 1
        assert "cannot write the pid file" in ended.stderr and why in ended.stderr
        assert "ready to accept" not in ended.stderr
        assert os.listdir(tmp_path) == []


def test_a_server_that_does_not_start_leaves_the_pid_file_of_the_one_that_runs(start, tmp_path):
    path = tmp_path / "pid"
    server = start("--threads", "1", "--pidfile", str(path))
    ended = harness.run("--port", "0", "--unixsocket", server.path, "--maxmemory", "64mb",
                        "--pidfile", str(path))
    assert ended.returncode == 1
    assert path.read_text() == f"{server.process.pid}\n"
