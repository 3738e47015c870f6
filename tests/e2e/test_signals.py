# SPDX-License-Identifier: MIT
"""Signals at every moment of the server's life, in every order."""
import itertools
import os
import signal
import socket
import subprocess
import time

import pytest

import harness
from harness import command

pytestmark = pytest.mark.quick

HUP, INT, PIPE, TERM = signal.SIGHUP, signal.SIGINT, signal.SIGPIPE, signal.SIGTERM
USR1, USR2 = signal.SIGUSR1, signal.SIGUSR2
HARMLESS = [HUP, USR1, USR2, PIPE]


class Process:
    """The program, from its first moment on."""

    def __init__(self, folder, *args):
        self.log_path = folder / "log"
        self.path = folder / "s"
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [harness.BINARY, "--port", "0", "--unixsocket", str(self.path), "--maxmemory",
                 "64mb", "--threads", "1", *args], env=harness.clean_environment(), stderr=log,
                stdout=subprocess.DEVNULL, preexec_fn=harness.die_with_parent)

    def log(self):
        return self.log_path.read_text()

    def has_signal(self, set_name, number):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith(set_name + ":"):
                return bool(int(line.split()[1], 16) >> (number - 1) & 1)
        return False

    def wait_catches(self, number):
        harness.wait_until(lambda: self.has_signal("SigCgt", number) or
                           self.process.poll() is not None, "the handler is set")

    def wait_log(self, text):
        harness.wait_until(lambda: text in self.log() or self.process.poll() is not None, text)

    def send(self, *numbers):
        """Each arrives: a signal that is still on its way would swallow another of its kind."""
        for number in numbers:
            self.process.send_signal(number)
            harness.wait_until(lambda: self.process.poll() is not None or
                               not self.has_signal("ShdPnd", number), "it has arrived")

    def wait(self):
        return self.process.wait(harness.PATIENCE_S)


@pytest.fixture
def launch(tmp_path):
    """launch(*flags) -> a Process in the test's folder, killed at the end."""
    processes = []

    def begin(*args):
        processes.append(Process(tmp_path, *args))
        return processes[-1]
    yield begin
    for each in processes:
        each.process.kill()
        each.process.wait()
        assert "Sanitizer" not in each.log(), each.log()


@pytest.fixture
def pipe(tmp_path):
    """A configuration file that is read no faster than it is written, and once."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_signals_while_options_are_read_neither_kill_nor_are_lost(launch, pipe):
    server = launch("--config", str(pipe))
    server.wait_catches(HUP)
    server.send(*HARMLESS)
    pipe.write_text("maxclients 50\n")
    server.wait_log("ready to accept")
    server.wait_log("not reloaded: ")  # the hangup is acted on now
    server.send(TERM)
    assert server.wait() == 0


def test_a_stop_while_options_are_read_ends_the_process(launch, pipe):
    for number in TERM, INT:
        server = launch("--config", str(pipe))
        server.wait_catches(HUP)
        server.send(HUP, number)
        assert server.wait() == -number
        assert not server.path.exists()


def test_a_stop_while_the_address_is_in_use_ends_with_0(launch, tmp_path):
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(tmp_path / "s"))
        taken.listen()
        for number in TERM, INT:
            server = launch()
            server.wait_catches(number)
            server.send(HUP, USR1, number)
            assert server.wait() == 0
            assert "stopped" in server.log() and "cannot listen" not in server.log()
    assert server.path.exists()


def test_a_hangup_while_the_address_is_in_use_ends_no_waiting(launch, tmp_path):
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(tmp_path / "s"))
        taken.listen()
        server = launch()
        server.wait_catches(TERM)
        server.send(*HARMLESS)
    server.wait_log("configuration reloaded")
    server.send(TERM)
    assert server.wait() == 0
    assert server.log().index("ready to accept") < server.log().index("configuration reloaded")


def test_a_stop_during_a_reload_waits_for_it_and_a_second_does_not(launch, pipe, tmp_path):
    config = tmp_path / "larder.conf"
    config.write_text(f"include {pipe}\n")
    for numbers, code in ([TERM], 0), ([INT, HUP, TERM], 1), ([TERM, TERM], 1):
        server = launch("--config", str(config))
        pipe.write_text("maxclients 50\n")
        server.wait_log("ready to accept")
        server.send(HUP)
        # Open for writing without waiting succeeds once the reload has it open for reading.
        fd = None

        def opened():
            nonlocal fd
            try:
                fd = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return False
            return True
        harness.wait_until(opened, "the reload reads")
        server.send(*numbers)
        if code == 0:
            os.write(fd, b"maxclients 60\n")
            os.close(fd)
            assert server.wait() == 0
            assert "configuration reloaded" in server.log()
        else:
            assert server.wait() == 1
            os.close(fd)


@pytest.mark.parametrize("order", itertools.permutations([HUP, USR1, PIPE, TERM]))
def test_one_stop_among_others_in_any_order_stops_gracefully(launch, order):
    server = launch()
    server.wait_log("ready to accept")
    server.send(*order)
    assert server.wait() == 0
    assert server.log().rstrip().endswith("stopped")
    assert not server.path.exists()


def test_signals_at_any_moment_of_the_start(launch):
    for i in range(20):
        server = launch()
        server.wait_catches(HUP)
        time.sleep(i / 500)
        server.send(*HARMLESS, TERM)
        assert server.wait() in (0, -TERM)
        assert not server.path.exists(), server.log()


@pytest.mark.parametrize("first, second", itertools.product([TERM, INT], repeat=2))
def test_while_it_stops_only_another_stop_hurries_it(launch, first, second):
    server = launch("--shutdown-timeout", "1h")
    server.wait_log("ready to accept")
    deaf = harness.Raw(socket.AF_UNIX, str(server.path))
    assert deaf.ask("SET", "big", b"x" * (8 << 20)) == b"+OK"
    deaf.send(command("GET", "big") * 20)
    other = harness.Raw(socket.AF_UNIX, str(server.path))
    harness.wait_until(lambda: b"mem_clients_output:0" not in other.ask_lines("INFO", "memory"),
                       "replies are waiting")
    server.send(first)
    server.wait_log("stopping")
    server.send(*HARMLESS)
    assert other.closed()
    assert server.process.poll() is None
    server.send(second)
    assert server.wait() == 1
    assert "stopped" not in server.log()
    deaf.close()
