import sys

import pytest

from tacit import cli


@pytest.fixture
def tacit(monkeypatch, capsys):
    """A command, in this process: exit code, standard output, standard error."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code or 0, *capsys.readouterr()

    return call
