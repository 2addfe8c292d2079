"""What is kept of a reproduction: it is that of the code that it imports, here and in the core."""

import sys

import reticent_papers.reproductions.table2 as table2
from lab_tests.experiments.test_imports import names
from reticent import LinUCB, environments
from reticent_lab.experiments import disk_cache
from reticent_papers import GLOC, JointGLMRare, outcome


def test_it_has_what_runs_when_a_module_is_imported():
    found = names("reticent_papers.references.gloc")
    assert found >= {"reticent_papers/references/gloc_kernel.py", "reticent_lab/plain.py"}
    table = names(table2.__name__)
    kinds = [sys.modules[kind.__module__] for kind in (GLOC, JointGLMRare, LinUCB, environments.ball)]
    for module in kinds:  # through lazy names, and through an __init__ that hands them on
        assert any(module.__file__.endswith(f"/{name}") for name in table)
    assert "reticent_papers/shuffle/glm.py" not in table


def test_reproductions_are_code_of_what_they_find_and_not_of_runs():
    (papers,) = [package for package in disk_cache._packages() if package.name == "reticent_papers"]
    assert all((papers.folder / name).exists() for name in papers.apart)
    assert disk_cache.code(table2) != disk_cache.code(table2, told=True)


def test_what_is_finished_is_found_again_by_the_same_command_and_code(tmp_path, monkeypatch):
    asked = {"quick": True, "runs": None, "out": tmp_path}
    assert outcome.finished("table2", **asked) is None
    text = f"A table.\n\nMade by {outcome.made('table2', quick=True, runs=None)}\n"
    (tmp_path / "outcome.txt").write_text(text)
    assert outcome.finished("table2", **asked) == text
    assert outcome.finished("table2", **asked | {"runs": 3}) is None
    monkeypatch.setattr(outcome, "code", lambda name: "another")
    assert outcome.finished("table2", **asked) is None
