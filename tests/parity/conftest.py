# SPDX-License-Identifier: Apache-2.0
"""The tests here compare with the real packages; without them, or without a built library,
all are skipped and the reason is printed."""
import importlib.util
import os
import sys
import tempfile

import pytest

HERE = os.path.dirname(__file__)
sys.path[:0] = [HERE, os.path.join(HERE, "..", "model")]


def reason():
    missing = [name for name in ("torch", "numpy", "safetensors", "hypothesis")
               if importlib.util.find_spec(name) is None]
    if missing:
        return "not installed: " + ", ".join(missing)
    for variable in ("NETWEIGHT_LIBRARY", "NETWEIGHT"):
        if not os.path.exists(os.environ.get(variable, "")):
            return f"{variable} does not name the built file"
    return None


collect_ignore_glob = ["*_test.py"] if reason() else []


def pytest_report_header():
    return f"parity: skipped ({reason()})" if reason() else "parity: with the real packages"


def pytest_runtest_setup():
    if reason():
        pytest.skip(reason())


def pytest_sessionfinish(session, exitstatus):
    if reason() and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = 0


if not reason():
    from hypothesis import HealthCheck, configuration, settings

    configuration.set_hypothesis_home_dir(tempfile.mkdtemp(prefix="netweight-hypothesis-"))

    settings.register_profile(
        "netweight", deadline=None, derandomize="NETWEIGHT_LONG" not in os.environ,
        database=None, print_blob=True, suppress_health_check=list(HealthCheck))
    settings.load_profile("netweight")
