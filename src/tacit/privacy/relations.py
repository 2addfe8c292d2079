"""Which two worlds a claim compares: the neighbouring relation, by its name and in words.

    replace    one user is somebody else, whatever their request, reward and times are.
    zero-out   one user is there, or is counted and contributes nothing: the number of choices is the same. What is
               summed moves by one contribution, and not by the difference of two: less noise, and a weaker promise.
               Two users who both contribute are two steps apart: for mu-GDP, replacing one costs 2 mu.
Either is about a whole round, or, where features and offered arms are public, about its reward alone; a regression is
about rows. What is claimed for one relation says nothing of the same strength about another: the ledger counts no two
of them together. Every release names its own, and there is no default: what a certificate, a dashboard or a page of a
role says of people follows from it."""

from collections.abc import Iterable

REPLACE, ZERO_OUT = "replace", "zero-out"
ADJACENCIES = (REPLACE, ZERO_OUT)
REWARDS = " rewards"  # after either, where contexts are public
ROWS = "replace rows"  # of a regression
ROUNDS = tuple(adjacency + what for what in ("", REWARDS) for adjacency in ADJACENCIES)
RELATIONS = (*ROUNDS, ROWS)

_LATER = "; later users may be chosen adaptively"
_OTHERS = "; the others may be chosen adaptively"
_COUNTED = "who is counted and contributes nothing, so that the number of choices is public"
_ROUND = "one user: one round's whole arm set and reward"
_REWARD = "one user: one round's reward, and whether and when it came; features and offered arms are public"
UNIT = {
    REPLACE: _ROUND,
    ZERO_OUT: _ROUND,
    REPLACE + REWARDS: _REWARD,
    ZERO_OUT + REWARDS: _REWARD,
    ROWS: "one person: one row of X and its target",
}
USER = {
    REPLACE: "replace one user by another whose request is valid" + _LATER,
    ZERO_OUT: f"zero-out: replace one user by one {_COUNTED}" + _LATER,
    REPLACE + REWARDS: "replace one user's reward by another, sooner, later or none" + _LATER,
    ZERO_OUT + REWARDS: "zero-out: replace one user's reward by none" + _LATER,
    ROWS: "replace one person; the number of rows is public",
}
PERSON = {
    REPLACE: "replace one person in all rounds by another whose requests are valid" + _OTHERS,
    ZERO_OUT: f"zero-out: replace one person in all rounds by one {_COUNTED}" + _OTHERS,
    REPLACE + REWARDS: "replace the rewards of one person in all rounds by others, sooner, later or none" + _OTHERS,
    ZERO_OUT + REWARDS: "zero-out: replace the rewards of one person in all rounds by none" + _OTHERS,
}
WEEK = {  # nobody counts by the week where contexts are public
    REPLACE: "replace one person in the rounds that are answered in one week by another whose requests are valid; all "
    "others may be chosen adaptively",
    ZERO_OUT: "zero-out: replace one person in the rounds that are answered in one week by one who is counted and "
    "contributes nothing; all others may be chosen adaptively",
}
WEAKER = (
    'The claim is for zero-out (adjacency="zero-out"), a weaker promise than for replacing: which of two answers was '
    "given is protected less, since two answers are two steps apart, at twice mu. Do not compare its epsilon with one "
    "for replacing."
)


def named(adjacency: str, *, public: bool = False) -> str:
    """public: whether contexts are."""
    return adjacency + REWARDS if public else adjacency


def of_rewards(relation: str) -> bool:
    return relation.endswith(REWARDS)


def zeroed(relation: str) -> bool:
    return relation.startswith(ZERO_OUT)


def one(found: Iterable[str]) -> str:
    """The relation that all of them have; ValueError where they differ, and where there are none."""
    different = sorted(set(found))
    if len(different) != 1:
        several = f"several: {' and '.join(different)}" if different else "none"
        raise ValueError(f"Expected releases for one neighbouring relation, got {several}.")
    return different[0]
