"""Raw and Released are kept apart: mypy refuses what mixes them, and only mechanisms convert."""

import ast
import re

from tests.whole.mistyped import ROOT, SAFE, refused

PACKAGES = ROOT / "packages"
SOURCE = PACKAGES / "reticent" / "src" / "reticent"
FILES = sorted(PACKAGES.glob("*/src/**/*.py"))
# bugs that the audit must find
PLANTED = {SOURCE / "testing" / "leaks.py", *ROOT.glob("packages/reticent-lab/src/reticent_lab/audit/*mutants.py")}

LEAKS = (  # a file, what stands there, and what leaks
    (
        "core/memory.py",
        "self.estimator.follow(self.released, ",
        "self.estimator.follow(self.state.prefix, ",
    ),
    (
        "core/memory.py",
        "self.estimator.resume(self.released, ",
        "self.estimator.resume(self.state.prefix, ",
    ),
    ("core/memory.py", "return self.state.prefix.released", "return self.state.prefix"),
    ("models/glm.py", "notice(prefix.released, ", "notice(prefix.closed, "),
    ("models/glm.py", "else prefix.released", "else prefix.open"),
    ("models/glm.py", "fit_blocks(prefix.released, ", "fit_blocks(prefix.closed, "),
    ("models/scores.py", "follow(prefix.released, ", "follow(prefix.open, "),
    (
        "roles/local.py",
        "return self._framed(made.encode(vector), id)",
        "return self._framed(vector.tobytes(), id)",
    ),
    (
        "roles/shuffle.py",
        "return coded(vector, self._noise, grid=grid, reach=of.reach, trials=of.trials, laplace=laplace)",
        "return np.rint(vector * grid).astype(np.int64) + of.reach",
    ),
    (
        "bandits/shuffle/newton_kernel.py",
        "fresh, variance = open_batch(reports, sums, plan, state)",
        "fresh, variance = sums / plan.scale, 0.0",
    ),
    (
        "bandits/local/server.py",
        "self._absorb(vector)",
        "self._absorb(np.frombuffer(report))",
    ),
    (
        "bandits/local/irls_kernel.py",
        "local_absorb(report, state)",
        "local_absorb(vector, state)",
    ),
    ("holders/steps.py", "leaves.written(noisy)", "leaves.written(total)"),
    (
        "holders/served.py",
        "leaves.read(leaf.noisy, plan.mechanism.size)",
        "leaf.noisy",
    ),
    (
        "holders/served.py",
        "Prior(leaves.read(bytes(given), size), ",
        "Prior(bytes(given), ",
    ),
)


def test_mypy_refuses_raw_sums_where_released_ones_are_meant(tmp_path):
    """Exact sums go to an estimate or a kernel instead of released ones, and a device sends its vector."""
    places = {file: [found.relative_to(PACKAGES) for found in PACKAGES.glob(f"*/src/*/{file}")] for file, _, _ in LEAKS}
    assert all(len(found) == 1 for found in places.values()), places
    refused(PACKAGES, [(str(*places[file]), honest, leaking) for file, honest, leaking in LEAKS], tmp_path)


def conversions(tree: ast.AST) -> list[int]:
    """Lines that could make something Released, Sent or Coded: uses of these names but as types, casts, other names."""
    types = set()
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            types |= {id(inner) for inner in ast.walk(part)} if part is not None else set()
        if isinstance(node, ast.FunctionDef):  # kernels.compile tells numba of them in decorators
            types |= {id(inner) for part in node.decorator_list for inner in ast.walk(part)}
    found = []
    for node in ast.walk(tree):
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        used = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load) and id(node) not in types
        if isinstance(node, ast.Attribute) and name == "cast" and getattr(node.value, "id", "") != "typing":
            used = False  # of a table's column
        renamed = isinstance(node, ast.ImportFrom) and any(a.asname and a.name in (*SAFE, "cast") for a in node.names)
        if (used and name in (*SAFE, "cast")) or renamed:
            found.append(node.lineno)
    return sorted(set(found))


def test_only_mechanisms_make_something_released():
    for path in FILES:
        text, inside = path.read_text(), "mechanisms" in path.parts or path in PLANTED
        found = [] if inside else conversions(ast.parse(text))
        assert not found, f"{path}: lines {found} convert outside of mechanisms/"
        silenced = [
            i + 1
            for i, line in enumerate(text.splitlines())
            if "type: ignore" in line and re.search(r"[Rr]aw|[Rr]eleased|Sent|Coded", line)
        ]
        assert inside or not silenced, f"{path}: lines {silenced}"


OPENING = SOURCE / "mechanisms" / "opening.py"
CLOSED = (SOURCE / "core", PACKAGES / "reticent-serve" / "src")


def test_nobody_opens_what_is_raw_but_by_its_door():
    """The class keeps its value under a mangled name. And where rows wait and enter, sums and rows are closed: open
    numbers have no name there. Which modules may import the validator is a contract of import-linter's."""
    for path in FILES:
        text = path.read_text()
        assert path == OPENING or "_Raw__" not in text, path
        if any(path.is_relative_to(folder) for folder in CLOSED):
            assert not re.search(r"\b(Exact|PrefixState)\b", text), path


def test_the_search_finds_conversions():
    """So that the test above can fail."""
    assert conversions(ast.parse("x = Released(raw)\ny = data.Released(raw)\nz = cast(Released, raw)")) == [1, 2, 3]
    assert conversions(ast.parse("x = Sent(raw)\ny = Coded(raw)")) == [1, 2]
    assert conversions(ast.parse("from reticent.data import Released as Shown\nx = Shown(raw)")) == [1]
    assert conversions(ast.parse("as_shown = Released\nx: Released = raw\ndef f(x: Released) -> Released: ...")) == [1]
    assert any(conversions(ast.parse(path.read_text())) for path in FILES)
