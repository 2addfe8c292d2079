"""How many rounds each person has had with a bandit, by keyed hash. RAW. Callers hold a transaction (`run`)."""

from collections.abc import Mapping, Sequence

from tacit.holders.database import Run

AT_ONCE = 5000  # rows of a statement: databases take at most 32 766 or 65 535 values


def rounds(run: Run, name: str, digests: Sequence[bytes]) -> dict[bytes, int]:
    """How many these people have had. Nobody else counts any of them until the transaction ends. Given in order, so
    that nobody waits in a circle."""
    had: dict[bytes, int] = {}
    for some in _parts(digests):
        found = run(
            f"INSERT INTO person (name, digest, rounds) VALUES {', '.join(['(?, ?, 0)'] * len(some))} ON CONFLICT"
            " (name, digest) DO UPDATE SET rounds = person.rounds RETURNING digest, rounds",
            *(value for digest in some for value in (name, digest)),
        )
        had |= {bytes(digest): int(rounds) for digest, rounds in found}
    return had


def put_rounds(run: Run, name: str, had: Mapping[bytes, int]) -> None:
    for some in _parts(list(had)):
        run(
            f"INSERT INTO person (name, digest, rounds) VALUES {', '.join(['(?, ?, ?)'] * len(some))} ON CONFLICT"
            " (name, digest) DO UPDATE SET rounds = excluded.rounds",
            *(value for digest in some for value in (name, digest, had[digest])),
        )


def _parts(digests: Sequence[bytes]) -> list[Sequence[bytes]]:
    return [digests[start : start + AT_ONCE] for start in range(0, len(digests), AT_ONCE)]


def forget_weeks(run: Run, name: str, length: int, before: bytes) -> None:
    """Removes the counts of people's weeks, which have keys of that length, below a week."""
    run("DELETE FROM person WHERE name = ? AND digest < ? AND length(digest) = ?", name, before, length)


def forget_all(run: Run, name: str) -> None:
    run("DELETE FROM person WHERE name = ?", name)
