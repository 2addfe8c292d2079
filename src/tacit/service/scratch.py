"""Scratch bandits: for made-up people, with the settings of a bandit that is served, for `tacit audit --url`."""

from typing import Any

from tacit import checks

OF = "scratch_of"
OWN = (OF, "durable", "keys", "hold", "delay")  # what a scratch bandit has of its own


def filled(document: dict[str, Any]) -> dict[str, Any]:
    """With the settings of the bandit that a scratch bandit is of, in a population of its own: nobody is in it."""
    bandits = document.get("bandits")
    if not isinstance(bandits, dict) or not any(_is_scratch(given) for given in bandits.values()):
        return document
    return document | {"bandits": {name: _filled(name, given, bandits) for name, given in bandits.items()}}


def _is_scratch(given: Any) -> bool:
    return isinstance(given, dict) and given.get(OF) is not None


def _filled(name: str, given: Any, bandits: dict[str, Any]) -> Any:
    if not _is_scratch(given):
        return given
    served = {other: setting for other, setting in bandits.items() if not _is_scratch(setting)}
    checks.name("the name of a bandit in scratch_of", str(given[OF]), served)
    if others := sorted(set(given) - set(OWN)):
        raise ValueError(
            f"[bandits.{name}]: Expected scratch_of, durable, keys, hold and delay alone, since all else is as in "
            f"{given[OF]}, got {', '.join(others)}."
        )
    apart = {"population": f"scratch {name}"}
    return {key: value for key, value in served[given[OF]].items() if key not in OWN} | given | apart
