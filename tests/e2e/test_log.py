# SPDX-License-Identifier: MIT
"""The log: where it goes, what a line looks like, and what happens when it cannot be written."""
import json
import os
import re
import resource
import signal
import subprocess

import pytest

import harness

LINE = re.compile(r"(debug|verbose|notice|warning) +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z \S.*")


@pytest.fixture
def begin(tmp_path):
    """begin(*flags) -> context of a client of a server that logs to `log` in the folder."""
    def start(*flags):
        return harness.background("--port", "0", "--unixsocket", "s", "--maxmemory", "1gb",
                                  "--enable-debug-command", "yes", *flags, cwd=tmp_path,
                                  path=tmp_path / "s")
    return start


def contains(path, text):
    return path.exists() and text in path.read_text()


@pytest.mark.quick
def test_lines_go_to_the_file_and_not_to_standard_error(begin, tmp_path):
    log = tmp_path / "log"
    log.write_text("what was there stays\n")
    with begin("--logfile", "log") as client:
        client.execute_command("DEBUG", "LOG", "a message\r\nnotice forged")
    lines = log.read_text().splitlines()
    assert lines[0] == "what was there stays"
    assert all(LINE.fullmatch(line) for line in lines[1:])
    assert any(line.endswith("a message??notice forged") for line in lines)
    assert lines[-1].endswith("stopped")
    assert (tmp_path / "stderr").read_text() == ""


@pytest.mark.quick
def test_json_lines_are_json_whatever_is_logged(begin, tmp_path):
    texts = ['"quotes" and \\ backslashes', "\t\x01\x1b", "für 日本 😀",
             b"\xff\xc0\x80 \xed\xa0\x80 \xe6\x97",
             "x" * 5000, b"\xff" * 5000]
    with begin("--logfile", "log", "--log-format", "json") as client:
        for text in texts:
            client.execute_command("DEBUG", "LOG", text)
        client.config_set("log-format", "text")
        client.execute_command("DEBUG", "LOG", "in plain text")
    lines = (tmp_path / "log").read_text().splitlines()
    plain = next(i for i, line in enumerate(lines) if line.endswith("in plain text"))
    said = [json.loads(line) for line in lines[:plain]]
    assert all(list(each) == ["time", "level", "message"] for each in said)
    messages = [each["message"] for each in said]
    assert any(m.endswith(texts[0]) for m in messages)
    assert any(m.endswith("???") for m in messages)
    assert any(m.endswith(texts[2]) for m in messages)
    assert any("\ufffd\ufffd\ufffd \ufffd" in m for m in messages)
    assert any(m.endswith("x" * 500) for m in messages)


def test_levels_choose_what_is_logged(begin, tmp_path):
    with begin("--logfile", "log", "--loglevel", "nothing") as client:
        client.execute_command("DEBUG", "LOG", "unheard")
        client.config_set("loglevel", "verbose")
        client.execute_command("DEBUG", "LOG", "heard")
        client.config_set("loglevel", "nothing")
        client.execute_command("DEBUG", "LOG", "unheard")
    text = (tmp_path / "log").read_text()
    assert "heard" in text and "unheard" not in text


@pytest.mark.quick
def test_a_hangup_goes_on_in_a_new_file_after_the_old_one_was_moved(begin, tmp_path):
    with begin("--logfile", "log") as client:
        (tmp_path / "log").rename(tmp_path / "log.1")
        client.execute_command("DEBUG", "LOG", "before")
        client.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: contains(tmp_path / "log", "reloaded"), "the log is reopened")
        client.execute_command("DEBUG", "LOG", "after")
    assert "before" in (tmp_path / "log.1").read_text()
    assert "after" not in (tmp_path / "log.1").read_text()
    assert "after" in (tmp_path / "log").read_text()


def test_a_log_that_cannot_be_reopened_goes_on_where_it_was(begin, tmp_path):
    (tmp_path / "d").mkdir()
    with begin("--logfile", "d/log") as client:
        (tmp_path / "d").rename(tmp_path / "e")
        client.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: contains(tmp_path / "e/log", "cannot open the log file"),
                           "the failure is logged")
        assert client.ping()


def test_a_log_that_cannot_be_opened_at_the_start_ends_with_1():
    ended = harness.run("--port", "0", "--unixsocket", "/tmp/never", "--logfile", "/nonexistent/x")
    assert ended.returncode == 1
    assert "cannot open the log file '/nonexistent/x': No such file or directory" in ended.stderr


@pytest.mark.quick
def test_a_full_disk_stops_nothing_and_what_is_missing_is_told_once(begin, tmp_path):
    log, real = tmp_path / "log", tmp_path / "real"
    log.symlink_to("/dev/full")
    with begin("--logfile", "log") as client:
        for i in range(100):
            client.execute_command("DEBUG", "LOG", f"lost {i}")
            assert client.set("k", i)
        log.unlink()
        log.symlink_to(real)
        client.process.send_signal(signal.SIGHUP)
        harness.wait_until(lambda: contains(real, "reloaded"), "the log is written again")
        client.execute_command("DEBUG", "LOG", "kept")
    lines = real.read_text().splitlines()
    told = [line for line in lines if "lines are missing here" in line]
    assert len(told) == 1 and told[0] == lines[0]
    # Those about the start are missing as well.
    assert int(re.search(r"(\d+) lines are missing", told[0]).group(1)) > 100
    assert any(line.endswith("kept") for line in lines) and "lost" not in "".join(lines[1:])


@pytest.mark.quick
def test_nobody_who_reads_standard_error_slows_nobody(tmp_path):
    """A pipe that is full takes no more lines; when it is read again the missing ones are told."""
    process = subprocess.Popen(
        [harness.BINARY, "--port", "0", "--unixsocket", str(tmp_path / "s"), "--maxmemory", "1gb",
         "--enable-debug-command", "yes"],
        env=harness.clean_environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        preexec_fn=harness.die_with_parent)
    try:
        harness.wait_until(lambda: harness.listens(tmp_path / "s"), "it listens")
        client = harness.redis.Redis(unix_socket_path=str(tmp_path / "s"), retry_on_error=[],
                                     socket_timeout=harness.PATIENCE_S)
        for i in range(400):
            client.execute_command("DEBUG", "LOG", "x" * 900)
        assert client.ping()
        os.set_blocking(process.stderr.fileno(), False)
        text = b""

        def told():
            nonlocal text
            text += process.stderr.read() or b""
            return b"lines are missing here" in text
        harness.wait_until(told, "the missing lines are told")
        process.terminate()
        assert process.wait(harness.PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_closed_standard_files_are_not_taken_for_a_log(begin, tmp_path):
    """The descriptors of standard error would otherwise become those of a client."""
    process = subprocess.Popen(
        ["/bin/sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', harness.BINARY, "--port", "0",
         "--unixsocket", str(tmp_path / "s"), "--enable-debug-command", "yes"],
        env=harness.clean_environment(), preexec_fn=harness.die_with_parent)
    try:
        harness.wait_until(lambda: harness.listens(tmp_path / "s"), "it listens")
        for i in range(3):
            assert os.readlink(f"/proc/{process.pid}/fd/{i}") == "/dev/null"
        process.terminate()
        assert process.wait(harness.PATIENCE_S) == 0
    finally:
        process.kill()
        process.wait()


def test_a_limit_on_the_size_of_files_stops_nothing(begin, tmp_path):
    conf, text = tmp_path / "larder.conf", "#" + "x" * 6000 + "\n"
    conf.write_text(text)
    with begin("--config", "larder.conf", "--logfile", "log") as client:
        resource.prlimit(client.process.pid, resource.RLIMIT_FSIZE, (4096, 4096))
        for _ in range(100):
            client.execute_command("DEBUG", "LOG", "x" * 100)
        with pytest.raises(harness.redis.ResponseError, match="File too large$"):
            client.execute_command("CONFIG", "REWRITE")
        assert client.ping()
    assert conf.read_text() == text and (tmp_path / "log").stat().st_size <= 4096
