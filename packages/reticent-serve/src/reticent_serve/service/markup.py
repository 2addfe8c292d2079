"""HTML from Python: whatever is not already markup is escaped."""

import html
from collections.abc import Iterable
from typing import TypeAlias

EMPTY = ("meta", "link", "input")  # elements without an inside


class Markup(str):
    """Text that is HTML already."""


Child: TypeAlias = "str | int | Iterable[Child] | None"


def tag(name: str, *children: Child, **attributes: str | int | float | bool | None) -> Markup:
    """<name attributes>children</name>. Names: `class_` is class, `data_live` is data-live; None and False are left
    out, True has no value."""
    listed = []
    for key, value in attributes.items():
        word = key.rstrip("_").replace("_", "-")
        if value is True:
            listed.append(f" {word}")
        elif value is not None and value is not False:
            listed.append(f' {word}="{html.escape(str(value))}"')
    opening = f"<{name}{''.join(listed)}>"
    closing = "" if name in EMPTY else f"</{name}>"
    return Markup(opening + inside(children) + closing)


def inside(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return str(child)
    if isinstance(child, str | int):
        return html.escape(str(child))
    return "".join(map(inside, child))


def document(title: str, *body: Child) -> str:
    """A whole page. It needs nothing from elsewhere, and neither script nor style is within it."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name_="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name_="color-scheme", content="light dark"),
        tag("title", title),
        tag("link", rel="icon", href="/assets/icon.svg", type="image/svg+xml"),
        tag("link", rel="stylesheet", href="/assets/uPlot.min.css"),
        tag("link", rel="stylesheet", href="/assets/dashboard.css"),
        tag("script", src="/assets/uPlot.iife.min.js", defer=True),
        tag("script", src="/assets/dashboard.js", type="module"),
    )
    return "<!doctype html>" + tag("html", head, tag("body", *body), lang="en")
