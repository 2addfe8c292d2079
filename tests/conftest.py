"""Kernels compile on first use, so examples have no deadline. Tests have a register of saved bandits of their own."""

import pytest
from hypothesis import settings

settings.register_profile("tacit", deadline=None)
settings.load_profile("tacit")


@pytest.fixture(autouse=True, scope="session")
def _register(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
