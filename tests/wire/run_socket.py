#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Replays transcripts (their format: transcript.h) against a real server over a unix socket.

  run_socket.py --server build/release/larder [--io epoll --io io_uring] FILE...
  run_socket.py --against /path/to/socket FILE...     a running server, Redis for example

Each case runs whole and byte by byte. Cases that let time pass are skipped, and counted, unless
all their steps together take at most --wait seconds.
"""
import argparse
import ctypes
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

REPLY_TIMEOUT_S = 10
PASSWORD = b"secret"
BYTE_BY_BYTE_MAX = 600  # of one send; the rest follows in larger pieces
UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
ESCAPES = {"r": b"\r", "n": b"\n", "t": b"\t", "0": b"\0", "\\": b"\\", '"': b'"', "<": b"<"}
INT, ANY, BULK, VERSION = "int", "any", "bulk", "v8"
VERSION_SIZE = 8


class Failure(Exception):
    pass


class Skip(Exception):
    pass


# ---- reading transcripts. A text is a list of tokens: bytes, or a tuple that stands for some.

def read_text(text, patterns, where):
    tokens = [b""]
    at = 0

    def literal(data):
        if isinstance(tokens[-1], bytes):
            tokens[-1] += data
        else:
            tokens.append(data)

    while at < len(text):
        rest = text[at:]
        braces = re.match(r"\\\{(?:(.)\*(\d+)|(s|ms)([+-]\d+))\}", rest)
        hexadecimal = re.match(r"\\x([0-9a-fA-F]{2})", rest)
        pattern = re.match(r"<(?:(int|any|bulk|v8)|(-?\d+)~(\d+))>", rest) if patterns else None
        if braces:
            at += braces.end()
            if braces[1]:
                literal(braces[1].encode("latin-1") * int(braces[2]))
            else:
                tokens.append((braces[3], int(braces[4])))
        elif rest.startswith("\\{v8}"):
            at += 5
            tokens.append((VERSION,))
        elif hexadecimal:
            at += 4
            literal(bytes([int(hexadecimal[1], 16)]))
        elif rest[0] == "\\" and rest[1:2] in ESCAPES:
            at += 2
            literal(ESCAPES[rest[1]])
        elif pattern:
            at += pattern.end()
            tokens.append((pattern[1],) if pattern[1] else ("near", int(pattern[2]),
                                                            int(pattern[3])))
        elif rest[0] == "\\" or (rest[0] == "<" and patterns):
            raise SystemExit(f"{where}: cannot be read: {rest}")
        else:
            at += 1
            literal(rest[0].encode("latin-1"))
    return tokens


def split_words(text):
    return [quoted or plain for quoted, plain in
            re.findall(r'("(?:[^"\\]|\\.)*")|((?:[^ \\]|\\.)+)', text)]


def read_words(text, where):
    words = split_words(text)
    tokens = [b"*%d\r\n" % len(words)]
    for word in words:
        body = read_text(word[1:-1] if word[0] == '"' else word, False, where)
        sizes = {"s": 10, "ms": 13, VERSION: VERSION_SIZE}
        size = sum(len(token) if isinstance(token, bytes) else sizes[token[0]]
                   for token in body)
        tokens += [b"$%d\r\n" % size, *body, b"\r\n"]
    return tokens


class Case:
    def __init__(self, path, line, title):
        self.path, self.line, self.title = path, line, title
        self.steps = []  # (kind, line, connection, argument)
        self.needs_server = False

    def add(self, line, text):
        where = f"{self.path}:{line}"
        connection, kind, argument = re.fullmatch(
            r"([A-D]?)(>>|>\||<<|<~|>|<|!|@) ?(.*)", text, re.DOTALL).groups()
        connection = connection or "A"
        if kind == ">":
            self.steps.append(("send", line, connection, read_words(argument, where)))
        elif kind in (">>", ">|"):
            end = [b"\r\n"] if kind == ">|" else []
            self.steps.append(("send", line, connection, read_text(argument, False, where) + end))
        elif kind in ("<", "<<", "<~"):
            end = [] if kind == "<<" else [b"\r\n"]
            kind = "any order" if kind == "<~" else "expect"
            self.steps.append((kind, line, connection, read_text(argument, True, where) + end))
        elif kind == "@":
            number, unit = re.fullmatch(r"\+(\d+)(ms|s|m|h|d)", argument).groups()
            self.steps.append(("time", line, connection, int(number) * UNITS_MS[unit] / 1000))
        elif argument == "server":
            self.needs_server = True
        else:
            self.steps.append((*argument.split(" ", 1)[:1], line, connection,
                               argument.partition(" ")[2]))


def read_cases(path):
    cases = []
    with open(path, encoding="latin-1", newline="\n") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            if line.startswith("=== "):
                cases.append(Case(path, number, line[4:]))
            elif line and line[0] != "#":
                cases[-1].add(number, line)
    return cases


# ---- matching

def to_bytes(tokens, start, version=bytes(VERSION_SIZE)):
    scale = {"s": 1, "ms": 1000}
    return b"".join(token if isinstance(token, bytes) else version if token[0] == VERSION
                    else b"%d" % (start * scale[token[0]] + token[1]) for token in tokens)


def to_regex(tokens, start):
    """Numbers that may be a little less, and versions, become groups."""
    parts = []
    for token in tokens:
        if isinstance(token, bytes):
            parts.append(re.escape(token))
        elif token[0] == INT:
            parts.append(rb"-?\d+")
        elif token[0] == ANY:
            parts.append(rb"[^\r]+")
        elif token[0] == BULK:
            parts.append(rb"\$\d+\r\n.*?")
        elif token[0] == "near":
            parts.append(rb"(-?\d+)")
        elif token[0] == VERSION:
            parts.append(rb"((?!\0{%d}).{%d})" % (VERSION_SIZE, VERSION_SIZE))
        else:
            parts.append(re.escape(to_bytes([token], start)))
    return re.compile(b"".join(parts), re.DOTALL)


def match(tokens, any_order, got, start):
    """How much of `got` matches, or None, and the last version in it."""
    version = None
    if any_order:
        lines = to_bytes(tokens, start).split(b"\r\n")
        here = got.split(b"\r\n")[:len(lines) - 1]
        same = sorted(here) == sorted(lines[:-1])
        return len(b"\r\n".join(here)) + 2 if same else None, None
    found = to_regex(tokens, start).match(got)
    if found is None:
        return None, None
    groups = [token for token in tokens if token[:1] in (("near",), (VERSION,))]
    for text, (kind, *limits) in zip(found.groups(), groups):
        if kind == VERSION:
            version = text
        elif not limits[0] - limits[1] <= int(text) <= limits[0]:
            return None, None
    return found.end(), version


# ---- connections

class Connection:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(REPLY_TIMEOUT_S)
        self.socket.connect(path)
        self.got = b""
        self.first, self.begun = b"*", False  # the first byte sent tells the protocol
        self.closed = False

    def begin(self, tokens):
        if not self.begun:
            self.first, self.begun = tokens[0][:1], True

    def receive(self):
        try:
            data = self.socket.recv(1 << 20)
        except ConnectionResetError:
            data = b""
        self.closed = data == b""
        self.got += data
        return not self.closed

    def send(self, data, bytewise):
        try:
            if bytewise:
                for i in range(min(len(data), BYTE_BY_BYTE_MAX)):
                    self.socket.sendall(data[i:i + 1])
                data = data[BYTE_BY_BYTE_MAX:]
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # closed by a protocol error: the case says so

    def expect(self, tokens, any_order, start, line):
        """Returns the last version that was told."""
        while True:
            size, version = match(tokens, any_order, self.got, start)
            if size is not None:
                self.got = self.got[size:]
                return version
            enough = sum(len(token) for token in tokens if isinstance(token, bytes))
            wrong = len(self.got) > enough + 200
            try:
                if wrong or not self.receive():
                    break
            except socket.timeout:
                break
        raise Failure(f"line {line}: expected {tokens!r:.600}\n    got {self.got!r:.600}")

    def command(self, *words):
        """A command outside the transcript; its whole reply."""
        self.send(b"*%d\r\n" % len(words)
                  + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words), False)
        while self.reply_size(0) is None:
            if not self.receive():
                raise Failure(f"{words} closed the connection")
        size = self.reply_size(0)
        reply, self.got = self.got[:size], self.got[size:]
        return reply

    def reply_size(self, at):
        end = self.got.find(b"\r\n", at)
        if end < 0:
            return None
        kind, number = self.got[at:at + 1], self.got[at + 1:end]
        at = end + 2
        if kind in b"$=" and number != b"-1":
            at += int(number) + 2
            return at if at <= len(self.got) else None
        if kind in b"*%~" and number != b"-1":
            for _ in range(int(number) * (2 if kind == b"%" else 1)):
                at = self.reply_size(at)
                if at is None:
                    return None
        return at

    def finish(self, line):
        """Nothing more may have been said."""
        if not self.closed and self.first != b"*":
            self.socket.shutdown(socket.SHUT_WR)
            while self.receive():
                pass
            if self.got:
                raise Failure(f"after line {line}: no more was expected, got {self.got!r:.600}")
        elif not self.closed:
            self.send(b"*2\r\n$4\r\nECHO\r\n$8\r\nsentinel\r\n", False)
            sentinel = (b"$8\r\nsentinel\r\n", b"+QUEUED\r\n",
                        b"-NOAUTH Authentication required.\r\n")
            try:
                while not self.got.endswith(sentinel) and self.receive():
                    pass
            except socket.timeout:
                pass
            if self.got not in sentinel:
                raise Failure(f"after line {line}: no more was expected, got {self.got!r:.600}")
        self.socket.close()


class Player:
    def __init__(self, path, options):
        self.path, self.options = path, options
        self.admin = Connection(path)

    def configure(self, name, value):
        reply = self.admin.command(b"CONFIG", b"SET", name, value)
        if reply != b"+OK\r\n":
            raise Failure(f"CONFIG SET {name} {value}: {reply}")

    def play(self, case, bytewise):
        waits = sum(step[3] for step in case.steps if step[0] == "time")
        if waits > self.options.wait:
            raise Skip("needs virtual time")
        strangers = any(step[0] == "stranger" for step in case.steps)
        self.admin.command(b"FLUSHALL")
        if strangers:
            self.configure(b"requirepass", PASSWORD)
        try:
            self.play_steps(case, bytewise, strangers)
        finally:
            if strangers:
                self.admin.command(b"AUTH", PASSWORD)
                self.configure(b"requirepass", b"")
            if any(step[0] == "maxmemory" for step in case.steps):
                self.configure(b"maxmemory", b"0")

    def play_steps(self, case, bytewise, strangers):
        start = int(time.time())
        version = bytes(VERSION_SIZE)
        connections = {}
        last = {}
        for kind, line, name, argument in case.steps:
            if kind == "time":
                time.sleep(argument + 0.003)  # a server may tell the time a little later
                continue
            if kind == "maxmemory":
                self.configure(b"maxmemory", argument.encode())
                continue
            if name not in connections:
                connections[name] = Connection(self.path)
                if strangers and kind != "stranger":
                    connections[name].command(b"AUTH", PASSWORD)
            connection = connections[name]
            last[name] = line
            if kind == "send":
                connection.begin(argument)
                connection.send(to_bytes(argument, start, version), bytewise)
            elif kind in ("expect", "any order"):
                version = connection.expect(argument, kind == "any order", start, line) or version
            elif kind == "protocol":
                connection.command(b"HELLO", argument.encode())
            elif kind == "closed":
                try:
                    while connection.receive():
                        pass
                except socket.timeout:
                    raise Failure(f"line {line}: the connection should have been closed") from None
                if connection.got:
                    raise Failure(f"line {line}: no more was expected, got {connection.got!r}")
        for name, connection in connections.items():
            connection.finish(last[name])


# ---- running

def play_all(path, cases, options, label):
    passed = failed = 0
    skipped = {}
    player = Player(path, options)
    for case in cases:
        for bytewise in (False, True):
            how = f"{label}, {'byte by byte' if bytewise else 'whole'}"
            try:
                player.play(case, bytewise)
                passed += 1
            except Skip as reason:
                skipped.setdefault(str(reason), set()).add(f"{case.path}:{case.line}")
            except (Failure, OSError) as failure:
                failed += 1
                print(f"FAIL {case.path}:{case.line}: \"{case.title}\" ({how})\n    {failure}")
                player = Player(path, options)
    for reason, which in skipped.items():
        print(f"skipped ({label}, {reason}): {len(which)} cases")
    print(f"{label}: {passed + failed} plays")
    return passed, failed


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def answers(path):
    """Whether somebody accepts there: the socket's file appears before its server listens."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


def with_server(cases, options, io):
    with tempfile.TemporaryDirectory(prefix="lw") as folder:
        path = os.path.join(folder, "s")
        process = subprocess.Popen(
            [options.server, "--port", "0", "--unixsocket", path, "--io", io, "--threads", "2",
             "--maxmemory", "1gb"],
            stderr=subprocess.PIPE, preexec_fn=die_with_parent)
        try:
            deadline = time.monotonic() + 10
            while not answers(path) and process.poll() is None:
                if time.monotonic() > deadline:
                    break
                time.sleep(0.01)
            if not answers(path):
                process.kill()
                reason = process.communicate()[1].decode(errors="replace")
                print(f"{io}: the server does not start: {reason}")
                if io == "io_uring" and "io_uring" in reason:
                    print("skipped (io_uring, not available here): all cases")
                    return 0, 0
                return 0, 1
            return play_all(path, cases, options, io)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server")
    parser.add_argument("--against")
    parser.add_argument("--io", action="append")
    parser.add_argument("--wait", type=float, default=0)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    cases = [case for path in options.files for case in read_cases(path)]
    if options.against:
        results = [play_all(options.against, cases, options, options.against)]
    elif options.server:
        results = [with_server(cases, options, io) for io in options.io or ["epoll", "io_uring"]]
    else:
        parser.error("--server or --against is needed")
    passed, failed = (sum(column) for column in zip(*results))
    print(f"{passed} passed, {failed} failed")
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
