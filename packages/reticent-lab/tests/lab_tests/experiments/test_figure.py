"""Names at the ends of lines can be read: in the lines' order, and none on another."""

from itertools import pairwise

import pytest

from reticent_lab.experiments import figure
from reticent_lab.experiments.figure import Line


@pytest.mark.parametrize("scale", ["linear", "log"])
@pytest.mark.parametrize(
    "ends", [(1.0, 1.0, 1.0, 900.0), (500.0, 501.0, 502.0, 503.0, 504.0), (3.0, 1000.0, 1000.0), (0.5, 0.5, 0.5, 100.0)]
)
def test_names_at_the_ends_of_lines_do_not_lie_on_each_other(ends, scale):
    canvas, axes = figure.subplots(1, 1)
    axis = axes[0, 0]
    for i, end in enumerate(ends):
        axis.plot([0, 10], [1.0, end], label=str(i))
    axis.set_yscale(scale)
    figure.below(axis)
    figure.at_ends(axis)
    assert axis.get_legend() is None
    texts = sorted(axis.texts, key=lambda text: text.get_position()[1])
    assert [text.get_text() for text in texts] == [str(i) for i in sorted(range(len(ends)), key=lambda i: ends[i])]
    canvas.draw_without_rendering()
    boxes = [text.get_window_extent() for text in texts]
    assert all(lower.y1 <= upper.y0 for lower, upper in pairwise(boxes))
    assert boxes[0].x0 > axis.get_window_extent().x1
    assert boxes[0].y0 > axis.get_window_extent().y0 - 2  # not among the ticks


@pytest.fixture
def axis():
    _, axes = figure.subplots(1, 1)
    axes[0, 0].plot([0, 10], [0.0, 100.0], label="curve")
    axes[0, 0].set_ylim(0, 110)
    return axes[0, 0]


def test_bounds_are_in_the_legend_and_do_not_squash_the_curves(axis):
    lines = [Line("low", [1, 10], [1.0, 10.0], True), Line("near", [1, 10], [1.0, 150.0], False)]
    figure.draw_bounds(axis, [*lines, Line("far (1e+09 at the end)", [1, 10], [1e8, 1e9], False)])
    assert axis.get_ylim() == (0, 150)
    names = [text.get_text() for text in axis.get_legend().get_texts()]
    assert names == ["curve", "low", "near", "far (1e+09 at the end), above the picture"]


def test_no_two_bounds_look_alike(axis):
    lines = [Line(f"{i}", [1, 10], [1.0, 500.0 + i], lower) for lower in (True, False) for i in range(9)]
    figure.draw_bounds(axis, lines)
    looks = [(str(line._unscaled_dash_pattern), line.get_color()) for line in axis.get_lines()[1:]]
    assert len(set(looks)) == len(lines)
    names = [text.get_text() for text in axis.get_legend().get_texts()[1:]]
    assert names == [f"{line.label}, leaves the picture" for line in lines]
