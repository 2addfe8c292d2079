"""What is wrong with the fields of some people: counts by field, for a sample that need not be protected."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reticent.features.columns import Column, Number, is_none, lenient, strict

PROBLEMS = ("unknown", "missing", "out of bounds", "wrong type")
EXAMPLES = 3  # values of each field that are shown


@dataclass
class FieldCounts:
    """Of one field. RAW where people have to be protected: it holds values. none: where null says that there is none.
    examples: of values that are unknown, out of bounds or of the wrong type, as JSON has them."""

    strict: bool
    people: int = 0
    none: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    examples: Counter[str] = field(default_factory=Counter)

    def add(self, problem: str, value: Any = None) -> None:
        self.problems[problem] += 1
        if problem != "missing":
            self.examples[repr(value)] += 1

    @property
    def wrong(self) -> bool:
        """A value that is missing is wrong where the field is strict, or if it is never there."""
        missing = self.problems["missing"]
        others = self.problems.total() - missing
        return bool(others or (missing and (self.strict or missing == self.people)))


class Sample:
    """Counts of the fields of a schema, person by person."""

    def __init__(self, fields: Mapping[str, Column]) -> None:
        self._columns = {name: (lenient(column), strict(column)) for name, column in fields.items()}
        self.counts = {name: FieldCounts(column.strict) for name, column in fields.items()}

    def add(self, given: Mapping[str, Any], names: Iterable[str]) -> None:
        """One person's fields, or an action's: those of `names`."""
        for name in names:
            counts = self.counts[name]
            counts.people += 1
            if name not in given:
                counts.add("missing")
            elif is_none(given[name]):
                counts.none += 1
            else:
                problem = _problem(*self._columns[name], given[name])
                if problem:
                    counts.add(problem, given[name])


def _problem(takes_all: Column, knows: Column, value: Any) -> str | None:
    try:
        takes_all.entries(value)
    except (ValueError, TypeError):
        return "wrong type"
    try:
        knows.entries(value)
    except ValueError:
        return "out of bounds" if isinstance(knows, Number) else "unknown"
    return None
