"""Kept runs are those of the code that runs now: a changed default is never answered with an old figure."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import reticent
from reticent import LinUCB, Spec, environments
from reticent_lab.experiments import disk_cache
from reticent_lab.experiments.sweeps import simulate

WORLD = environments.ball(dim=2, arms=3)
RUN = """
import json, sys, warnings
from pathlib import Path
from reticent import LinUCB, Spec, environments
from reticent_lab.experiments import disk_cache
from reticent_lab.experiments.sweeps import simulate
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    result = simulate([Spec(LinUCB)], environments.ball(dim=2, arms=3), horizon=60, runs=2, seed=0, out=sys.argv[1])
told = [str(warning.message) for warning in told]
print(json.dumps({"code": disk_cache.code(), "regret": [run.regret for run in result.runs], "told": told}))
"""


def run(package, folder):
    """What a fresh process finds with a copy of the package: without compiling, which a copy would begin anew."""
    environment = os.environ | {"PYTHONPATH": str(package), "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", RUN, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def names(folder):
    return sorted(path.name for path in (folder / "runs").iterdir())


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package's source elsewhere."""
    root = tmp_path_factory.mktemp("source")
    shutil.copytree(Path(reticent.__file__).parent, root / "reticent", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def test_a_changed_default_is_run_again_and_unchanged_code_is_not(copy, tmp_path):
    first = run(copy, tmp_path)
    assert first["code"] == disk_cache.code() and not first["told"]  # the same code elsewhere is the same code
    before, again = names(tmp_path), run(copy, tmp_path)
    assert again == first and names(tmp_path) == before
    source = copy / "reticent" / "references" / "lin_ucb.py"
    text = source.read_text()
    assert "width_scale: float = 1.0" in text
    source.write_text(text.replace("width_scale: float = 1.0", "width_scale: float = 0.0"))
    os.utime(source, (0, 1_000_000_000))  # bytecode is renewed where time stamps differ by a second
    changed = run(copy, tmp_path)
    assert changed["code"] != first["code"] and changed["regret"] != first["regret"]
    assert len(names(tmp_path)) == 4
    assert len(changed["told"]) == 1 and "2 of 2 runs are kept in" in changed["told"][0]
    source.write_text(text)  # the old code finds its own runs again
    os.utime(source, (0, 1_100_000_000))
    assert run(copy, tmp_path) == first


CODE = ("kernels/linear.py", "environments/synthetic.py", "privacy/gaussian.py", "experiments/runner.py")


@pytest.mark.parametrize("file", [*CODE, "cli/parse.py", "experiments/table.py"])
def test_any_code_that_can_change_a_result_is_in_the_key(file, copy, monkeypatch):
    monkeypatch.setattr(disk_cache, "PACKAGE", copy / "reticent")
    before, source = disk_cache.code(), copy / "reticent" / file
    text = source.read_text()
    source.write_text(text + "\n# a change\n")
    disk_cache._digest.cache_clear()
    assert (disk_cache.code() != before) == (file in CODE)
    source.write_text(text)
    disk_cache._digest.cache_clear()
    assert disk_cache.code() == before


def test_a_new_version_of_a_library_that_computes_is_other_code(monkeypatch):
    before = disk_cache.code()
    monkeypatch.setattr(disk_cache, "_version", lambda name: "99" if name == "numba" else "1")
    disk_cache._digest.cache_clear()
    assert disk_cache.code() != before
    disk_cache._digest.cache_clear()


def own_bandit(path, scale):
    """LinUCB with another default, from a file outside the package."""
    path.write_text(
        "from dataclasses import dataclass\nfrom reticent import LinUCB\n\n@dataclass(kw_only=True, eq=False)\n"
        f"class Own(LinUCB):\n    width_scale: float = {scale}\n"
    )
    spec = importlib.util.spec_from_file_location("own_bandit", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["own_bandit"] = module
    spec.loader.exec_module(module)
    disk_cache._digest.cache_clear()
    return module.Own


def test_a_bandit_of_your_own_is_code_too(tmp_path):
    def regret(scale):
        kind = own_bandit(tmp_path / "own.py", scale)
        return simulate([Spec(kind)], WORLD, horizon=60, runs=1, seed=0, out=tmp_path).runs[0].regret

    try:
        first = regret(1.0)
        with pytest.warns(UserWarning, match="1 of 1 runs are kept in .* from other code"):
            second = regret(0.0)
        assert first != second == regret(0.0)
    finally:
        del sys.modules["own_bandit"]
    assert len(names(tmp_path)) == 2


def test_code_that_is_in_no_file_is_not_kept(tmp_path):
    namespace = {"LinUCB": LinUCB, "__name__": "nowhere"}
    exec("class Typed(LinUCB): pass", namespace)
    with pytest.raises(ValueError, match="Expected Typed to come from a file where runs are kept"):
        simulate([Spec(namespace["Typed"])], WORLD, horizon=20, runs=1, seed=0, out=tmp_path)
    assert simulate([Spec(namespace["Typed"])], WORLD, horizon=20, runs=1, seed=0).runs[0].regret >= 0
