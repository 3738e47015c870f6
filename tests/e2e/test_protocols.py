# SPDX-License-Identifier: MIT
"""All protocols on one port and on the same keys: what one stores every other one reads, with its
time to live and its flags, and nobody ever reads half a value."""
import struct
import threading
import time

import pytest

import harness

HEAD = struct.Struct(">BBHBBHIIQ")
MEDIA_TYPE = b"text/plain"


class Speaker:
    """A connection. set() with a time to live in seconds (0: none) and flags where the protocol has
    them; get() returns the value, or None, and the flags, or None where it does not tell."""
    HAS_FLAGS = True

    def __init__(self, server):
        self.raw = server.raw()

    def take(self, size):
        while len(self.raw.buffer) < size:
            more = self.raw.socket.recv(1 << 20)
            assert more, "the connection was closed"
            self.raw.buffer += more
        taken, self.raw.buffer = self.raw.buffer[:size], self.raw.buffer[size:]
        return taken

    def close(self):
        self.raw.close()


class Resp(Speaker):
    HAS_FLAGS = False

    def set(self, key, value, ttl_s=0, flags=0):
        del flags
        times = ["EX", ttl_s] if ttl_s else []
        assert self.raw.ask("SET", key, value, *times) == b"+OK"

    def get(self, key):
        size = int(self.raw.ask("GET", key)[1:])
        if size < 0:
            return None, None
        return self.take(size + 2)[:-2], None

    def ttl_s(self, key):
        return int(self.raw.ask("TTL", key)[1:])


class Text(Speaker):
    def set(self, key, value, ttl_s=0, flags=0):
        self.raw.send(b"set %s %d %d %d\r\n%s\r\n" % (key, flags, ttl_s, len(value), value))
        assert self.raw.line() == b"STORED"

    def get(self, key):
        self.raw.send(b"get %s\r\n" % key)
        line = self.raw.line()
        if line == b"END":
            return None, None
        word, told, flags, size = line.split(b" ")
        assert (word, told) == (b"VALUE", key)
        value = self.take(int(size) + 2)[:-2]
        assert self.raw.line() == b"END"
        return value, int(flags)


class Meta(Speaker):
    def set(self, key, value, ttl_s=0, flags=0):
        self.raw.send(b"ms %s %d F%d T%d\r\n%s\r\n" % (key, len(value), flags, ttl_s, value))
        assert self.raw.line() == b"HD"

    def ask(self, key):
        self.raw.send(b"mg %s v f t\r\n" % key)
        line = self.raw.line()
        if line == b"EN":
            return None, None, None
        word, size, flags, ttl_s = line.split(b" ")
        assert (word, flags[:1], ttl_s[:1]) == (b"VA", b"f", b"t")
        return self.take(int(size) + 2)[:-2], int(flags[1:]), int(ttl_s[1:])

    def get(self, key):
        return self.ask(key)[:2]

    def ttl_s(self, key):
        return self.ask(key)[2]


class Binary(Speaker):
    GET, SET = 0, 1

    def ask(self, opcode, key, extras=b"", value=b""):
        self.raw.send(HEAD.pack(0x80, opcode, len(key), len(extras), 0, 0,
                                len(extras) + len(key) + len(value), 0, 0) + extras + key + value)
        magic, told, key_size, extras_size, _, status, size, _, _ = HEAD.unpack(self.take(24))
        assert (magic, told, key_size) == (0x81, opcode, 0)
        body = self.take(size)
        return status, body[:extras_size], body[extras_size:]

    def set(self, key, value, ttl_s=0, flags=0):
        assert self.ask(self.SET, key, struct.pack(">II", flags, ttl_s), value)[0] == 0

    def get(self, key):
        status, extras, value = self.ask(self.GET, key)
        if status == 1:
            return None, None
        assert status == 0
        return value, struct.unpack(">I", extras)[0]


class Http(Speaker):
    HAS_FLAGS = False

    def ask(self, method, key, query=b"", value=None):
        body = b"" if value is None else \
            b"Content-Type: %s\r\nContent-Length: %d\r\n" % (MEDIA_TYPE, len(value))
        self.raw.send(b"%s /%s%s HTTP/1.1\r\nHost: localhost\r\n%s\r\n%s"
                      % (method, key, query, body, value or b""))
        status = int(self.raw.line().split(b" ")[1])
        headers = {}
        while line := self.raw.line():
            name, _, text = line.partition(b": ")
            headers[name.lower()] = text
        return status, headers, self.take(int(headers.get(b"content-length", 0)))

    def set(self, key, value, ttl_s=0, flags=0):
        del flags
        query = b"?ttl=%ds" % ttl_s if ttl_s else b""
        assert self.ask(b"PUT", key, query, value)[0] in (201, 204)

    def get(self, key):
        status, _, value = self.ask(b"GET", key)
        assert status in (200, 404)
        return (value if status == 200 else None), None

    def ttl_s(self, key):
        control = self.ask(b"GET", key)[1].get(b"cache-control")
        return int(control.removeprefix(b"max-age=")) if control else -1


SPEAKERS = [Resp, Text, Meta, Binary, Http]


@pytest.fixture
def speakers(server):
    all_of_them = [speaker(server) for speaker in SPEAKERS]
    yield all_of_them
    for speaker in all_of_them:
        speaker.close()


@pytest.mark.parametrize("size", [0, 1, 100, 20_000, 300_000])
def test_what_one_protocol_stores_all_read(speakers, size):
    value = (b"\r\nEND\r\n\0" * size)[:size]
    for writer in speakers:
        for ttl_s in (0, 1000):
            key = b"of-%s-%d" % (type(writer).__name__.encode(), ttl_s)
            writer.set(key, value, ttl_s, 77)
            for reader in speakers:
                assert reader.get(key + b"-not") == (None, None)
                got, flags = reader.get(key)
                assert got == value, (writer, reader)
                if reader.HAS_FLAGS:
                    assert flags == (77 if writer.HAS_FLAGS else 0), (writer, reader)
                if hasattr(reader, "ttl_s") and ttl_s:
                    assert 900 <= reader.ttl_s(key) <= 1000, (writer, reader)
                elif hasattr(reader, "ttl_s"):
                    assert reader.ttl_s(key) == -1, (writer, reader)


def test_every_protocol_overwrites_every_other_ones_key_as_a_whole(speakers):
    for first in speakers:
        for second in speakers:
            first.set(b"k", b"of the first", 1000, 5)
            second.set(b"k", b"2nd")
            for reader in speakers:
                got, flags = reader.get(b"k")
                assert got == b"2nd" and flags in (None, 0), (first, second, reader)
                if hasattr(reader, "ttl_s"):
                    assert reader.ttl_s(b"k") == -1, (first, second, reader)


def test_an_end_that_one_protocol_sets_is_one_for_all(speakers):
    for writer in speakers:
        writer.set(b"k", b"v", 1)
        for reader in speakers:
            harness.wait_until(lambda reader=reader: reader.get(b"k") == (None, None), "it expired")


def value_of(number, size):
    """A value that tells whether it is whole, and of which write."""
    word = b"%08d" % number
    return word * (size // len(word))


def is_whole(value):
    return len(value) >= 8 and value == value[:8] * (len(value) // 8)


@pytest.mark.threads
def test_values_are_whole_while_all_protocols_write_them(server):
    """For sizes that are stored in different ways, and that change under the readers."""
    sizes = (8, 96, 2_000, 24_000, 200_000)
    keys = [b"k%d" % i for i in range(4)]
    reads_min, failures, done = 150, [], threading.Event()
    Resp(server).set(keys[0], value_of(0, 8))

    def write(speaker, seed):
        number = seed
        while not done.is_set():
            number += len(SPEAKERS)
            speaker.set(keys[number // 3 % len(keys)],
                        value_of(number, sizes[number // 7 % len(sizes)]), flags=number % 1000)

    def read(speaker):
        found = rounds = 0
        end = time.monotonic() + harness.PATIENCE_S
        while found < reads_min and time.monotonic() < end and not failures:
            rounds += 1
            value, flags = speaker.get(keys[rounds % len(keys)])
            if value is None:
                continue
            found += 1
            assert is_whole(value), value[:100]
            number = int(value[:8])
            assert flags in (None, 0, number % 1000), (flags, number)
        assert failures or found >= reads_min

    def guarded(function, *args):
        speaker = args[0]
        try:
            function(*args)
        except BaseException as failure:  # told below; the others are to end
            failures.append((type(speaker).__name__, function.__name__, repr(failure)))
            done.set()
        finally:
            speaker.close()

    writers = [threading.Thread(target=guarded, args=(write, kind(server), i))
               for i, kind in enumerate(SPEAKERS)]
    readers = [threading.Thread(target=guarded, args=(read, kind(server))) for kind in SPEAKERS]
    for thread in writers + readers:
        thread.start()
    for thread in readers:
        thread.join()
    done.set()
    for thread in writers:
        thread.join()
    assert not failures, failures


class Swapper(Text):
    """Counts with gets and cas."""
    def count(self, key):
        self.raw.send(b"gets %s\r\n" % key)
        size, version = (int(word) for word in self.raw.line().split(b" ")[3:])
        number = int(self.take(size + 2))
        assert self.raw.line() == b"END"
        number = b"%d" % (number + 1)
        self.raw.send(b"cas %s 0 0 %d %d\r\n%s\r\n" % (key, len(number), version, number))
        answer = self.raw.line()
        assert answer in (b"STORED", b"EXISTS")
        return answer == b"STORED"


class TextCounter(Text):
    def count(self, key):
        self.raw.send(b"incr %s 1\r\n" % key)
        return self.raw.line().isdigit()


class MetaCounter(Meta):
    def count(self, key):
        self.raw.send(b"ma %s\r\n" % key)
        return self.raw.line() == b"HD"


class RespCounter(Resp):
    def count(self, key):
        return self.raw.ask("INCR", key)[:1] == b":"


class BinaryCounter(Binary):
    def count(self, key):
        return self.ask(5, key, struct.pack(">QQI", 1, 0, 0))[0] == 0


class BinarySwapper(Binary):
    def count(self, key):
        self.raw.send(HEAD.pack(0x80, self.GET, len(key), 0, 0, 0, len(key), 0, 0) + key)
        *_, size, _, version = HEAD.unpack(self.take(24))
        number = b"%d" % (int(self.take(size)[4:]) + 1)
        self.raw.send(HEAD.pack(0x80, self.SET, len(key), 8, 0, 0, 8 + len(key) + len(number), 0,
                                version) + bytes(8) + key + number)
        *_, status, size, _, _ = HEAD.unpack(self.take(24))
        self.take(size)
        assert status in (0, 2)
        return status == 0


class HttpSwapper(Http):
    def count(self, key):
        _, headers, value = self.ask(b"GET", key)
        number = b"%d" % (int(value) + 1)
        self.raw.send(b"PUT /%s HTTP/1.1\r\nHost: localhost\r\nIf-Match: %s\r\nContent-Length: %d"
                      b"\r\n\r\n%s" % (key, headers[b"etag"], len(number), number))
        status = int(self.raw.line().split(b" ")[1])
        size = 0
        while line := self.raw.line():
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        self.take(size)
        assert status in (204, 412)
        return status == 204


@pytest.mark.threads
def test_what_all_protocols_count_adds_up(start):
    """Those that compare versions lose to every change between their reading and their writing."""
    server, each = start("--threads", "4"), 100
    counters = [kind(server) for kind in (RespCounter, TextCounter, MetaCounter, BinaryCounter,
                                          Swapper, BinarySwapper, HttpSwapper)]
    counters[0].set(b"n", b"0")
    failures = []

    def run(counter):
        try:
            left = each
            while left:
                left -= counter.count(b"n")
        except BaseException as failure:  # told by the test's thread
            failures.append((type(counter).__name__, repr(failure)))

    threads = [threading.Thread(target=run, args=(counter,)) for counter in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert counters[0].get(b"n")[0] == b"%d" % (each * len(counters))
    for counter in counters:
        counter.close()
