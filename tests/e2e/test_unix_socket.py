# SPDX-License-Identifier: MIT
"""The unix socket's file: its permissions, and whose it is."""
import os
import signal
import stat

import pytest

import harness

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("umask", ["000", "077"])
@pytest.mark.parametrize("mode", ["600", "770", "777"])
def test_the_file_has_the_permissions_asked_for_whatever_the_umask(start, umask, mode):
    server = start("--unixsocketperm", mode, "--threads", "1",
                   launcher=["/bin/sh", "-c", f'umask {umask}; exec "$@"', "sh"])
    assert stat.S_IMODE(os.stat(server.path).st_mode) == int(mode, 8)
    assert server.client().config_get("unixsocketperm") == {"unixsocketperm": mode}


@pytest.mark.parametrize("umask, mode", [("022", 0o755), ("077", 0o700)])
def test_without_them_the_umask_decides(start, umask, mode):
    server = start("--threads", "1",
                   launcher=["/bin/sh", "-c", f'umask {umask}; exec "$@"', "sh"])
    assert stat.S_IMODE(os.stat(server.path).st_mode) == mode


def test_a_second_server_is_refused_while_the_first_lives_even_when_it_is_stopped(start):
    server = start("--threads", "1")
    for state in signal.SIGSTOP, signal.SIGCONT:
        server.signal(state)
        ended = harness.run("--port", "0", "--unixsocket", server.path, "--maxmemory", "64mb")
        assert ended.returncode == 1
        assert f"cannot listen on {server.path}: another server answers there" in ended.stderr
    assert server.client().ping()


def test_a_file_that_is_no_socket_is_refused_and_stays(tmp_path):
    path = tmp_path / "s"
    path.write_text("precious")
    ended = harness.run("--port", "0", "--unixsocket", str(path), "--maxmemory", "64mb")
    assert ended.returncode == 1 and "a file that is no socket is there" in ended.stderr
    assert path.read_text() == "precious"


def test_a_stop_leaves_the_socket_of_a_successor(start, tmp_path):
    first = start("--threads", "1")
    os.unlink(first.path)
    flags = ["--port", "0", "--unixsocket", first.path, "--maxmemory", "64mb"]
    with harness.background(*flags, cwd=tmp_path, path=first.path) as client:
        assert client.ping()
        first.signal()
        assert first.wait() == 0
        assert os.path.exists(first.path)
        client.connection_pool.disconnect()
        assert client.ping()
    assert not os.path.exists(first.path)


def test_a_successor_takes_over_when_its_predecessor_was_killed(start, tmp_path):
    first = start("--threads", "1")
    first.signal(signal.SIGKILL)
    first.wait()
    assert os.path.exists(first.path)
    first.stop = first.close
    with open(first.log_path, "w"):
        pass
    flags = ["--port", "0", "--unixsocket", first.path, "--maxmemory", "64mb", "--logfile",
             first.log_path]
    process = harness.subprocess.Popen([harness.BINARY, *flags], env=harness.clean_environment(),
                                       preexec_fn=harness.die_with_parent)
    try:
        harness.wait_until(lambda: "ready to accept" in first.log(), "it has taken over")
        assert first.client().ping()
    finally:
        process.terminate()
        assert process.wait(harness.PATIENCE_S) == 0
