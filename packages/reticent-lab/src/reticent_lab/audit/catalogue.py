"""Every attack there is: those of each file in reticent_lab/audit/attacks, and of packages that bring others."""

import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

from reticent import checks, registry
from reticent_lab.audit.attack import Attack


def files() -> list[Any]:
    """The modules of attacks, by their names."""
    packages = list(map(importlib.import_module, registry.values("ATTACKS")))
    names = [
        f"{package.__name__}.{file.name}" for package in packages for file in pkgutil.iter_modules(package.__path__)
    ]
    return list(map(importlib.import_module, names))


def all_attacks() -> tuple[Attack, ...]:
    """In the order of the report, claims before planted bugs; names are unique."""
    found: list[Attack] = [attack for file in files() for attack in file.attacks()]
    names = [attack.name for attack in found]
    if len(set(names)) != len(names):
        raise ValueError(f"Expected unique names of attacks, got {sorted(n for n in names if names.count(n) > 1)}.")
    return tuple(sorted(found, key=lambda attack: not attack.claimed))


def named(names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks of these names, all for none."""
    known = {attack.name: attack for attack in all_attacks()}
    for name in names:
        checks.name("an attack", name, known)
    return tuple(known[name] for name in names) if names else tuple(known.values())
