# SPDX-License-Identifier: MIT
"""larder-bench: the form of its results and of its complaints, and the null server. No figure is
judged here."""
import json
import os
import subprocess

import pytest

import harness

BENCH = os.path.join(os.path.dirname(harness.BINARY), "larder-bench")
ROWS = ["control", "clock", "shard", "store", "store+expiry", "engine/os-clock",
        "engine/cached-clock", "command", "request"]
SHORT = ["--operations", "640", "--repetitions", "2", "--windows", "1", "--window-ms", "2",
         "--threads", "2"]


def bench(*args):
    return subprocess.run([BENCH, *args], capture_output=True, text=True, timeout=300,
                          preexec_fn=harness.die_with_parent)


@pytest.mark.quick
def test_engine_gives_every_figure_as_json():
    done = bench("engine", "--json", "--large", "2000", *SHORT)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    assert list(results) == ["rows", "scaling", "large"]
    rows = {row["name"]: row["ns_per_op"] for row in results["rows"]}
    assert set(ROWS) < set(rows)
    assert all(figure > 0 for figure in rows.values())
    cells = {(c["subject"], c["keys"], c["threads"]): c["ops_per_s"] for c in results["scaling"]}
    assert set(cells) == {(subject, keys, threads) for subject in ("control", "engine")
                          for keys in ("spread", "hot", "zipf") for threads in (1, 2)}
    assert all(figure >= 0 for figure in cells.values())  # a window so short may see no operation
    assert [(c["keys"], c["batch"]) for c in results["large"]] == [(2000, 1), (2000, 16)]
    assert all(cell["ns_per_op"] > 0 for cell in results["large"])


@pytest.mark.quick
def test_figures_that_are_no_cost_are_marked():
    done = bench("engine", "--json", *SHORT)
    figures = sum(json.loads(done.stdout).values(), [])
    marked = "NOT A COST" in done.stderr
    assert "build type label" in done.stderr
    assert all(("not_a_cost" in figure) == marked for figure in figures)
    table = bench("engine", "--threads", "0", *SHORT[:4]).stdout.splitlines()
    assert len(table) > len(ROWS)
    assert all(line.endswith("not a cost") == marked for line in table[1:])


@pytest.mark.parametrize("args", [
    [], ["engines"], ["engine", "--no-such"], ["engine", "--large"], ["engine", "--large", "0"],
    ["engine", "--large", "x"], ["engine", "--repetitions", "0"], ["engine", "surplus"],
    ["null", "--io", "kqueue"], ["null", "--port", "65536"], ["null", "--port", "0"],
])
def test_bad_input_is_refused_with_a_message(args):
    done = bench(*args)
    assert done.returncode == 2
    assert done.stderr.startswith("larder-bench: ")
    assert done.stdout == ""


@pytest.mark.parametrize("args", [["--help"], ["engine", "--help"], ["null", "--help"]])
def test_help_names_every_row_and_option(args):
    done = bench(*args)
    assert done.returncode == 0
    assert done.stderr == ""
    for word in ROWS + ["--json", "--large", "--threads", "--operations", "--repetitions",
                        "--window-ms", "--windows", "--io", "--port", "--bind", "--unixsocket",
                        "--batch-wait-us"]:
        assert word in done.stdout


@pytest.fixture
def null(tmp_path, io):
    """null(threads) -> a connection to a null server, which must end well when asked to."""
    processes = []

    def begin(threads):
        path = str(tmp_path / "s")
        process = subprocess.Popen(
            [BENCH, "null", "--io", io, "--port", "0", "--unixsocket", path, "--threads",
             str(threads)], stderr=subprocess.PIPE, text=True, preexec_fn=harness.die_with_parent)
        processes.append(process)
        log = ""
        while "ready" not in log:
            line = process.stderr.readline()
            assert line, log
            log += line
        assert io in log
        return path

    yield begin
    for process in processes:
        process.terminate()
        _, log = process.communicate(timeout=harness.PATIENCE_S)
        assert process.returncode == 0, log


def read_exactly(connection, size):
    got = b""
    while len(got) < size:
        more = connection.recv(size - len(got))
        assert more, got
        got += more
    return got


@pytest.mark.quick
@pytest.mark.parametrize("threads", [1, 3])
def test_null_answers_ok_to_set_and_a_constant_to_the_rest(null, threads):
    path = null(threads)
    value = b"$512\r\n" + b"x" * 512 + b"\r\n"
    requests = harness.command("SET", "a", "b" * 100000) + harness.command("GET", "a") + b"PING\r\n"
    for _ in range(2 * threads):
        connection = harness.socket.socket(harness.socket.AF_UNIX)
        connection.settimeout(harness.PATIENCE_S)
        connection.connect(path)
        with connection:
            connection.sendall(requests * 20)
            assert read_exactly(connection, 20 * (5 + 2 * len(value))) == \
                (b"+OK\r\n" + value * 2) * 20
            connection.sendall(b"*1\r\n!\r\n")
            assert read_exactly(connection, 5) == b"-ERR "
