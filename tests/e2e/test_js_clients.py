# SPDX-License-Identifier: MIT
"""JavaScript clients, ioredis and redis: the programs of tests/js, whose packages scripts/setup
puts into build/js."""
import re
import shutil
import subprocess

import pytest

import harness

SCRIPTS = harness.TOP / "tests/js"
MODULES = harness.TOP / "build/js/node_modules"


NODE_AT_LEAST = 18  # what the packages ask for


def play(server, script, *args):
    if not shutil.which("node"):
        pytest.skip("no node")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True).stdout
    if int(re.match(r"v(\d+)", version)[1]) < NODE_AT_LEAST:
        pytest.skip(f"node is {version.strip()}, and the clients need {NODE_AT_LEAST}")
    if not (MODULES.parent / "installed").exists():
        pytest.skip("the npm packages of tests/js are not in build/js (scripts/setup test)")
    done = subprocess.run(["node", SCRIPTS / script, server.path, *args], capture_output=True,
                          text=True, timeout=harness.PATIENCE_S,
                          env=harness.clean_environment({"NODE_PATH": str(MODULES)}))
    names = re.findall(r"^  async '?([\w ]+)'?\(", (SCRIPTS / script).read_text(), re.M)
    assert len(names) >= 8
    assert done.stdout.splitlines() == [f"ok {name}" for name in names], done.stderr
    assert done.returncode == 0, done.stderr


def test_ioredis_reads_what_it_wrote(server):
    play(server, "ioredis.js")


@pytest.mark.parametrize("version", ["2", "3"])
def test_node_redis_reads_what_it_wrote(server, version):
    play(server, "node_redis.js", version)
