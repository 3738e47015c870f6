#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds what the tests need, runs them, and prints "N passed, M failed" as its last line.

`scripts/test` is how to call it. A job is one kind of test under one build; the table JOBS lists
them all. Jobs run two at a time, each with about one core; builds come first, one by one. What a
job printed is shown when it failed; logs are kept under build/test-logs.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

TOP = pathlib.Path(__file__).resolve().parent.parent
BUILD = TOP / "build"
LOGS = BUILD / "test-logs"
LANES = 2
PYTHON = "/usr/bin/python3"
CANARIES = 5
FUZZED = ["admin_request", "binary", "http", "memcache", "payload", "resp"]

BUILDS = {
    # The one that scripts/build makes; see there.
    "release": ["-Db_lto=true"],
    "asan": ["-Db_ndebug=false", "-Doptimization=1", "-Db_sanitize=address,undefined",
             "-Dfaults=true"],
    "tsan": ["-Db_ndebug=false", "-Doptimization=2", "-Db_sanitize=thread", "-Dfaults=true"],
    "debug": ["-Db_ndebug=false", "-Doptimization=2"],
    "fuzz": ["-Db_ndebug=false", "-Doptimization=1", "-Db_sanitize=address,undefined",
             "-Db_lundef=false", "-Dfuzz=true"],
}
for number in range(1, CANARIES + 1):
    BUILDS[f"canary-{number}"] = ["-Db_ndebug=false", "-Doptimization=2",
                                  f"-Dcanary={number}"]

ENVIRONMENT = {
    **os.environ,
    "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:detect_stack_use_after_return=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


class Result:
    """What a job found: numbers of tests, names of the skipped and the failed, text to show."""

    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skipped = []
        self.text = ""

    def judge(self, name, output, code):
        """Counts one program's tests, from cmocka's lines, a closing line, or its exit code."""
        passed = len(re.findall(r"^\[ +OK \] ", output, re.M))
        failed = [f"{name}: {test}" for test in
                  dict.fromkeys(re.findall(r"^\[  FAILED  \] (\w.*)$", output, re.M))
                  if not re.match(r"\d+ test", test)]
        self.skipped += [f"{name}: {test}" for test in
                         dict.fromkeys(re.findall(r"^\[  SKIPPED \] (\w.*)$", output, re.M))
                         if not re.match(r"\d+ test", test)]
        self.skipped += [f"{name}: {line}" for line in re.findall(r"^skipped (.*)$", output, re.M)]
        closing = re.findall(r"^(\d+) passed, (\d+) failed$", output, re.M)
        if closing:
            passed += int(closing[-1][0])
            failed += [name] * int(closing[-1][1])
        if code == 77:
            self.skipped.append(name)
        elif code != 0 and not failed:
            failed.append(f"{name}: exit code {code}")
        elif code == 0 and not passed:
            passed = 1
        self.passed += passed
        self.failures += failed
        if failed:
            self.text += f"--- {name}\n{output[-6000:]}\n"


def left_behind(group):
    """Whether processes of the group are there still, a while after their parent; ends them."""
    try:
        for _ in range(100):  # what is ending (a symbolizer, a shell's child) may do so
            os.killpg(group, 0)
            time.sleep(0.05)
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def execute(command, seconds, log=None, env=None, cwd=TOP):
    """Runs a command in a process group of its own, which does not outlive it."""
    process = subprocess.Popen([str(word) for word in command], cwd=cwd, text=True,
                               errors="replace", env={**ENVIRONMENT, **(env or {})},
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, start_new_session=True)
    try:
        output, _ = process.communicate(timeout=seconds)
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        output += f"\nstopped after {seconds} s\n"
        code = 124
    if left_behind(process.pid):
        output += "\nthis program left processes behind\n"
        code = code or 1
    if log:
        (LOGS / f"{log}.log").write_text(output)
    return code, output


def build(name):
    """Configures and builds; returns what went wrong, or None."""
    folder = BUILD / name
    env = {"CC": "clang"} if name == "fuzz" else {}
    tests = "enabled" if name != "release" else "auto"
    arguments = BUILDS[name] + [f"-Dtests={tests}"]
    # Newer compilers warn about more: only the reference one may stop the tests.
    version = subprocess.run(["cc", "-dumpversion"], capture_output=True, text=True).stdout
    if name in ("asan", "tsan") and version.split(".")[0].strip() == "12":
        arguments.append("-Dwerror=true")
    if (folder / "build.ninja").exists():
        command = ["meson", "configure", folder] + arguments
    else:
        command = ["meson", "setup", folder, TOP] + arguments
    code, output = execute(command, 120, f"setup-{name}", env)
    if code == 0:
        targets = {"release": ["programs", "package"],
                   "fuzz": [f"tests/fuzz/fuzz_{target}" for target in FUZZED]}.get(
            name, ["tests/serial/serial"] if name.startswith("canary") else [])
        code, output = execute(["ninja", "-C", folder] + targets, 600, f"build-{name}", env)
    if code == 0:
        return None
    return "\n".join(line for line in output.splitlines() if not re.match(r"\[\d+/", line))[-6000:]


def meson_test(folder, *suites):
    """One program of the suites after the other, as meson lists them."""
    def run(job, options):
        result = Result()
        words = ["meson", "test", "-C", BUILD / folder, "--no-rebuild", "--num-processes", "1",
                 "--logbase", job, "--timeout-multiplier", "4" if options.all else "1"]
        for suite in suites:
            words += ["--suite", suite]
        code, output = execute(words, 3000 if options.all else 600, job)
        log = BUILD / folder / "meson-logs" / f"{job}.json"
        lines = log.read_text().splitlines() if log.exists() else []
        for line in lines:
            test = json.loads(line)
            name = test["name"].split(" / ")[-1]
            ended = test["returncode"] if test["result"] != "TIMEOUT" else 124
            result.judge(name, test.get("stdout", "") + test.get("stderr", ""), ended)
        if code != 0 and not result.failures or not lines:
            result.judge(job, output, code or 1)
        return result
    return [folder], run


def program(*command, builds=(), seconds=120):
    def run(job, _options):
        result = Result()
        code, output = execute(command, seconds, job)
        result.judge(job, output, code)
        return result
    return list(builds), run


def histories(folder):
    def run(job, options):
        result = Result()
        seconds = 300 if options.all else 60
        code, output = execute([BUILD / folder / "tests/serial/serial", "--seconds", seconds],
                               seconds + 240, job)
        result.judge(job, output, code)
        return result
    return [folder], run


def canary(number):
    """The history checker must reject a build with a known fault, within ten seconds."""
    def run(job, _options):
        result = Result()
        serial = BUILD / f"canary-{number}" / "tests/serial/serial"
        code, output = execute([serial, "--expect-violation", "--seconds", "10"], 60, job)
        result.judge(job, output, code)
        return result
    return [f"canary-{number}"], run


def end_to_end(folder, *extra):
    def run(job, _options):
        result = Result()
        report = LOGS / f"{job}.xml"
        report.unlink(missing_ok=True)
        code, output = execute(
            [PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}",
             *extra, TOP / "tests/e2e"], 900, job,
            {"LARDER_BUILD": str(BUILD / folder)})
        if report.exists():
            for case in xml.etree.ElementTree.parse(report).iter("testcase"):
                name = f"{job}: {case.get('name')}"
                if case.find("failure") is not None or case.find("error") is not None:
                    result.failures.append(name)
                elif case.find("skipped") is not None:
                    result.skipped.append(f"{name} ({case.find('skipped').get('message')})")
                else:
                    result.passed += 1
        if code != 0 and not result.failures:
            result.failures.append(f"{job}: exit code {code}")
        if result.failures:
            result.text = output[-12000:]
        return result
    return [folder], run


def fuzz(target):
    def run(job, options):
        result = Result()
        if not shutil.which("clang"):
            result.skipped.append(f"{job}: no clang")
            return result
        kept = TOP / "tests/fuzz/corpus" / target
        fresh = LOGS / f"corpus-{target}"
        fresh.mkdir(exist_ok=True)
        seconds = 600 if options.all else 20
        code, output = execute(
            [BUILD / "fuzz/tests/fuzz" / f"fuzz_{target}", f"-max_total_time={seconds}",
             "-timeout=10", "-rss_limit_mb=4096", f"-artifact_prefix={LOGS}/", fresh, kept],
            seconds + 120, job)
        result.judge(job, output, code)
        return result
    return ["fuzz"] if shutil.which("clang") else [], run


TRANSCRIPTS = sorted((TOP / "tests/wire").glob("*/*.txt"))

JOBS = {
    "check-layers": program(PYTHON, TOP / "tools/check_layers.py"),
    "check-layers-canary": program(PYTHON, TOP / "tools/check_layers.py", "--self-test"),
    "check-style": program(PYTHON, TOP / "tools/check_style.py"),
    "check-docs-canary": program(PYTHON, TOP / "tools/check_docs.py", "--self-test"),
    "check-docs": program(PYTHON, TOP / "tools/check_docs.py", builds=["release"]),
    "check-packaging": program(PYTHON, TOP / "tools/packaging.py", builds=["release"]),
    "check-packaging-canary": program(PYTHON, TOP / "tools/packaging.py", "--self-test",
                                      builds=["release"]),
    "check-package": program(PYTHON, TOP / "tools/check_package.py", builds=["release"]),
    "unit-asan": meson_test("asan", "unit"),
    "unit-tsan": meson_test("tsan", "unit"),
    "wire-asan": meson_test("asan", "wire"),
    **{f"wire-socket-{build}": program(
        PYTHON, TOP / "tests/wire/run_socket.py", "--server", BUILD / build / "larder",
        *TRANSCRIPTS, builds=[build], seconds=600) for build in ("release", "asan")},
    "fault-asan": meson_test("asan", "fault"),
    "fuzz-replay-asan": meson_test("asan", "fuzz"),
    **{f"fuzz-{target}": fuzz(target) for target in FUZZED},
    "serial-checker-asan": meson_test("asan", "serial"),
    **{f"serial-{build}": histories(build) for build in ("asan", "tsan", "debug")},
    **{f"serial-canary-{n}": canary(n) for n in range(1, CANARIES + 1)},
    "e2e-release": end_to_end("release"),
    "e2e-asan": end_to_end("asan", "-m", "quick"),
    "e2e-tsan": end_to_end("tsan", "-m", "threads"),
}


def main():
    parser = argparse.ArgumentParser(prog="scripts/test", description="Runs the tests.")
    parser.add_argument("words", nargs="*", help="run only jobs with one of these in their name")
    parser.add_argument("--all", action="store_true", help="the long run, within an hour")
    parser.add_argument("--list", action="store_true", help="list the jobs and end")
    options = parser.parse_args()

    jobs = {name: job for name, job in JOBS.items()
            if not options.words or any(word in name for word in options.words)}
    if options.list or not jobs:
        print("\n".join(JOBS))
        return 0 if options.list else 2

    if options.all:
        ENVIRONMENT["LARDER_TEST_ALL"] = "1"
    start = time.monotonic()
    LOGS.mkdir(parents=True, exist_ok=True)

    def say(text):
        print(f"[{time.monotonic() - start:5.0f} s] {text}", flush=True)

    passed, failures, skipped = 0, [], []
    broken = set()
    for name in BUILDS:
        if any(name in builds for builds, _ in jobs.values()):
            say(f"build {name}")
            problem = build(name)
            if problem:
                print(problem)
                failures.append(f"build {name}")
                broken.add(name)

    with concurrent.futures.ThreadPoolExecutor(LANES) as pool:
        running = {pool.submit(run, name, options): name for name, (builds, run) in jobs.items()
                   if not broken.intersection(builds)}
        for future in concurrent.futures.as_completed(running):
            name, result = running[future], future.result()
            passed += result.passed
            failures += result.failures
            skipped += result.skipped
            say(f"{name}: {result.passed} passed, {len(result.failures)} failed"
                + (f", {len(result.skipped)} skipped" if result.skipped else ""))
            if result.failures:
                print(result.text)

    for name in skipped:
        print(f"skipped: {name}")
    for name in failures:
        print(f"failed: {name}")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
