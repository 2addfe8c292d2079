"""Which files of some packages a module imports, and these in turn: what can change its results.

Read from the source, without running it. A package's __init__ counts where something is defined in it, or the whole
package is imported; a name that it hands on is looked up where it comes from."""

import ast
import functools
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

Packages = Mapping[str, Path]  # their folders


class Named(NamedTuple):
    """`from module import name`; name is "" for `import module`."""

    module: str
    name: str


def closure(modules: Iterable[str], packages: Packages) -> frozenset[Path]:
    """The files of `packages` that these modules and all that they import lie in. Modules elsewhere are left
    out."""
    found: set[Path] = set()
    waiting = [_file(module, packages) for module in modules]
    while waiting:
        path = waiting.pop()
        if path is None or path in found:
            continue
        found.add(path)
        waiting += [_home(each, packages) for each in imported(path, packages)]
    return frozenset(found)


def imported(path: Path, packages: Packages) -> tuple[Named, ...]:
    """What that file imports when it runs; what only type checkers see is left out."""
    return _imports(path, _stamp(path), frozenset(packages), typed=False)


def _home(each: Named, packages: Packages) -> Path | None:
    """Where something that is imported lies: the name is a module, or is handed on by one, or defined in it."""
    if not each.name:
        return _file(each.module, packages)
    inner = _file(f"{each.module}.{each.name}", packages)
    outer = _file(each.module, packages)
    if inner is not None or outer is None or outer.name != "__init__.py":
        return inner or outer
    for handed in _imports(outer, _stamp(outer), frozenset(packages), typed=True):
        if handed.name == each.name:
            return _home(handed, packages)
    return outer


def _file(module: str, packages: Packages) -> Path | None:
    top, *parts = module.split(".")
    if top not in packages:
        return None
    place = packages[top].joinpath(*parts)
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@functools.cache
def _imports(path: Path, stamp: tuple[int, int], tops: frozenset[str], *, typed: bool) -> tuple[Named, ...]:
    found = []
    for node in _statements(ast.parse(path.read_bytes()), typed):
        if isinstance(node, ast.Import):
            found += [Named(alias.name, "") for alias in node.names]
        elif node.module is not None:
            found += [Named(node.module, alias.name) for alias in node.names]
    return tuple(each for each in found if each.module.partition(".")[0] in tops)


def _statements(tree: ast.AST, typed: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif typed or not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from _statements(node, typed)
