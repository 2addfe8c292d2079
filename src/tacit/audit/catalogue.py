"""Every attack there is. A module that ships a mechanism adds its function to LISTS."""

from collections.abc import Callable, Sequence

from tacit import checks
from tacit.audit.attack import Attack
from tacit.audit.attacks_bandits import bandit_attacks
from tacit.audit.attacks_discrete import discrete_attacks
from tacit.audit.attacks_grid import grid_attacks, grid_mutants
from tacit.audit.attacks_mechanisms import mechanism_attacks
from tacit.audit.attacks_mutants import mutant_attacks
from tacit.audit.attacks_people import people_attacks
from tacit.audit.attacks_rare import rare_attacks
from tacit.audit.attacks_secure import secure_attacks, secure_mutants
from tacit.audit.local import attacks as local_attacks
from tacit.audit.reweighted import attacks as reweighted_attacks
from tacit.audit.reweighted_late import attacks as late_attacks
from tacit.audit.shuffle import attacks as shuffle_attacks

LISTS: tuple[Callable[[], Sequence[Attack]], ...] = (
    mechanism_attacks,
    bandit_attacks,
    rare_attacks,
    people_attacks,
    discrete_attacks,
    grid_attacks,
    secure_attacks,
    shuffle_attacks,
    local_attacks,
    mutant_attacks,
    grid_mutants,
    secure_mutants,
    reweighted_attacks,
    late_attacks,
)


def all_attacks() -> tuple[Attack, ...]:
    """In the order of the report; names are unique."""
    attacks = tuple(attack for make in LISTS for attack in make())
    names = [attack.name for attack in attacks]
    if len(set(names)) != len(names):
        raise ValueError(f"Expected unique names of attacks, got {sorted(n for n in names if names.count(n) > 1)}.")
    return attacks


def named(names: Sequence[str]) -> tuple[Attack, ...]:
    """The attacks of these names, all for none."""
    attacks = {attack.name: attack for attack in all_attacks()}
    for name in names:
        checks.name("an attack", name, attacks)
    return tuple(attacks[name] for name in names) if names else tuple(attacks.values())
