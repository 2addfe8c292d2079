"""`reticent` in this process."""

import sys

import pytest

from reticent import cli


def run(capsys, monkeypatch, *arguments):
    """The exit status, and both outputs."""
    monkeypatch.setattr(sys, "argv", ["reticent", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code, *capsys.readouterr()
