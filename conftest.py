"""Kernels compile on first use, so examples have no deadline. Tests have a register of saved bandits of their own. The
end of a run names what could not run here, and which command makes it run."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from devices_tests.roles import boards
from tests import registered

# processes that tests start find their helpers, too
os.environ["PYTHONPATH"] = os.pathsep.join(
    path for path in sys.path if Path(path).name == "tests" and Path(path).is_dir()
)
settings.register_profile("reticent", deadline=None)
settings.load_profile("reticent")


def pytest_generate_tests(metafunc):
    """`registered` is each bandit of the package whose tests these are; `served` each server that publishes billboards,
    `served_local` and `served_shuffled` those of one model."""
    if "registered" in metafunc.fixturenames:
        metafunc.parametrize("registered", registered.bandits(registered.of(metafunc.module.__name__)))
    for name in metafunc.fixturenames:  # joint_case: each of the module's JOINT_CASES
        if name.endswith("_case"):
            cases = getattr(metafunc.module, f"{name.upper()}S")
            metafunc.parametrize(name, cases.values(), ids=cases)
    servers = getattr(metafunc.module, "SERVERS", boards.SERVERS)
    for name, wanted in (("served", (True, False)), ("served_local", (True,)), ("served_shuffled", (False,))):
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, [each for each in servers if boards.is_local(each) in wanted])


@pytest.fixture
def registering(request):
    """The package whose tests these are."""
    return registered.of(request.module.__name__)


@pytest.fixture(autouse=True, scope="session")
def _register(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _figures():
    """Those that a test leaves open are closed, whichever tests ran before it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def pytest_terminal_summary(terminalreporter):
    """Tests of pages where there is no browser. No other test may be skipped."""
    left = [report for report in terminalreporter.stats.get("skipped", ()) if not hasattr(report, "wasxfail")]
    for reason in sorted({report.longrepr[2] for report in left}):
        names = sorted(report.nodeid for report in left if report.longrepr[2] == reason)
        terminalreporter.section(f"{len(names)} tests were not run", yellow=True)
        terminalreporter.write_line(reason.removeprefix("Skipped: "))
        for name in names:
            terminalreporter.write_line(f"  {name}")
