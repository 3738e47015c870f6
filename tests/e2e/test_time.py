# SPDX-License-Identifier: MIT
"""Engine time beside the clock that clients read."""
import time

import pytest


@pytest.mark.quick
def test_what_expires_in_ten_seconds_by_the_clients_clock_does_so_by_the_servers(server):
    client = server.client()
    client.set("k", "v")
    for _ in range(300):
        client.pexpireat("k", time.time_ns() // 1000000 + 10000)
        assert client.pttl("k") <= 10000
