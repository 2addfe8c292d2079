"""Serving works without what only experiments need, and experiments say what is missing."""

import subprocess
import sys
import tomllib
from pathlib import Path

BLOCK = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"polars", "matplotlib", "sklearn", "dp_accounting"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""
SERVE = """
import tempfile
import numpy as np
from reticent import Bandit, Budget, JointGLM, Variant
bandit = Bandit(JointGLM(2, Budget(4.0, 1e-6), model=Variant(first=3)))
for _ in range(5):
    choice = bandit.choose(np.eye(2))
    bandit.observe(choice, 1.0)
assert choice.propensity > 0
assert bandit.privacy.private and bandit.privacy.spent > 0
with tempfile.TemporaryDirectory() as folder:
    bandit.save(folder + "/bandit.json")
    again = Bandit.load(folder + "/bandit.json")
    again.observe(again.choose(np.eye(2)), 0.0)
from reticent import Spec, environments, simulate
world = environments.ball(dim=2, arms=2)
simulated = simulate([Spec(JointGLM, budget=Budget(4.0, 1e-6))], world, horizon=9, runs=1, seed=0)
assert simulated.table() and simulated.json()
"""
ASK = """
from pathlib import Path
from reticent import logs
from reticent.errors import NotInstalled, ReticentError
from reticent.privacy.composition import repeated_epsilon
Path("log.csv").write_text("x0,action,reward\\n0.5,0,1\\n")
asked = {
    ("polars for logs", "logs"): lambda: logs.read("log.csv"),
    ("dp-accounting for composition beyond Gaussians", "composition"): lambda: repeated_epsilon(0.1, 1e-6, 9, 0.1),
}
for (name, extra), ask in asked.items():
    try:
        ask()
    except NotInstalled as error:
        assert isinstance(error, ReticentError) and isinstance(error, ImportError)
        assert str(error) == f"Expected {name}, got none: pip install 'reticent[{extra}]'.", error
    else:
        raise AssertionError(name)
"""


def python(code, *arguments, folder):
    command = [sys.executable, "-c", BLOCK + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_a_core_installation_serves_and_says_what_else_is_missing(tmp_path):
    done = python(SERVE + ASK, folder=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_package_that_is_there_but_broken_is_not_called_missing(tmp_path):
    (tmp_path / "polars.py").write_text("import something_else\n")
    code = "import sys; sys.path.insert(0, '.')\nfrom reticent import extras\n"
    code += "extras.load('polars', 'rows', extra='logs')\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "No module named 'something_else'" in done.stderr


def test_the_extra_has_what_the_code_asks_for():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = {line.partition(">")[0] for name in ("logs", "composition") for line in extras[name]}
    assert names == {"polars", "dp-accounting"}
    assert not names & {line.partition(">")[0] for line in project["dependencies"]}
