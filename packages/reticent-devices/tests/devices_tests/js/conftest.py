import pytest

from devices_tests.js import chromium, node


@pytest.fixture(scope="package")
def package(tmp_path_factory):
    """The folder of the package's modules, packed and installed."""
    return node.packed(tmp_path_factory.mktemp("packed")) / "dist"


@pytest.fixture(scope="package")
def browser():
    """One for all tests of this package: Playwright has no two at once."""
    with chromium.opened(tests=node.HERE) as found:
        yield found


@pytest.fixture(scope="package", params=["node", "chromium"])
def run(request):
    """A function that does a task of replay.js: with the modules of which folder, which task, and a file for it."""
    return node.task if request.param == "node" else request.getfixturevalue("browser")
