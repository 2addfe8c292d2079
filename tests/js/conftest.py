import pytest

from tests.js import node


@pytest.fixture(scope="package")
def package(tmp_path_factory):
    """The folder of the package, packed and installed."""
    return node.packed(tmp_path_factory.mktemp("packed"))
