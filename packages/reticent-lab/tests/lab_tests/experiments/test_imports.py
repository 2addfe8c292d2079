"""Results are named by a digest of what made them: the files that are imported, and no others."""

from reticent import LinUCB
from reticent_lab.experiments import disk_cache
from reticent_lab.experiments.imports import closure


def names(*modules):
    folders = {package.name: package.folder for package in disk_cache._packages()}
    return {
        path.relative_to(folder.parent).as_posix()
        for path in closure(modules, folders)
        for folder in folders.values()
        if path.is_relative_to(folder)
    }


def test_it_has_what_runs_when_a_module_is_imported():
    """Static reading finds all that Python loads, but for packages' __init__ and what is only named in them."""
    found = names(LinUCB.__module__)
    assert {"reticent/references/lin_ucb_kernel.py", "reticent/core/live.py", "reticent/model/links.py"} <= found
    assert "reticent/joint.py" not in found


def test_only_what_is_imported_is_in_the_digest(tmp_path, monkeypatch):
    package, lab = tmp_path / "reticent", tmp_path / "reticent_lab"
    for folder in (package, lab):
        (folder / "experiments").mkdir(parents=True)
    (lab / "experiments" / "sweeps.py").write_text("from reticent.experiments import runner\n")
    for name, text in {
        "__init__.py": "", "experiments/__init__.py": "",
        "experiments/runner.py": "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from reticent.seen import B\n",
        "one.py": "def f():\n    from reticent.two import A as C\n", "two.py": "A = 1\n", "three.py": "",
        "seen.py": "",
    }.items():  # fmt: skip
        (package / name).write_text(text)

    packages = (disk_cache.SourceFolder("reticent", package, ()), disk_cache.SourceFolder("reticent_lab", lab, ()))

    def digest():
        disk_cache._digest.cache_clear()
        return disk_cache._digest(packages, frozenset({"reticent.one"}), frozenset(), told=False)

    before = digest()
    for name, matters in (("two.py", True), ("experiments/runner.py", True), ("three.py", False), ("seen.py", False)):
        text = (package / name).read_text()
        (package / name).write_text(text + "# a change\n")
        assert (digest() != before) is matters, name
        (package / name).write_text(text)
        assert digest() == before
    disk_cache._digest.cache_clear()
