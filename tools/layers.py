"""docs/images/layers.svg: the layers as the contract in pyproject.toml has them, and what each of their packages
imports, as the import graph has it (grimp, which the import-linter reads it by)."""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterable
from pathlib import Path

import grimp

from tools.drawing import FAINT, INK, LINE, SOFT, TEAL, Picture

ROOT = Path(__file__).parents[1]
PACKAGE = "reticent"
GATE = "mechanisms"  # the only layer that turns what is raw into what may be shown
ROW, LEFT, NAMES, TOP, RIGHT = 22, 24, 118, 122, 64  # pixels: a row; margin, names, titles of columns, margin
WORDS, CHARACTERS = 356, 55  # of what a package is: pixels and letters
DOT, IMPORTED = 5.5, "#7d9298"


def contract() -> list[list[str]]:
    """The packages of each layer, from the top."""
    return [re.split(r" [|:] ", layer) for layer in _layers()]


def _layers() -> list[str]:
    """As they are written: those of one layer may import one another (":") or not ("|")."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (rule["layers"] for rule in settings["contracts"] if rule.get("containers") == [PACKAGE])
    return list(layers)


def imports() -> set[tuple[str, str]]:
    """(package, package that it imports), each a child of reticent."""
    graph, found = grimp.build_graph(PACKAGE, cache_dir=None), set()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            pair = child(module), child(other)
            if all(pair) and pair[0] != pair[1]:
                found.add(pair)
    return found


def child(module: str) -> str:
    return ".".join(module.split(".")[1:2])


def about(name: str) -> str:
    """The first clause of its docstring."""
    path = ROOT / "packages" / PACKAGE / "src" / PACKAGE / name
    source = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()
    words = re.split(r"[.:](?:\s|$)", ast.get_docstring(ast.parse(source)) or "", maxsplit=1)[0]
    return textwrap.shorten(words.replace("`", ""), CHARACTERS, placeholder=" …")


def text() -> str:
    return drawn(contract(), imports())


def drawn(layers: list[list[str]], imported: Iterable[tuple[str, str]]) -> str:
    names = [name for layer in layers for name in layer]
    place = {name: i for i, name in enumerate(names)}
    of = {name: i for i, layer in enumerate(layers) for name in layer}
    together = {i for i, layer in enumerate(_layers()) if " : " in layer}
    grid = LEFT + NAMES + WORDS
    side = ROW * len(names)
    picture = Picture(grid + side + RIGHT, TOP + side + 50, "The layers of reticent and their imports")
    picture.text(LEFT, 34, "The layers of reticent", size=17, bold=True)
    picture.text(LEFT, 56, "Each imports from those below it alone.", fill=SOFT)
    for name, i in place.items():  # where an import would break the contract
        forbidden = sum(of[other] < of[name] + (of[name] not in together) for other in names)
        picture.rect(grid, TOP + ROW * i, ROW * forbidden, ROW, fill=FAINT)
    for i in range(len(names) + 1):
        first = i == len(names) or i == 0 or of[names[i]] != of[names[i - 1]]
        if first:
            picture.path(f"M{LEFT} {TOP + ROW * i} H{grid + side}", stroke=LINE)
        picture.path(f"M{grid + ROW * i} {TOP} V{TOP + side}", stroke=LINE if first else FAINT)
    picture.rect(LEFT - 8, TOP + ROW * place[GATE] + 1, grid + side - LEFT + 8, ROW - 2, fill="#e3eff1", round=4)
    for name, i in place.items():
        middle, colour = TOP + ROW * (i + 0.5), TEAL if name == GATE else INK
        picture.text(LEFT, middle + 4, name, mono=True, bold=True, fill=colour)
        picture.text(LEFT + NAMES, middle + 4, about(name), fill=colour if name == GATE else SOFT)
        column = grid + ROW * (i + 0.5)
        picture.text(column + 4, TOP - 8, name, mono=True, size=11.5, turn=-60, fill=colour, bold=name == GATE)
        picture.dot(column, middle, 2, fill=LINE)
    for name, other in sorted(imported):
        gate = GATE in (name, other)
        x, y = grid + ROW * (place[other] + 0.5), TOP + ROW * (place[name] + 0.5)
        picture.dot(x, y, DOT, fill=TEAL if gate else IMPORTED)
    foot = TOP + side + 28
    picture.dot(LEFT + 6, foot - 4, DOT, fill=IMPORTED)
    picture.text(LEFT + 20, foot, "the row's package imports the column's", fill=SOFT)
    picture.rect(LEFT + 300, foot - 13, 18, 18, fill=FAINT, stroke=LINE)
    picture.text(LEFT + 328, foot, "must not", fill=SOFT)
    return picture.svg()
