"""The sums of an experiment, released beside those that a bandit learns from: who plays is a matter of numbers, so that
a person is in one group alone.

Person t is in group i(t), a function of the number t and of a secret key (core.assignment): fixed before anything of
the person is read, whatever the person's data are. With v what the bandit learns from, q the reward's place in its
range from -1/2 to 1/2, and zeros in the places of other groups, the person adds

    the bandit's group    (v, s_b q, pair in the place of the arm that was played)
    group i               (k_i v, s_i q)

Sensitivity. |v - v'| <= D_0 for any two people (model.*), |q - q'| <= 1, and for the pairs (r, 1 - r), r = q + 1/2 in
[0, 1], of two people with the same arm the distance is sqrt 2 |r - r'| <= sqrt 2, and with different arms its square is
r^2 + (1 - r)^2 + r'^2 + (1 - r')^2 <= 2: at most sqrt 2, however many arms there are. With rho_b = `budget`, and
rho_i = 1 - `teach` of the other groups, let
    D^2 = D_0^2 / (1 - rho_b),   s_i^2 = rho_i D^2,   k_i^2 = (1 - rho_i) / (1 - rho_b),
where arms have pairs: s_b^2 = rho_b D^2 / 2 and pairs are multiplied by p, 2 p^2 = rho_b D^2 / 2. Two people on one
group then are at most D apart:
    bandit's:  D_0^2 + s_b^2 + 2 p^2 = (1 - rho_b) D^2 + rho_b D^2 = D^2,   group i:  k_i^2 D_0^2 + s_i^2 = D^2.
Both are attained in the limit: by the worst pair of v with rewards 0 and 1.

One of. Replacing person t leaves i(t) as it is, and everybody else's group: for each key the two worlds differ in one
vector of one group. What is released is mu-GDP for the mu of that group; for whoever it may be, for the largest mu of
all groups (ledger.OneOfRelease): parallel composition, not sequential. More groups cost nothing, and D is as without
them. This rests on three things that the code keeps: a number is taken before anything of the person is read and every
refusal keeps it (else one refusal would move everybody's group), the leaf that a number enters follows from the number
alone (`hold`), and how many numbers each group has is never a count of answers.

Estimates. `trial_sums` has what follows from what was released."""

import math
from typing import NamedTuple

import numpy as np

from reticent.data import Array
from reticent.mechanisms.continual import Continual
from reticent.model.holdout import Holdout
from reticent.privacy.ledger import GroupReleases, OneOfRelease

NO_GROUPS = np.zeros((0, 2))
WORDS = {"bandit": "the bandit's", "holdout": "the holdout's", "arm": "an arm's"}


class Groups(NamedTuple):
    """`Holdout` of one bandit. low, high: the range of rewards. learnt: D_0. blocks: whether the last number of
    an arm says which action it is."""

    holdout: Holdout
    low: float
    high: float
    learnt: float
    blocks: bool

    @property
    def size(self) -> int:
        return len(self.holdout.groups) + 2 * len(self.holdout.pairs)

    @property
    def whole(self) -> float:
        """D."""
        return self.learnt / math.sqrt(1 - self.holdout.budget)

    @property
    def sensitivity(self) -> float:
        """Of the bandit's people, beside what is learnt from them: hypot of both is D."""
        return math.sqrt(self.holdout.budget) * self.whole

    @property
    def part(self) -> float:
        """p."""
        return self.sensitivity / 2 if self.holdout.pairs else 0.0

    @property
    def weights(self) -> Array:
        """(k_i, s_i) of each group."""
        first = 1 - self.holdout.budget
        halved = 0.5 if self.holdout.pairs else 1.0
        out = [(math.sqrt(group.teaches / first), math.sqrt(1 - group.teaches)) for group in self.holdout.groups]
        return np.array([(1.0, math.sqrt(halved) * out[0][1]), *out[1:]]) * [1.0, self.whole]

    def tail(self, x: Array, place: int, name: str | None, known: tuple[str, ...]) -> Array:
        """RAW. What is kept of a choice. Its group is that of its number, which is looked at when it enters."""
        if name is None and known and self.blocks:
            name = known[int(x[-1])]  # of a simulated round
        pair = next((i for i, arm in enumerate(self.holdout.pairs, 1) if arm in (name, place)), 0)
        return np.array([0.0, 1.0, float(pair)])

    def entry(self, mechanism: Continual, statistic: str, size: int, steps: int, relation: str) -> OneOfRelease:
        """What the ledger records after `steps` releases of sums of that size, that are learnt from, and of these."""
        groups = []
        for group, (k, s) in zip(self.holdout.groups, self.weights.tolist(), strict=True):
            of = WORDS[group.name] + (f" ({group.arm})" if group.arm is not None else "")
            bandits = group.name == "bandit"
            own = f"sum of rewards of {of} people, {group.places} of {self.holdout.block} choices"
            pairs = f", and sums of rewards and of what lacks for {len(self.holdout.pairs)} arms" * bandits
            beside = self.sensitivity if bandits else s
            releases = (
                mechanism.entry("gaussian", statistic, k * self.learnt, steps, 1, size=size, relation=relation),
                mechanism.entry(
                    "experiment",
                    own + pairs * bool(self.holdout.pairs),
                    beside,
                    steps,
                    1,
                    size=1 + 2 * len(self.holdout.pairs) * bandits,
                    relation=relation,
                ),
            )
            groups.append(GroupReleases(of, releases))
        words = f"{statistic}; with sums of rewards of {len(groups)} groups, each user in one group by number"
        return OneOfRelease("one of", words, tuple(groups), relation=relation)
