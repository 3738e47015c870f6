# SPDX-License-Identifier: MIT
"""A server under test: the real program, in a folder of its own, that dies with its parent.

Raw connections speak RESP through `Raw`, which counts replies without understanding them.
"""
import contextlib
import ctypes
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest
import redis

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("LARDER_BINARY") or os.path.join(
    os.environ.get("LARDER_BUILD", str(TOP / "build/release")), "larder")
PATIENCE_S = 60
PR_SET_PDEATHSIG = 1


def die_with_parent():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a shell's background job ignores it
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def clean_environment(extra=None):
    """Without the variables that tests are told by: the server would take them for options."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("LARDER_")}
    return {**kept, **(extra or {})}


def run(*args, env=None, timeout=PATIENCE_S):
    """Runs the program to its end: for starts that fail."""
    done = subprocess.run([BINARY, *args], env=clean_environment(env), capture_output=True,
                          text=True, timeout=timeout, preexec_fn=die_with_parent)
    assert "Sanitizer" not in done.stderr, done.stderr
    return done


def redis_tool(server, tool, *args, stdin=None):
    """redis-cli or redis-benchmark, run to its end; what it printed is text."""
    if not shutil.which(tool):
        pytest.skip(f"no {tool}")
    return subprocess.run([tool, "-s", server.path, *args], input=stdin, capture_output=True,
                          text=True, timeout=PATIENCE_S)


@contextlib.contextmanager
def background(*args, cwd, path, env=None):
    """A client of a server that was started with exactly these arguments and says in its own way
    that it listens at `path`; it ends with the block."""
    with open(os.path.join(cwd, "stderr"), "a") as log:
        process = subprocess.Popen([BINARY, *args], cwd=cwd, env=clean_environment(env),
                                   stderr=log, stdout=subprocess.DEVNULL,
                                   preexec_fn=die_with_parent)
    try:
        wait_until(lambda: listens(path) or process.poll() is not None, "it listens")
        client = redis.Redis(unix_socket_path=str(path), socket_timeout=PATIENCE_S,
                             decode_responses=True)
        client.process = process
        yield client
        client.close()
        if process.poll() is None:
            process.terminate()
        assert process.wait(PATIENCE_S) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def listens(path):
    """The file of a unix socket is there a moment before anybody listens."""
    with socket.socket(socket.AF_UNIX) as s:
        return s.connect_ex(str(path)) == 0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_until(condition, what):
    """Polls for something that the server does by itself."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.01)


class Server:
    def __init__(self, *args, env=None, tcp=False, launcher=()):
        self.folder = tempfile.mkdtemp(prefix="lrd")
        self.path = f"{self.folder}/s"
        self.log_path = f"{self.folder}/log"
        self.port = free_port() if tcp else 0
        flags = ["--unixsocket", self.path, "--port", str(self.port), "--maxmemory", "1gb", *args]
        with open(self.log_path, "w") as log:
            self.process = subprocess.Popen(
                [*launcher, BINARY, *flags], env=clean_environment(env), stderr=log,
                stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        wait_until(lambda: "ready to accept" in self.log() or self.process.poll() is not None,
                   "the server is ready")
        if self.process.poll() is not None:
            text = self.log()
            self.close()
            raise AssertionError(f"the server ended by itself: {text}")

    def log(self):
        return pathlib.Path(self.log_path).read_text()

    def client(self, **options):
        return redis.Redis(unix_socket_path=self.path, socket_timeout=PATIENCE_S, **options)

    def raw(self, family=socket.AF_UNIX):
        if family == socket.AF_UNIX:
            return Raw(family, self.path)
        return Raw(family, ("::1" if family == socket.AF_INET6 else "127.0.0.1", self.port))

    def signal(self, number=signal.SIGTERM):
        self.process.send_signal(number)

    def wait(self):
        return self.process.wait(PATIENCE_S)

    def stop(self):
        """Every test ends like this: what was asked to stop does, without complaint."""
        if self.process.poll() is None:
            self.signal()
        try:
            code = self.wait()
            assert code == 0, f"exit code {code}; log:\n{self.log()}"
        finally:
            self.close()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident_kb(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        return 0


def command(*words):
    """One RESP request."""
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Raw:
    def __init__(self, family, address):
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.connect(address)  # waits while the backlog is full
        self.socket.settimeout(PATIENCE_S)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        while b"\r\n" not in self.buffer:
            more = self.socket.recv(65536)
            if not more:
                raise EOFError(self.buffer)
            self.buffer += more
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def ask(self, *words):
        self.send(command(*words))
        return self.line()

    def ask_lines(self, *words):
        """The lines of a reply that is one text."""
        left = int(self.ask(*words)[1:]) + 2
        lines = []
        while left > 0:
            lines.append(self.line())
            left -= len(lines[-1]) + 2
        return lines

    def rest(self):
        """Everything until the server closes."""
        parts = [self.buffer]
        self.buffer = b""
        while True:
            try:
                more = self.socket.recv(1 << 20)
            except ConnectionResetError:
                break
            if not more:
                break
            parts.append(more)
        return b"".join(parts)

    def closed(self):
        """The far end has closed; what it sent before is thrown away."""
        try:
            return self.rest() is not None
        except socket.timeout:
            return False

    def readable(self, timeout_s):
        return bool(select.select([self.socket], [], [], timeout_s)[0])

    def close(self):
        self.socket.close()
