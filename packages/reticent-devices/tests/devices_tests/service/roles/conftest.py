"""One nursery for all tests of a worker, and the analyzer that a test writes down what it is told."""

import json
import subprocess
import sys

import pytest

from devices_tests.service.roles.analyzer_stub import Stub, server
from devices_tests.service.roles.running import Process


def bred(command):
    """A function that starts a role, by a process that forks them."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(path, role, port):
        process.stdin.write(json.dumps([str(path), role, port]) + "\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    with process:
        yield start


@pytest.fixture(scope="session")
def nursery():
    yield from bred([sys.executable, "-m", "devices_tests.service.roles.nursery"])


@pytest.fixture
def start(nursery, tmp_path):
    """start(role, text, port): a role in a folder of its own, ended after the test."""
    started = []

    def begin(role, text, port=0, folder=None):
        made = Process(nursery, folder or tmp_path / role, role, text, port)
        started.append(made)
        return made

    yield begin
    for process in started:
        process.kill()


@pytest.fixture
def stub(request):
    """An analyzer that wants 200 reports, or as many as the module says."""
    made = Stub(server(getattr(request.module, "WANTED", 200)).billboard())
    yield made
    made.close()
