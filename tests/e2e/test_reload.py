# SPDX-License-Identifier: MIT
"""SIGHUP reads the configuration again."""
import os
import signal

import pytest
import redis

import harness

pytestmark = pytest.mark.quick


@pytest.fixture
def reload(start, tmp_path):
    """reload(text) writes the file and returns what the server, started with it, says of that."""
    path = tmp_path / "larder.conf"

    def begin(text, *flags, **options):
        path.write_text(text)
        server = start("--config", str(path), "--threads", "1", *flags, **options)

        def again(text):
            before = len(server.log())
            path.write_text(text)
            server.signal(signal.SIGHUP)
            harness.wait_until(lambda: "configuration" in server.log()[before:], "it is reloaded")
            return server.log()[before:]
        server.reload = again
        return server
    return begin


def config(server, name, **options):
    return server.client(decode_responses=True, **options).config_get(name)[name]


def test_what_may_change_is_applied_and_the_rest_is_told(reload):
    server = reload("maxclients 50\ntcp-backlog 50\nloglevel notice\n")
    said = server.reload("maxclients 60\ntcp-backlog 60\nloglevel notice\nrequirepass new\n")
    assert "maxclients has changed" in said and "requirepass has changed" in said
    assert "loglevel has changed" not in said
    assert "tcp-backlog has changed and takes effect at the next start" in said
    assert "options changed: 2" in said
    with pytest.raises(redis.AuthenticationError):
        server.client().ping()
    assert config(server, "maxclients", password="new") == "60"
    assert config(server, "tcp-backlog", password="new") == "50"


def test_a_change_takes_effect_at_once(reload):
    server = reload("loglevel notice\n")
    server.client().config_set("shutdown-timeout", 8)
    server.reload("loglevel verbose\n")
    assert "changed shutdown-timeout" not in server.log()
    assert config(server, "loglevel") == "verbose"
    server.client().config_set("shutdown-timeout", 9)
    assert "changed shutdown-timeout" in server.log()


@pytest.mark.parametrize("line, message", [
    ("maxclient 5", ":2: unknown option 'maxclient'; did you mean 'maxclients'?"),
    ("maxclients none", ":2: bad value 'none' for maxclients"),
    ('requirepass "x', ":2: requirepass wants its quotes closed"),
    ("include /nonexistent", ":2: cannot read the configuration file '/nonexistent'"),
])
def test_a_bad_file_is_refused_whole_and_the_running_values_stay(reload, line, message):
    server = reload("maxclients 50\n")
    said = server.reload(f"maxclients 60\n{line}\n")
    assert "configuration not reloaded, nothing has changed: " in said and message in said
    assert config(server, "maxclients") == "50"


def test_a_file_without_the_password_that_keeps_strangers_out_is_refused_whole(reload):
    server = reload("requirepass x\nmaxclients 50\n", "--bind", "0.0.0.0", tcp=True)
    said = server.reload("maxclients 60\nprotected-mode no\n")
    assert "configuration not reloaded: requirepass: without a password anybody who reaches" in said
    assert config(server, "maxclients", password="x") == "50"
    with pytest.raises(redis.AuthenticationError):
        server.client().ping()


def test_a_file_that_is_gone_changes_nothing(reload, tmp_path):
    server = reload("maxclients 50\n")
    (tmp_path / "larder.conf").unlink()
    server.signal(signal.SIGHUP)
    harness.wait_until(lambda: "cannot read the configuration file" in server.log(), "it is told")
    assert config(server, "maxclients") == "50"


def test_flags_and_environment_still_win(reload):
    server = reload("maxclients 50\n", "--maxclients", "70", env={"LARDER_SHUTDOWN_TIMEOUT": "3"})
    said = server.reload("maxclients 60\nshutdown-timeout 4\n")
    assert "options changed: 0" in said
    assert config(server, "maxclients") == "70"
    assert config(server, "shutdown-timeout") == "3"


def test_a_reload_takes_back_what_config_set_changed(reload):
    server = reload("maxclients 50\n")
    server.client().config_set("maxclients", 55)
    server.reload("maxclients 50\n")
    assert config(server, "maxclients") == "50"


def test_without_a_file_a_hangup_changes_nothing(start):
    server = start()
    server.signal(signal.SIGHUP)
    harness.wait_until(lambda: "options changed: 0" in server.log(), "the hangup is logged")
    assert server.client().ping()


def test_hangups_under_load_lose_no_request(reload):
    server = reload("maxclients 50\n")
    client = server.client()
    for i in range(300):
        server.signal(signal.SIGHUP)
        assert client.incr("n") == i + 1


@pytest.mark.quick
def test_a_pipe_is_no_configuration(start, tmp_path):
    """It would have to be read again, by a worker or by the thread that minds signals."""
    path = tmp_path / "larder.conf"
    path.write_text("timeout 0\n")
    server = start("--config", str(path))
    path.unlink()
    os.mkfifo(path)
    server.signal(signal.SIGHUP)
    harness.wait_until(lambda: "not a regular file" in server.log(), "it is refused")
    with pytest.raises(redis.ResponseError, match="not a regular file"):
        server.client().config_rewrite()
