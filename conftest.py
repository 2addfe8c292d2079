"""Kernels compile on first use, so examples have no deadline. Tests have a register of saved bandits of their own. The
end of a run names what could not run here, and which command makes it run."""

import pytest
from hypothesis import settings

settings.register_profile("tacit", deadline=None)
settings.load_profile("tacit")


@pytest.fixture(autouse=True, scope="session")
def _register(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


def pytest_terminal_summary(terminalreporter):
    """Tests of pages where there is no browser. No other test may be skipped."""
    left = [report for report in terminalreporter.stats.get("skipped", ()) if not hasattr(report, "wasxfail")]
    for reason in sorted({report.longrepr[2] for report in left}):
        names = sorted(report.nodeid for report in left if report.longrepr[2] == reason)
        terminalreporter.section(f"{len(names)} tests were not run", yellow=True)
        terminalreporter.write_line(reason.removeprefix("Skipped: "))
        for name in names:
            terminalreporter.write_line(f"  {name}")
