# SPDX-License-Identifier: MIT
"""Who may do what: passwords, limits for strangers, CLIENT LIST and KILL over all workers."""
import socket

import pytest
import redis

import harness
from harness import command

pytestmark = pytest.mark.quick
PASSWORD = "correct horse"


@pytest.fixture
def locked(start, io):
    return start("--io", io, "--threads", "2", "--requirepass", PASSWORD)


def test_nothing_is_served_before_the_password(locked):
    raw = locked.raw()
    assert raw.ask("GET", "k") == b"-NOAUTH Authentication required."
    assert raw.ask("CONFIG", "GET", "requirepass") == b"-NOAUTH Authentication required."
    assert raw.ask("CLIENT", "LIST") == b"-NOAUTH Authentication required."
    assert raw.ask("AUTH", "wrong").startswith(b"-WRONGPASS")
    assert raw.ask("AUTH", "other", PASSWORD).startswith(b"-WRONGPASS")
    assert raw.ask("AUTH", PASSWORD + "x").startswith(b"-WRONGPASS")
    assert raw.ask("HELLO", "3").startswith(b"-NOAUTH HELLO must be called")
    assert raw.ask("HELLO", "3", "AUTH", "default", "no").startswith(b"-WRONGPASS")
    assert raw.ask("AUTH", PASSWORD) == b"+OK"
    assert raw.ask("GET", "k") == b"$-1"
    assert raw.ask("RESET") == b"+RESET"
    assert raw.ask("GET", "k").startswith(b"-NOAUTH")
    assert raw.ask("AUTH", "default", PASSWORD) == b"+OK"


def test_a_pipeline_may_begin_with_its_password(locked):
    raw = locked.raw()
    raw.send(command("AUTH", PASSWORD) + command("SET", "k", "x" * 100000) +
             command("STRLEN", "k"))
    assert [raw.line() for _ in range(3)] == [b"+OK", b"+OK", b":100000"]


@pytest.mark.parametrize("request_bytes", [
    b"*11\r\n" + b"$1\r\na\r\n" * 11, b"*1048576\r\n", b"*2\r\n$3\r\nGET\r\n$16385\r\n",
    b"*2\r\n$3\r\nGET\r\n$536870912\r\n"])
def test_strangers_may_not_send_large_requests(locked, request_bytes):
    raw = locked.raw()
    raw.send(request_bytes)
    assert raw.rest().startswith(b"-ERR Protocol error: unauthenticated")


def test_ten_arguments_of_16_kb_are_read_from_strangers(locked):
    raw = locked.raw()
    raw.send(command("NOSUCH", *["x" * 16384] * 9))
    assert raw.line().startswith(b"-ERR unknown command")


def test_a_password_can_be_set_while_clients_are_connected(server):
    client, other = server.client(), server.client()
    assert other.ping()
    client.config_set("requirepass", "new")
    assert other.ping(), "those who are in stay in"
    with pytest.raises(redis.AuthenticationError):
        server.client().ping()
    assert server.client(password="new").ping()
    client.config_set("requirepass", "")
    assert server.client().ping()


OPEN = "--bind", "0.0.0.0", "--requirepass", "x"


def test_a_password_that_protects_from_other_machines_stays(start):
    client = start(*OPEN, tcp=True).client(password="x")
    with pytest.raises(redis.ResponseError, match=r"^CONFIG SET failed \(possibly related to "
                       r"argument 'requirepass'\) - without a password anybody who reaches "
                       r"0\.0\.0\.0 could read"):
        client.execute_command("CONFIG", "SET", "maxclients", "77", "requirepass", "")
    assert client.config_get("maxclients") != {"maxclients": "77"}
    assert client.config_get("requirepass") == {"requirepass": "x"}
    assert client.config_set("requirepass", "other")


def test_a_password_may_go_where_nobody_else_gets_in(start):
    for flags in ["--protected-mode", "no"], ["--port", "0"], ["--bind", "127.0.0.1", "::1"]:
        client = start(*OPEN, *flags).client(password="x")
        assert client.config_set("requirepass", "")


def test_auth_without_a_password_says_so(server):
    assert server.raw().ask("AUTH", "x").startswith(
        b"-ERR AUTH <password> called without any password configured for the default user")
    assert server.raw().ask("AUTH", "default", "anything") == b"+OK"


def test_client_list_shows_the_connections_of_every_worker(server):
    clients = [server.client() for _ in range(8)]
    for i, client in enumerate(clients):
        client.client_setname(f"name{i}")
    listed = clients[0].client_list()
    assert sorted(c["name"] for c in listed) == [f"name{i}" for i in range(8)]
    assert {c["worker"] for c in listed} == {"0", "1"}
    assert [int(c["id"]) for c in listed] == sorted(int(c["id"]) for c in listed)
    mine = [c for c in listed if c["name"] == "name0"][0]
    assert mine["cmd"] == "client|list" and mine["addr"] == f"{server.path}:0"
    assert mine["db"] == "0" and mine["resp"] == "2" and mine["user"] == "default"

    raw = server.raw()
    raw.ask("SELECT", "7")
    raw.ask("CLIENT", "SETINFO", "LIB-NAME", "mine")
    raw.ask("CLIENT", "SETINFO", "lib-ver", "1.2")
    ident = raw.ask("CLIENT", "ID")[1:].decode()
    raw.ask("MULTI")
    seen = clients[0].client_list(client_id=[ident])
    assert len(seen) == 1
    assert seen[0]["db"] == "7" and seen[0]["lib-name"] == "mine" and seen[0]["lib-ver"] == "1.2"
    assert seen[0]["flags"] == "xU"
    assert clients[0].client_list(_type="pubsub") == []
    assert len(clients[0].client_list(_type="normal")) == 9


@pytest.mark.parametrize("words, answer", [
    (["CLIENT", "LIST", "ID", "x"], b"-ERR Invalid client ID"),
    (["CLIENT", "LIST", "TYPE", "odd"], b"-ERR Unknown client type 'odd'"),
    (["CLIENT", "LIST", "MORE"], b"-ERR syntax error"),
    (["CLIENT", "KILL", "1.2.3.4:5"], b"-ERR No such client"),
    (["CLIENT", "KILL", "ID", "0"], b"-ERR client-id should be greater than 0"),
    (["CLIENT", "KILL", "ID", "1", "ADDR"], b"-ERR syntax error"),
    (["CLIENT", "KILL", "USER", "eve"], b"-ERR No such user 'eve'"),
    (["CLIENT", "KILL", "SKIPME", "perhaps"], b"-ERR syntax error"),
    (["CLIENT", "KILL", "ID", "999999"], b":0"),
    (["CLIENT", "SETNAME", "a b"],
     b"-ERR Client names cannot contain spaces, newlines or special characters."),
    (["CLIENT", "SETINFO", "LIB-NAME", "a b"],
     b"-ERR lib-name cannot contain spaces, newlines or special characters."),
    (["CLIENT", "SETINFO", "LIB-AGE", "1"], b"-ERR Unrecognized option 'LIB-AGE'"),
])
def test_client_refuses_what_makes_no_sense(server, words, answer):
    assert server.raw().ask(*words) == answer


def test_client_kill_ends_connections_of_any_worker(server):
    victims = [server.raw() for _ in range(6)]
    idents = [victim.ask("CLIENT", "ID")[1:] for victim in victims]
    killer = server.raw()
    assert killer.ask("CLIENT", "KILL", "ID", idents[0]) == b":1"
    assert victims[0].closed()
    assert killer.ask("CLIENT", "KILL", "ID", idents[1]) == b":1"
    assert victims[1].closed()
    assert victims[2].ask("PING") == b"+PONG"
    assert killer.ask("CLIENT", "KILL", "TYPE", "normal") == b":4"
    assert all(victim.closed() for victim in victims[2:])
    assert killer.ask("PING") == b"+PONG"
    assert killer.ask("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no") == b":1"
    assert killer.closed()
    harness.wait_until(lambda: server.client().info("clients")["connected_clients"] == 1,
                       "only the one who asks is left")


def test_client_kill_takes_addresses(start, io):
    server = start("--io", io, "--threads", "2", tcp=True)
    two = [server.raw(harness.socket.AF_INET) for _ in range(2)]
    address = "%s:%d" % two[0].socket.getsockname()
    assert two[0].ask("PING") == b"+PONG"
    assert two[1].ask("CLIENT", "KILL", address) == b"+OK"
    assert two[0].closed()
    here = f"127.0.0.1:{server.port}"
    assert two[1].ask("CLIENT", "KILL", "LADDR", here, "SKIPME", "no") == b":1"
    assert two[1].closed()


def test_more_clients_than_allowed_are_answered_and_closed(start, io):
    server = start("--io", io, "--threads", "2", "--maxclients", "4")
    first = [server.raw() for _ in range(4)]
    assert all(client.ask("PING") == b"+PONG" for client in first)
    for _ in range(3):
        assert server.raw().rest() == b"-ERR max number of clients reached\r\n"
    first.pop().close()
    harness.wait_until(lambda: b"connected_clients:3" in first[0].ask_lines("INFO", "clients"),
                       "one has left")
    assert server.raw().ask("PING") == b"+PONG"
    assert first[0].ask("CONFIG", "SET", "maxclients", "100") == b"+OK"
    more = [server.raw() for _ in range(20)]
    assert all(client.ask("PING") == b"+PONG" for client in more)


@pytest.mark.parametrize("opening", [b"POST / HTTP/1.1\r\nHost: x\r\n\r\n", b"host: x\r\n"])
def test_requests_inside_a_web_page_s_http_are_not_run(server, opening):
    peer = server.raw().socket
    peer.sendall(opening + b"SET smuggled 1\r\n")
    got = b""
    try:
        peer.shutdown(socket.SHUT_WR)
        while more := peer.recv(1000):
            got += more
    except OSError:
        pass  # closed with the rest unread
    assert got == b"" or got.startswith(b"HTTP/1.1 4"), got
    peer.close()
    assert server.client().get("smuggled") is None
