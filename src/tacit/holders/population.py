"""What all bandits of a population cost a person who is in all of them: with all rounds in those that limit a person's
rounds, and with one round in each of the others."""

from collections.abc import Sequence

import msgspec

from tacit.holders import rows
from tacit.holders.incarnation import Vault
from tacit.holders.register import Member, Register
from tacit.privacy.certificate import Certificate
from tacit.privacy.ledger import Release, epsilon_of, relation_of


class Population(msgspec.Struct, frozen=True, kw_only=True):
    """bandits: the names on record, the retired and deleted ones too; a name that was made anew is there twice.
    epsilon: of all of them together, at the smallest delta that one of them claims. neighbours: the relation that it is
    for, by its name (privacy.relations). unlimited: those of them without max_rounds_per_person; one round of a person
    is counted in each. unrecorded: bandits of this database that no population is known of, and that are not
    counted."""

    name: str
    bandits: tuple[str, ...]
    epsilon: float
    delta: float
    neighbours: str
    unlimited: tuple[str, ...]
    unrecorded: tuple[str, ...]

    @property
    def caveat(self) -> str | None:
        """What a certificate of one of its bandits says; None where it is the only one."""
        if len(self.bandits) < 2 and not self.unrecorded:
            return None
        listed, once, others = map(", ".join, (self.bandits, self.unlimited, self.unrecorded))
        rounds = f", with one round in each of {once} (which have no limit: more rounds cost more)," if once else ""
        return (
            f"The population {self.name} has {len(self.bandits)} bandits on record ({listed}): a person who is in all "
            f"of them{rounds} has epsilon {self.epsilon:.4g} at delta {self.delta:g} (neighbours: {self.neighbours}). "
            "Not counted: those that share neither a database nor a folder with this one and were never served with it"
            + (f"; {others}." if others else ".")
        )


class Membership:
    """One bandit's place in its population: on record when this is made, and for ever."""

    def __init__(
        self, population: str, vault: Vault, register: Register, claim: Certificate, rounds: int | None
    ) -> None:
        self._population, self._database, self._register = population, vault.database, register
        with self._database.transaction() as run:
            first = rows.incarnations(run, vault.bandit.name)[0][1]
        assert claim.delta is not None  # of a bandit that claims privacy
        mine = Member(
            population=population,
            line=first,
            name=vault.bandit.name,
            uid=vault.uid,
            incarnation=vault.bandit.incarnation,
            delta=claim.delta,
            releases=claim.releases,
            rounds=rounds,
        )
        self.learn([mine])

    @property
    def members(self) -> list[Member]:
        """All bandits of any population that are on record here."""
        return self._register.members()

    def learn(self, members: Sequence[Member]) -> None:
        """Puts on record here what may be on record elsewhere."""
        check_relation(self._population, [*self.members, *members])
        self._register.add(members)

    def together(self) -> Population:
        members = self.members
        recorded = {member.line for member in members}
        with self._database.transaction() as run:
            unrecorded = [name for name, uid in rows.lines(run) if uid not in recorded]
        return compose(self._population, members, unrecorded)


def check_relation(name: str, members: Sequence[Member], more: Sequence[Release] = ()) -> None:
    """ValueError where the neighbours of two bandits of a population, or those of releases that would join them,
    differ: no epsilon is that of both together."""
    releases = [*more, *(release for m in members if m.population == name for release in m.releases)]
    if not releases:
        return
    try:
        relation_of(releases)
    except ValueError as error:
        raise ValueError(
            f"{error} A bandit keeps its relation for ever, and a population ({name!r}) has one: give a bandit of "
            "another relation another name, and a population of its own."
        ) from None


def compose(name: str, members: Sequence[Member], unrecorded: Sequence[str] = ()) -> Population:
    """Each line counts once, as it was at its last incarnation: its releases are those of all incarnations."""
    last: dict[str, Member] = {}
    for member in sorted((m for m in members if m.population == name), key=lambda m: m.incarnation):
        last[member.line] = member
    delta = min(member.delta for member in last.values())
    releases = [release for member in last.values() for release in member.releases]
    return Population(
        name=name,
        bandits=tuple(sorted(member.name for member in last.values())),
        epsilon=epsilon_of(releases, delta),
        delta=delta,
        neighbours=relation_of(releases),
        unlimited=tuple(sorted(member.name for member in last.values() if member.rounds is None)),
        unrecorded=tuple(unrecorded),
    )
