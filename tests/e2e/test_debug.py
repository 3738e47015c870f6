# SPDX-License-Identifier: MIT
"""DEBUG, and the small commands about the server: TIME, LOLWUT."""
import pytest

import harness
from harness import command

ResponseError = harness.redis.ResponseError


@pytest.fixture
def debugger(start, io):
    return start("--io", io, "--threads", "2", "--enable-debug-command", "local")


@pytest.mark.quick
def test_time_is_what_expiry_is_measured_by(server):
    client = server.client()
    seconds, micros = client.time()
    assert 0 <= micros < 1000000
    at_ms = seconds * 1000 + micros // 1000
    client.set("k", "v", pxat=at_ms + 100000)
    assert 0 <= client.pttl("k") <= 100000
    client.set("k", "v", pxat=at_ms)
    assert client.get("k") is None
    again, micros_again = client.time()
    assert (again, micros_again) > (seconds, micros)


@pytest.mark.quick
def test_lolwut_draws_what_its_seed_says(server):
    def draw(*words):
        return server.client().execute_command("LOLWUT", *words).decode().split("\n")

    picture = draw("VERSION", 7, 40, 2, 12345)
    assert picture == draw(40, 2, 12345)
    assert picture != draw(40, 2, 12346)
    *shelves, version, end = picture
    assert version.startswith("Larder ver. ") and version.endswith("Redis ver. 7.2.4") and not end
    assert len(shelves) == 2 * 5 and {len(line) for line in shelves} == {40}
    assert shelves[4] == shelves[9] == "=" * 40
    assert any("|" in line for line in shelves)
    assert len(draw()) == 3 * 5 + 2
    assert len(draw(0, 0)) == 5 + 2 and len(draw(10 ** 9, 10 ** 9, -1)) == 50 * 5 + 2
    for words in (["VERSION", "x"], ["x"], [10, "x"], [10, 10, "x"]):
        with pytest.raises(ResponseError, match="value is not an integer or out of range"):
            draw(*words)


@pytest.mark.quick
def test_debug_object_tells_how_a_value_is_kept(debugger):
    client = debugger.client()

    def told(key):
        line = client.execute_command("DEBUG", "OBJECT", key)
        line = line.decode() if isinstance(line, bytes) else line
        if isinstance(line, dict):  # as the client library reads such a line
            return {name: str(value) for name, value in line.items()}
        return dict(word.split(":", 1) for word in line.split()[1:])

    client.set("number", 20000)
    client.set("text", "hello")
    client.set("long", "x" * 100)
    client.set("huge", "x" * 20000)
    client.copy("huge", "twin")
    client.append("changed", "x" * 100)
    number = told("number")
    assert number["encoding"] == "int" and number["serializedlength"] == "3"
    assert number["refcount"] == "1" and number["lru_seconds_idle"] == number["lru"] == "0"
    client.incr("number")
    assert told("number")["at"] == number["at"] != told("text")["at"]
    assert told("text")["encoding"] == "embstr" and told("text")["serializedlength"] == "6"
    assert told("long")["encoding"] == "raw" and told("long")["serializedlength"] == "102"
    assert told("huge")["serializedlength"] == "20005" and told("huge")["refcount"] == "2"
    assert told("changed")["encoding"] == "raw"
    for key in "text", "long", "huge", "number":
        dumped = client.dump(key)  # a byte of type, ten behind the value
        assert int(told(key)["serializedlength"]) == len(dumped) - 11
    with pytest.raises(ResponseError, match="no such key"):
        client.execute_command("DEBUG", "OBJECT", "missing")
    client.set("gone", "v", px=1)
    harness.wait_until(lambda: client.pttl("gone") == -2, "the key has expired")
    with pytest.raises(ResponseError, match="no such key"):
        client.execute_command("DEBUG", "OBJECT", "gone")


@pytest.mark.quick
def test_expired_keys_stay_while_active_expiry_is_off(debugger):
    client = debugger.client()
    expired = client.info("stats")["expired_keys"]
    assert client.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", 0)
    for i in range(100):
        client.set(i, "v", px=1)
    client.set("later", "v", px=500)
    harness.wait_until(lambda: client.get("later") is None, "the last key has expired")
    assert client.get(0) is None  # who asks hears the truth
    assert client.dbsize() == 99
    assert client.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", 1)
    harness.wait_until(lambda: client.dbsize() == 0, "the keys have gone by themselves")
    assert client.info("stats")["expired_keys"] == expired + 101
    with pytest.raises(ResponseError, match="not an integer"):
        client.execute_command("DEBUG", "SET-ACTIVE-EXPIRE", "maybe")


SAMPLES = {
    "string": (b"$11\r\nHello World\r\n", None),
    "integer": (b":12345\r\n", None),
    "double": (b"$5\r\n3.141\r\n", b",3.141\r\n"),
    "bignum": (b"$37\r\n1234567999999999999999999999999999999\r\n",
               b"(1234567999999999999999999999999999999\r\n"),
    "null": (b"$-1\r\n", b"_\r\n"),
    "array": (b"*3\r\n:0\r\n:1\r\n:2\r\n", None),
    "set": (b"*3\r\n:0\r\n:1\r\n:2\r\n", b"~3\r\n:0\r\n:1\r\n:2\r\n"),
    "map": (b"*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n",
            b"%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n"),
    "attrib": (b"$39\r\nSome real reply following the attribute\r\n",
               b"|1\r\n$14\r\nkey-popularity\r\n*2\r\n$7\r\nkey:123\r\n:90\r\n"
               b"$39\r\nSome real reply following the attribute\r\n"),
    "push": (b"-ERR RESP2 is not supported by this command\r\n",
             b">2\r\n$16\r\nserver-cpu-usage\r\n:42\r\n"
             b"$40\r\nSome real reply following the push reply\r\n"),
    "true": (b":1\r\n", b"#t\r\n"),
    "false": (b":0\r\n", b"#f\r\n"),
    "verbatim": (b"$25\r\nThis is a verbatim\nstring\r\n",
                 b"=29\r\ntxt:This is a verbatim\nstring\r\n"),
    "nosuch": (b"-ERR Wrong protocol type name. Please use one of the following: string|integer|"
               b"double|bignum|null|array|set|map|attrib|push|verbatim|true|false\r\n", None),
}


@pytest.mark.quick
@pytest.mark.parametrize("version", [2, 3])
def test_debug_protocol_has_a_sample_of_each_type(debugger, version):
    raw = debugger.raw()
    raw.send(command("HELLO", version) + command("PING", "begin"))
    while raw.line() != b"begin":
        pass
    for name in SAMPLES:
        raw.send(command("DEBUG", "PROTOCOL", name))
    raw.send(command("QUIT"))
    expected = b"".join(old if version == 2 or new is None else new
                        for old, new in SAMPLES.values())
    assert raw.rest() == expected + b"+OK\r\n"


@pytest.mark.quick
def test_every_debug_subcommand_is_refused_unless_allowed(server):
    client = server.client()
    client.set("k", "v")
    for words in (["SLEEP", 0], ["ERROR", "e"], ["LOG", "l"], ["OBJECT", "k"],
                  ["OBJECT", "missing"], ["PROTOCOL", "string"], ["SET-ACTIVE-EXPIRE", 0]):
        with pytest.raises(ResponseError, match="DEBUG command not allowed"):
            client.execute_command("DEBUG", *words)
    assert client.execute_command("DEBUG", "HELP")


@pytest.mark.quick
@pytest.mark.parametrize("words, answer", [
    (b"FOO bar baz", b"-FOO bar baz"), (b"FOO", b"-FOO"), (b"ERR a\r\n+OK\0", b"-ERR a  +OK "),
    (b"A" * 600, b"-" + b"A" * 512)])
def test_debug_error_answers_the_error_that_it_is_given(start, words, answer):
    raw = start("--enable-debug-command", "local").raw()
    assert raw.ask("DEBUG", "ERROR", words) == answer
    assert raw.ask("PING") == b"+PONG"
    if b"FOO" in words:
        assert b"errorstat_FOO:count=1" in raw.ask_lines("INFO", "errorstats")
