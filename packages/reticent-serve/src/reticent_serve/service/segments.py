"""What a bandit by fields says of people, as JSON: functions of released sums (reticent.models.segments)."""

from collections.abc import Sequence
from typing import Any

from reticent.models.segments import FieldSegment, Segments


def written(said: Segments | None, names: Sequence[str]) -> dict[str, Any] | None:
    """names: of the actions that `said` is of. None where nothing is said."""
    if said is None:
        return None
    likely = {name: getattr(said, name)._asdict() for name in ("chosen", "random", "single", "adds", "gains")}
    return {
        "level": said.level,
        "actions": list(names),
        "best": names[said.best],
        **likely,
        "fields": [_field(one, names) for one in said.fields],
    }


def _field(one: FieldSegment, names: Sequence[str]) -> dict[str, Any]:
    values = [
        {
            "value": label,
            "share": share,
            "best": names[best],
            "beyond_single": beyond._asdict(),
            "rewards": {
                name: {"value": value, "low": low, "high": high}
                for name, value, low, high in zip(names, *rewards, strict=True)
            },
        }
        for label, share, best, beyond, *rewards in zip(
            one.labels,
            one.shares.tolist(),
            one.best.tolist(),
            one.instead,
            *(part.tolist() for part in (one.mean, one.low, one.high)),
            strict=True,
        )
    ]
    return {"name": one.name, "share_error": one.error, "adds": one.adds._asdict(), "values": values}
