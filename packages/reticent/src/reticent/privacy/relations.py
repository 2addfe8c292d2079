"""Which two worlds a claim compares: the neighbouring relation, by its name and in words.

    replace           one user's round is another, whatever its request, reward and times are.
    replace rewards   its reward is another, where features and offered arms are public.
    replace rows      one row of a regression is another.

What is claimed for one relation says nothing of the same strength about another: the ledger counts no two of them
together. Every release names its own, and there is no default: what a certificate, a dashboard or a page of a
role says of people follows from it."""

from collections.abc import Iterable

REPLACE = "replace"
REWARDS = "replace rewards"  # where contexts are public
ROWS = "replace rows"  # of a regression
ROUNDS = (REPLACE, REWARDS)
RELATIONS = (*ROUNDS, ROWS)

_LATER = "; later users may be chosen adaptively"
_OTHERS = "; the others may be chosen adaptively"
UNIT = {
    REPLACE: "one user: one round's whole arm set and reward",
    REWARDS: "one user: one round's reward, and whether and when it came; features and offered arms are public",
    ROWS: "one person: one row of X and its target",
}
USER = {
    REPLACE: "replace one user by another whose request is valid" + _LATER,
    REWARDS: "replace one user's reward by another, sooner, later or none" + _LATER,
    ROWS: "replace one person; the number of rows is public",
}
PERSON = {
    REPLACE: "replace one person in all rounds by another whose requests are valid" + _OTHERS,
    REWARDS: "replace the rewards of one person in all rounds by others, sooner, later or none" + _OTHERS,
}
WEEK = {  # of JointGLM alone
    REPLACE: "replace one person in the rounds that are answered in one week by another whose requests are valid; all "
    "others may be chosen adaptively"
}


def named(*, public: bool) -> str:
    """public: whether contexts are."""
    return REWARDS if public else REPLACE


def of_rewards(relation: str) -> bool:
    return relation == REWARDS


def one(found: Iterable[str]) -> str:
    """The relation that all of them have; ValueError where they differ, and where there are none."""
    different = sorted(set(found))
    if len(different) != 1:
        several = f"several: {' and '.join(different)}" if different else "none"
        raise ValueError(f"Expected releases for one neighbouring relation, got {several}.")
    return different[0]
