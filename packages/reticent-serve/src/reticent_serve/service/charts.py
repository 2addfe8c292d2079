"""Small charts of what each action earns, drawn here as SVG: one for each field, and one of three lines on top. What a
chart shows is in its table as well."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reticent.data import Array
from reticent.models.segments import FieldSegment, Likely, Segments
from reticent_serve.service.markup import Markup, tag
from reticent_serve.service.words import Scale, listed, percent

MOST_ACTIONS, MOST_VALUES = 4, 9  # of one chart
BY_FIELD = (
    "For people with each value of a field, whatever their other fields are: the average reward that each of the "
    "leading actions would bring, with its interval, cut where it leaves the chart. All charts have one scale; the "
    "field that is worth most comes first."
)
LEFT, TOP, BOTTOM, HEIGHT = 13.0, 10.0, 168.0, 190  # per cent of the width, and pixels
NARROW, LETTER = 300.0, 6.6  # pixels: of the narrowest chart, and of a letter
RARE = 0.02  # of people: fewer are left out, where a value is "other" or "none"
ROUGH = 0.05  # error of a share above which it is not told
MARKS = (
    "M-4-4H4V4H-4Z",
    "M0-5.5L5.5 0 0 5.5-5.5 0Z",
    "M0-5L5 4.5H-5Z",
    "M4.5 0A4.5 4.5 0 1 1-4.5 0A4.5 4.5 0 1 1 4.5 0Z",
)


class Drawing(NamedTuple):
    """What a field's chart has: some of its values and the leading actions, by their places."""

    field: FieldSegment
    values: list[int]
    actions: list[int]


def section(said: Segments, names: Sequence[str], rewards: tuple[float, float]) -> Markup | None:
    """Which action each field's values speak for; None where no field has values to show, as hashed ones."""
    if not said.fields:
        return None
    scale, order = Scale.of(rewards, said.random.value), sorted(said.fields, key=lambda one: -one.adds.value)
    drawn = [chosen(one, said.best) for one in order]
    span = _range(drawn)
    cards = [field(lines, said, names, scale, span) for lines in drawn]
    return tag(
        "section",
        tag("h2", "Which action, by field"),
        tag("p", BY_FIELD, class_="note"),
        tag("div", cards, class_="cards fields", id="fields", data_live=True),
    )


def field(
    lines: Drawing, said: Segments, names: Sequence[str], scale: Scale, span: tuple[float, float, list[float]]
) -> Markup:
    """A card: what the field says in words, the chart, and its table."""
    one = lines.field
    words = sentence(lines, said.best, names)
    legend = tag(
        "ul",
        [tag("li", _swatch(a), names[a], " (best single)" if a == said.best else None) for a in lines.actions],
        class_="legend",
    )
    return tag(
        "div",
        tag("h3", one.name),
        tag("p", words),
        legend,
        _plot(lines, names, scale, span, f"{one.name}: {words}"),
        tag("p", _adds(one, names[said.best], scale), class_="note"),
        tag(
            "details",
            tag("summary", "As a table", aria_label=f"{one.name} as a table"),
            tag("div", _table(lines, names, scale), class_="wide", tabindex=0, role="region", aria_label=one.name),
            id=f"table {one.name}",
        ),
        class_="card",
    )


def three(rows: Sequence[tuple[str, Likely]], scale: Scale) -> Markup:
    """Mean rewards below each other, on one scale."""
    low, high = min(each.low for _, each in rows), max(each.high for _, each in rows)
    room = max(high - low, 1e-9)

    def at(value: float) -> str:
        return f"{2 + 96 * (value - low) / room:.1f}%"

    return tag(
        "ul",
        [
            tag(
                "li",
                tag("span", name),
                tag(
                    "svg",
                    tag("line", x1=at(each.low), x2=at(each.high), y1=8, y2=8),
                    tag("circle", cx=at(each.value), cy=8, r=5),
                    height=16,
                    aria_hidden="true",
                ),
                tag("span", scale.likely(*each), class_="share"),
                class_="likely" if i == len(rows) - 1 else None,
            )
            for i, (name, each) in enumerate(rows)
        ],
        class_="three",
    )


def chosen(one: FieldSegment, single: int) -> Drawing:
    """The values to be drawn, without those that hardly anybody has, and the actions that are best for most people,
    beside the best single one."""
    last = len(one.labels) - 1
    values = [v for v in range(last + 1) if v < last or one.shares[v] > max(RARE, 3 * one.error)]
    if not one.ordered and len(values) > MOST_VALUES:
        values = sorted(sorted(values, key=lambda v: -one.shares[v])[:MOST_VALUES])
    weight = np.zeros(one.mean.shape[1])
    for v in values:
        weight[one.best[v]] += max(float(one.shares[v]), 1e-6)
    weight[single] += 1.0  # always there
    if np.count_nonzero(weight) == 1:  # and something to compare it with
        others = one.shares @ one.mean
        others[single] = -np.inf
        weight[int(others.argmax())] += 1e-6
    order = np.argsort(-weight, kind="stable")[:MOST_ACTIONS]
    return Drawing(one, values, sorted(int(a) for a in order if weight[a] > 0))


def sentence(lines: Drawing, single: int, names: Sequence[str]) -> str:
    """Which action each value speaks for, and for which of them that is clear."""
    one = lines.field
    best = {v: int(one.best[v]) for v in lines.values}
    if set(best.values()) == {single}:
        return f"{names[single]} looks best for all of its values."
    parts, sure_of = [], [v for v in lines.values if one.instead[v].low > 0]
    for a in dict.fromkeys(best.values()):
        here = [v for v in lines.values if best[v] == a]
        clear = [v for v in here if v in sure_of]
        sure = "" if not clear else " (clearly)" if clear == here else f" (clearly for {_labels(one, clear)})"
        parts.append(f"{names[a]} for {_labels(one, here)}{sure}")
    return f"{'Looks best' if sure_of else 'Not clear yet; leans to'}: {'; '.join(parts)}."


def _labels(one: FieldSegment, values: list[int]) -> str:
    return listed([one.labels[v] for v in values])


def _adds(one: FieldSegment, single: str, scale: Scale) -> str:
    if one.adds.high <= 0 or one.adds.low == one.adds.high:
        return f"So far, choosing by it alone brings no more than “{single}” for everybody."
    if one.adds.low > 0:
        return f"Choosing by it alone brings {scale.apart(*one.adds)} more than “{single}” for everybody."
    more = f"Whether choosing by it alone brings more than “{single}” for everybody is not clear yet"
    return f"{more}: {scale.apart(*one.adds)}."


def _swatch(action: int) -> Markup:
    return tag("svg", _mark("7", 7, action), width=14, height=14, aria_hidden="true")


def _mark(x: str, y: float, action: int) -> Markup:
    shape = tag("path", d=MARKS[(action + action // 8) % len(MARKS)])
    return tag("svg", shape, x=x, y=f"{y:.1f}", overflow="visible", class_=f"mark a{action % 8}")


def _plot(
    lines: Drawing, names: Sequence[str], scale: Scale, span: tuple[float, float, list[float]], words: str
) -> Markup:
    one, count, several = lines.field, len(lines.values), len(lines.actions)
    low, high, ticks = span

    def x(place: int, nth: int) -> float:
        slot = (100 - LEFT) / count
        return LEFT + slot * (place + 0.5) + min(slot * 0.55 / several, 4.0) * (nth - (several - 1) / 2)

    def y(value: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * (min(max(value, low), high) - low) / (high - low)

    grid = [
        [
            tag("line", x1=f"{LEFT - 1}%", x2="100%", y1=f"{y(t):.1f}", y2=f"{y(t):.1f}", class_="grid"),
            tag("text", scale.reward(t), x=f"{LEFT - 2}%", y=f"{y(t) + 4:.1f}", text_anchor="end"),
        ]
        for t in ticks
    ]
    drawn = []
    for nth, a in enumerate(lines.actions):
        parts = []
        for place, v in enumerate(lines.values):
            here, mean = f"{x(place, nth):.2f}%", y(float(one.mean[v, a]))
            ends = f"{y(float(one.low[v, a])):.1f}", f"{y(float(one.high[v, a])):.1f}"
            parts.append(tag("line", x1=here, x2=here, y1=ends[0], y2=ends[1], class_="ends"))
            if one.ordered and place > 0 and v < len(one.labels) - 1:
                before = f"{x(place - 1, nth):.2f}%", f"{y(float(one.mean[lines.values[place - 1], a])):.1f}"
                parts.append(tag("line", x1=before[0], y1=before[1], x2=here, y2=f"{mean:.1f}"))
            parts.append(_mark(here, mean, a))
        drawn.append(tag("g", tag("title", names[a]), parts, class_=f"a{a % 8}"))
    labels = [
        tag("text", _short(one.labels[v], count), x=f"{x(place, 0) + (x(place, several - 1) - x(place, 0)) / 2:.2f}%",
            y=HEIGHT - 4, text_anchor="middle")
        for place, v in enumerate(lines.values)
        if count <= MOST_VALUES or place % -(-count // MOST_VALUES) == 0
    ]  # fmt: skip
    return tag("svg", grid, drawn, labels, class_="plot", height=HEIGHT, role="img", aria_label=words)


def _range(drawn: Sequence[Drawing]) -> tuple[float, float, list[float]]:
    """The scale of rewards, the same for all fields, and its marks. It cuts intervals that go far beyond estimates."""

    def all_of(part: str) -> Array:
        return np.concatenate([getattr(one.field, part)[np.ix_(one.values, one.actions)].ravel() for one in drawn])

    mean = all_of("mean")
    least, most = float(mean.min()), float(mean.max())
    room = max(most - least, 0.02 * float(np.abs(mean).max()), 1e-6)
    low = max(min(float(all_of("low").min()), least - 0.1 * room), least - 0.3 * room)
    high = min(max(float(all_of("high").max()), most + 0.1 * room), most + 0.3 * room)
    rough = (high - low) / 4
    size = 10.0 ** np.floor(np.log10(rough))
    step = float(next(size * k for k in (1, 2, 2.5, 5, 10) if size * k >= 0.99 * rough))
    first = int(np.ceil(low / step))
    return low, high, [k * step for k in range(first, int(np.floor(high / step)) + 1)]


def _short(label: str, count: int) -> str:
    """What fits below a mark."""
    most = max(2, int((1 - LEFT / 100) * NARROW / min(count, MOST_VALUES) / LETTER))
    return label if len(label) <= most else label[: most - 1] + "…"


def _table(lines: Drawing, names: Sequence[str], scale: Scale) -> Markup:
    """All values, and the actions of the chart."""
    one = lines.field
    titles = (one.name, "People, about", *(names[a] for a in lines.actions), "Looks best")
    rows = [
        tag(
            "tr",
            tag("th", label, scope="row"),
            tag("td", percent(float(one.shares[v])) if one.error < ROUGH else "not known yet"),
            [
                tag("td", scale.likely(*(float(part[v, a]) for part in (one.mean, one.low, one.high))))
                for a in lines.actions
            ],
            tag("td", names[one.best[v]] + (", clearly" if one.instead[v].low > 0 else "")),
        )
        for v, label in enumerate(one.labels)
    ]
    head = tag("thead", tag("tr", [tag("th", title, scope="col") for title in titles]))
    return tag("table", head, tag("tbody", rows))
