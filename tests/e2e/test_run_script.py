# SPDX-License-Identifier: MIT
"""scripts/run, in a tree where building and serving are stubs: what it says and hands on."""
import shutil
import subprocess

import pytest

import harness

pytestmark = pytest.mark.quick


@pytest.fixture
def run(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "build/release").mkdir(parents=True)
    shutil.copy(harness.TOP / "scripts/run", tmp_path / "scripts/run")
    for name, text in ("scripts/build", "exit 0"), ("build/release/larder", 'printf "%s|" "$@"'):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)

    def go(*words, env=None):
        done = subprocess.run([tmp_path / "scripts/run", *words], capture_output=True, text=True,
                              env=harness.clean_environment(env), timeout=harness.PATIENCE_S)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "".join(f"{word}|" for word in words) or not words
        return done.stderr
    return go


@pytest.mark.parametrize("words, port", [
    ([], 6379), (["--port", "7000"], 7000), (["--port=7001"], 7001),
    (["--maxmemory", "1gb", "--port", "7002", "--io=epoll", "--timeout", "5"], 7002),
    (["--port", "1", "--port=7003"], 7003)])
def test_the_hint_names_the_port(run, words, port):
    said = run(*words)
    assert f"redis-cli -p {port} set greeting" in said and f"redis-cli -p {port} get" in said


@pytest.mark.parametrize("words, env", [
    (["--port", "0"], {}), (["--port=0", "--unixsocket", "/s"], {}), (["--help"], {}),
    (["--help", "memory"], {}), (["--version"], {}), (["--check-config"], {}),
    (["larder.conf"], {}), (["--timeout", "5", "larder.conf"], {}),
    (["--timeout=5", "larder.conf"], {}), (["--config", "larder.conf", "--port", "7000"], {}),
    (["--port", "7000", "--check-config"], {}), (["--bind", "10.0.0.1"], {}),
    (["--requirepass", "x"], {}), ([], {"LARDER_PORT": "7000"}), ([], {"LARDER_CONFIG": "x"})])
def test_no_hint_is_better_than_a_wrong_one(run, words, env):
    assert run(*words, env=env) == ""
