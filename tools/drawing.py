"""A picture as SVG, written element by element: the same each time, and readable as text."""

import html

SANS = "system-ui, 'Segoe UI', 'Helvetica Neue', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, 'SF Mono', Menlo, 'DejaVu Sans Mono', monospace"
INK, SOFT, FAINT, LINE = "#1d2b30", "#5b6b70", "#f3f5f5", "#c9d2d4"
TEAL, RAW, PUBLIC = "#14505c", "#b4532a", "#2a6b78"


class Picture:
    """Of that size in pixels, on white. title: for who cannot see it."""

    def __init__(self, width: int, height: int, title: str) -> None:
        self.width, self.height = width, height
        self.lines = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
            f' role="img" font-family="{SANS}">',
            f"<title>{html.escape(title)}</title>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            f' orient="auto"><path d="M0 0.6 L7.4 4 L0 7.4 Z" fill="{SOFT}"/></marker></defs>',
        ]
        self.rect(0, 0, width, height, fill="#ffffff")

    def rect(
        self, x: float, y: float, width: float, height: float, *, fill: str, stroke: str = "none", round: float = 0.0
    ) -> None:
        self.lines.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round:g}" fill="{fill}"'
            f' stroke="{stroke}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = 12.0,
        fill: str = INK,
        bold: bool = False,
        mono: bool = False,
        anchor: str = "start",
        turn: float = 0.0,
    ) -> None:
        more = (' font-weight="600"' if bold else "") + (f' font-family="{MONO}"' if mono else "")
        more += f' transform="rotate({turn:g} {x:g} {y:g})"' if turn else ""
        self.lines.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{fill}" text-anchor="{anchor}"{more}>'
            f"{html.escape(words, quote=False)}</text>"
        )

    def dot(self, x: float, y: float, radius: float, *, fill: str) -> None:
        self.lines.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{fill}"/>')

    def path(self, points: str, *, stroke: str = LINE, width: float = 1.0, arrow: bool = False) -> None:
        head = ' marker-end="url(#head)"' if arrow else ""
        self.lines.append(f'<path d="{points}" fill="none" stroke="{stroke}" stroke-width="{width:g}"{head}/>')

    def svg(self) -> str:
        return "\n".join([*self.lines, "</svg>", ""])
