# SPDX-License-Identifier: MIT
"""What happens when a server that runs has no descriptors left."""
import re
import resource
import signal

import pytest

import harness

pytestmark = pytest.mark.quick
FAILING, AGAIN = "cannot accept connections: out of file descriptors", "accepting connections again"


# Most of the descriptors are held by files that the server has inherited and knows nothing of, so
# that maxclients is no limit.
HOLD = ["/bin/bash", "-c", 'for ((i = 0; i < 215; i++)); do exec {fd}</dev/null; done; exec "$@"',
        "bash"]


@pytest.fixture
def begin(start, few_descriptors, io):
    """begin(spare) -> a server with so many descriptors left, and a client of it."""
    def with_spare(spare):
        server = start("--io", io, "--threads", "2", launcher=[*few_descriptors, *HOLD])
        server.fillers = []
        while 256 - server.descriptors() > spare:
            server.fillers.append(server.raw())
            assert server.fillers[-1].ask("PING") == b"+PONG"
        assert 256 - server.descriptors() == spare and server.fillers
        return server, server.fillers[0]
    return with_spare


def lines(server, text):
    return [line for line in server.log().splitlines() if text in line]


def test_who_does_not_fit_waits_and_is_served_when_descriptors_are_free_again(begin):
    server, steady = begin(4)
    clients = [server.raw() for _ in range(12)]
    for client in clients:
        client.send(harness.command("PING"))
    harness.wait_until(lambda: FAILING in server.log(), "it is logged")
    for _ in range(100):
        assert steady.ask("SET", "k", "v") == b"+OK"
    # One goes, another comes, until all have been there.
    waiting = list(clients)
    while waiting:
        served = next((c for c in waiting if c.readable(0.1)), None)
        if served is not None:
            assert served.line() == b"+PONG"
            served.close()
            waiting.remove(served)
    harness.wait_until(lambda: AGAIN in server.log(), "it is well again")
    assert server.client().ping()
    assert len(lines(server, FAILING)) == len(lines(server, AGAIN)) == 1
    assert lines(server, FAILING)[0].startswith("warning")


def test_hovering_at_the_limit_does_not_flood_the_log(begin):
    server, _ = begin(2)
    kept = [server.raw() for _ in range(2)]
    for client in kept:
        assert client.ask("PING") == b"+PONG"
    # Each turn needs a failure and is followed by room for one more.
    turns = 20
    for _ in range(turns):
        one = server.raw()
        one.send(harness.command("PING"))
        assert not one.readable(0.05)
        kept.pop().close()
        assert one.line() == b"+PONG"
        kept.append(one)
    kept.pop().close()
    harness.wait_until(lambda: AGAIN in server.log(), "it is well again")
    assert len(lines(server, FAILING) + lines(server, AGAIN)) < turns / 2
    assert int(re.search(r"it had failed (\d+) times more", server.log()).group(1)) > 0


def limit(process, soft):
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE,
                     (soft, resource.prlimit(process.pid, resource.RLIMIT_NOFILE)[1]))


def test_a_reload_without_descriptors_changes_nothing(start, tmp_path):
    path, log = tmp_path / "conf", tmp_path / "log"
    path.write_text("maxclients 50\n")
    with harness.background("--config", str(path), "--port", "0", "--unixsocket", "s",
                            "--logfile", str(log), "--maxmemory", "64mb", "--threads", "1",
                            cwd=tmp_path, path=tmp_path / "s") as client:
        assert client.ping()
        before, _ = resource.prlimit(client.process.pid, resource.RLIMIT_NOFILE)
        limit(client.process, 3)
        path.write_text("maxclients 60\n")
        client.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: "configuration not reloaded, nothing has changed" in
                           log.read_text(), "the reload has failed")
        assert "going on with the old one: Too many open files" in log.read_text()
        assert client.config_get("maxclients") == {"maxclients": "50"}
        limit(client.process, before)
