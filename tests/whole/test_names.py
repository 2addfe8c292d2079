"""Names: one class has one, so that who reads or searches for it finds that class alone."""

import ast
import collections
from pathlib import Path

PACKAGES = Path(__file__).parents[2] / "packages"
FILES = [p for name in ("", "-serve", "-devices") for p in sorted((PACKAGES / f"reticent{name}" / "src").rglob("*.py"))]


def test_no_two_classes_have_one_name():
    found = collections.defaultdict(list)
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(str(path.relative_to(PACKAGES)))
    assert {name: where for name, where in found.items() if len(where) > 1} == {}


NAMEDTUPLES = {"_replace", "_asdict", "_fields", "_make"}
MOST = 120  # it may fall


def private_reads(tree):
    """Of attributes of other objects than one's own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            parent = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super"
            if not (own or parent or node.attr in NAMEDTUPLES):
                yield f"line {node.lineno}: {ast.unparse(node)}"


def test_few_objects_read_what_is_private_to_others():
    found = {path: list(private_reads(ast.parse(path.read_text()))) for path in FILES}
    assert sum(map(len, found.values())) <= MOST, {str(path): reads for path, reads in found.items() if reads}
    assert list(private_reads(ast.parse("a._b\nself._c\nsuper()._d\nself.e._f\ng._replace()"))) == [
        "line 1: a._b",
        "line 4: self.e._f",
    ]
