"""The README and the docs run: every Python block, and every short command."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from tacit import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(code, id=f"{page.name}-{i}")
    for page in PAGES
    for i, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]
COMMANDS = [
    command.split("#")[0].strip()
    for command in re.findall(r"^    (tacit (?:simulate|privacy) .*)$", (ROOT / "README.md").read_text(), re.MULTILINE)
]


@pytest.mark.parametrize("code", BLOCKS)
def test_python_blocks_run(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(ROOT / "examples")
    exec(compile(code, "docs", "exec"), {})


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    assert capsys.readouterr().out


def test_links_and_pictures_exist():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), (page.name, target)


def test_the_demo_and_the_package_name_no_folder_outside():
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("examples/*.py"), *PAGES, ROOT / "Makefile"]:
        assert ".." + "/shared" not in path.read_text(), path
