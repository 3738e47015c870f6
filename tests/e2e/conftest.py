# SPDX-License-Identifier: MIT
"""Fixtures. Each asserts that the servers it started stop with exit code 0 when asked."""
import os
import resource
import subprocess

import pytest

import harness

IOS = ["io_uring", "epoll"]


def uring_works():
    server = None
    try:
        server = harness.Server("--io", "io_uring", "--threads", "1")
        return True
    except AssertionError:
        return False
    finally:
        if server is not None:
            server.close()


@pytest.fixture(scope="session")
def uring():
    return uring_works()


@pytest.fixture(params=IOS)
def io(request, uring):
    if request.param == "io_uring" and not uring:
        pytest.skip("this kernel has no io_uring for us")
    return request.param


@pytest.fixture
def start():
    """start(*flags, **options) -> a server; all are stopped at the end."""
    servers = []

    def begin(*args, **options):
        servers.append(harness.Server(*args, **options))
        return servers[-1]

    yield begin
    failures = []
    for server in servers:
        try:
            server.stop()
        except (AssertionError, subprocess.TimeoutExpired) as failure:
            failures.append(str(failure))
    assert not failures, failures


@pytest.fixture
def server(start, io):
    return start("--io", io, "--threads", "2")


@pytest.fixture
def many_descriptors():
    """Room for 10,000 connections of our own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 11000
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), max(hard, wanted)))
    except (ValueError, OSError):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))
        except (ValueError, OSError):
            pass
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < wanted:
        pytest.skip(f"fewer than {wanted} descriptors allowed")
    yield
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def few_descriptors():
    """A launcher of a server that may open 256 descriptors."""
    launcher = ["prlimit", "--nofile=256:256"]
    if subprocess.run([*launcher, "true"], capture_output=True).returncode != 0:
        pytest.skip("no prlimit")
    # An unprivileged process cannot raise its hard limit; root can, so it must not be able to.
    if os.geteuid() == 0:
        if subprocess.run(["setpriv", "--bounding-set", "-sys_resource", "true"],
                          capture_output=True).returncode != 0:
            pytest.skip("no setpriv")
        launcher += ["setpriv", "--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource"]
    return launcher
