"""Results are named by a digest of what made them: the files that are imported, and no others."""

import sys

import tacit.papers.reproductions.table2 as table2
from tacit import LinUCB, environments
from tacit.experiments import disk_cache, outcome
from tacit.experiments.imports import closure
from tacit.papers import GLOC, JointGLMRare


def names(*modules):
    package = disk_cache.PACKAGE
    return {path.relative_to(package).as_posix() for path in closure(modules, package)}


def test_it_has_what_runs_when_a_module_is_imported():
    """Static reading finds all that Python loads, but for packages' __init__ and what is only named in them."""
    found = names(LinUCB.__module__)
    assert {"bandits/references/lin_ucb_kernel.py", "bandits/base.py", "model/links.py"} <= found
    assert "bandits/joint/glm.py" not in found and not any(name.startswith("papers/") for name in found)
    assert names("tacit.papers.references.gloc") >= {"papers/references/gloc_kernel.py", "bandits/references/plain.py"}
    table = names(table2.__name__)
    kinds = [sys.modules[kind.__module__] for kind in (GLOC, JointGLMRare, LinUCB, environments.ball)]
    for module in kinds:  # through lazy names, and through an __init__ that hands them on
        assert module.__file__.removeprefix(f"{disk_cache.PACKAGE}/") in table
    assert "papers/shuffle/glm.py" not in table


def test_only_what_is_imported_is_in_the_digest(tmp_path, monkeypatch):
    package = tmp_path / "tacit"
    (package / "experiments").mkdir(parents=True)
    for name, text in {
        "__init__.py": "",
        "experiments/__init__.py": "",
        "experiments/runner.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tacit.seen import B\n",
        "one.py": "def f():\n    from tacit.two import A as C\n",
        "two.py": "A = 1\n",
        "three.py": "",
        "seen.py": "",
    }.items():
        (package / name).write_text(text)

    def digest():
        disk_cache._digest.cache_clear()
        return disk_cache._digest(package, frozenset({"tacit.one"}), frozenset(), told=False)

    before = digest()
    for name, matters in (("two.py", True), ("experiments/runner.py", True), ("three.py", False), ("seen.py", False)):
        text = (package / name).read_text()
        (package / name).write_text(text + "# a change\n")
        assert (digest() != before) is matters, name
        (package / name).write_text(text)
        assert digest() == before
    disk_cache._digest.cache_clear()


def test_what_is_finished_is_found_again_by_the_same_command_and_code(tmp_path, monkeypatch):
    asked = {"quick": True, "runs": None, "out": tmp_path}
    assert outcome.finished("table2", **asked) is None
    text = f"A table.\n\nMade by {outcome.made('table2', quick=True, runs=None)}\n"
    (tmp_path / "outcome.txt").write_text(text)
    assert outcome.finished("table2", **asked) == text
    assert outcome.finished("table2", **asked | {"runs": 3}) is None
    monkeypatch.setattr(outcome, "code", lambda name: "another")
    assert outcome.finished("table2", **asked) is None
