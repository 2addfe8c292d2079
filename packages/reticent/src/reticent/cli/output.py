"""What commands say: results on standard output, and whatever else on standard error."""

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import typer

if TYPE_CHECKING:
    from reticent.experiments.result import Result


def stderr() -> Any:
    """A rich console: loaded when there is something to say there."""
    from rich.console import Console

    return Console(stderr=True)


def tell(text: str, style: str | None = None) -> None:
    """On standard error; lines end where they end, unless a person looks at a terminal."""
    console = stderr()
    console.print(text, style=style, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def fail(message: str, code: int = 1) -> NoReturn:
    tell(message, "red")
    raise SystemExit(code)


def confirm(what: str, yes: bool) -> None:
    """Before something that cannot be undone."""
    if not yes and not sys.stdin.isatty():
        raise ValueError(f"Expected --yes to {what}, got no terminal to ask on.")
    if not yes and not typer.confirm(f"This will {what}. Go on?", err=True):
        fail("Nothing was done.")


def write_json(document: Any, indent: int | None = None) -> None:
    sys.stdout.write(json.dumps(document, allow_nan=False, indent=indent) + "\n")


def show(result: "Result", *, as_json: bool) -> None:
    """What simulations found."""
    if as_json:
        write_json(result.json())
    else:
        sys.stdout.write(result.table() + "\n")


class progress:
    """A bar with an estimate, on standard error; until it moves, it says why it may not."""

    def __init__(self, title: str) -> None:
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        self.bar = Progress(*columns, console=stderr(), transient=True)
        self.title = title
        self.task = self.bar.add_task(f"{title}: compiling kernels that are new", total=1.0)

    def __enter__(self) -> Callable[[float], None]:
        self.bar.start()
        return lambda share: self.bar.update(self.task, completed=share, description=self.title)

    def __exit__(self, *_: object) -> None:
        self.bar.stop()
