"""docs/images/path.svg: the path of one datum, from a request to the choices that learn from it."""

import textwrap
from pathlib import Path
from typing import NamedTuple

from tools.drawing import INK, SOFT, TEAL, Picture

SOURCE = Path(__file__).parents[1] / "packages"
WIDTH, HEIGHT, GAP, LEFT, TOP, BELOW = 176, 130, 34, 24, 84, 62  # pixels: a box, between boxes, margins, between rows
LETTERS = 23  # of a line in a box


class Kind(NamedTuple):
    fill: str
    border: str
    title: str
    words: str
    meaning: str


OWN = Kind("#ffffff", "#9fb0b4", INK, INK, "the asking person's own")
RAW = Kind("#fbeee6", "#d9a184", "#8f3f1c", INK, "raw: never shown")
GATE = Kind(TEAL, TEAL, "#ffffff", "#d6e6e9", "makes raw public")
PUBLIC = Kind("#e3eff1", "#8fb9c1", TEAL, INK, "public")


class Step(NamedTuple):
    name: str
    kind: Kind
    words: str
    home: str  # the package where it is; of several the first that there is
    column: int
    row: int

    @property
    def corner(self) -> tuple[int, int]:
        return LEFT + self.column * (WIDTH + GAP), TOP + self.row * (HEIGHT + BELOW)


STEPS = (
    Step("request", OWN, "one person's features, and what may be offered", "features", 0, 0),
    Step("choice", OWN, "an arm, drawn by the public estimate: all that this person is shown", "core", 1, 0),
    Step("waiting row", RAW, "what is kept of the choice, under its number", "holders", 2, 0),
    Step("reward", RAW, "written beside its row, at any time before the deadline", "holders", 3, 0),
    Step("deadline", RAW, "follows from the number; then the row counts, rewarded or not", "core", 4, 0),
    Step("contribution", RAW, "bounded for any input; joins the sums of the open step", "models", 4, 1),
    Step("mechanism", GATE, "adds noise, charged to the budget and kept before it is shown", "mechanisms", 3, 1),
    Step("released", PUBLIC, "noisy sums of all people so far: anybody may see them", "privacy", 2, 1),
    Step("estimate", PUBLIC, "follows from what was released, and from nothing else", "models", 1, 1),
)  # fmt: skip


def text() -> str:
    picture = Picture(LEFT * 2 + 5 * WIDTH + 4 * GAP, TOP + 2 * HEIGHT + BELOW + LEFT, "The path of one datum")
    picture.text(LEFT, 34, "The path of one datum", size=17, bold=True)
    picture.text(LEFT, 56, "What others are shown follows from what is public, and from their own requests.", fill=SOFT)
    for step, following in zip(STEPS, (*STEPS[1:], STEPS[1]), strict=True):
        _arrow(picture, step.corner, following.corner)
    x, y = STEPS[-1].corner
    picture.text(x + WIDTH // 2 + 12, y - BELOW // 2 + 4, "choices of later people", size=11.5, fill=SOFT)
    for step in STEPS:
        _box(picture, step)
    for i, kind in enumerate((OWN, RAW, GATE, PUBLIC)):
        y = TOP + HEIGHT + BELOW + 25 + 28 * i
        picture.rect(LEFT, y - 11, 14, 14, fill=kind.fill, stroke=kind.border, round=3)
        picture.text(LEFT + 24, y, kind.meaning, fill=SOFT)
    return picture.svg()


def _arrow(picture: Picture, start: tuple[int, int], end: tuple[int, int]) -> None:
    """From box to box, along their row or column."""
    (x, y), (to_x, to_y) = start, end
    if y == to_y:
        at, to = (x + WIDTH, to_x - 2) if to_x > x else (x, to_x + WIDTH + 2)
        points = f"M{at} {y + HEIGHT // 2} H{to}"
    else:
        at, to = (y + HEIGHT, to_y - 2) if to_y > y else (y, to_y + HEIGHT + 2)
        points = f"M{x + WIDTH // 2} {at} V{to}"
    picture.path(points, stroke=SOFT, width=1.6, arrow=True)


def _box(picture: Picture, step: Step) -> None:
    (x, y), kind = step.corner, step.kind
    homes = [home for home in step.home.split(" | ") if any(SOURCE.glob(f"*/src/*/{home}/"))]
    if not homes:
        raise ValueError(f"Expected a package where the {step.name} is (STEPS in tools/path.py), got {step.home}.")
    picture.rect(x, y, WIDTH, HEIGHT, fill=kind.fill, stroke=kind.border, round=8)
    picture.text(x + 14, y + 27, step.name, size=14.5, bold=True, fill=kind.title)
    for i, line in enumerate(textwrap.wrap(step.words, LETTERS)):
        picture.text(x + 14, y + 48 + 16 * i, line, fill=kind.words)
    quiet = kind.words if kind is GATE else SOFT
    picture.text(x + WIDTH - 12, y + HEIGHT - 11, f"{homes[0]}/", size=10.5, mono=True, fill=quiet, anchor="end")
