"""The README and the docs run: every Python block, and every short command. What they name exists."""

import dataclasses
import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

from reticent import Budget, Holdout, JointGLM, Person, Reward, Variant, WarmStart, cli, registry

ROOT = Path(__file__).parents[2]
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *sorted(ROOT.glob("docs/**/*.md"))]
HEAVY = (
    "what-algorithm-2-leaks.md",
)  # packages/reticent-papers/tests/papers_tests/reproductions/test_leak.py runs the same
BLOCKS = [
    pytest.param(code, id=f"{page.relative_to(ROOT)}-{i}", marks=[pytest.mark.full] * (page.name in HEAVY))
    for page in PAGES
    if page.name != "CONTRIBUTING.md"  # tests/whole/test_contributing.py
    for i, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]
COMMANDS = [
    command.split("#")[0].strip()
    for command in re.findall(
        r"^    (reticent (?:simulate|privacy) .*)$", (ROOT / "README.md").read_text(), re.MULTILINE
    )
]


@pytest.mark.parametrize("code", BLOCKS)
def test_python_blocks_run(code, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ("examples", "packages/reticent-papers/examples"):
        monkeypatch.syspath_prepend(ROOT / folder)
    monkeypatch.setitem(sys.modules, "docs", module := type(sys)("docs"))
    exec(compile(code, "docs", "exec", dont_inherit=True), module.__dict__)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0 and capsys.readouterr().out


def anchors(page):
    """The names that the headings of a page have in links."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_and_pictures_exist(page):
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text()):
        if "://" not in target:
            to = page.parent / target if target else page
            assert to.exists(), target
            assert not anchor or anchor in anchors(to), (target, anchor)


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs").glob("**/*.md"):
        assert page.name == "README.md" or f"({page.relative_to(ROOT / 'docs')})" in index, page.name


def test_every_bandit_in_the_table_of_the_readme_exists():
    rows = [line.split("|")[1] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("| ")]
    named = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert len(named) > 20 and sorted(named) == sorted(set(named) & registry.bandits().keys())


@pytest.mark.parametrize("kind", [JointGLM, Reward, Budget, Person, Variant, WarmStart, Holdout])
def test_help_names_every_setting(kind):
    text = " ".join((kind.__doc__ or "").split())
    for field in dataclasses.fields(kind):
        assert re.search(rf"\b{field.name}\b", text), field.name


def test_help_begins_with_what_is_required():
    text = " ".join((JointGLM.__doc__ or "").split())
    names = [field.name for field in dataclasses.fields(JointGLM)]
    assert [text.index(f" {name}: ") for name in names] == sorted(text.index(f" {name}: ") for name in names)


def test_every_picture_is_shown():
    text = "".join(page.read_text() for page in PAGES)
    for picture in (ROOT / "docs" / "images").iterdir():
        assert f"images/{picture.name})" in text, picture.name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_is_named_exists(page):
    """Modules and what is in them (`reticent.model.links`), and files of the project (`tests/whole/replay.py`)."""
    text = re.sub(r"^```python\n# .*$", "", page.read_text(), flags=re.MULTILINE)  # files that an example is for
    for name in re.findall(r"`(reticent(?:_\w+)?(?:\.\w+)+)`", text):
        assert resolves(name), name
    for path in re.findall(r"\b((?:packages/[\w-]+/)?(?:src|tests|examples|docs)/[\w./-]*\w\.(?:py|md|png))\b", text):
        assert (ROOT / path).exists(), path
    for path in re.findall(r"`reticent/([\w/]+(?:\.py)?)`", text):
        assert (ROOT / "packages" / "reticent" / "src" / "reticent" / path).exists(), path


def resolves(name):
    module, rest = name, []
    while module:
        try:
            found = importlib.import_module(module)
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
            continue
        for part in rest:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_that_a_stale_name_is_noticed():
    assert resolves("reticent.model.links.given")
    assert not resolves("reticent.mechanism") and not resolves("reticent.model.links.missing")


def test_the_demo_and_the_package_name_no_folder_outside():
    for path in [*ROOT.glob("src/**/*.py"), *ROOT.glob("examples/*.py"), *PAGES, ROOT / "Makefile"]:
        assert ".." + "/shared" not in path.read_text(), path
