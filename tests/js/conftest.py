import pytest

from tests.js import chromium, node


@pytest.fixture(scope="package")
def package(tmp_path_factory):
    """The folder of the package's modules, packed and installed."""
    return node.packed(tmp_path_factory.mktemp("packed")) / "dist"


@pytest.fixture(scope="package", params=["node", "chromium"])
def run(request):
    """A function that does a task of replay.js: with the modules of which folder, which task, and a file for it."""
    if request.param == "node":
        yield node.task
    else:
        with chromium.opened(tests=node.HERE) as browser:
            yield browser
