import sys

import pytest

from reticent import cli


@pytest.fixture
def reticent(monkeypatch, capsys):
    """A command, in this process: exit code, standard output, standard error."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["reticent", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code or 0, *capsys.readouterr()

    return call
