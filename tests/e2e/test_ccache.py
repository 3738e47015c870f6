# SPDX-License-Identifier: MIT
"""ccache keeps what it compiled in Larder, over HTTP and over Redis's protocol."""
import os
import shutil
import subprocess

import pytest

import harness


def compile_with(url, source, folder):
    """Compiles with an empty local cache; returns ccache's counters."""
    cache = folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    env = {**os.environ, "CCACHE_DIR": str(cache), "CCACHE_REMOTE_STORAGE": url,
           "CCACHE_SECONDARY_STORAGE": url, "CCACHE_BASEDIR": str(folder)}
    done = subprocess.run(["ccache", "cc", "-c", source, "-o", folder / "out.o"], env=env,
                          capture_output=True, text=True, timeout=harness.PATIENCE_S)
    assert done.returncode == 0, done.stderr
    told = subprocess.run(["ccache", "--print-stats"], env=env, capture_output=True, text=True,
                          timeout=harness.PATIENCE_S, check=True).stdout
    return dict(line.split("\t") for line in told.splitlines())


@pytest.mark.parametrize("scheme", ["http", "redis"])
def test_a_second_compile_is_a_hit_of_the_remote_storage(start, tmp_path, scheme):
    if not shutil.which("ccache"):
        pytest.skip("no ccache")
    server = start(tcp=True)
    source = tmp_path / "source.c"
    source.write_text("int answer(void)\n{\n    return 42;\n}\n")
    url = f"{scheme}://127.0.0.1:{server.port}"
    first = compile_with(url, source, tmp_path)
    made = (tmp_path / "out.o").read_bytes()
    assert first["cache_miss"] == "1" and server.client().dbsize() > 0
    (tmp_path / "out.o").unlink()
    second = compile_with(url, source, tmp_path)
    assert second["cache_miss"] == "0"
    assert int(second.get("remote_storage_hit", second.get("secondary_storage_hit"))) >= 1
    assert (tmp_path / "out.o").read_bytes() == made
