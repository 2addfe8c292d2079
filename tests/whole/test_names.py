"""Names: one class has one, so that who reads or searches for it finds that class alone."""

import ast
import collections
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "tacit"
FILES = [path for path in SOURCE.rglob("*.py") if "papers" not in path.relative_to(SOURCE).parts]


def test_no_two_classes_have_one_name():
    found = collections.defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(SOURCE)))
    assert {name: where for name, where in found.items() if len(where) > 1} == {}
