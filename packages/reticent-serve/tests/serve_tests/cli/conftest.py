from core_tests.cli.conftest import reticent

__all__ = ["reticent"]
