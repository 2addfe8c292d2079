"""Leaks that mypy has to refuse: what is raw goes where what was released is meant."""

import collections
from pathlib import Path

from mypy import api

ROOT = Path(__file__).parents[2]
SAFE = ("Released", "Sent", "Coded")  # what only mechanisms make


def refused(source, leaks, folder):
    """Each leak (a file of `source`, what stands there, what leaks) is planted in a copy; mypy finds an error there."""
    mutants = {path: (source / path).read_text() for path, _, _ in leaks}
    for path, honest, leaking in leaks:
        assert honest in mutants[path], path
        mutants[path] = mutants[path].replace(honest, leaking)
    shadows = []
    for path, text in mutants.items():
        mutant = folder / path.replace("/", "_")
        mutant.write_text(text)
        shadows += ["--shadow-file", str(source / path), str(mutant)]
    given, cache = [str(source / path) for path in mutants], str(ROOT / ".cache" / "mypy-of-leaks")
    out, problems, _ = api.run(["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", cache, *shadows, *given])
    assert not problems
    wrong = [line for line in out.splitlines() if "error:" in line]
    for path, count in collections.Counter(path for path, _, _ in leaks).items():
        assert sum(path in line for line in wrong) >= count, (path, out)
    assert all(any(f'"{name}"' in line for name in SAFE) for line in wrong), out
