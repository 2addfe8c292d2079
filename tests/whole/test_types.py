"""Raw and Released are kept apart: mypy refuses what mixes them, and only mechanisms convert."""

import ast
import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tacit"
FILES = sorted(SOURCE.rglob("*.py"))
PLANTED = SOURCE / "audit" / "mutants.py"  # bugs that the audit must find

LEAK_IN_A_STEP = (
    "bandits/joint/continual.py",
    "released = self.aggregator.release(self._state.prefix, self.source)",
    "exact = self._state.prefix.open.copy()\n"
    "            self.aggregator.release(self._state.prefix, self.source)\n"
    "            released = exact",
)
LEAK_IN_A_BANDIT = (
    "bandits/joint/glm.py",
    "irls.update(\n            released,",
    "irls.update(\n            self._state.prefix.closed,",
)
LEAK_IN_ANOTHER = ("bandits/joint/lin_ucb.py", "ridge.update(released, ", "ridge.update(self._state.prefix.closed, ")
LEAK_IN_A_MATRIX = ("bandits/joint/glm_rare.py", "redesign(released, ", "redesign(self._state.prefix.closed, ")
LEAK_IN_A_KERNEL = ("bandits/joint/glm_kernel.py", "fit(prefix.released, ", "fit(prefix.open, ")
LEAK_IN_A_DESCENT = (
    "bandits/joint/glm_rare_kernel.py",
    "released = with_noise(total, noise[n], rule.cell)",
    "released = total",
)
LEAK_IN_AN_ESTIMATE = ("regression/reweighting.py", "asked.release(k, total, count, source), ridge)", "total, ridge)")
LEAK_IN_A_STORE = ("bandits/stored/releases.py", "leaves.written(noisy)", "leaves.written(total)")
LEAKS = (
    LEAK_IN_A_STEP,
    LEAK_IN_A_BANDIT,
    LEAK_IN_ANOTHER,
    LEAK_IN_A_MATRIX,
    LEAK_IN_A_KERNEL,
    LEAK_IN_A_DESCENT,
    LEAK_IN_AN_ESTIMATE,
    LEAK_IN_A_STORE,
)


def test_mypy_refuses_raw_sums_where_released_ones_are_meant(tmp_path):
    """Each leak is planted in a copy of its file, and that is where mypy finds an error: the exact sums of a step go to
    the estimate, a kernel or a descent instead of what the mechanism released."""
    shadows = []
    for path, honest, leaking in LEAKS:
        text = (SOURCE / path).read_text()
        assert text.count(honest) == 1, path
        mutant = tmp_path / path.replace("/", "_")
        mutant.write_text(text.replace(honest, leaking))
        shadows += ["--shadow-file", str(SOURCE / path), str(mutant)]
    given = [str(SOURCE / path) for path, _, _ in LEAKS]
    cache = str(ROOT / ".cache" / "mypy-of-leaks")
    out, problems, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", cache, *shadows, *given])
    assert not problems
    wrong = [line for line in out.splitlines() if "error:" in line]
    for path, _, _ in LEAKS:
        found = [line for line in wrong if path in line]
        assert found and all('"Released"' in line for line in found), (path, out)
    assert len(wrong) == len([line for line in wrong if '"Released"' in line])


def conversions(tree: ast.AST) -> list[int]:
    """Lines that make something Released: by calling it so, or by a cast."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("Released", "cast"):
                found.append(node.lineno)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_mechanisms_make_something_released(path):
    text = path.read_text()
    lines = text.splitlines()
    inside = path.relative_to(SOURCE).parts[0] == "mechanisms" or path == PLANTED
    found = [] if inside else conversions(ast.parse(text))
    assert not found, f"lines {found} convert outside of mechanisms/"
    silenced = [
        i + 1 for i, line in enumerate(lines) if "type: ignore" in line and re.search(r"[Rr]aw|[Rr]eleased", line)
    ]
    assert inside or not silenced


def test_the_search_finds_conversions():
    """So that the test above can fail."""
    assert conversions(ast.parse("x = Released(raw)\ny = data.Released(raw)\nz = cast(Released, raw)")) == [1, 2, 3]
    assert any(conversions(ast.parse(path.read_text())) for path in FILES)
